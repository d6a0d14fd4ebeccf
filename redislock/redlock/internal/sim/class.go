package sim

// A Class is the conditions of a simulation. Probabilities are from 0 to 1,
// times in µs.
type Class struct {
	Name        string
	Promise     Promise
	TTL         micros  // the longest TTL, too
	Backoff     micros  // before the next attempt, median
	Long        float64 // share of the other leases that are held for about a TTL; the rest is for a hundredth
	RunsOut     float64 // share of the leases that are neither renewed nor released before their end
	Rates       float64 // how far apart the clocks' rates are
	Apart       bool    // all clients' clocks are slow, and all nodes' fast
	Delay       micros  // of a message, median
	Tail        float64 // σ of the log-normal delay
	Loss        float64 // of a message
	Twice       float64 // of a request, to be executed twice
	PauseEvery  micros  // of a client, mean
	Paused      float64 // share of the attempts in the midst of which the client pauses
	StepEvery   micros  // of some node's clock, mean; 0: never
	StepSpare   bool    // steps forward befall only what a majority can spare
	CrashEvery  micros  // of some node, mean; 0: never
	ForgetEvery micros  // the same, without its memory
	Quarantine  bool    // a node that forgot does not vote for the longest TTL; up to N/2 at a time
	NoDrift     bool    // nothing is subtracted for drift and margin
	OnePhase    bool    // the token is the largest answer, without P2
	FromReceipt bool    // validity counts from the decision, not from the send
}

// A Promise is what must hold in a class, or must be shown not to.
type Promise uint8

const (
	// Everything means that no two believe at once, and tokens are unique and rise.
	Everything Promise = iota
	// TokensOnly means that two do believe at once, but tokens are unique and rise.
	TokensOnly
	// Nothing means that two do believe at once, and of tokens nothing is promised.
	Nothing
	// ExclusionOnly means that no two believe at once, but tokens are not unique, or fall.
	ExclusionOnly
)

// base is what all classes begin with: nothing fails, and clients pause.
func base(name string, promise Promise, change func(*Class)) Class {
	k := Class{
		Name: name, Promise: promise,
		TTL: 2 * second, Backoff: 15 * millisecond, RunsOut: 0.15, Long: 0.2,
		Delay: millisecond / 2, Tail: 0.7, PauseEvery: 5 * second, Paused: 0.01,
		Quarantine: true, StepSpare: true,
	}
	change(&k)
	return k
}

// Classes returns those in contract, and those outside of it.
func Classes() []Class {
	return append(contract(), outside()...)
}

// network is one that delays, loses and repeats.
func network(k *Class) { k.Tail, k.Loss, k.Twice = 1.5, 0.02, 0.03 }

// rush has so many short leases that attempts often get in each other's way.
func rush(k *Class) {
	k.RunsOut, k.Long, k.Backoff = 0.002, 0.002, 3*millisecond
}

// contract returns the classes in which two never believe at once.
func contract() []Class {
	return []Class{
		base("calm", Everything, func(*Class) {}),
		base("network", Everything, network),
		base("rush", Everything, rush),
		base("rush on that network", Everything, func(k *Class) {
			network(k)
			rush(k)
		}),
		base("rates within a hundredth", Everything, func(k *Class) { k.Rates = 0.01 }),
		base("fast nodes, slow clients", Everything, func(k *Class) { k.Rates, k.Apart, k.RunsOut = 0.01, true, 0.7 }),
		base("steps to spare", Everything, func(k *Class) { k.StepEvery = second / 5 }),
		base("crashes", Everything, func(k *Class) { k.CrashEvery = 2 * second }),
		base("forgetting", Everything, func(k *Class) { k.ForgetEvery = second }),
		base("all of it", Everything, func(k *Class) {
			network(k)
			k.Rates, k.StepEvery, k.CrashEvery, k.ForgetEvery = 0.01, second/5, 5*second, 2*second
		}),
	}
}

// outside returns the classes that break the contract, or a rule.
func outside() []Class {
	return []Class{
		base("rates 15 % apart", TokensOnly, func(k *Class) { k.Rates, k.Apart, k.RunsOut = 0.15, true, 0.7 }),
		base("steps beyond the spare", TokensOnly, func(k *Class) { k.StepEvery, k.StepSpare = second/5, false }),
		base("forgetting without quarantine", Nothing, func(k *Class) { k.ForgetEvery, k.Quarantine = second/2, false }),
		base("no drift subtracted", TokensOnly, func(k *Class) {
			k.Rates, k.Apart, k.RunsOut, k.NoDrift = 0.01, true, 0.7, true
		}),
		base("validity from the receipt", TokensOnly, func(k *Class) {
			k.Delay, k.Paused, k.RunsOut, k.FromReceipt = 40*millisecond, 0.3, 0.7, true
		}),
		base("tokens in one phase", ExclusionOnly, func(k *Class) {
			rush(k)
			k.OnePhase = true
		}),
	}
}
