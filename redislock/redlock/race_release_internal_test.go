package redlock

import (
	"context"
	"testing"
	"time"

	"github.com/fencehold/fencehold/driver"
	"github.com/fencehold/fencehold/internal/testcluster"
)

// Word of a hand-over comes when its grant is being released: the release that is on
// its way is enough. A second one would take the answer of the first away, which then
// looked like a loss.
func TestRace16WordDuringTheRelease(t *testing.T) {
	nodes := startNodes(t, 3)
	var urls []string
	for _, server := range nodes[:2] {
		urls = append(urls, server.URL())
	}
	slow := testcluster.StartProxy(t, nodes[2].Addr())
	opened, err := OpenWith(t.Context(), Options{NodeTimeout: 5 * time.Second}, append(urls, "redis://"+slow.Addr())...)
	if err != nil {
		t.Fatal(err)
	}
	defer opened.Close()
	b := opened.(*backend)
	request := func() driver.Request {
		return driver.Request{Name: "job", Holder: driver.NewHolder(), TTL: 10 * time.Second}
	}
	first, err := b.TryAcquire(t.Context(), request())
	if err != nil {
		t.Fatal(err)
	}
	granted := make(chan driver.Grant, 1)
	go func() {
		grant, err := b.Acquire(context.Background(), request())
		if err != nil {
			t.Error(err)
		}
		granted <- grant
	}()
	until(t, "the wait is in line", func() bool { return nodes[2].Do("ZCARD", "lock:fh!r:job") == "1" })
	if err := b.Release(t.Context(), first, 0); err != nil {
		t.Fatal(err)
	}
	grant := <-granted
	held := slow.HoldRequests("lock:job")
	if err := b.Release(t.Context(), grant, 0); err != nil {
		t.Fatal(err)
	}
	b.handed(b.nodes[2], grant.Holder, "lock:job")
	if b.nodes[2].owes.has(grant.Holder) {
		t.Error("released twice")
	}
	held.Release()
	until(t, "the third node is free", func() bool { return nodes[2].Do("EXISTS", "lock:job") == "0" })
	until(t, "nothing is remembered of it", func() bool {
		_, known := b.holds.known(grant.Holder)
		return !known
	})
}
