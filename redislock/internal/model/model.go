package model

import "slices"

// All numbers of a state are one byte wide, so that a state is plain memory
// and cheap to hash. Names (holders, epochs, incarnations) mean nothing but
// themselves, tokens only their order: see canon.
type (
	ticks       uint8 // a length of time; TTLs are one to three ticks
	holder      uint8
	token       uint8 // 0: none
	epoch       uint8 // 0: none
	incarnation uint8 // 0: none
)

const (
	nobody      holder = iota
	foreigner          // a client that knows nothing of lines: SET NX PX and DEL
	others             // all clients of ours that are not modelled one by one
	firstHolder        // from here on: grants of the modelled clients

	never ticks = 255 // of a timer that is not set

	// fresh is the name of what is new in a step. At most one of each sort is
	// made in a step, and canon renames it.
	fresh = 31

	maxClients  = 2
	maxServers  = 2
	maxEntries  = 4
	maxMessages = 12
)

// A State is everything at one moment.
type State struct {
	servers  [maxServers]server
	clients  [maxClients]client
	messages [maxMessages]message // sorted; the empty ones last
	count    uint8                // of messages
	primary  uint8                // the server that clients will move to
	broken   Property             // history: what the last step broke by itself
}

// A server is what one Redis server has for the one name of the model.
type server struct {
	lock       lock
	counter    token // 0: missing
	line       [maxEntries]entry
	lives      [maxClients]life
	subs       [maxClients][2]epoch // subscriptions that the server sees; one may be half-open
	quarantine ticks                // no grants for so long
	behind     bool                 // its clock is behind the tokens
	minted     token                // history: the largest token so far
}

// A lock is the value and expiry of the lock's key.
type lock struct {
	owner holder
	token token
	left  ticks
}

// An entry is a place in line.
type entry struct {
	holder holder
	client uint8
}

// A life is a client's sign of life.
type life struct {
	incarnation incarnation
	channel     epoch
	left        ticks
}

// A phase is what a client does about the name.
type phase uint8

const (
	idle phase = iota
	waiting
	holding
	dead
)

// A client is one modelled client, with one wait or lease at most.
type client struct {
	phase       phase
	commands    uint8 // the server that its requests go to
	inbox       uint8 // the server that it is subscribed at
	epoch       epoch
	incarnation incarnation // that it was last told
	base        base
	holder      holder
	timer       ticks // until the known holder's expiry
	polls       bool  // the lock is a foreigner's
	join        bool  // to be sent: join
	old         bool  // it has a ticket already
	check       bool  // to be sent: check
	renew       bool  // to be sent: the renewal after a refused push
	done        bool  // it will not wait again
	lease       lease
}

// A base is what a push may count from.
type base struct {
	ok   bool
	age  ticks // since the send
	last token // F
}

// A lease is what a client believes.
type lease struct {
	until  ticks // 0: no belief
	server uint8
}

// A kind is a sort of message.
type kind uint8

const (
	none kind = iota
	joining
	checking
	pinging
	renewing
	releasing
	granting // a push: g HOLDER TOKEN GTTL
	fronting // a push: f HOLDER REMAINING
)

// A result is what an answer says.
type result uint8

const (
	unanswered result = iota // a request, or a push
	isGranted
	isWaiting
	isUnknown
	isMine
	isNotMine
	isAlive // of a ping
)

// A message is a request, its answer, or a push.
type message struct {
	kind   kind
	result result
	ghost  bool // nobody awaits the answer any more
	client uint8
	server uint8
	holder holder
	epoch  epoch
	age    ticks // since the request was sent
	old    bool  // to be joined with an old ticket

	token       token
	minted      token // history: the token that belongs to the holder
	last        token // F
	left        ticks // of the lock: running on if waiting, as told if granted
	incarnation incarnation
	sees        bool // the server sees a subscriber on the epoch's channel
	polls       bool // the lock is a foreigner's
}

// push reports whether m was published.
func (m *message) push() bool { return m.kind >= granting }

// request reports whether m is still to be executed.
func (m *message) request() bool { return !m.push() && m.result == unanswered }

// send adds a message if there is room for it; a message without room is lost.
func (s *State) send(m message) {
	if s.count < maxMessages {
		s.messages[s.count] = m
		s.count++
	}
}

// drop removes message i.
func (s *State) drop(i int) {
	s.count--
	s.messages[i] = s.messages[s.count]
	s.messages[s.count] = message{}
}

// dropIf removes the messages that lost names.
func (s *State) dropIf(lost func(*message) bool) {
	for i := int(s.count) - 1; i >= 0; i-- {
		if lost(&s.messages[i]) {
			s.drop(i)
		}
	}
}

// has reports whether a message is in flight that want names.
func (s *State) has(want func(*message) bool) bool {
	for i := range s.count {
		if want(&s.messages[i]) {
			return true
		}
	}
	return false
}

// awaits reports whether client c has sent a request of a kind and awaits the
// answer.
func (s *State) awaits(c uint8, kinds ...kind) bool {
	return s.has(func(m *message) bool {
		return m.client == c && !m.ghost && slices.Contains(kinds, m.kind)
	})
}

// calls counts the requests of client c that it awaits the answers of.
func (s *State) calls(c uint8) int {
	n := 0
	for i := range s.count {
		if m := &s.messages[i]; m.client == c && !m.ghost && !m.push() {
			n++
		}
	}
	return n
}

// ghosts counts the messages that nobody awaits.
func (s *State) ghosts() int {
	n := 0
	for i := range s.count {
		if s.messages[i].ghost {
			n++
		}
	}
	return n
}

// sees reports whether the server has a subscription of client c's epoch.
func (v *server) sees(c uint8, e epoch) bool {
	return e != 0 && (v.subs[c][0] == e || v.subs[c][1] == e)
}

// unsubscribe forgets a subscription.
func (v *server) unsubscribe(c uint8, e epoch) {
	for i, sub := range v.subs[c] {
		if sub == e {
			v.subs[c][i] = 0
		}
	}
}

// place returns the place of a holder in line, or -1.
func (v *server) place(h holder) int {
	for i, e := range v.line {
		if e.holder == h && h != nobody {
			return i
		}
	}
	return -1
}

// remove takes the entry at place i out of the line.
func (v *server) remove(i int) {
	copy(v.line[i:], v.line[i+1:])
	v.line[maxEntries-1] = entry{}
}

// insert puts an entry at the front, for an old ticket, or at the end.
func (v *server) insert(e entry, front bool) {
	end := 0
	for end < maxEntries-1 && v.line[end].holder != nobody {
		end++
	}
	if front {
		copy(v.line[1:], v.line[:end])
		end = 0
	}
	v.line[end] = e
}
