package goredislock_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/fencehold/fencehold"
	"github.com/fencehold/fencehold/internal/testcluster"
)

// A node that falls silent takes its own leases along, and not those of other
// nodes that are renewed with them.
func TestSilentNode(t *testing.T) {
	cluster := testcluster.StartCluster(t, 3, 0)
	proxies := cluster.Proxies()
	silent := cluster.Nodes()[2]
	rdb := redis.NewClusterClient(&redis.ClusterOptions{
		Addrs: []string{proxies[0].Addr(), proxies[1].Addr(), proxies[2].Addr()},
	})
	client := clientOn(t, backendOn(t, rdb, nil), fencehold.WithTTL(3*time.Second))
	const leases = 300 // at once, so that many are renewed together
	acquired := make(chan *fencehold.Lease, leases)
	for i := range leases {
		go func() {
			lease, err := client.Mutex(fmt.Sprint("n", i)).Acquire(t.Context())
			if err != nil {
				t.Error(err)
			}
			acquired <- lease
		}()
	}
	var there, elsewhere []*fencehold.Lease
	for range leases {
		lease := <-acquired
		if lease == nil {
			t.FailNow()
		}
		if cluster.PrimaryOf("lock:"+lease.Name()) == silent {
			there = append(there, lease)
		} else {
			elsewhere = append(elsewhere, lease)
		}
	}
	proxies[2].Cut()
	for _, lease := range there {
		<-lease.Done()
	}
	for _, lease := range elsewhere {
		if !lease.Valid() {
			t.Errorf("a lease on a healthy node was lost: %v", lease.Err())
		}
	}
}
