package redislock

import "sync"

// args are the arguments of one request, used again for others once it is
// answered: a [Conn] keeps none of them.
type args struct {
	list  []string
	space [6]string
}

var spareArgs = sync.Pool{New: func() any { return new(args) }}

func newArgs(list ...string) *args {
	a := spareArgs.Get().(*args)
	a.list = append(a.space[:0], list...)
	return a
}

func (a *args) add(more ...string) { a.list = append(a.list, more...) }

func (a *args) free() {
	clear(a.space[:])
	a.list = nil
	spareArgs.Put(a)
}
