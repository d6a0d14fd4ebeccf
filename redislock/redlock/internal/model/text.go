package model

import (
	"fmt"
	"strings"
)

// none stands for no client, or no node, in a step.
const none = -1

// A Step is what happened between two states.
type Step struct {
	what   string
	client int
	node   int
	number uint8 // a proposal or a token
	set    uint8 // nodes, as bits
	after  State
}

// String describes the step for a trace, and the nodes after it: holder,
// number in the value, h.
func (p Step) String() string {
	var b strings.Builder
	if p.client != none {
		fmt.Fprintf(&b, "client %c: ", 'A'+p.client)
	}
	if p.node != none {
		fmt.Fprintf(&b, "node %d: ", p.node+1)
	}
	b.WriteString(p.what)
	for k := range maxNodes {
		if p.set>>k&1 == 1 {
			fmt.Fprintf(&b, " %d", k+1)
		}
	}
	if p.number != 0 {
		fmt.Fprintf(&b, " (%d)", p.number)
	}
	return fmt.Sprintf("%-48s %s", b.String(), p.after.text())
}

// text describes the nodes that were ever used, and the tokens.
func (s *State) text() string {
	var b strings.Builder
	for _, v := range s.nodes {
		name := byte('-')
		if v.holder != nobody {
			name = 'A' + v.holder - 1
		}
		if v != (node{}) {
			fmt.Fprintf(&b, " %c/%d/h%d", name, v.number, v.h)
		}
	}
	for i, w := range s.clients {
		if w.phase == granted {
			fmt.Fprintf(&b, " %c granted %d", 'A'+i, w.token)
		}
	}
	return b.String()
}

// A Property is something that must hold in every state, or several of them.
type Property uint8

// The properties.
const (
	// Unique: no two grants have the same token.
	Unique Property = 1 << iota
	// Rising: a grant that was made before another attempt began has the
	// smaller token.
	Rising
)

// String names the properties.
func (p Property) String() string {
	var names []string
	for i, name := range []string{"unique tokens", "rising tokens"} {
		if p>>i&1 == 1 {
			names = append(names, name)
		}
	}
	if names == nil {
		return "nothing"
	}
	return strings.Join(names, " and ")
}
