package testcluster

import (
	"fmt"
	"strings"
	"testing"
	"time"
)

func TestSlot(t *testing.T) {
	for key, want := range map[string]int{"": 0, "123456789": 12739, "foo": 12182, "x{foo}y": 12182, "{}foo": 9500} {
		if got := slotOf(key); got != want {
			t.Errorf("slot of %q = %d, want %d", key, got, want)
		}
	}
}

func TestCluster(t *testing.T) {
	began := time.Now()
	c := StartCluster(t, 3, 0)
	t.Logf("started within %v", time.Since(began))
	if got, want := c.URL(), "redis+cluster://"+addrs(c.Nodes()); got != want {
		t.Errorf("URL = %q, want %q", got, want)
	}
	for i := range 20 {
		key := fmt.Sprintf("k{%d}{", i)
		if got, want := fmt.Sprint(c.Slot(key)), c.Nodes()[0].Do("CLUSTER", "KEYSLOT", key); got != want {
			t.Errorf("slot of %s = %s, want %s", key, got, want)
		}
		c.PrimaryOf(key).Do("SET", key, "v")
	}
	t.Run("MoveSlot", func(t *testing.T) { moveSlot(t, c) })
	t.Run("BeginMove", func(t *testing.T) { beginMove(t, c) })
}

// moveSlot moves a slot with more keys than one step takes.
func moveSlot(t *testing.T, c *Cluster) {
	from := c.PrimaryOf("{m}")
	for i := range 150 {
		from.Do("SET", fmt.Sprintf("{m}%d", i), "v")
	}
	to := other(c, from)
	c.MoveSlot(c.Slot("{m}"), to)
	if c.PrimaryOf("{m}") != to {
		t.Error("the slot is where it was")
	}
	if got := to.Do("CLUSTER", "COUNTKEYSINSLOT", fmt.Sprint(c.Slot("{m}"))); got != "150" {
		t.Errorf("%s keys moved", got)
	}
	wantError(t, from, fmt.Sprintf("MOVED %d %s", c.Slot("{m}"), to.Addr()), "GET", "{m}0")
}

// beginMove looks at a slot in the middle of its move.
func beginMove(t *testing.T, c *Cluster) {
	slot, from := c.Slot("{b}"), c.PrimaryOf("{b}")
	to := other(c, from)
	from.Do("MSET", "{b}1", "v", "{b}2", "v")
	c.BeginMove(slot, to)
	if got := from.Do("GET", "{b}1"); got != "v" {
		t.Errorf("a key that did not move = %q", got)
	}
	ask := fmt.Sprintf("ASK %d %s", slot, to.Addr())
	wantError(t, from, ask, "GET", "{b}3")
	wantError(t, to, "MOVED ", "GET", "{b}3")
	c.MoveKeys(slot, to, "{b}1")
	wantError(t, from, ask, "GET", "{b}1")
	wantError(t, from, "TRYAGAIN ", "MGET", "{b}1", "{b}2")
	c.FinishMove(slot, to)
	if got := to.Do("MGET", "{b}1", "{b}2"); got != "v\nv" {
		t.Errorf("after the move = %q", got)
	}
}

// other returns a node that is not r.
func other(c *Cluster, r *Redis) *Redis {
	if c.nodes[0] != r {
		return c.nodes[0]
	}
	return c.nodes[1]
}

// wantError demands that the server refuses a command with words that begin
// with prefix.
func wantError(t *testing.T, r *Redis, prefix string, args ...string) {
	t.Helper()
	if got, err := r.TryDo(args...); err == nil || !strings.HasPrefix(err.Error(), prefix) {
		t.Errorf("%s = %q, %v, want %s", args, got, err, prefix)
	}
}

func TestClusterFailover(t *testing.T) {
	began := time.Now()
	c := StartCluster(t, 3, 1, TLS(), Password("p w"))
	t.Logf("started within %v", time.Since(began))
	slot, first := c.Slot("k"), c.PrimaryOf("k")
	first.Do("SET", "k", "v")
	if n := len(c.ReplicasOf("k")); n != 1 {
		t.Errorf("%d replicas", n)
	}
	c.MoveSlot(slot, other(c, first))
	first = c.PrimaryOf("k")

	c.Failover(slot)
	second := c.PrimaryOf("k")
	if second == first {
		t.Error("the owner is the same after the failover")
	}
	if got := second.Do("GET", "k"); got != "v" {
		t.Errorf("GET = %q", got)
	}

	began = time.Now()
	second.Kill()
	third := c.WaitFailover(slot, second)
	t.Logf("crash replaced within %v", time.Since(began))
	if got := third.Do("GET", "k"); got != "v" {
		t.Errorf("GET = %q", got)
	}
	second.Start()
	c.WaitOwner(slot, third)
}

func TestClusterProxies(t *testing.T) {
	c := StartCluster(t, 2, 1, Password("p"))
	c.PrimaryOf("k").Do("SET", "k", "v")
	proxies := c.Proxies()
	var told []string
	for _, p := range proxies {
		told = append(told, p.Addr())
	}
	if got, want := c.URL(), "redis+cluster://:p@"+strings.Join(told, ","); got != want {
		t.Errorf("URL = %q, want %q", got, want)
	}
	slot, first := c.Slot("k"), c.PrimaryOf("k")
	moved := fmt.Sprintf("MOVED %d %s", slot, first.proxy.Addr())
	wantError(t, other(c, first), moved, "GET", "k")

	c.Failover(slot)
	if got := c.PrimaryOf("k").Do("GET", "k"); got != "v" {
		t.Errorf("GET = %q", got)
	}
	if n := len(c.ReplicasOf("k")); n != 1 {
		t.Errorf("%d replicas", n)
	}
	first.Restart()
	c.WaitOwner(slot, c.PrimaryOf("k"))
	c.PrimaryOf("k").proxy.Cut() // the nodes reach each other all the same
	c.MoveSlot(slot, c.Owner((slot+slots/2)%slots))
	if got := c.PrimaryOf("k").Do("GET", "k"); got != "v" {
		t.Errorf("after the move GET = %q", got)
	}
}
