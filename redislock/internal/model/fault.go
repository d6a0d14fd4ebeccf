package model

// time lets a tick pass, for all clocks alike.
func (p *stepper) time() {
	p.do(Step{what: "a tick passes"}, func(s *State) {
		for i := range s.servers {
			s.servers[i].tick()
		}
		for i := range s.clients {
			p.tick(s, uint8(i))
		}
		for i := range s.count {
			s.messages[i].tick(p.cfg.TTL)
		}
	})
}

// tick lets expiries come nearer.
func (v *server) tick() {
	v.lock.left = v.lock.left.less()
	if v.lock.left == 0 {
		v.lock = lock{}
	}
	v.quarantine = v.quarantine.less()
	for i := range v.lives {
		v.lives[i].left = v.lives[i].left.less()
		if v.lives[i].left == 0 {
			v.lives[i] = life{}
		}
	}
}

// tick lets a client's timers run. A belief ends by itself.
func (p *stepper) tick(s *State, c uint8) {
	w := &s.clients[c]
	w.base.age = w.base.age.more(p.cfg.TTL)
	w.timer = w.timer.less()
	w.lease.until = w.lease.until.less()
	if w.phase == holding && w.lease.until == 0 {
		(&reaction{p.cfg, s, c}).end()
	}
}

// tick lets a message grow older.
func (m *message) tick(limit ticks) {
	if !m.push() {
		m.age = m.age.more(limit)
	}
	// What is left of somebody else's lock counts from the execution: a timer
	// that is set later than that fires later, which a search never forbids.
	if m.result == isWaiting || m.kind == fronting {
		m.left = m.left.less()
	}
}

// less is t a tick later.
func (t ticks) less() ticks {
	if t == 0 || t == never {
		return t
	}
	return t - 1
}

// more is the age t a tick later. Beyond limit no age makes a difference.
func (t ticks) more(limit ticks) ticks { return min(t+1, limit) }

// subscriptions lets the subscriptions of client c end and begin.
func (p *stepper) subscriptions(c uint8) {
	if !p.cfg.Break && p.from.primary == 0 && !p.cfg.Death {
		return
	}
	for i := range p.from.primary + 1 {
		for _, e := range p.from.servers[i].subs[c] {
			if e != 0 {
				p.do(Step{what: "a subscription ends", client: c, server: i}, func(s *State) {
					s.servers[i].unsubscribe(c, e)
				})
			}
		}
	}
	if p.from.clients[c].phase == dead {
		return
	}
	p.do(Step{what: "subscribes anew", client: c, server: p.from.primary}, func(s *State) {
		s.subscribe(p.cfg, c, false)
	})
	if p.cfg.Break && p.from.halfOpen(c) == 0 {
		p.do(Step{what: "subscribes anew, half-open before", client: c, server: p.from.primary}, func(s *State) {
			s.subscribe(p.cfg, c, true)
		})
	}
}

// halfOpen counts client c's old subscriptions that a server still sees.
func (s *State) halfOpen(c uint8) int {
	n := 0
	for i := range s.servers {
		for _, e := range s.servers[i].subs[c] {
			if e != 0 && e != s.clients[c].epoch {
				n++
			}
		}
	}
	return n
}

// subscribe begins an epoch. What was published before is lost.
func (s *State) subscribe(cfg *Config, c uint8, halfOpen bool) {
	w := &s.clients[c]
	if !halfOpen {
		s.servers[w.inbox].unsubscribe(c, w.epoch)
	}
	s.dropIf(func(m *message) bool { return m.push() && m.client == c })
	w.inbox, w.epoch, w.base = s.primary, fresh, base{}
	subs := &s.servers[s.primary].subs[c]
	if subs[0] == 0 {
		subs[0] = fresh
	} else {
		subs[1] = fresh
	}
	if w.phase == waiting && !w.join && !cfg.without(EpochSilent) {
		w.check = true
	}
}

// server lets happen at the primary, server i, what modelled clients have no
// part in.
func (p *stepper) server(i uint8) {
	owner := p.from.servers[i].lock.owner
	if p.cfg.Others {
		p.others(i, owner)
	}
	if p.cfg.Foreign {
		p.foreign(i, owner)
	}
	if p.cfg.Names {
		p.do(Step{what: "another name is granted", server: i}, func(s *State) {
			(&script{cfg: p.cfg, s: s, at: i}).mint()
		})
	}
	if p.cfg.Flush {
		p.do(Step{what: "FLUSHALL", server: i}, func(s *State) { s.flush(p.cfg, i) })
	}
	if p.cfg.ClockBack {
		p.do(Step{what: "the clock is set", server: i}, func(s *State) {
			s.servers[i].behind = !s.servers[i].behind
		})
	}
}

// others lets clients take, pass on, renew and release that are not modelled.
func (p *stepper) others(i uint8, owner holder) {
	as := func(what string, first bool, act func(*script)) {
		p.do(Step{what: "others " + what, server: i}, func(s *State) {
			act(&script{p.cfg, s, i, first})
		})
	}
	switch {
	case owner == nobody && p.from.servers[i].quarantine == 0:
		as("take", false, func(x *script) { x.grant(others, p.cfg.TTL) })
		as("pass on", false, func(x *script) { x.handOver() })
	case owner == others:
		as("renew", false, func(x *script) { x.server().lock.left = p.cfg.TTL })
		as("release", false, func(x *script) { x.release(others) })
		as("release to others", true, func(x *script) { x.release(others) })
	}
}

// foreign lets a client take and delete the key that knows nothing of lines.
func (p *stepper) foreign(i uint8, owner holder) {
	switch owner {
	case nobody:
		p.do(Step{what: "a foreigner takes", server: i}, func(s *State) {
			s.servers[i].lock = lock{owner: foreigner, left: p.cfg.TTL}
		})
	case foreigner:
		p.do(Step{what: "a foreigner deletes", server: i}, func(s *State) {
			s.servers[i].lock = lock{}
		})
	}
}

// flush loses all keys of a server. Its clock goes on.
func (s *State) flush(cfg *Config, i uint8) {
	v := &s.servers[i]
	*v = server{subs: v.subs, minted: v.minted, behind: v.behind}
	if cfg.Quarantine {
		v.quarantine = cfg.TTL
	}
}

// failover makes a second server the primary, with a copy of the first one's
// keys that may be old, and a clock of its own.
func (p *stepper) failover() {
	for _, behind := range []bool{false, true} {
		p.takeOver("a copy takes over", behind, func(*server) {})
		p.takeOver("an old copy takes over", behind, func(v *server) { v.lock = lock{} })
		p.takeOver("a younger copy takes over", behind, func(v *server) { v.line = [maxEntries]entry{} })
		p.takeOver("an empty copy takes over", behind, func(v *server) {
			*v = server{minted: v.minted, behind: v.behind}
		})
	}
}

// takeOver makes the second server a copy of the first, then changed by lose.
// A clock that is behind the tokens has a counter that it can go on from.
func (p *stepper) takeOver(what string, behind bool, lose func(*server)) {
	p.do(Step{what: what, server: 1}, func(s *State) {
		v := &s.servers[1]
		*v = s.servers[0]
		v.subs, v.behind = [maxClients][2]epoch{}, behind
		lose(v)
		v.minted = v.counter
		s.primary = 1
	})
}
