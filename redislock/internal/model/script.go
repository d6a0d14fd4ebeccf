package model

// A script is one execution on a server.
type script struct {
	cfg *Config
	s   *State
	at  uint8
	// othersFirst says that a client that is not modelled stands first in line.
	othersFirst bool
}

// server returns the state of the server that executes.
func (x *script) server() *server { return &x.s.servers[x.at] }

// execute runs the script of a request. It returns the answer.
func (x *script) execute(m message) message {
	switch m.kind {
	case joining, checking:
		return x.acquire(m)
	case pinging:
		x.refresh(m)
		return x.tell(m, isAlive)
	case renewing:
		return x.renew(m)
	default:
		x.release(m.holder)
		return m
	}
}

// acquire is the script of that name, with the modes wait and check.
func (x *script) acquire(m message) message {
	v := x.server()
	if v.lock.owner == m.holder {
		return x.grantedAnswer(m)
	}
	x.refresh(m) // before a hand-over that may be to the caller
	if v.lock.owner != nobody || v.quarantine > 0 || !x.handOver() && !x.takeFor(m) {
		return x.wait(m)
	}
	if v.lock.owner == m.holder {
		return x.grantedAnswer(m)
	}
	return x.wait(m)
}

// takeFor grants a free lock that could be handed to nobody to the caller.
func (x *script) takeFor(m message) bool {
	v := x.server()
	if i := v.place(m.holder); i >= 0 {
		v.remove(i)
	} else if m.kind == checking {
		return false
	}
	x.grant(m.holder, x.cfg.TTL)
	return true
}

// wait puts the caller in line.
func (x *script) wait(m message) message {
	v := x.server()
	if v.place(m.holder) < 0 {
		if m.kind == checking {
			return x.tell(m, isUnknown)
		}
		v.insert(entry{m.holder, m.client}, m.old)
	}
	answer := x.tell(m, isWaiting)
	answer.left = max(v.lock.left, v.quarantine)
	answer.polls = v.lock.owner == foreigner
	if x.cfg.without(FrontPolls) && v.place(m.holder) > 0 {
		answer.polls = false
	}
	return answer
}

// grantedAnswer answers from the value.
func (x *script) grantedAnswer(m message) message {
	lock := x.server().lock
	m.result, m.token, m.minted, m.left = isGranted, lock.token, lock.token, lock.left
	if x.cfg.without(RetryFromCounter) {
		m.token = x.server().counter
	}
	return m
}

// tell adds what answers tell a waiting client.
func (x *script) tell(m message, r result) message {
	v := x.server()
	m.result = r
	m.last = v.counter
	m.incarnation = v.lives[m.client].incarnation
	m.sees = v.sees(m.client, m.epoch)
	return m
}

// refresh renews the sign of life. One that is made anew, or whose channel
// changes, has a new incarnation.
func (x *script) refresh(m message) {
	l := &x.server().lives[m.client]
	if l.incarnation == 0 || l.channel != m.epoch && !x.cfg.without(ChannelSilent) {
		l.incarnation = fresh
	}
	l.channel, l.left = m.epoch, x.cfg.LifeTTL
}

// renew is the script of that name. It never shortens.
func (x *script) renew(m message) message {
	lock := &x.server().lock
	m.result = isNotMine
	if lock.owner == m.holder {
		lock.left = max(lock.left, x.cfg.TTL)
		m.result, m.token, m.minted, m.left = isMine, lock.token, lock.token, lock.left
	}
	return m
}

// release is the script of that name. It is also what a cancelled wait sends.
func (x *script) release(h holder) {
	v := x.server()
	if i := v.place(h); i >= 0 {
		v.remove(i)
	}
	if v.lock.owner == h || x.cfg.without(ReleaseAny) && v.lock.owner != nobody {
		v.lock = lock{}
		x.handOver()
	}
}

// handOver passes a free lock to the first in line that can be reached, and
// reports whether there was one.
func (x *script) handOver() bool {
	v := x.server()
	if v.quarantine > 0 {
		return false
	}
	if x.othersFirst {
		x.grant(others, x.cfg.GrantTTL)
		x.tellFront()
		return true
	}
	i := x.reachable()
	if i < 0 {
		return false
	}
	e := v.line[i]
	x.grant(e.holder, x.cfg.GrantTTL)
	if !x.cfg.without(EntryKept) {
		v.remove(i)
	}
	x.publish(e, message{kind: granting, token: v.lock.token})
	x.tellFront()
	return true
}

// reachable drops the dead from the line and returns the place of the first
// entry whose client is subscribed, or -1.
func (x *script) reachable() int {
	v := x.server()
	for i := 0; i < maxEntries && v.line[i].holder != nobody; {
		l := v.lives[v.line[i].client]
		switch {
		case l.incarnation == 0:
			v.remove(i)
		case !v.sees(v.line[i].client, l.channel):
			i++
		default:
			return i
		}
	}
	return -1
}

// tellFront tells the first in line how long the lock is taken.
func (x *script) tellFront() {
	v := x.server()
	if e := v.line[0]; e.holder != nobody && !x.cfg.without(FrontUntold) {
		x.publish(e, message{kind: fronting, left: v.lock.left})
	}
}

// publish sends a push to the channel of an entry's client. Too many of them
// end the subscription, as a full output buffer does.
func (x *script) publish(e entry, m message) {
	v := x.server()
	l := v.lives[e.client]
	if l.incarnation == 0 || !v.sees(e.client, l.channel) {
		return
	}
	m.client, m.server, m.holder, m.epoch = e.client, x.at, e.holder, l.channel
	if x.pushes(e.client) < x.cfg.Pushes {
		x.s.send(m)
		return
	}
	v.unsubscribe(e.client, l.channel)
	x.s.dropIf(func(p *message) bool { return p.push() && p.client == m.client && p.epoch == m.epoch })
}

// pushes counts what was published to client c and not received.
func (x *script) pushes(c uint8) int {
	n := 0
	for i := range x.s.count {
		if m := &x.s.messages[i]; m.push() && m.client == c {
			n++
		}
	}
	return n
}

// grant mints a token and sets the lock.
func (x *script) grant(h holder, ttl ticks) {
	v := x.server()
	v.lock = lock{owner: h, token: x.mint(), left: ttl}
}

// mint returns the next token: one more than the last, or the clock. Tokens
// are given more slowly than microseconds pass, so a clock that was not set
// back is ahead of all that were minted.
func (x *script) mint() token {
	v := x.server()
	n := max(v.counter, 1) + 1 // 1 is below all tokens
	if x.cfg.without(NoCounter) {
		n = 2
	}
	if !v.behind && !x.cfg.without(NoClock) {
		n = max(n, v.minted+1)
	}
	if n <= v.minted {
		x.s.broken |= Tokens
	}
	v.counter, v.minted = n, max(n, v.minted)
	return n
}
