package redislock

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"

	"github.com/fencehold/fencehold/driver"
	"github.com/fencehold/fencehold/fence"
	"github.com/fencehold/fencehold/redislock/internal/record"
	"github.com/fencehold/fencehold/redislock/internal/refusal"
)

// errNotSimple says that a request has to be made on its own.
var errNotSimple = errors.New("not simple")

// An order is one acquire or release among others.
type order struct {
	known  *known
	holder string
	ttl    string // in ms, as the server reads it; empty for a release
	meta   string
	sent   driver.Instant // with the others

	token fence.Token // of a grant
	err   error
	done  chan struct{} // closed when token and err are there

	mu   sync.Mutex
	left bool // nobody waits for the answer any more
	over bool // it has come
}

// wait waits for the answer to an order that was gathered.
func (o *order) wait(ctx context.Context) error {
	select {
	case <-o.done:
		return o.err
	case <-ctx.Done():
		if o.leave() {
			return ctx.Err()
		}
		return o.err
	}
}

// leave gives the answer up; false if it has come.
func (o *order) leave() bool {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.left = !o.over
	return o.left
}

// pointless reports whether an order need not be sent: an acquire whose caller
// has gone. Who has asked for a release wants it in any case.
func (o *order) pointless() bool {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.left && o.ttl != ""
}

// deliver hands the answer over; false if nobody waits for it.
func (o *order) deliver(token fence.Token, err error) bool {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.token, o.err, o.over = token, err, true
	close(o.done)
	return !o.left
}

// settle hands over what the script answered, or failed if that is an error. It
// reports whether something is left to do that nobody waits for: a grant, certain
// or possible, is to be returned, for the release of who left may have been there
// before it; and a release that was not simple is to be made.
func (o *order) settle(answer string, failed error) bool {
	token, err := o.read(answer)
	if failed != nil {
		token, err = 0, failed
	}
	switch {
	case o.deliver(token, err):
		return false
	case o.ttl == "":
		return errors.Is(err, errNotSimple)
	}
	return !errors.Is(err, errNotSimple) && !refusal.Answered(err)
}

// read reads the script's answer.
func (o *order) read(answer string) (fence.Token, error) {
	reason, refused := strings.CutPrefix(answer, "E ")
	switch {
	case refused:
		return 0, explain(ServerError(reason))
	case answer == "-":
		return 0, errNotSimple
	case o.ttl == "" && answer == "R":
		return 0, nil
	case o.ttl != "":
		if token, ok := record.ParseToken(answer); ok {
			return token, nil
		}
	}
	return 0, fmt.Errorf("script answered %.60q, which is not known", answer)
}
