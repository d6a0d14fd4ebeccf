package sim

// Figures are what happened.
type Figures struct {
	Worlds     int
	Attempts   int
	Grants     int
	Settled    int // attempts that needed P2
	Renewals   int
	Losses     int
	Steps      int // forward, of the clock of a node at which the lock was held
	Forgotten  int // memories of nodes at which the lock was held
	Overlaps   int // grants and late renewals during which another client believed
	Duplicates int // tokens that were granted before
	Falls      int // tokens not above one that was granted before the attempt began
}

// add adds the figures of a world.
func (f *Figures) add(g Figures) {
	f.Worlds++
	f.Attempts += g.Attempts
	f.Grants += g.Grants
	f.Settled += g.Settled
	f.Renewals += g.Renewals
	f.Losses += g.Losses
	f.Steps += g.Steps
	f.Forgotten += g.Forgotten
	f.Overlaps += g.Overlaps
	f.Duplicates += g.Duplicates
	f.Falls += g.Falls
}

// granted checks a grant at the moment at which the client learns of it.
func (w *World) granted(c *client, floor, token int64) {
	w.Grants++
	if w.tokens[token] {
		w.Duplicates++
	}
	if token <= floor {
		w.Falls++
	}
	w.tokens[token] = true
	w.highest = max(w.highest, token)
	w.overlapping(c)
}

// overlapping counts an overlap if another client believes. That is looked at
// when a belief begins, and no overlap begins otherwise.
func (w *World) overlapping(c *client) {
	for _, other := range w.clients {
		if other != c && other.believes() {
			w.Overlaps++
			return
		}
	}
}
