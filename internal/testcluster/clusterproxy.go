package testcluster

import (
	"fmt"
	"strconv"
)

// Proxies puts a proxy before each node, in the order of [Cluster.Nodes], and
// returns when all nodes send clients to the proxies. Commands of [Redis.Do] and
// what nodes tell each other go past them, but replicas read through them. It
// is to be called once, before the Cluster is used by several goroutines.
func (c *Cluster) Proxies() []*Proxy {
	c.tb.Helper()
	var proxies []*Proxy
	for _, r := range c.nodes {
		r.proxy = StartProxy(c.tb, r.Addr())
		proxies = append(proxies, r.proxy)
		r.announce()
	}
	c.must("announce proxies", await(settleLimit, settleEvery, c.allAnnounced))
	return proxies
}

// announce makes a node tell the address of its proxy, after a restart too.
func (r *Redis) announce() {
	r.tb.Helper()
	name := "cluster-announce-port"
	if r.set.tls {
		name = "cluster-announce-tls-port"
	}
	r.Do(
		"CONFIG", "SET", name, strconv.Itoa(r.proxy.Port()),
		"cluster-announce-bus-port", strconv.Itoa(r.Port()+busOffset),
	)
	r.Do("CONFIG", "REWRITE")
}

// allAnnounced returns nil if every node knows the proxy of every other, and
// replicas have connected through it.
func (c *Cluster) allAnnounced() error {
	for _, r := range c.nodes {
		members, err := r.view()
		if err != nil {
			return err
		}
		for _, m := range members {
			if byAddr(c.nodes, m.addr) == nil || !m.well() {
				return fmt.Errorf("%s sees %s, connected: %t", r.Addr(), m.addr, m.connected)
			}
		}
		if err := r.linked(); err != nil {
			return err
		}
	}
	return nil
}
