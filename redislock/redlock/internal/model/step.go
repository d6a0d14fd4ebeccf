package model

import "math/bits"

// A stepper makes the states that can follow one.
type stepper struct {
	*Config
	from *State
	emit func(*State, Step)
}

// Next calls emit with every state that can follow s.
func (c *Config) Next(s *State, emit func(*State, Step)) {
	p := &stepper{c, s, emit}
	for i := range c.Clients {
		p.attempt(i)
		for round := range c.Rounds {
			p.requests(i, round)
		}
	}
	for k := range c.Nodes {
		p.node(k)
	}
}

// do emits the state that change makes.
func (p *stepper) do(step Step, change func(*State)) {
	s := *p.from
	change(&s)
	p.show(&s)
	p.reduce(&s)
	p.emit(&s, step)
}

// attempt lets client i do what it can by itself.
func (p *stepper) attempt(i int) {
	w := p.from.clients[i]
	if w.phase == idle {
		p.propose(func(q uint8) {
			p.do(Step{what: "begins", client: i, node: none, number: q}, func(s *State) { p.begin(s, i, q) })
		})
	}
	if w.open() && int(w.round)+1 < p.Rounds {
		p.propose(func(q uint8) {
			step := Step{what: "asks again", client: i, node: none, number: q}
			p.do(step, func(s *State) { p.ask(s, i, w.round+1, q) })
		})
	}
	if w.phase == asking {
		p.answers(i)
	}
	if w.open() && p.Forget == Joins {
		p.do(Step{what: "gives up", client: i, node: none}, func(s *State) { s.clients[i].phase = failed })
	}
}

// propose tries all proposals.
func (p *stepper) propose(with func(uint8)) {
	for q := range p.Proposals + 1 {
		with(uint8(q))
	}
}

// answers lets client i decide by each majority of the answers that there are.
// When they were received makes no difference.
func (p *stepper) answers(i int) {
	var all uint8
	for k := range p.Nodes {
		if p.from.nodes[k].cells[i][p.from.clients[i].round].r != 0 {
			all |= 1 << k
		}
	}
	for set := all; set != 0; set = (set - 1) & all {
		if bits.OnesCount8(set) >= p.majority() {
			p.do(Step{what: "decides by the answers of", client: i, node: none, set: set}, func(s *State) {
				p.decide(s, i, set)
			})
		}
	}
}

// requests lets the nodes execute the requests of one round of client i. What
// is never executed covers what is lost, too late, or answered with a refusal.
func (p *stepper) requests(i, round int) {
	for k := range p.Nodes {
		v := &p.from.nodes[k]
		cell := v.cells[i][round]
		if cell.p1 != unsent && !v.away {
			p.firstPhase(k, i, round, false)
			if p.from.owns(k, i) {
				p.firstPhase(k, i, round, true)
			}
		}
		if cell.p2 != unsent {
			p.secondPhase(k, i, round)
		}
	}
}

// firstPhase executes P1. The client may go by the second execution's answer,
// if the first one's was lost, or by the first.
func (p *stepper) firstPhase(k, i, round int, finds bool) {
	w := &p.from.clients[i]
	awaited := w.phase == asking && int(w.round) == round
	step := Step{what: "P1 executed", client: i, node: k, number: w.proposals[round]}
	if finds {
		step.what = "P1 finds its own value"
	}
	execute := func(heeded bool) {
		p.do(step, func(s *State) {
			cell := &s.nodes[k].cells[i][round]
			cell.p1 = p.after(cell.p1)
			r := s.nodes[k].number
			if !finds {
				r = s.acquire(k, i, w.proposals[round])
			}
			if awaited && heeded {
				cell.r = r
			}
		})
	}
	execute(true)
	if awaited && p.from.nodes[k].cells[i][round].r != 0 {
		step.what += ", not heeded"
		execute(false)
	}
}

// secondPhase executes P2, if the node does not refuse it.
func (p *stepper) secondPhase(k, i, round int) {
	w := &p.from.clients[i]
	r, t := p.from.nodes[k].cells[i][round].r, w.targets[round]
	probe := *p.from
	if !p.settle(&probe, k, i, r, t) {
		return
	}
	p.do(Step{what: "P2 executed", client: i, node: k, number: t}, func(s *State) {
		cell := &s.nodes[k].cells[i][round]
		cell.p2 = p.after(cell.p2)
		p.settle(s, k, i, r, t)
		if w.phase == settling && int(w.round) == round {
			cell.ok = true
			if p.fixed(s, i, t) {
				p.grant(s, i, t)
			}
		}
	})
}

// after is where a request is once it was executed.
func (p *stepper) after(before sending) sending {
	if before == sent && p.Twice {
		return again
	}
	return unsent
}
