package model

import "fmt"

// A Step is what happened between two states.
type Step struct {
	what   string
	client uint8
	server uint8
	m      message
}

// String describes the step for a trace.
func (p Step) String() string {
	if p.m.kind == none {
		return fmt.Sprintf("%s (client %d, server %d)", p.what, p.client, p.server)
	}
	return fmt.Sprintf("%s %s", p.what, p.m)
}

// A stepper makes the states that can follow one.
type stepper struct {
	cfg  *Config
	from *State
	emit func(*State, Step)
}

// Next calls emit with every state that can follow s.
func (c *Config) Next(s *State, emit func(*State, Step)) {
	p := &stepper{cfg: c, from: s, emit: emit}
	p.time()
	for i := range s.count {
		p.message(int(i))
	}
	for i := range uint8(c.Clients) {
		if s.clients[i].phase != dead {
			p.client(i)
		}
		p.subscriptions(i)
	}
	p.server(s.primary)
	if c.Failover && s.primary == 0 {
		p.failover()
	}
}

// do emits the state that change makes.
func (p *stepper) do(step Step, change func(*State)) {
	s := *p.from
	change(&s)
	p.emit(&s, step)
}

// message lets message i be executed, received, lost or left alone.
func (p *stepper) message(i int) {
	m := p.from.messages[i]
	switch {
	case m.request():
		p.execute(i, false)
		if p.cfg.Others && m.kind != pinging && m.kind != renewing {
			p.execute(i, true)
		}
		if p.cfg.Lose && m.ghost {
			p.do(Step{what: "lost", m: m}, func(s *State) { s.drop(i) })
		}
	case p.from.clients[m.client].phase == dead || m.push() && m.epoch != p.from.clients[m.client].epoch:
		p.do(Step{what: "too late", m: m}, func(s *State) { s.drop(i) })
	default:
		p.do(Step{what: "received", m: m}, func(s *State) {
			s.drop(i)
			(&reaction{p.cfg, s, m.client}).receive(m)
		})
	}
	if p.cfg.Lose && !m.push() && !m.ghost {
		p.giveUp(i)
	}
}

// execute lets the server execute request i.
func (p *stepper) execute(i int, othersFirst bool) {
	m := p.from.messages[i]
	p.do(Step{what: "executed", m: m}, func(s *State) {
		s.drop(i)
		answer := (&script{p.cfg, s, m.server, othersFirst}).execute(m)
		if !m.ghost {
			s.send(answer)
		}
	})
}

// giveUp lets a client stop waiting for the answer of message i. The request
// may still be executed, if it was not.
func (p *stepper) giveUp(i int) {
	m := p.from.messages[i]
	p.do(Step{what: "lost", m: m}, func(s *State) {
		s.drop(i)
		s.repeat(m)
	})
	if !m.request() || p.from.ghosts() >= p.cfg.Ghosts {
		return
	}
	p.do(Step{what: "given up, may be late", m: m}, func(s *State) {
		s.messages[i].ghost = true
		s.repeat(m)
	})
}

// repeat makes a client send a request again.
func (s *State) repeat(m message) {
	c := &s.clients[m.client]
	if c.phase != waiting || c.holder != m.holder {
		return
	}
	switch m.kind {
	case joining:
		c.join, c.old = true, m.old
	case checking:
		c.check = true
	case renewing:
		c.renew = true
	}
}

// client lets client c do what it can by itself.
func (p *stepper) client(c uint8) {
	switch p.from.clients[c].phase {
	case idle:
		if p.from.clients[c].done {
			break
		}
		p.do(Step{what: "begins to wait", client: c}, func(s *State) { s.begin(p.cfg, c) })
	case waiting:
		p.waits(c)
	case holding:
		p.holds(c)
	}
	if p.from.primary > 0 {
		// A pool has connections to both for a while.
		p.do(Step{what: "sends to the other server", client: c}, func(s *State) {
			s.clients[c].commands ^= 1
		})
	}
	if p.cfg.Death && p.from.clients[1-c].phase != dead {
		p.do(Step{what: "dies", client: c}, func(s *State) { s.die(c) })
	}
}

// begin begins a wait.
func (s *State) begin(cfg *Config, c uint8) {
	w := &s.clients[c]
	w.phase, w.join, w.old, w.timer = waiting, true, false, never
	if !cfg.without(HolderKept) || w.holder == nobody {
		w.holder = fresh
	}
}

// die ends a client. What it sent is on its way.
func (s *State) die(c uint8) {
	s.clients[c] = client{phase: dead, timer: never}
	s.dropIf(func(m *message) bool { return m.client == c && !m.request() })
	for i := range s.count {
		if s.messages[i].client == c {
			s.messages[i].ghost = true
		}
	}
}

// waits lets a waiting client send what it has to, or give up.
func (p *stepper) waits(c uint8) {
	w := p.from.clients[c]
	if p.cfg.Cancel {
		p.do(Step{what: "cancels", client: c}, func(s *State) { p.release(s, c) })
	}
	if p.from.calls(c) >= p.cfg.Calls {
		return
	}
	asks := p.from.awaits(c, joining, checking)
	if w.join && !asks {
		p.send(c, joining)
	}
	if !w.join && !asks && (w.check || w.timer == 0 || w.polls) {
		p.send(c, checking)
	}
	if w.renew && !p.from.awaits(c, renewing) {
		p.send(c, renewing)
	}
	if !p.from.awaits(c, pinging) {
		p.send(c, pinging)
	}
}

// holds lets a holder renew or release.
func (p *stepper) holds(c uint8) {
	if !p.from.awaits(c, renewing) {
		p.send(c, renewing)
	}
	p.do(Step{what: "releases", client: c}, func(s *State) { p.release(s, c) })
}

// release ends a wait or a lease, and says so to the server.
func (p *stepper) release(s *State, c uint8) {
	r := &reaction{p.cfg, s, c}
	r.release(r.client().commands, r.client().holder)
	r.end()
}

// send sends a request of client c.
func (p *stepper) send(c uint8, k kind) {
	p.do(Step{what: "sends", m: request(p.from, c, k)}, func(s *State) { s.ask(p.cfg, c, k) })
}

// request makes a request of client c.
func request(s *State, c uint8, k kind) message {
	w := &s.clients[c]
	m := message{kind: k, client: c, server: w.commands, epoch: w.epoch}
	if k != pinging {
		m.holder = w.holder
	}
	m.old = k == joining && w.old
	return m
}

// ask sends a request, which settles that it was to be sent.
func (s *State) ask(cfg *Config, c uint8, k kind) {
	s.send(request(s, c, k))
	w := &s.clients[c]
	switch k {
	case joining:
		w.join = false
	case checking:
		w.check = false
		if w.timer == 0 {
			w.timer = never
		}
	case renewing:
		w.renew = false
	case pinging:
		if cfg.without(BaseFromSent) && w.base.ok {
			w.base.age = 0
		}
	}
}
