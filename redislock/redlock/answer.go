package redlock

import (
	"fmt"
	"strconv"
	"strings"
)

// The codes that answers begin with.
const (
	codeGranted  = 'G'
	codeBusy     = 'B'
	codeWaiting  = 'W'
	codeAbstains = 'A'
	codeDone     = 'R'
	codeNotMine  = 'N'
)

// An answer is what a script said; which fields it has depends on the code.
type answer struct {
	code   byte
	number int64  // G
	left   int64  // G, B, W: in ms; negative if the lock has no end
	rank   int    // W: 0 for the front
	kind   string // B, W: "s" for a string
	word   string // N: how the grant was revoked, "-" if that is not known
	value  string // B, W, N; G of a renewal: the meta
}

// fields are cut off one by one.
type fields string

func (f *fields) next() string {
	head, tail, _ := strings.Cut(string(*f), " ")
	*f = fields(tail)
	return head
}

// int reads a number, 0 if it is none.
func (f *fields) int() int64 {
	n, err := strconv.ParseInt(f.next(), 10, 64)
	if err != nil {
		return 0
	}
	return n
}

// parseAnswer reads what a script said.
func parseAnswer(s string) (answer, error) {
	f := fields(s)
	code := f.next()
	if len(code) != 1 {
		return answer{}, fmt.Errorf("script answered %.60q, which is not known", s)
	}
	a := answer{code: code[0]}
	switch a.code {
	case codeGranted:
		a.number, a.left, a.value = f.int(), f.int(), string(f)
	case codeBusy:
		a.kind, a.left, a.value = f.next(), f.int(), string(f)
	case codeWaiting:
		a.rank, a.left, a.kind, a.value = int(f.int()), f.int(), f.next(), string(f)
	case codeNotMine:
		a.word, a.value = f.next(), string(f)
	case codeDone, codeAbstains:
	default:
		return a, fmt.Errorf("script answered %.60q, which is not known", s)
	}
	return a, nil
}
