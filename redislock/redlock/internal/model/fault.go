package model

import "math/bits"

// node lets happen at node k what is no part of an attempt.
func (p *stepper) node(k int) {
	for i := range p.Clients {
		if p.Renewals && p.from.clients[i].phase == granted {
			p.renew(k, i)
		}
		if int(p.from.handOvers) < p.HandOvers && p.from.clients[i].open() && !p.from.nodes[k].away {
			p.handOver(k, i)
		}
	}
	if p.Forget != Never && int(p.from.forgotten) <= p.More && p.mayForget(k) {
		p.do(Step{what: "forgets", client: none, node: k}, func(s *State) { p.lose(s, k) })
	}
	switch v := &p.from.nodes[k]; {
	case v.asked:
		p.vote(k)
	case v.away:
		p.join(k)
	}
}

// renew lets client i renew at node k, or mend it.
func (p *stepper) renew(k, i int) {
	token := p.from.clients[i].token
	if p.from.owns(k, i) {
		p.do(Step{what: "renewal executed", client: i, node: k, number: token}, func(s *State) {
			s.write(k, i, !p.without(RenewSilent))
		})
	}
	p.do(Step{what: "mended", client: i, node: k, number: token}, func(s *State) {
		s.write(k, i, !p.without(MendSilent))
	})
}

// handOver lets a release at node k make P1 for client i, with the releaser's
// proposal. The answer is for the client to find.
func (p *stepper) handOver(k, i int) {
	p.propose(func(q uint8) {
		p.do(Step{what: "handed over", client: i, node: k, number: q}, func(s *State) {
			s.handOvers++
			s.acquire(k, i, q)
		})
	})
}

// mayForget reports whether node k may lose its memory now.
func (p *stepper) mayForget(k int) bool {
	if p.Forget == Joins {
		return !p.from.nodes[k].away && p.away() < p.Nodes-p.majority()
	}
	if p.Forget != Spare {
		return true
	}
	for i := range p.Clients {
		w := &p.from.clients[i]
		if w.open() || w.phase == granted && p.shownElsewhere(k, i) < p.majority() {
			return false
		}
	}
	return true
}

// shownElsewhere counts the nodes but k that have shown client i's token.
func (p *stepper) shownElsewhere(k, i int) int {
	n := 0
	for other := range p.Nodes {
		if other != k && p.from.nodes[other].shown>>i&1 == 1 {
			n++
		}
	}
	return n
}

// lose lets node k lose its memory. What is on its way to it still arrives.
func (p *stepper) lose(s *State, k int) {
	s.forgotten++
	s.nodes[k] = node{cells: s.nodes[k].cells, away: p.Forget == Joins}
	for i := range p.Clients {
		w := &s.clients[i]
		w.overtaken = w.open() && p.Forget == Joins
	}
}

// away counts the nodes that do not vote.
func (p *stepper) away() int {
	n := 0
	for k := range p.Nodes {
		if p.from.nodes[k].away {
			n++
		}
	}
	return n
}

// join lets a client ask for node k each majority among the others that vote,
// once that may be. Later answers that are larger would do no harm.
func (p *stepper) join(k int) {
	for i := range p.Clients {
		if p.from.clients[i].overtaken && !p.without(JoinsEarly) {
			return
		}
	}
	for set := range uint8(1 << p.Nodes) {
		if set>>k&1 == 1 || bits.OnesCount8(set) != p.majority() || !p.mayTell(set) {
			continue
		}
		p.do(Step{what: "a client looks for it at", client: none, node: k, set: set}, func(s *State) {
			v := &s.nodes[k]
			v.asked, v.told = true, 0
			for other := range p.Nodes {
				if set>>other&1 == 1 && !p.without(JoinsEmpty) {
					v.told = max(v.told, s.nodes[other].h)
				}
			}
		})
	}
}

// vote lets node k vote again with what the others have told.
func (p *stepper) vote(k int) {
	p.do(Step{what: "joins", client: none, node: k}, func(s *State) {
		v := &s.nodes[k]
		v.h = max(v.h, v.told)
		v.away, v.asked, v.told = false, false, 0
	})
}

// mayTell reports whether the nodes of a set all vote, so that their h counts.
func (p *stepper) mayTell(set uint8) bool {
	for k := range p.Nodes {
		if set>>k&1 == 1 && p.from.nodes[k].away && !p.without(JoinsByAny) {
			return false
		}
	}
	return true
}
