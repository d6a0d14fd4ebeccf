package testcluster

import (
	"net/url"
	"slices"
	"strconv"
)

// Cluster is a Redis Cluster.
type Cluster struct {
	tb    TB
	nodes []*Redis
}

// StartCluster starts a Cluster that has its slots spread evenly over masters,
// and returns when all nodes agree. A node that is silent for two seconds is
// replaced by a replica, if it has one.
func StartCluster(tb TB, masters, replicasEach int, opts ...Option) *Cluster {
	tb.Helper()
	c := &Cluster{tb: tb}
	set := newSettings(opts).with(asNode)
	for range masters * (1 + replicasEach) {
		c.nodes = append(c.nodes, newRedis(tb, set))
	}
	c.must("start", launchAll(c.nodes))
	for i, r := range c.nodes[:masters] {
		c.must("give slots", r.own(i, masters))
	}
	c.must("meet", c.meet())
	for i, r := range c.nodes[masters:] {
		c.must("replicate", r.join(c.nodes[i%masters]))
	}
	c.must("agree", await(settleLimit, settleEvery, func() error { return c.complete(masters) }))
	return c
}

// must fails the test if err is not nil.
func (c *Cluster) must(what string, err error) {
	c.tb.Helper()
	if err != nil {
		giveUp(c.tb, c.nodes, "cluster: "+what, err)
	}
}

// own gives a node its share of the slots, as the i-th of n, and its epoch, so
// that the nodes need not quarrel about epochs.
func (r *Redis) own(i, n int) error {
	if _, err := r.TryDo("CLUSTER", "SET-CONFIG-EPOCH", strconv.Itoa(i+1)); err != nil {
		return err
	}
	first, next := slots*i/n, slots*(i+1)/n
	_, err := r.TryDo("CLUSTER", "ADDSLOTSRANGE", strconv.Itoa(first), strconv.Itoa(next-1))
	return err
}

// meet makes every node know every other.
func (c *Cluster) meet() error {
	for i, r := range c.nodes {
		for _, other := range c.nodes[:i] {
			_, err := r.TryDo("CLUSTER", "MEET", "127.0.0.1", strconv.Itoa(other.Port()))
			if err != nil {
				return err
			}
		}
	}
	return nil
}

// join makes a node the replica of a primary, once it has heard of it.
func (r *Redis) join(primary *Redis) error {
	id, err := primary.TryDo("CLUSTER", "MYID")
	if err != nil {
		return err
	}
	return await(settleLimit, settleEvery, func() error {
		_, err := r.ask(probeLimit, "CLUSTER", "REPLICATE", id)
		return err
	})
}

// Nodes returns all nodes. At the start the primaries come first.
func (c *Cluster) Nodes() []*Redis { return slices.Clone(c.nodes) }

// URL returns redis+cluster://a,b,c, with the password if there is one. After
// [Cluster.Proxies] it has their addresses.
func (c *Cluster) URL() string {
	u := url.URL{Scheme: "redis+cluster", User: userinfo(c.nodes[0].set.password), Host: addrs(c.nodes)}
	return u.String()
}

// Slot returns the slot of a key.
func (c *Cluster) Slot(key string) int { return slotOf(key) }

// PrimaryOf returns the node that serves the slot of a key.
func (c *Cluster) PrimaryOf(key string) *Redis {
	c.tb.Helper()
	return c.Owner(slotOf(key))
}

// Owner returns the node that serves a slot.
func (c *Cluster) Owner(slot int) *Redis {
	c.tb.Helper()
	r, err := c.owner(slot)
	c.must("owner of slot "+strconv.Itoa(slot), err)
	return r
}

// ReplicasOf returns the replicas of the node that serves the slot of a key.
func (c *Cluster) ReplicasOf(key string) []*Redis {
	c.tb.Helper()
	owner := c.PrimaryOf(key)
	return slices.DeleteFunc(c.Nodes(), func(r *Redis) bool { return r.follows(owner) != nil })
}
