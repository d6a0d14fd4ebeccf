package redislock

import (
	"context"
	"errors"
	"strconv"
	"testing"
	"testing/synctest"
	"time"

	"github.com/fencehold/fencehold/driver"
	"github.com/fencehold/fencehold/internal/testcluster"
)

// An acquire whose caller has gone is not sent any more; a release is.
func TestOrdersThatWereLeft(t *testing.T) {
	t.Parallel()
	server := testcluster.StartRedis(t)
	opened, err := open(t.Context(), server.URL())
	if err != nil {
		t.Fatal(err)
	}
	b := opened.(*backend)
	defer b.Close()
	grant, err := b.TryAcquire(t.Context(), driver.Request{Name: "held", Holder: driver.NewHolder(), TTL: time.Minute})
	if err != nil {
		t.Fatal(err)
	}
	made := func(name, holder, ttl string) *order {
		return &order{known: b.memory.of(name), holder: holder, ttl: ttl, done: make(chan struct{})}
	}
	acquiring, releasing := made("left", driver.NewHolder(), "60000"), made("held", grant.Holder, "")
	stays := made("stays", driver.NewHolder(), "60000")
	gone, cancel := context.WithCancel(t.Context())
	cancel()
	for _, o := range []*order{acquiring, releasing} {
		if err := o.wait(gone); !errors.Is(err, context.Canceled) {
			t.Fatal(err)
		}
	}
	b.combiner.send([]*order{acquiring, releasing, stays})
	if err := stays.wait(t.Context()); err != nil {
		t.Error(err)
	}
	for key, want := range map[string]string{"lock:left": "0", "lock:held": "0", "lock:stays": "1"} {
		if there := server.Do("EXISTS", key); there != want {
			t.Errorf("EXISTS %s is %s, want %s", key, there, want)
		}
	}
	counter, _ := strconv.ParseInt(server.Do("GET", "lock:fh!c"), 10, 64)
	if counter != int64(stays.token) {
		t.Errorf("the counter is %d, want %v: no token is for who has left", counter, stays.token)
	}
	b.combiner.send([]*order{acquiring}) // of nothing there is no request
}

// Answers that are none are not taken for success.
func TestAnswersToOrders(t *testing.T) {
	refused := ServerError("OOM command not allowed")
	for _, row := range []struct {
		ttl, answer string
		failed      error
		simple, ok  bool
	}{
		{"1000", "1700000000000000", nil, true, true},
		{"1000", "-", nil, false, false},
		{"1000", "E " + string(refused), nil, true, false},
		{"1000", "", nil, true, false},
		{"1000", "R", nil, true, false},
		{"1000", "0", nil, true, false},
		{"1000", "", refused, true, false},
		{"", "R", nil, true, true},
		{"", "-", nil, false, false},
		{"", "", nil, true, false},
		{"", "1700000000000000", nil, true, false},
	} {
		o := &order{ttl: row.ttl, done: make(chan struct{})}
		if o.settle(row.answer, row.failed) {
			t.Errorf("%+v: something is left to do, and the caller is there", row)
		}
		err := o.wait(t.Context())
		if ok, simple := err == nil, !errors.Is(err, errNotSimple); ok != row.ok || simple != row.simple {
			t.Errorf("%+v: error %v", row, err)
		}
	}
}

// What is remembered of contention wears off.
func TestMemoryCools(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var m memory
		m.init(newKeyspace("lock:", false))
		k := m.of("job")
		if m.of("job") != k || !m.calm(k) {
			t.Fatal("a name is remembered, and calm at first")
		}
		m.contest(k)
		if m.calm(k) || !m.calm(m.of("other")) {
			t.Error("one contested name is that one alone")
		}
		for range 100 {
			m.contest(k)
		}
		if m.calm(m.of("third")) {
			t.Error("a client that finds much contested takes new names for that")
		}
		for range maxHeat - hot + 1 {
			m.cool()
		}
		if !m.calm(m.of("third")) {
			t.Errorf("still hot after %d locks that were free", maxHeat-hot+1)
		}
		time.Sleep(contestedFor + time.Millisecond)
		if !m.calm(k) {
			t.Errorf("still contested after %v", contestedFor)
		}
	})
}

// A client that tries, and never waits, finds out as well that locks are free.
func TestTriesCool(t *testing.T) {
	t.Parallel()
	opened, err := open(t.Context(), testcluster.StartRedis(t).URL())
	if err != nil {
		t.Fatal(err)
	}
	b := opened.(*backend)
	defer b.Close()
	for b.simple(b.memory.of("fresh")) {
		b.memory.contest(b.memory.of("job"))
	}
	for i := range hotStep {
		req := driver.Request{Name: strconv.Itoa(i), Holder: driver.NewHolder(), TTL: time.Minute}
		if _, err := b.TryAcquire(t.Context(), req); err != nil {
			t.Fatal(err)
		}
	}
	if !b.simple(b.memory.of("fresh")) {
		t.Error("requests are never sent together again")
	}
}
