package counter

import (
	"context"
	"hash/crc32"
	"runtime/debug"
	"sync/atomic"
)

// crowds is how many words the counter's file has that say whether anybody
// may be waiting. Locks share them by the hash of their names.
const crowds = counterSize/8 - 8

// A Crowd is one of these words, as a line sees it. Without it, every attempt
// and every release would have to ask the file system for the line, most
// often to find none.
//
// The lowest bit says that somebody may wait; the others count the changes. A
// waiter sets the word when the directory of its line is there, and before its
// ticket is. One who clears it has found no directory since it read the word:
// then either the word was set again meanwhile, and the clearing fails, or the
// waiter finds its directory gone, and sets the word anew.
type Crowd struct {
	c    *Counter
	word uint32
}

// Crowd returns the word for the line of this file name.
func (c *Counter) Crowd(file string) Crowd {
	return Crowd{c, crc32.ChecksumIEEE([]byte(file)) % crowds}
}

// use calls step with the word, and reports false if there is none yet.
func (w Crowd) use(step func(*atomic.Uint64)) bool {
	w.c.mu.RLock()
	defer w.c.mu.RUnlock()
	if w.c.m == nil {
		return false
	}
	// A function of its own: after a fault its deferred calls are what goes on.
	var err error
	func() {
		defer debug.SetPanicOnFault(debug.SetPanicOnFault(true))
		defer recoverFault(&err)
		step(&w.c.m.words.crowds[w.word])
	}()
	return err == nil
}

// MayWait returns the word for a later [Crowd.Clear], and whether anybody may
// wait.
func (w Crowd) MayWait() (seen uint64, may bool) {
	// Where there is no word, somebody may: a look in vain costs little, and a
	// waiter that nobody rings waits.
	ok := w.use(func(word *atomic.Uint64) { seen = word.Load() })
	return seen, !ok || seen&1 != 0
}

// Set says that somebody waits.
func (w Crowd) Set(ctx context.Context) error {
	if w.use(advance) {
		return nil
	}
	if err := w.c.exclusively(ctx, w.c.reopen); err != nil {
		return err
	}
	w.use(advance)
	return nil
}

// advance gives the word a value that it never had, with the lowest bit set.
func advance(word *atomic.Uint64) {
	for {
		v := word.Load()
		if word.CompareAndSwap(v, (v+2)|1) {
			return
		}
	}
}

// Keep sets the word if it is not set, as in the file of a counter that was
// removed while somebody waited, and made again.
func (w Crowd) Keep(ctx context.Context) error {
	// MayWait says so too where there is no word that could say anything.
	if _, may := w.MayWait(); may && w.c.opened() {
		return nil
	}
	return w.Set(ctx)
}

// Clear says that nobody waits, unless the word was set after seen was read.
func (w Crowd) Clear(seen uint64) {
	if seen&1 != 0 {
		// The next value is an even one, and no set ever comes back to seen.
		w.use(func(word *atomic.Uint64) { word.CompareAndSwap(seen, seen+1) })
	}
}
