//go:build linux

package main

import (
	"context"
	"errors"
	"slices"
	"strings"
	"time"

	"github.com/fencehold/fencehold"
	"github.com/fencehold/fencehold/internal/testcluster"
)

// remainsLimit is how long after the end of all clients there may be something
// of them: the locks and signs of life of those that were killed, and slack
// for a busy machine.
const remainsLimit = lockTTL + 8*time.Second

// counterKey is what a server keeps for a month: its last token.
const counterKey = "lock:fh!c"

// leftBehind says which keys the clients left for good. Entries of clients that
// were killed are dropped when the lock is taken the next time.
func leftBehind(server *testcluster.Redis) []string {
	client, err := fencehold.Open(context.Background(), server.URL(), fencehold.WithTTL(lockTTL))
	if err != nil {
		return []string{err.Error()}
	}
	defer client.Close()
	for deadline := time.Now().Add(remainsLimit); ; time.Sleep(100 * time.Millisecond) {
		err := passThrough(client)
		keys := strings.Fields(server.Do("KEYS", "*"))
		keys = slices.DeleteFunc(keys, func(key string) bool { return key == counterKey })
		switch {
		case err == nil && len(keys) == 0:
			return nil
		case time.Now().After(deadline) && err != nil:
			return []string{"in the end: " + err.Error()}
		case time.Now().After(deadline):
			return []string{"left behind: " + strings.Join(keys, ", ")}
		}
	}
}

// passThrough takes each lock that is free, and releases it.
func passThrough(client *fencehold.Client) error {
	var errs []error
	for i := range names {
		lease, err := client.Mutex(lockName(i)).TryAcquire(context.Background())
		if err == nil {
			err = lease.Release(context.Background())
		}
		errs = append(errs, err)
	}
	return errors.Join(errs...)
}
