package model

// A reaction is one client's handling of what it receives.
type reaction struct {
	cfg *Config
	s   *State
	c   uint8
}

// client returns the state of the client that reacts.
func (r *reaction) client() *client { return &r.s.clients[r.c] }

// receive handles an answer or a push.
func (r *reaction) receive(m message) {
	switch m.kind {
	case joining, checking:
		r.acquired(m)
	case pinging:
		r.learn(m, true)
	case renewing:
		r.renewed(m)
	case granting:
		r.pushed(m)
	case fronting:
		r.fronted(m)
	}
}

// acquired handles the answer to joining or checking.
func (r *reaction) acquired(m message) {
	switch m.result {
	case isGranted:
		r.take(m, m.left)
	case isUnknown:
		r.learn(m, false)
		r.rejoin()
	default:
		r.learn(m, false)
		r.waits(m)
	}
}

// waits handles the answer "waiting".
func (r *reaction) waits(m message) {
	c := r.client()
	c.polls = m.polls
	r.setTimer(m.left)
	if r.cfg.without(RefusalCanceled) {
		c.renew = false
	}
}

// setTimer minds a holder's expiry. A timer is never put off: the answer may be
// older than the push that set it.
func (r *reaction) setTimer(left ticks) {
	c := r.client()
	switch {
	case r.cfg.without(NoTimer):
	case r.cfg.without(TimerPutOff):
		c.timer = left
	default:
		c.timer = min(c.timer, left)
	}
}

// rejoin makes a wait join again that the server does not know.
func (r *reaction) rejoin() {
	r.abandon()
	c := r.client()
	c.join, c.old, c.check, c.renew, c.polls, c.timer = true, true, false, false, false, never
	if !r.cfg.without(HolderRejoins) && !r.cfg.without(HolderKept) {
		c.holder = fresh
	}
}

// learn takes what an answer tells: the base and the incarnation. A changed
// incarnation makes the wait check, unless the answer is to a check itself.
func (r *reaction) learn(m message, check bool) {
	c := r.client()
	r.learnBase(m)
	if m.incarnation == c.incarnation {
		return
	}
	if check && c.incarnation != 0 && c.phase == waiting && !c.join && !r.cfg.without(LifeSilent) {
		c.check = true
	}
	c.incarnation = m.incarnation
}

// learnBase takes the base from an answer that gives one.
func (r *reaction) learnBase(m message) {
	b := &r.client().base
	if !r.cfg.without(BaseUnseen) && (!m.sees || m.epoch != r.client().epoch) {
		return
	}
	if m.last == 0 && !r.cfg.without(BaseUncounted) {
		return
	}
	if b.ok && b.age <= m.age {
		return
	}
	if b.ok && r.cfg.without(BaseMixed) {
		m.last = b.last
	}
	*b = base{ok: true, age: m.age, last: m.last}
}

// renewed handles the answer to a renewal.
func (r *reaction) renewed(m message) {
	c := r.client()
	switch {
	case m.result == isMine:
		r.take(m, m.left)
	case c.phase == holding:
		r.end()
	case !r.cfg.without(RefusalNotChecked):
		c.check = true
	}
}

// pushed handles a grant that was pushed.
func (r *reaction) pushed(m message) {
	c := r.client()
	switch {
	case c.phase == idle || c.holder != m.holder:
		r.giveUp(m)
	case c.phase == holding:
	case r.counts(m):
		if r.cfg.without(BaseFromReceipt) {
			c.base.age = 0
		}
		m.age, m.minted = c.base.age, m.token
		r.take(m, r.cfg.GrantTTL)
	case !r.cfg.without(RefusalForgotten):
		c.renew = true
	}
}

// counts reports whether a push has a base, a token after it, and time left.
func (r *reaction) counts(m message) bool {
	b := r.client().base
	return b.ok && (m.token > b.last || r.cfg.without(NoTokenCheck)) && b.age < r.cfg.GrantTTL
}

// fronted handles the news of how long the lock is taken.
func (r *reaction) fronted(m message) {
	c := r.client()
	if c.phase == waiting && c.holder == m.holder {
		r.setTimer(m.left)
	}
}

// take begins or prolongs a lease. The time that was told counts from the send
// of what was certainly executed before.
func (r *reaction) take(m message, told ticks) {
	c := r.client()
	if m.token != m.minted {
		r.s.broken |= Tokens // it was minted for another grant
	}
	if told <= m.age {
		if c.phase == waiting {
			c.check = true
		}
		return
	}
	until := told - m.age
	if c.phase == holding {
		if until > c.lease.until {
			c.lease = lease{until: until, server: m.server}
		}
		return
	}
	r.abandon()
	c.base = base{}
	c.phase, c.timer = holding, never
	c.polls, c.join, c.old, c.check, c.renew = false, false, false, false, false
	c.lease = lease{until: until, server: m.server}
}

// giveUp releases what was granted to a holder that does not wait any more.
func (r *reaction) giveUp(m message) {
	r.release(m.server, m.holder)
}

// release sends a release. Nobody awaits its answer.
func (r *reaction) release(server uint8, h holder) {
	if r.s.ghosts() < r.cfg.Ghosts {
		r.s.send(message{kind: releasing, ghost: true, client: r.c, server: server, holder: h})
	}
}

// abandon stops waiting for answers. Requests may still be executed.
func (r *reaction) abandon() {
	for i := int(r.s.count) - 1; i >= 0; i-- {
		m := &r.s.messages[i]
		switch {
		case m.client != r.c || m.push() || m.ghost:
		case m.request() && r.s.ghosts() < r.cfg.Ghosts:
			m.ghost = true
		default:
			r.s.drop(i)
		}
	}
}

// end ends a lease or a wait.
func (r *reaction) end() {
	r.abandon()
	c := r.client()
	h := c.holder
	*c = client{commands: c.commands, inbox: c.inbox, epoch: c.epoch, timer: never, done: r.cfg.Once}
	if r.cfg.without(HolderKept) {
		c.holder = h
	}
}
