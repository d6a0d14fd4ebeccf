package sim

import "math"

// A clock counts at its own rate.
type clock struct {
	rate   float64 // what it counts in a µs
	offset micros  // what it showed when the simulation began, and all steps
}

// at returns what the clock shows at a real time.
func (c clock) at(now micros) micros { return micros(float64(now)*c.rate) + c.offset }

// real returns how long it takes the clock to count so much.
func (c clock) real(counted micros) micros { return micros(math.Ceil(float64(counted) / c.rate)) }

// The ends of the rates that a class allows.
const (
	slow = -0.5
	fast = 0.5
)

// newClock returns a clock that shows a day, a second more or less. Its rate is
// one end of what the class allows, or anything between, or the given end in a
// class in which nodes and clients differ.
func (w *World) newClock(end float64) clock {
	apart := []float64{slow, fast, w.rng.Float64() - 0.5}[w.rng.IntN(3)]
	if w.Apart {
		apart = end
	}
	return clock{rate: 1 + w.Rates*apart, offset: 86400*second + w.within(second)}
}

// within returns something from -d to d.
func (w *World) within(d micros) micros { return micros(w.rng.Int64N(int64(2*d+1))) - d }

// about returns a length of time that is exponentially distributed.
func (w *World) about(mean micros) micros { return micros(w.rng.ExpFloat64() * float64(mean)) }

// logNormal returns a length of time with a median and a long tail.
func (w *World) logNormal(median micros, sigma float64) micros {
	return micros(float64(median) * math.Exp(sigma*w.rng.NormFloat64()))
}
