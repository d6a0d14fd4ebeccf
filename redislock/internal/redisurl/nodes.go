package redisurl

import (
	"cmp"
	"slices"
)

// Nodes returns one URL of [Single] mode for each server of a Redlock set, with the
// passwords and all else that u says of connections.
func (u URL) Nodes() []URL {
	nodes := make([]URL, len(u.Addrs))
	for i, addr := range u.Addrs {
		node := u.withoutSet()
		node.Mode, node.Addrs = Single, []string{addr}
		nodes[i] = node
	}
	return nodes
}

// withoutSet leaves out what belongs to a set as a whole.
func (u URL) withoutSet() URL {
	u.MaxTTL, u.Drift, u.NodeTimeout = 0, 0, 0
	return u
}

// Unlike names the first option of a Redlock set that u and v do not have in common,
// empty if there is none.
func (u URL) Unlike(v URL) string {
	switch {
	case u.Prefix != v.Prefix:
		return "prefix"
	case u.MaxTTL != v.MaxTTL:
		return "max_ttl"
	case u.Drift != v.Drift:
		return "drift"
	case u.NodeTimeout != v.NodeTimeout:
		return "node_timeout"
	}
	return ""
}

// Join is the reverse of [URL.Nodes], with the options of the set that all have: one URL
// for servers that differ in nothing but their address, and false where there is none.
func Join(nodes []URL) (URL, bool) {
	if len(nodes) == 0 {
		return URL{}, false
	}
	set := nodes[0]
	set.Mode, set.Addrs, set.Drift = Redlock, nil, cmp.Or(set.Drift, DefaultDrift)
	plain := make([]URL, len(nodes))
	for i, node := range nodes {
		if node.Mode != Single || node.Network != "tcp" || node.MinReplicas != 0 || len(node.Addrs) != 1 ||
			node.Unlike(nodes[0]) != "" {
			return URL{}, false
		}
		set.Addrs, plain[i] = append(set.Addrs, node.Addrs...), node.withoutSet()
	}
	return set, slices.EqualFunc(set.Nodes(), plain, URL.equal)
}

// equal reports whether two URLs say the same.
func (u URL) equal(v URL) bool {
	return slices.Equal(u.Addrs, v.Addrs) && u.String() == v.String() && u.Password == v.Password &&
		u.SentinelPassword == v.SentinelPassword
}
