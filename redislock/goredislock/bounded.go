package goredislock

import "context"

// outcome is what a function returned.
type outcome[T any] struct {
	value T
	err   error
}

// bounded calls f and returns what it returns, or ctx's error if that ends
// first. f then goes on by itself, for go-redis notices the end of a context only at some
// places: it waits for a reply until ReadTimeout is over. What f writes must be
// its own.
func bounded[T any](ctx context.Context, f func() (T, error)) (T, error) {
	if ctx.Done() == nil {
		return f()
	}
	done := make(chan outcome[T], 1)
	go func() {
		value, err := f()
		done <- outcome[T]{value, err}
	}()
	select {
	case o := <-done:
		return o.value, o.err
	case <-ctx.Done():
		var none T
		return none, ctx.Err()
	}
}
