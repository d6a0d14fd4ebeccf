package redlock

import "github.com/fencehold/fencehold/driver"

// Without implements [driver.Placed].
func (b *backend) Without(grant driver.Grant) (servers []string, of int) {
	b.holds.mu.Lock()
	defer b.holds.mu.Unlock()
	h := b.holds.all[grant.Holder]
	if h == nil || h.stage != held || !h.told {
		return nil, 0
	}
	for _, n := range b.nodes {
		if h.have&n.bit() == 0 {
			servers = append(servers, n.name)
		}
	}
	return servers, len(b.nodes)
}
