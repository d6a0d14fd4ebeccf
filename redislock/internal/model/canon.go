package model

import (
	"cmp"
	"slices"
)

// canon gives two states that differ in names only the same form: holders,
// epochs and incarnations are numbered in the order in which they are met,
// tokens by size, and messages are sorted.
func (c *Config) canon(s *State) {
	s.renameHolders()
	for i := range uint8(c.Clients) {
		s.renameEpochs(i)
		s.renameIncarnations(i)
	}
	c.forget(s)
	s.rankTokens()
	slices.SortFunc(s.messages[:s.count], compare)
}

// names maps old names to new ones.
type names struct {
	new  [fresh + 1]uint8
	next uint8
}

// of returns the new name of an old one; 0 stays 0.
func (n *names) of(old uint8) uint8 {
	if old != 0 && n.new[old] == 0 {
		n.next++
		n.new[old] = n.next
	}
	return n.new[old]
}

// renameHolders renames the holders.
func (s *State) renameHolders() {
	n := names{next: uint8(firstHolder - 1)}
	rename := func(h *holder) {
		if *h >= firstHolder {
			*h = holder(n.of(uint8(*h)))
		}
	}
	for i := range s.clients {
		rename(&s.clients[i].holder)
	}
	for i := range s.servers {
		v := &s.servers[i]
		rename(&v.lock.owner)
		for j := range v.line {
			rename(&v.line[j].holder)
		}
	}
	for i := range s.count {
		rename(&s.messages[i].holder)
	}
}

// renameEpochs renames client c's epochs.
func (s *State) renameEpochs(c uint8) {
	var n names
	rename := func(e *epoch) { *e = epoch(n.of(uint8(*e))) }
	rename(&s.clients[c].epoch)
	for i := range s.servers {
		v := &s.servers[i]
		rename(&v.subs[c][0])
		rename(&v.subs[c][1])
		if v.subs[c][0] > v.subs[c][1] {
			v.subs[c][0], v.subs[c][1] = v.subs[c][1], v.subs[c][0]
		}
		rename(&v.lives[c].channel)
	}
	for i := range s.count {
		if s.messages[i].client == c {
			rename(&s.messages[i].epoch)
		}
	}
}

// renameIncarnations renames the incarnations of client c's signs of life.
func (s *State) renameIncarnations(c uint8) {
	var n names
	rename := func(i *incarnation) { *i = incarnation(n.of(uint8(*i))) }
	rename(&s.clients[c].incarnation)
	for i := range s.servers {
		rename(&s.servers[i].lives[c].incarnation)
	}
	for i := range s.count {
		if s.messages[i].client == c {
			rename(&s.messages[i].incarnation)
		}
	}
}

// rankTokens replaces each token by its rank.
func (s *State) rankTokens() {
	var used [fresh + 1]bool
	s.eachToken(func(t *token) { used[*t] = true })
	rank := [fresh + 1]token{1: 1}
	next := token(1) // below all
	for t := 2; t < len(used); t++ {
		if used[t] {
			next++
			rank[t] = next
		}
	}
	s.eachToken(func(t *token) { *t = rank[*t] })
}

// eachToken visits all tokens.
func (s *State) eachToken(visit func(*token)) {
	for i := range s.clients {
		visit(&s.clients[i].base.last)
	}
	for i := range s.servers {
		visit(&s.servers[i].lock.token)
		visit(&s.servers[i].counter)
		visit(&s.servers[i].minted)
	}
	for i := range s.count {
		visit(&s.messages[i].token)
		visit(&s.messages[i].minted)
		visit(&s.messages[i].last)
	}
}

// forget clears what cannot matter any more: a base that is too old for a
// push, and what only such a base would be made of.
func (c *Config) forget(s *State) {
	for i := range s.clients {
		if s.clients[i].base.age >= c.GrantTTL {
			s.clients[i].base = base{}
		}
	}
	for i := range s.count {
		m := &s.messages[i]
		if m.kind == pinging {
			m.age = min(m.age, c.GrantTTL)
		}
		if m.result != unanswered && m.age >= c.GrantTTL {
			m.last, m.sees = 0, false
		}
	}
	if c.rising() {
		s.forgetTokens()
	}
}

// rising reports whether each token is above all before it, whatever happens,
// and whether answers tell it from the value.
func (c *Config) rising() bool {
	return !c.ClockBack && !c.Failover && !c.FailedOver && !c.without(NoClock|NoCounter|RetryFromCounter)
}

// forgetTokens keeps of the tokens what a client can compare: those of pushes,
// and whether F is above them.
func (s *State) forgetTokens() {
	const top = fresh
	for i := range s.servers {
		v := &s.servers[i]
		v.lock.token, v.minted = 0, min(v.minted, 1)*top
		v.counter = min(v.counter, 1) * top
	}
	for i := range s.count {
		m := &s.messages[i]
		if m.kind == granting && m.holder != s.clients[m.client].holder {
			m.token = 0
		}
		if !m.push() {
			m.token, m.minted = 0, 0
		}
	}
	for i := range s.clients {
		s.lower(uint8(i), &s.clients[i].base.last)
	}
	for i := range s.count {
		s.lower(s.messages[i].client, &s.messages[i].last)
	}
}

// lower makes an F of client c the largest token of its pushes that it covers,
// or 1.
func (s *State) lower(c uint8, last *token) {
	if *last == 0 {
		return
	}
	most := token(1)
	for i := range s.count {
		if m := &s.messages[i]; m.kind == granting && m.client == c && m.token <= *last {
			most = max(most, m.token)
		}
	}
	*last = most
}

// compare orders messages; any order does that is total.
func compare(a, b message) int {
	if n := cmp.Compare(a.word(), b.word()); n != 0 {
		return n
	}
	return cmp.Compare(a.rest(), b.rest())
}

// word packs the first half of a message.
func (m *message) word() uint64 {
	return pack(uint8(m.kind), uint8(m.result), bit(m.ghost), m.client, m.server,
		uint8(m.holder), uint8(m.epoch), uint8(m.age))
}

// rest packs the second half.
func (m *message) rest() uint64 {
	return pack(bit(m.old), uint8(m.token), uint8(m.minted), uint8(m.last), uint8(m.left),
		uint8(m.incarnation), bit(m.sees), bit(m.polls))
}

// pack makes one number of eight bytes.
func pack(b ...uint8) uint64 {
	var n uint64
	for _, x := range b {
		n = n<<8 | uint64(x)
	}
	return n
}

// bit is 1 for true.
func bit(b bool) uint8 {
	if b {
		return 1
	}
	return 0
}
