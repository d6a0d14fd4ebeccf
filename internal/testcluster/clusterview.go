package testcluster

import (
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
)

// member is a node as another sees it, or as it sees itself.
type member struct {
	id, addr  string
	flags     []string
	epoch     int
	connected bool     // its bus to the one who sees it
	ranges    []string // of its slots; those in brackets are on the move
}

// view returns all nodes as r sees them.
func (r *Redis) view() ([]member, error) {
	text, err := r.ask(probeLimit, "CLUSTER", "NODES")
	if err != nil {
		return nil, err
	}
	var members []member
	for line := range strings.Lines(text) {
		m, err := parseMember(line)
		if err != nil {
			return nil, err
		}
		members = append(members, m)
	}
	return members, nil
}

// parseMember reads a line of CLUSTER NODES: id, address, flags, primary, ping
// sent, pong received, epoch, link, slots.
func parseMember(line string) (member, error) {
	f := strings.Fields(line)
	if len(f) < 8 {
		return member{}, fmt.Errorf("line %q of CLUSTER NODES is too short", line)
	}
	epoch, err := strconv.Atoi(f[6])
	addr, _, _ := strings.Cut(f[1], "@")
	m := member{
		id: f[0], addr: addr, flags: strings.Split(f[2], ","), epoch: epoch,
		connected: f[7] == "connected", ranges: f[8:],
	}
	return m, err
}

// is tells whether the member has a flag.
func (m member) is(flag string) bool { return slices.Contains(m.flags, flag) }

// well tells whether the member is known, connected and not suspected.
func (m member) well() bool {
	return m.connected && !m.is("handshake") && !m.is("fail") && !m.is("fail?")
}

// owns tells whether the member is a primary and has a slot.
func (m member) owns(slot int) bool {
	return m.is("master") && slices.ContainsFunc(m.ranges, func(r string) bool { return within(slot, r) })
}

// within tells whether a slot is in a range such as 7 or 0-8191.
func within(slot int, text string) bool {
	low, high, ok := strings.Cut(text, "-")
	if !ok {
		high = low
	}
	first, err1 := strconv.Atoi(low)
	last, err2 := strconv.Atoi(high)
	return err1 == nil && err2 == nil && first <= slot && slot <= last
}

// self returns a node as it sees itself.
func (r *Redis) self() (member, error) {
	members, err := r.view()
	if err != nil {
		return member{}, err
	}
	i := slices.IndexFunc(members, func(m member) bool { return m.is("myself") })
	if i < 0 {
		return member{}, errors.New("a node does not know itself")
	}
	return members[i], nil
}

// owner returns the node that says that it has a slot. Of several it is the one
// that got it last.
func (c *Cluster) owner(slot int) (*Redis, error) {
	var owner *Redis
	epoch := -1
	for _, r := range c.nodes {
		m, err := r.self()
		if err == nil && m.owns(slot) && m.epoch > epoch {
			owner, epoch = r, m.epoch
		}
	}
	if owner == nil {
		return nil, fmt.Errorf("no node that answers has slot %d", slot)
	}
	return owner, nil
}

// complete returns nil if every node sees the whole Cluster, of which masters
// are primaries, and every replica has its data.
func (c *Cluster) complete(masters int) error {
	for _, r := range c.nodes {
		if err := c.sees(r, masters); err != nil {
			return err
		}
	}
	return nil
}

// sees returns nil if one node sees the whole Cluster.
func (c *Cluster) sees(r *Redis, masters int) error {
	members, err := r.view()
	if err != nil {
		return err
	}
	primaries := 0
	for _, m := range members {
		switch {
		case !m.well():
			return fmt.Errorf("%s sees %s as %v", r.Addr(), m.addr, m.flags)
		case m.is("master"):
			primaries++
		}
	}
	if len(members) != len(c.nodes) || primaries != masters {
		return fmt.Errorf("%s sees %d nodes, %d of them primaries", r.Addr(), len(members), primaries)
	}
	if err := r.linked(); err != nil {
		return err
	}
	return r.healthy()
}

// linked returns nil if the node is a primary, or a replica that has its data.
func (r *Redis) linked() error {
	role, err := r.ask(probeLimit, "ROLE")
	if err != nil {
		return err
	}
	if f := strings.Split(role, "\n"); f[0] == "slave" && f[3] != "connected" {
		return fmt.Errorf("%s has not its data yet", r.Addr())
	}
	return nil
}

// healthy returns nil if the node says that the Cluster serves all slots.
func (r *Redis) healthy() error {
	info, err := r.ask(probeLimit, "CLUSTER", "INFO")
	if err != nil {
		return err
	}
	if !strings.HasPrefix(info, "cluster_state:ok\r\n") {
		return fmt.Errorf("%s says that the cluster is down", r.Addr())
	}
	return nil
}
