package redlock

import (
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/fencehold/fencehold"
)

// A title is what a marker says of the set that a node belongs to.
type title struct {
	nodes  int
	maxTTL time.Duration
}

// String writes a title as a marker: "N MAXTTL", in ms.
func (t title) String() string { return fmt.Sprintf("%d %d", t.nodes, t.maxTTL.Milliseconds()) }

// parseTitle reads a marker. One that cannot be read is that of a set of no nodes.
func parseTitle(marker string) title {
	nodes, ms, _ := strings.Cut(marker, " ")
	n, err1 := strconv.Atoi(nodes)
	ttl, err2 := strconv.ParseInt(ms, 10, 64)
	if err1 != nil || err2 != nil {
		return title{}
	}
	return title{nodes: n, maxTTL: time.Duration(ttl) * time.Millisecond}
}

// admits says why a client cannot work with a set of another title: it would see
// only part of the set, or its locks would outlive the time that a node waits
// which has forgotten them.
func (t title) admits(mine title) error {
	switch {
	case t.nodes != mine.nodes:
		return fmt.Errorf("%w: this client names %d servers, and the set has %d: correct the URL, or see \"fencehold help "+
			"redlock\" to change the size", fencehold.ErrInvalid, mine.nodes, t.nodes)
	case mine.maxTTL > t.maxTTL:
		return fmt.Errorf("%w: max_ttl %v: the set was founded with %v, which is the most for all its clients: "+
			"name max_ttl=%v, or none", fencehold.ErrInvalid, mine.maxTTL, t.maxTTL, t.maxTTL)
	}
	return nil
}
