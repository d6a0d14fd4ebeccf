package model

import "strings"

// A Property is something that must hold in every state, or several of them.
type Property uint8

// The properties.
const (
	// Exclusion: the server's lock of a client that believes is its own, and
	// lasts as long as it believes; so two never believe.
	Exclusion Property = 1 << iota
	// Tokens: each minted token is above all before it, and who takes a grant
	// has the token that was minted for it.
	Tokens
	// WakeUp: a live waiter whose lock is free, or its own, does something
	// about it, at the latest after its next ping; or one before it in line does.
	WakeUp
)

// String names the properties.
func (p Property) String() string {
	if p == 0 {
		return "nothing"
	}
	var names []string
	for i, name := range []string{"exclusion", "tokens", "wake-up"} {
		if p&(1<<i) != 0 {
			names = append(names, name)
		}
	}
	return strings.Join(names, " ")
}

// Broken returns the properties that do not hold in s.
func (c *Config) Broken(s *State) Property {
	broken := s.broken
	for i := range uint8(c.Clients) {
		if !c.believesRightly(s, i) {
			broken |= Exclusion
		}
		if !c.wakes(s, i) {
			broken |= WakeUp
		}
	}
	return broken
}

// believesRightly checks what client i believes against the server that
// granted it. What a server granted before another one took over, or before a
// FLUSHALL without quarantine, is nobody's promise.
func (c *Config) believesRightly(s *State, i uint8) bool {
	w := &s.clients[i]
	if w.phase != holding || c.Flush && !c.Quarantine {
		return true
	}
	v := &s.servers[w.lease.server]
	if v.lock.owner == w.holder && v.lock.left >= w.lease.until {
		return true
	}
	return v.quarantine >= w.lease.until
}

// wakes checks that client i does not sleep on a lock that it could have.
func (c *Config) wakes(s *State, i uint8) bool {
	w := &s.clients[i]
	if w.phase != waiting || w.commands != s.primary || w.inbox != s.primary {
		return true
	}
	v := &s.servers[s.primary]
	free := v.lock.owner == nobody && v.quarantine == 0
	if !free && v.lock.owner != w.holder || busy(s, i) || s.awaits(i, pinging) {
		return true
	}
	return s.awakeBefore(i) || c.wakesCalmly(*s, i)
}

// awakeBefore reports whether a live waiter with something to do, or that has
// lost its subscription, stands before client i in line. What it does then hands
// over, and tells the next.
func (s *State) awakeBefore(i uint8) bool {
	v := &s.servers[s.primary]
	own := v.place(s.clients[i].holder)
	for place, e := range v.line {
		if e.holder == nobody || place >= own {
			break
		}
		w := &s.clients[e.client]
		awake := busy(s, e.client) || !v.sees(e.client, w.epoch)
		if w.phase == waiting && w.holder == e.holder && awake {
			return true
		}
	}
	return false
}

// wakesCalmly lets the client find out that its subscription ended, or have a
// ping answered, without any other step between.
func (c *Config) wakesCalmly(s State, i uint8) bool {
	w := &s.clients[i]
	if !s.servers[s.primary].sees(i, w.epoch) {
		s.subscribe(c, i, false)
		return busy(&s, i)
	}
	ping := request(&s, i, pinging)
	answer := (&script{cfg: c, s: &s, at: s.primary}).execute(ping)
	(&reaction{c, &s, i}).receive(answer)
	return busy(&s, i)
}

// busy reports whether waiting client i has something to send, or awaits an
// answer or a push. A timer that is due is something to send.
func busy(s *State, i uint8) bool {
	w := &s.clients[i]
	if w.join || w.check || w.renew || w.polls || w.timer == 0 {
		return true
	}
	if s.awaits(i, joining, checking, renewing) {
		return true
	}
	return s.has(func(m *message) bool { return m.push() && m.client == i && m.epoch == w.epoch })
}
