package model

// The sizes of the largest configuration.
const (
	maxNodes   = 5
	maxClients = 3
	maxRounds  = 2
)

// A State is everything at one moment. Nothing in it is a pointer, so that it
// is copied by assignment.
type State struct {
	nodes     [maxNodes]node
	clients   [maxClients]client
	handOvers uint8    // made so far
	forgotten uint8    // so often has a node lost its memory
	broken    Property // by the last step
}

// A node is what one Redis server has of the one name of the model, and the
// requests that are on their way to it. Names of clients are one more than
// their index; 0 is nobody.
type node struct {
	holder uint8
	number uint8 // in the value
	h      uint8 // the counter
	away   bool  // has lost its memory, and does not vote
	asked  bool  // the others were asked for their h
	told   uint8 // the largest of their answers
	shown  uint8 // history: the clients, as bits, whose token its value has had
	cells  [maxClients][maxRounds]cell
}

// A cell is what a client has asked one node in one round, and was answered.
type cell struct {
	p1, p2 sending
	r      uint8 // the answer to P1, as long as the client goes by it; 0: none
	ok     bool  // P2 was done
}

// A sending is where a request is. One that was executed and cannot be again
// is as if it had not been sent.
type sending uint8

const (
	unsent sending = iota
	sent           // on its way, for as long as it likes
	again          // executed, and may be once more
)

// A phase is how far a client has come with its one attempt.
type phase uint8

const (
	idle phase = iota
	asking
	settling
	granted
	failed
)

// A client makes one attempt, in one round or several under the same holder,
// as a waiter does.
type client struct {
	phase     phase
	round     uint8
	token     uint8            // once granted
	before    uint8            // history: the clients, as bits, that were granted before it began
	overtaken bool             // history: a node forgot during the attempt
	proposals [maxRounds]uint8 // p of P1
	targets   [maxRounds]uint8 // t of P2
}

// open reports whether the attempt has begun and not ended.
func (w *client) open() bool { return w.phase == asking || w.phase == settling }

// taken returns the clients that were granted, as bits.
func (s *State) taken() uint8 {
	var mask uint8
	for i := range s.clients {
		if s.clients[i].phase == granted {
			mask |= 1 << i
		}
	}
	return mask
}

// reduce clears what cannot matter any more, so that states that behave alike
// are one.
func (c *Config) reduce(s *State) {
	for i := range c.Clients {
		for round := range c.Rounds {
			c.reduceRound(s, i, round)
		}
		if w := &s.clients[i]; !w.open() && w.phase != idle {
			w.before, w.overtaken = 0, false
			if c.Forget == Never && w.phase == failed {
				w.round = 0
			}
		}
	}
	for k := range c.Nodes {
		c.reduceValue(s, k)
	}
}

// reduceRound clears the answers of a round that the client does not go by any
// more, and the numbers of requests of which none is on its way.
func (c *Config) reduceRound(s *State, i, round int) {
	w := &s.clients[i]
	current := w.open() && int(w.round) == round
	var any1, any2 bool
	for k := range c.Nodes {
		cell := &s.nodes[k].cells[i][round]
		c.dropRefused(s, k, i, round)
		if !current && cell.p2 == unsent {
			cell.r, cell.ok = 0, false
		}
		any1 = any1 || cell.p1 != unsent
		any2 = any2 || cell.p2 != unsent
	}
	if !any1 {
		w.proposals[round] = 0
	}
	if settles := current && w.phase == settling; !any2 && !settles {
		w.targets[round] = 0
	}
}

// dropRefused takes P2 that will be refused at node k off its way: since h
// only rises, and P1 raises it, neither a larger h nor a lost value comes back.
func (c *Config) dropRefused(s *State, k, i, round int) {
	if c.Forget != Never || c.without(NoOwner|NoCompare) {
		return
	}
	v := &s.nodes[k]
	if cell := &v.cells[i][round]; !s.owns(k, i) || v.h != cell.r {
		cell.p2 = unsent
	}
}

// reduceValue clears the value of node k if nobody will ask for it. That it is
// still there makes a difference only to requests that want it to be.
func (c *Config) reduceValue(s *State, k int) {
	v := &s.nodes[k]
	if v.holder == nobody || c.Forget == Spare {
		return
	}
	i := int(v.holder - 1)
	w := &s.clients[i]
	if w.open() {
		return
	}
	v.number = 0
	wanted := c.Renewals && w.phase == granted
	for round := range c.Rounds {
		wanted = wanted || v.cells[i][round].p2 != unsent
	}
	if !wanted {
		v.holder = nobody
	}
}

// nobody is the holder of a free lock.
const nobody = 0
