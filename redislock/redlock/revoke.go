package redlock

import (
	"context"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/fencehold/fencehold"
	"github.com/fencehold/fencehold/driver"
	"github.com/fencehold/fencehold/redislock"
	"github.com/fencehold/fencehold/redislock/internal/record"
	"github.com/fencehold/fencehold/redislock/redlock/internal/quorum"
)

// wordLasts is how long it is left for a victim who revoked its grant.
const wordLasts = time.Hour

// strangerHead begins the id of a holder that is no client of this library: it is
// made of the value, so that exactly this one can be revoked.
const strangerHead = "foreign:"

// Revoke implements [driver.Revoker]. It is done once the holder cannot have a
// majority any more.
func (b *backend) Revoke(ctx context.Context, rev driver.Revocation) error {
	if err := b.enter(ctx); err != nil {
		return err
	}
	defer b.work.Done()
	marker, err := b.ready(ctx)
	if err != nil {
		return err
	}
	holder, digest := rev.Holder, ""
	if sum, ok := strings.CutPrefix(rev.Holder, strangerHead); ok {
		holder, digest = "", sum
	}
	r := b.newRound(b.opts.MaxTTL, redislock.Call{
		Script: revokeScript, Keys: append(slices.Clone(b.keys.of(rev.Name).all), b.keys.word(rev.Holder)),
		Args: []string{
			holder, marker, proposal(), b.keys.kin, digest, record.WordOf(rev), millis(wordLasts), strconv.Quote(rev.Name),
		},
	})
	r.decide = decideRevoked
	r.start(0)
	switch outcome, err := r.wait(ctx); {
	case err != nil:
		return err
	case outcome == quorum.Won:
		return nil
	case outcome == quorum.Lost:
		return &fencehold.LostError{Reason: fencehold.ReasonTakenOver}
	}
	return b.undecided(r)
}

// decideRevoked is won when a node has taken the lock from the holder, and a majority
// has it no more; lost when a majority never had it from the start.
func decideRevoked(votes []quorum.Vote) quorum.Outcome {
	yes, no, none := quorum.Count(votes, quorum.Yes), quorum.Count(votes, quorum.No), quorum.Count(votes, quorum.None)
	switch majority := quorum.Majority(len(votes)); {
	case yes > 0 && yes+no >= majority:
		return quorum.Won
	case no >= majority:
		return quorum.Lost
	case yes+no+none < majority:
		return quorum.Unknown
	}
	return quorum.Open
}
