package redislock_test

import (
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/fencehold/fencehold"
)

// A client of another library deletes its key without a word: the front sees
// to it, and nobody else does.
func TestRace14ForeignHolder(t *testing.T) {
	r := newRace(t)
	r.server.Do("SET", jobKey, "stranger", "PX", "60000")
	var checks [2]atomic.Int32
	var clients []*fencehold.Client
	for i := range checks {
		proxy := r.proxy()
		proxy.OnRequest(func(request []byte) {
			if strings.Contains(string(request), checking) {
				checks[i].Add(1)
			}
		})
		clients = append(clients, r.client(proxy.Addr()))
	}
	waiters := r.queue(clients...)
	r.eventually(soon, "the front looks again and again", func() bool { return checks[0].Load() >= 10 })
	if n := checks[1].Load(); n > 1 {
		t.Errorf("the second in line asked %d times", n)
	}
	r.server.Do("DEL", jobKey)
	deleted := time.Now()
	lease := waiters[0].granted(soon, "the stranger has left")
	if took := time.Since(deleted); took > 40*time.Millisecond+busy {
		t.Errorf("granted %v after the stranger had left", took)
	}
	waiters[1].waits("second in line")
	r.covered(lease)
}

// While somebody waits, a release leaves no moment in which a stranger could
// take the lock.
func TestRace15ReleaseLeavesNoGap(t *testing.T) {
	const rounds = 60
	r := newRace(t)
	clients := []*fencehold.Client{r.direct(), r.direct(), r.direct()}
	last := r.hold(clients[0])
	waiters := r.queue(clients[1], clients[2])
	leave := r.stranger()
	for i := range rounds {
		r.release(last)
		next := waiters[0].granted(soon, "first in line")
		r.ordered(last, next)
		last = next
		waiters = append(waiters[1:], r.queue(clients[i%3])...)
	}
	if tries := leave(); tries < rounds {
		t.Errorf("the stranger tried %d times in %d rounds", tries, rounds)
	}
}

// stranger tries to take the lock as another library would, until it is told to
// leave; it then says how often. The test fails if it ever gets in.
func (r *race) stranger() (leave func() int) {
	stop, tries := make(chan struct{}), make(chan int)
	go func() {
		for n := 0; ; n++ {
			select {
			case <-stop:
				tries <- n
				return
			default:
			}
			answer, err := r.server.TryDo("SET", jobKey, "stranger", "NX", "PX", "1000")
			if answer != "" || err != nil {
				r.Errorf("a stranger got in: %s, %v", answer, err)
			}
		}
	}()
	return func() int {
		close(stop)
		return <-tries
	}
}

// A stranger takes a key that fell free past the line: nobody in line believes
// to have it, and the front gets it afterwards.
func TestRace15StrangerPastTheLine(t *testing.T) {
	r := newRace(t)
	r.hold(r.direct(fencehold.WithTTL(brief), fencehold.WithoutRenewal()))
	waiters := r.queue(r.direct(), r.direct())
	r.server.Do("SET", jobKey, "stranger") // as if the key had been free for a moment
	for range (brief + busy) / (10 * time.Millisecond) {
		waiters[0].waits("a stranger holds the lock")
		<-time.After(10 * time.Millisecond)
	}
	if value := r.value(); value != "stranger" {
		t.Fatalf("the stranger's value became %q", value)
	}
	r.server.Do("DEL", jobKey)
	first := waiters[0].granted(soon, "the stranger has left")
	waiters[1].waits("second in line")
	r.release(first)
	r.ordered(first, waiters[1].granted(soon, "second in line"))
}
