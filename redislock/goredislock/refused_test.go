package goredislock_test

import (
	"strings"
	"testing"

	"github.com/redis/go-redis/v9"

	"github.com/fencehold/fencehold/driver"
	"github.com/fencehold/fencehold/internal/testcluster"
)

// TestExplained: go-redis connects to anything. What is wrong about it is said
// by the first lock, and by a diagnosis in one sentence.
func TestExplained(t *testing.T) {
	locked := testcluster.StartRedis(t, testcluster.Password("secret"))
	sentinel := testcluster.StartSentinel(t, 0, 1).Sentinels()[0]
	for _, test := range []struct{ name, addr, says, finds string }{
		{"no password", locked.Addr(), "the server wants a password", "the server wants a password"},
		{"a Sentinel", sentinel.Addr(), "this is a Sentinel", "this is a Sentinel: use redis+sentinel://"},
	} {
		t.Run(test.name, func(t *testing.T) {
			rdb := redis.NewClient(&redis.Options{Addr: test.addr})
			defer rdb.Close()
			client := clientOn(t, backendOn(t, rdb, nil))
			if _, err := client.Mutex("job").TryAcquire(bounded(t)); err == nil || !strings.Contains(err.Error(), test.says) {
				t.Errorf("error %v, want one with %q", err, test.says)
			}
			findings, err := client.Diagnose(bounded(t))
			if err != nil || len(findings) != 1 || findings[0].Grade != driver.GradeFailure ||
				!strings.Contains(findings[0].Text, test.finds) {
				t.Errorf("found %+v, %v, want one failure with %q", findings, err, test.finds)
			}
		})
	}
}

// TestNoCluster: a server that is none is called that.
func TestNoCluster(t *testing.T) {
	server := testcluster.StartRedis(t)
	rdb := redis.NewClusterClient(&redis.ClusterOptions{Addrs: []string{server.Addr()}})
	defer rdb.Close()
	_, err := clientOn(t, backendOn(t, rdb, nil)).Mutex("job").TryAcquire(bounded(t))
	if err == nil || !strings.Contains(err.Error(), "this server is no Cluster") {
		t.Errorf("error %v", err)
	}
}
