package goredislock

import (
	"context"
	"slices"
	"sync"
)

// late are the calls that go on although their callers have left, by key.
// Connections of a pool overtake each other: the release that follows an
// attempt which was given up would find nothing, and the attempt then take the
// lock for nobody.
type late struct {
	mu    sync.Mutex
	calls map[string][]<-chan struct{}
}

// inOrder is [bounded] for a call on a key. It begins when those on the key
// have ended whose callers have left.
func inOrder[T any](ctx context.Context, l *late, key string, f func() (T, error)) (T, error) {
	if err := l.await(ctx, key); err != nil {
		var none T
		return none, err
	}
	ended := make(chan struct{})
	value, err := bounded(ctx, func() (T, error) {
		defer close(ended)
		return f()
	})
	select {
	case <-ended:
	default:
		l.add(key, ended)
	}
	return value, err
}

// await returns when no call on the key is late, or ctx's error.
func (l *late) await(ctx context.Context, key string) error {
	for ended := l.first(key); ended != nil; ended = l.first(key) {
		select {
		case <-ended:
			l.remove(key, ended)
		case <-ctx.Done():
			return ctx.Err()
		}
	}
	return ctx.Err()
}

// first returns the end of a call that is late, nil if there is none.
func (l *late) first(key string) <-chan struct{} {
	l.mu.Lock()
	defer l.mu.Unlock()
	if calls := l.calls[key]; len(calls) > 0 {
		return calls[0]
	}
	return nil
}

// add remembers a call until it has ended.
func (l *late) add(key string, ended <-chan struct{}) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.calls == nil {
		l.calls = map[string][]<-chan struct{}{}
	}
	l.calls[key] = append(l.calls[key], ended)
	go func() {
		<-ended
		l.remove(key, ended)
	}()
}

// remove forgets a call, if it is not forgotten yet.
func (l *late) remove(key string, ended <-chan struct{}) {
	l.mu.Lock()
	defer l.mu.Unlock()
	calls := slices.DeleteFunc(l.calls[key], func(call <-chan struct{}) bool { return call == ended })
	if len(calls) > 0 {
		l.calls[key] = calls
		return
	}
	delete(l.calls, key)
}
