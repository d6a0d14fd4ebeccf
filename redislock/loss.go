package redislock

import (
	"context"
	"strconv"

	"github.com/fencehold/fencehold"
	"github.com/fencehold/fencehold/driver"
	"github.com/fencehold/fencehold/redislock/internal/record"
)

// Watch implements [driver.Watcher]: a client hears when a grant of its is
// revoked.
func (b *backend) Watch(told driver.Told) { b.told.Store(&told) }

func (b *backend) lossChannel() string { return b.keys.losses() + b.client }

// listenForLosses begins to listen with the first grant. Outside of a Cluster
// the inbox and the losses share a subscription.
func (b *backend) listenForLosses() {
	if b.told.Load() == nil {
		return
	}
	if b.conn.Mode() == Cluster {
		b.losses.start()
		return
	}
	l := b.lines.get("")
	l.ear.start()
	b.lines.put(l)
}

// hearLoss takes "l HOLDER NAME WORD".
func (b *backend) hearLoss(_, payload string) {
	f := fields(payload)
	f.next()
	holder, word := f.next(), f.next()
	name, err := strconv.Unquote(string(f))
	if told := b.told.Load(); told != nil && err == nil {
		told.Lost(name, holder, record.ParseWord(word))
	}
}

// missedLosses is called with each new subscription: nobody listened before.
func (b *backend) missedLosses() {
	if told := b.told.Load(); told != nil {
		told.Missed()
	}
}

// Revoke implements [driver.Revoker].
func (b *backend) Revoke(ctx context.Context, r driver.Revocation) error {
	if err := b.usable(ctx); err != nil {
		return err
	}
	k := b.keys.of(r.Name)
	holder, digest := r.Holder, ""
	if sum, ok := strangerDigest(r.Holder); ok {
		holder, digest = "", sum
	}
	a, err := b.eval(ctx, Call{
		Script: revokeScript, Keys: []string{k.lock, k.counter, k.line, b.keys.word(k.tag, r.Holder)},
		Args: []string{
			holder, digest, b.keys.kin, k.tag, record.WordOf(r), millis(wordLasts), b.keys.losses(), strconv.Quote(r.Name),
		},
	})
	switch {
	case err != nil:
		return err
	case a.code != codeDone:
		return &fencehold.LostError{Reason: fencehold.ReasonTakenOver}
	}
	return nil
}
