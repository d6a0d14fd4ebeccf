package interop

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"time"

	bsm "github.com/bsm/redislock"
	"github.com/go-redsync/redsync/v4"
	redsyncredis "github.com/go-redsync/redsync/v4/redis"
	"github.com/go-redsync/redsync/v4/redis/goredis/v9"
	"github.com/redis/go-redis/v9"

	"github.com/fencehold/fencehold/internal/testcluster"
)

// stranger is a client of another library, with connections of its own. It
// holds one lock at a time.
type stranger interface {
	// try makes one attempt; a ttl of 0 asks for a lock without expiry.
	try(key string, ttl time.Duration) (bool, error)
	release() error
	contend(c contest, kind string) error
}

// strangers are the other libraries, by the names that tests give them.
var strangers = map[string]func(testing.TB, ...*testcluster.Redis) stranger{
	"redis-py":     newPython,
	"node-redlock": newNode,
	"redsync":      newRedsync,
	"bsm":          newBSM,
}

// setStrangers are those that keep locks on a set of servers, too.
var setStrangers = map[string]func(testing.TB, ...*testcluster.Redis) stranger{
	"node-redlock": newNode,
	"redsync":      newRedsync,
}

// retryEvery is how often Go strangers try for a lock that is held.
const retryEvery = 10 * time.Millisecond

// newGoRedis returns a client that is closed with the test.
func newGoRedis(tb testing.TB, server *testcluster.Redis) *redis.Client {
	client := redis.NewClient(&redis.Options{Addr: server.Addr()})
	tb.Cleanup(func() { _ = client.Close() })
	return client
}

// redsyncStranger uses go-redsync/redsync.
type redsyncStranger struct {
	referee
	factory *redsync.Redsync
	held    *redsync.Mutex
}

func newRedsync(tb testing.TB, servers ...*testcluster.Redis) stranger {
	var pools []redsyncredis.Pool
	for _, server := range servers {
		pools = append(pools, goredis.NewPool(newGoRedis(tb, server)))
	}
	return &redsyncStranger{referee: newReferee(tb, servers[0]), factory: redsync.New(pools...)}
}

func (s *redsyncStranger) try(key string, ttl time.Duration) (bool, error) {
	s.held = s.factory.NewMutex(key, redsync.WithExpiry(ttl))
	err := s.held.TryLock()
	if _, taken := errors.AsType[*redsync.ErrTaken](err); taken {
		return false, nil
	}
	return err == nil, err
}

func (s *redsyncStranger) release() error {
	if ok, err := s.held.Unlock(); err != nil || !ok {
		return fmt.Errorf("redsync: unlocked %t: %w", ok, err)
	}
	return nil
}

func (s *redsyncStranger) contend(c contest, kind string) error {
	return s.compete(c, kind, func() (func() error, error) {
		s.held = s.factory.NewMutex(c.key, redsync.WithExpiry(lockTTL),
			redsync.WithTries(10_000), redsync.WithRetryDelay(retryEvery))
		return s.release, s.held.Lock()
	})
}

// bsmStranger uses bsm/redislock.
type bsmStranger struct {
	referee
	client *bsm.Client
	held   *bsm.Lock
}

func newBSM(tb testing.TB, servers ...*testcluster.Redis) stranger {
	return &bsmStranger{referee: newReferee(tb, servers[0]), client: bsm.New(newGoRedis(tb, servers[0]))}
}

func (s *bsmStranger) try(key string, ttl time.Duration) (bool, error) {
	lock, err := s.client.Obtain(context.Background(), key, ttl, nil)
	if errors.Is(err, bsm.ErrNotObtained) {
		return false, nil
	}
	s.held = lock
	return err == nil, err
}

func (s *bsmStranger) release() error { return s.held.Release(context.Background()) }

func (s *bsmStranger) contend(c contest, kind string) error {
	return s.compete(c, kind, func() (func() error, error) {
		lock, err := s.client.Obtain(context.Background(), c.key, lockTTL,
			&bsm.Options{RetryStrategy: bsm.LinearBackoff(retryEvery)})
		s.held = lock
		return s.release, err
	})
}
