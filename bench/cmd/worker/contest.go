package main

import (
	"context"
	"errors"
	"fmt"
	"net/url"
	"strconv"
	"sync"
	"time"

	"github.com/redis/rueidis"

	"github.com/fencehold/fencehold"
)

// finishLimit is how long the last turn may take when time is up.
const finishLimit = 10 * time.Second

// contest is what the goroutines of a process share.
type contest struct {
	settings
	locks *fencehold.Client
	data  rueidis.Client
	key   string // of the number
}

// newContest connects to the lock service, and to the number that is in the
// same place.
func newContest(s settings) (*contest, error) {
	u, err := url.Parse(s.url)
	if err != nil {
		return nil, errors.New("-url: this is no URL") // the error would show a password
	}
	locks, err := fencehold.Open(context.Background(), s.url, fencehold.WithTTL(s.ttl))
	if err != nil {
		return nil, err
	}
	password, _ := u.User.Password()
	data, err := rueidis.NewClient(rueidis.ClientOption{
		InitAddress: []string{u.Host}, Username: u.User.Username(), Password: password, DisableCache: true,
	})
	if err != nil {
		_ = locks.Close()
		return nil, fmt.Errorf("connect to the number: %w", err)
	}
	return &contest{settings: s, locks: locks, data: data, key: "worker:number:" + s.name}, nil
}

func (c *contest) close() {
	_ = c.locks.Close()
	c.data.Close()
}

// contend returns the turns that each goroutine got until ctx ends, or until
// it has had its share.
func (c *contest) contend(ctx context.Context) ([]int, error) {
	turns := make([]int, c.goroutines)
	errs := make([]error, c.goroutines)
	var running sync.WaitGroup
	for i := range turns {
		running.Go(func() { turns[i], errs[i] = c.takeTurns(ctx) })
	}
	running.Wait()
	return turns, errors.Join(errs...)
}

// takeTurns is one goroutine.
func (c *contest) takeTurns(ctx context.Context) (int, error) {
	mutex := c.locks.Mutex(c.name)
	for made := 0; ; made++ {
		if c.turns > 0 && made == c.turns {
			return made, nil
		}
		lease, err := mutex.Acquire(ctx)
		if err != nil && ctx.Err() != nil {
			return made, nil
		}
		if err == nil {
			err = c.turn(context.WithoutCancel(ctx), lease)
		}
		if err != nil {
			return made, err
		}
	}
}

// turn adds one to the number and releases the lock. A turn that has begun is
// finished when time is up.
func (c *contest) turn(ctx context.Context, lease *fencehold.Lease) error {
	ctx, cancel := context.WithTimeout(ctx, finishLimit)
	defer cancel()
	n, err := c.data.Do(ctx, c.data.B().Get().Key(c.key).Build()).AsInt64()
	if rueidis.IsRedisNil(err) {
		err = nil
	}
	if err == nil {
		next := strconv.FormatInt(n+1, 10)
		err = c.data.Do(ctx, c.data.B().Set().Key(c.key).Value(next).Build()).Error()
	}
	return errors.Join(err, lease.Release(ctx))
}
