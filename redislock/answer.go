package redislock

import (
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/fencehold/fencehold/fence"
)

// The codes that answers begin with.
const (
	codeGranted = "G"
	codeBusy    = "B"
	codeWaiting = "W"
	codeUnknown = "U"
	codeDone    = "R"
	codeNotMine = "N"
)

// An answer is what a script said; which fields it has depends on the code.
type answer struct {
	code  string
	token fence.Token   // G
	ttl   time.Duration // G, B, W: what is left to the holder; negative if it has no end
	kind  string        // B, W: "s" for a string
	value string        // B, W, N
	word  string        // N: how the grant was revoked
	place place         // W
	seen  seen          // W
}

// A place is where a waiter stands.
type place struct {
	rank   int // 0 for the front
	ticket string
}

// seen is what one answer says of the server.
type seen struct {
	counter     fence.Token // 0 if there is none
	incarnation string
	subscribers int
}

// fields are cut off one by one.
type fields string

func (f *fields) next() string {
	head, tail, _ := strings.Cut(string(*f), " ")
	*f = fields(tail)
	return head
}

func (f *fields) int() int64 {
	n, err := strconv.ParseInt(f.next(), 10, 64)
	if err != nil {
		return 0
	}
	return n
}

func (f *fields) millis() time.Duration { return time.Duration(f.int()) * time.Millisecond }

// parseAnswer reads what the scripts acquire, renew, release and revoke say.
func parseAnswer(s string) (answer, error) {
	f := fields(s)
	a := answer{code: f.next()}
	switch a.code {
	case codeGranted:
		a.token = fence.Token(f.int())
		f.next() // the range, of one token
		a.ttl = f.millis()
	case codeBusy:
		a.kind, a.ttl, a.value = f.next(), f.millis(), string(f)
	case codeWaiting:
		a.seen.counter = fence.Token(f.int())
		a.ttl = f.millis()
		a.place.rank, a.place.ticket = int(f.int()), f.next()
		a.seen.incarnation, a.seen.subscribers = f.next(), int(f.int())
		a.kind, a.value = f.next(), string(f)
	case codeNotMine:
		a.word, a.value = f.next(), string(f)
	case codeDone, codeUnknown:
	default:
		return a, fmt.Errorf("script answered %.60q, which is not known", s)
	}
	return a, nil
}

// parsePing reads what the script ping says.
func parsePing(s string) seen {
	f := fields(s)
	return seen{counter: fence.Token(f.int()), incarnation: f.next(), subscribers: int(f.int())}
}
