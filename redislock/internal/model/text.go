package model

import (
	"fmt"
	"strings"
)

// String describes a message for a trace.
func (m message) String() string {
	kinds := []string{"", "join", "check", "ping", "renewal", "release", "grant pushed", "front told"}
	results := []string{"", "granted", "waiting", "unknown", "mine", "not mine", "alive"}
	var b strings.Builder
	fmt.Fprintf(&b, "%s of client %d, server %d, epoch %d", kinds[m.kind], m.client, m.server, m.epoch)
	for _, f := range []struct {
		name string
		n    uint8
	}{
		{"holder", uint8(m.holder)},
		{"age", uint8(m.age)},
		{"token", uint8(m.token)},
		{"F", uint8(m.last)},
		{"left", uint8(m.left)},
		{"incarnation", uint8(m.incarnation)},
	} {
		if f.n != 0 {
			fmt.Fprintf(&b, ", %s %d", f.name, f.n)
		}
	}
	if m.result != unanswered {
		fmt.Fprintf(&b, ": %s", results[m.result])
	}
	if m.ghost {
		b.WriteString(" (not awaited)")
	}
	return b.String()
}
