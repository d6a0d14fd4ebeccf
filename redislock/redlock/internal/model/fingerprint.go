package model

import "hash/maphash"

// A fingerprint stands for all states that differ only in how nodes and
// clients are numbered. Two of a hundred million states have the same by
// chance once in 3,000 searches; a search would then miss one of them.
type fingerprint uint64

// orders are all orders of so many clients, by their number.
var orders = [maxClients + 1][][]uint8{
	1: {{0}},
	2: {{0, 1}, {1, 0}},
	3: {{0, 1, 2}, {0, 2, 1}, {1, 0, 2}, {1, 2, 0}, {2, 0, 1}, {2, 1, 0}},
}

// A printer makes fingerprints.
type printer struct {
	*Config
	seed maphash.Seed
}

// of returns the least hash among the orders of the clients in which their ranks
// rise; those of equal rank are tried in all orders. The sum over the nodes does
// not depend on theirs.
func (p *printer) of(s *State) fingerprint {
	var ranks [maxClients]uint64
	for i := range p.Clients {
		ranks[i] = s.clients[i].rank()
	}
	least := ^fingerprint(0)
	for _, order := range orders[p.Clients] {
		if !rising(&ranks, order) {
			continue
		}
		sum := p.clients(s, order)
		for k := range p.Nodes {
			sum += p.node(&s.nodes[k], order)
		}
		least = min(least, fingerprint(sum))
	}
	return least
}

// rank is a number that does not depend on how nodes and clients are numbered.
func (w *client) rank() uint64 {
	rank := uint64(w.phase)<<16 | uint64(w.round)<<8 | uint64(w.token)
	for round := range maxRounds {
		rank = rank<<16 | uint64(w.proposals[round])<<8 | uint64(w.targets[round])
	}
	return rank
}

// rising reports whether the ranks rise in an order, or stay.
func rising(ranks *[maxClients]uint64, order []uint8) bool {
	for now := 1; now < len(order); now++ {
		if ranks[order[now-1]] > ranks[order[now]] {
			return false
		}
	}
	return true
}

// clients hashes the clients in an order: order[new] is the old index.
func (p *printer) clients(s *State, order []uint8) uint64 {
	var buf [4 + maxClients*(5+2*maxRounds)]byte
	b := append(buf[:0], s.handOvers, s.forgotten, byte(s.broken))
	for _, i := range order {
		w := &s.clients[i]
		b = append(b, byte(w.phase), w.round, w.token, move(w.before, order), bit(w.overtaken))
		for round := range p.Rounds {
			b = append(b, w.proposals[round], w.targets[round])
		}
	}
	return maphash.Bytes(p.seed, b)
}

// node hashes a node with the clients in an order.
func (p *printer) node(v *node, order []uint8) uint64 {
	var buf [7 + maxClients*maxRounds*2]byte
	b := append(buf[:0], 0, v.number, v.h, move(v.shown, order), bit(v.away), bit(v.asked), v.told)
	for now, i := range order {
		if v.holder == i+1 {
			b[0] = byte(now + 1)
		}
		for round := range p.Rounds {
			c := &v.cells[i][round]
			b = append(b, byte(c.p1)|byte(c.p2)<<2|bit(c.ok)<<4, c.r)
		}
	}
	return maphash.Bytes(p.seed, b)
}

// move renumbers the clients of a set.
func move(set uint8, order []uint8) uint8 {
	var moved uint8
	for now, i := range order {
		moved |= set >> i & 1 << now
	}
	return moved
}

// bit is 1 for true.
func bit(b bool) byte {
	if b {
		return 1
	}
	return 0
}
