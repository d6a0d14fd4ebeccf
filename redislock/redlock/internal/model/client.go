package model

// begin begins the attempt of client i.
func (c *Config) begin(s *State, i int, proposal uint8) {
	s.clients[i].before = s.taken()
	c.ask(s, i, 0, proposal)
}

// ask sends P1 to all nodes.
func (c *Config) ask(s *State, i int, round, proposal uint8) {
	w := &s.clients[i]
	w.phase, w.round, w.proposals[round] = asking, round, proposal
	for k := range c.Nodes {
		s.nodes[k].cells[i][round].p1 = sent
	}
}

// decide takes the answers of the nodes in set, bits, a majority.
func (c *Config) decide(s *State, i int, set uint8) {
	w := &s.clients[i]
	var largest uint8
	for k := range c.Nodes {
		cell := &s.nodes[k].cells[i][w.round]
		if set>>k&1 == 0 {
			cell.r = 0
		}
		largest = max(largest, cell.r)
	}
	if t := c.agreed(s, i, largest); t != 0 {
		c.grant(s, i, t)
		return
	}
	w.phase, w.targets[w.round] = settling, largest
	for k := range c.Nodes {
		if cell := &s.nodes[k].cells[i][w.round]; cell.r != 0 && cell.r != largest {
			cell.p2 = sent
		}
	}
}

// agreed returns the number that enough nodes have answered, or 0.
func (c *Config) agreed(s *State, i int, largest uint8) uint8 {
	if c.without(OnePhase) {
		return largest
	}
	for t := largest; t > 0; t-- {
		if c.fixed(s, i, t) {
			return t
		}
	}
	return 0
}

// fixed reports whether enough nodes have answered t or were settled.
func (c *Config) fixed(s *State, i int, t uint8) bool {
	count := 0
	for k := range c.Nodes {
		if cell := s.nodes[k].cells[i][s.clients[i].round]; cell.ok || cell.r == t {
			count++
		}
	}
	return count >= c.enough()
}

// grant ends an attempt with a token, and compares it with those before.
func (c *Config) grant(s *State, i int, token uint8) {
	w := &s.clients[i]
	w.phase, w.token = granted, token
	for j := range c.Clients {
		other := &s.clients[j]
		if j == i || other.phase != granted {
			continue
		}
		if other.token == token {
			s.broken |= Unique
		}
		if w.before>>j&1 == 1 && other.token >= token {
			s.broken |= Rising
		}
	}
}
