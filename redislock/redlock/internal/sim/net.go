package sim

// A line is the connection of one client to one node. What is sent on it
// arrives in order, except for what arrives twice.
type line struct {
	there micros // when the last request arrived
	back  micros // when the last answer did
}

// send lets a node execute a request, and the client receive the answer if it
// is awake. Either may be lost. In some classes the request is executed a
// second time, at the latest two TTLs later, and answered a second time.
func (c *client) send(n *node, execute func() (receive func())) {
	w := c.w
	line := &c.lines[n.index]
	line.there = max(line.there, w.now+w.delay())
	deliver := func() {
		if n.down {
			return
		}
		receive := execute()
		if receive == nil || w.happens(w.Loss) {
			return
		}
		line.back = max(line.back, w.now+w.delay())
		c.plan(line.back, receive)
	}
	if !w.happens(w.Loss) {
		w.plan(line.there, deliver)
	}
	if w.happens(w.Twice) {
		w.plan(line.there+min(w.about(w.TTL/4), 2*w.TTL), deliver)
	}
}

// delay is how long a message takes.
func (w *World) delay() micros { return w.logNormal(w.Delay, w.Tail) }

// happens reports whether something with a probability does.
func (w *World) happens(p float64) bool { return p > 0 && w.rng.Float64() < p }
