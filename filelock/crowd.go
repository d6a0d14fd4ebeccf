package filelock

import (
	"context"
	"hash/crc32"
	"runtime/debug"
	"sync/atomic"
)

// crowds is how many words the counter's file has that say whether anybody
// may be waiting. Locks share them by the hash of their names.
const crowds = counterSize/8 - 8

// A crowd is one of these words, as a line sees it. Without it, every attempt
// and every release would have to ask the file system for the line, most
// often to find none.
//
// The lowest bit says that somebody may wait; the others count the changes. A
// waiter sets the word when the directory of its line is there, and before its
// ticket is. One who clears it has found no directory since it read the word:
// then either the word was set again meanwhile, and the clearing fails, or the
// waiter finds its directory gone, and sets the word anew.
type crowd struct {
	c    *counter
	word uint32
}

// crowd returns the word for the line of this file name.
func (c *counter) crowd(file string) crowd {
	return crowd{c, crc32.ChecksumIEEE([]byte(file)) % crowds}
}

// use calls step with the word, and reports false if there is none yet.
func (w crowd) use(step func(*atomic.Uint64)) bool {
	w.c.mu.RLock()
	defer w.c.mu.RUnlock()
	if w.c.m == nil {
		return false
	}
	var err error
	func() {
		defer debug.SetPanicOnFault(debug.SetPanicOnFault(true))
		defer recoverFault(&err)
		step(&w.c.m.words.crowds[w.word])
	}()
	return err == nil
}

// mayWait returns the word for a later clear, and whether anybody may wait.
func (w crowd) mayWait() (seen uint64, may bool) {
	ok := w.use(func(word *atomic.Uint64) { seen = word.Load() })
	return seen, !ok || seen&1 != 0
}

// set says that somebody waits.
func (w crowd) set(ctx context.Context) error {
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

// keep sets the word if it is not set, as in the file of a counter that was
// removed while somebody waited.
func (w crowd) keep(ctx context.Context) error {
	if _, may := w.mayWait(); may && w.c.opened() {
		return nil
	}
	return w.set(ctx)
}

// clear says that nobody waits, unless the word was set after seen was read.
func (w crowd) clear(seen uint64) {
	if seen&1 != 0 {
		w.use(func(word *atomic.Uint64) { word.CompareAndSwap(seen, seen+1) })
	}
}
