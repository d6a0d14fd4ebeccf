package redisurl

import "slices"

// Nodes returns one URL of [Single] mode for each server of a Redlock set, with the
// passwords and all else that u says of connections.
func (u URL) Nodes() []URL {
	nodes := make([]URL, len(u.Addrs))
	for i, addr := range u.Addrs {
		node := u
		node.Mode, node.Addrs = Single, []string{addr}
		node.MaxTTL, node.Drift, node.NodeTimeout = 0, 0, 0
		nodes[i] = node
	}
	return nodes
}

// Join is the reverse of [URL.Nodes], with the defaults of Redlock: one URL for
// servers that differ in nothing but their address, and false where there is none.
func Join(nodes []URL) (URL, bool) {
	if len(nodes) == 0 {
		return URL{}, false
	}
	set := nodes[0]
	set.Mode, set.Addrs = Redlock, nil
	set.MaxTTL, set.Drift = DefaultMaxTTL, DefaultDrift
	for _, node := range nodes {
		if node.Mode != Single || node.Network != "tcp" || node.MinReplicas != 0 || len(node.Addrs) != 1 {
			return URL{}, false
		}
		set.Addrs = append(set.Addrs, node.Addrs...)
	}
	return set, slices.EqualFunc(set.Nodes(), nodes, URL.equal)
}

// equal reports whether two URLs say the same.
func (u URL) equal(v URL) bool {
	return slices.Equal(u.Addrs, v.Addrs) && u.String() == v.String() && u.Password == v.Password &&
		u.SentinelPassword == v.SentinelPassword
}
