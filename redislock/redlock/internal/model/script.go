package model

// acquire gives node k's lock to client i, whoever had it: that value has ended
// just before. It returns the number.
func (s *State) acquire(k, i int, proposal uint8) uint8 {
	v := &s.nodes[k]
	v.h = max(v.h+1, proposal)
	v.holder, v.number = uint8(i+1), v.h
	return v.number
}

// owns reports whether node k's lock is client i's.
func (s *State) owns(k, i int) bool { return int(s.nodes[k].holder) == i+1 }

// settle executes P2 with r and t at node k and reports whether it was done.
func (c *Config) settle(s *State, k, i int, r, t uint8) bool {
	v := &s.nodes[k]
	owner := s.owns(k, i) || c.without(NoOwner)
	allowed := owner && (v.h == r || c.without(NoCompare))
	if done := s.owns(k, i) && v.h == t && v.number == t; !allowed && !done {
		return false
	}
	v.h, v.number = max(v.h, t), t
	return true
}

// write puts a granted client's token into node k's value.
func (s *State) write(k, i int, raise bool) {
	v := &s.nodes[k]
	v.holder, v.number = uint8(i+1), s.clients[i].token
	if raise {
		v.h = max(v.h, v.number)
	}
}

// show notes which granted tokens the values have.
func (c *Config) show(s *State) {
	if c.Forget != Spare {
		return
	}
	for k := range c.Nodes {
		v := &s.nodes[k]
		if v.holder == nobody {
			continue
		}
		i := v.holder - 1
		if w := &s.clients[i]; w.phase == granted && w.token == v.number {
			v.shown |= 1 << i
		}
	}
}
