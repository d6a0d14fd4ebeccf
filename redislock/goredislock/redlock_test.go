package goredislock_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/fencehold/fencehold"
	"github.com/fencehold/fencehold/driver"
	"github.com/fencehold/fencehold/internal/testcluster"
	"github.com/fencehold/fencehold/locktest"
	"github.com/fencehold/fencehold/redislock"
	"github.com/fencehold/fencehold/redislock/goredislock"
	"github.com/fencehold/fencehold/redislock/redlock"
)

// Locks on three servers that the application has clients of already.
func ExampleNewConn() {
	var conns []redislock.Conn
	for _, addr := range []string{"a.example:6379", "b.example:6379", "c.example:6379"} {
		rdb := redis.NewClient(&redis.Options{Addr: addr})
		defer rdb.Close()
		conn, err := goredislock.NewConn(rdb)
		if err != nil {
			fmt.Println(err)
			return
		}
		conns = append(conns, conn)
	}
	backend, err := redlock.NewConns(conns, nil)
	if err != nil {
		fmt.Println(err)
		return
	}
	locks, err := fencehold.New(backend)
	if err != nil {
		fmt.Println(err)
		return
	}
	defer locks.Close()
}

// connsTo returns one Conn for each server, each with a client that ends with the test.
func connsTo(t *testing.T, servers []*testcluster.Redis) []redislock.Conn {
	t.Helper()
	conns := make([]redislock.Conn, len(servers))
	for i, server := range servers {
		rdb := redis.NewClient(&redis.Options{Addr: server.Addr()})
		t.Cleanup(func() { _ = rdb.Close() })
		conn, err := goredislock.NewConn(rdb)
		if err != nil {
			t.Fatal(err)
		}
		conns[i] = conn
	}
	return conns
}

func startServers(t *testing.T) []*testcluster.Redis {
	t.Helper()
	return []*testcluster.Redis{testcluster.StartRedis(t), testcluster.StartRedis(t), testcluster.StartRedis(t)}
}

// TestRedlock: a set by clients of go-redis keeps the contract.
func TestRedlock(t *testing.T) {
	servers := startServers(t)
	locktest.Run(t, func(t *testing.T) driver.Backend {
		backend, err := redlock.NewConns(connsTo(t, servers), &redlock.Options{MaxTTL: time.Hour, NodeTimeout: time.Second})
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = backend.Close() })
		return backend
	})
}

// TestRedlockNames: errors call the servers by their addresses, or as the caller does.
func TestRedlockNames(t *testing.T) {
	servers := startServers(t)
	for _, server := range servers {
		server.Kill()
	}
	for _, names := range [][]string{nil, {"north", "south", "west"}} {
		backend, err := redlock.NewConns(connsTo(t, servers), &redlock.Options{Names: names})
		if err != nil {
			t.Fatal(err)
		}
		_, err = backend.TryAcquire(context.Background(), driver.Request{
			Name: "job", Holder: driver.NewHolder(), TTL: time.Second,
		})
		_ = backend.Close()
		want := names
		if want == nil {
			want = addrsOf(servers)
		}
		for _, name := range want {
			if err == nil || strings.Count(err.Error(), "; "+name+": ") != 1 {
				t.Errorf("error %v, want %q named once", err, name)
			}
		}
	}
	_, err := redlock.NewConns(connsTo(t, servers), &redlock.Options{Names: []string{"north"}})
	if !errors.Is(err, fencehold.ErrInvalid) || !strings.Contains(err.Error(), "1 names for 3 servers") {
		t.Errorf("too few names: %v", err)
	}
}

// TestNewConnRefused: what is no client of one server.
func TestNewConnRefused(t *testing.T) {
	if conn, err := goredislock.NewConn(nil); conn != nil || !errors.Is(err, fencehold.ErrInvalid) {
		t.Errorf("no client: %v, %v", conn, err)
	}
	cluster := redis.NewClusterClient(&redis.ClusterOptions{})
	defer cluster.Close()
	conn, err := goredislock.NewConn(cluster)
	if err != nil {
		t.Fatal(err)
	}
	_, err = redlock.NewConns([]redislock.Conn{conn, conn, conn}, nil)
	if !errors.Is(err, fencehold.ErrInvalid) || !strings.Contains(err.Error(), "without Cluster") {
		t.Errorf("a Cluster as a node: %v", err)
	}
}
