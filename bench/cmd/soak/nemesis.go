//go:build linux

package main

import (
	"math/rand/v2"
	"time"

	"github.com/fencehold/fencehold/internal/testcluster"
)

// The pace of faults.
const (
	minPause  = 50 * time.Millisecond
	maxPause  = 1500 * time.Millisecond
	maxFrozen = 500 * time.Millisecond
	maxDown   = 300 * time.Millisecond
)

// fault is one thing that goes wrong.
type fault struct {
	name string
	make func(n *nemesis)
}

var faults = []fault{
	{"client killed", (*nemesis).killClient},
	{"subscribers cut off", func(n *nemesis) { n.ask("CLIENT", "KILL", "TYPE", "pubsub") }},
	{"clients cut off", func(n *nemesis) { n.ask("CLIENT", "KILL", "TYPE", "normal") }},
	{"server killed", (*nemesis).restart},
	{"server frozen", (*nemesis).freeze},
	{"scripts forgotten", func(n *nemesis) { n.ask("SCRIPT", "FLUSH") }},
}

// nemesis makes faults.
type nemesis struct {
	random *rand.Rand
	server *testcluster.Redis
	fleet  *fleet
	guard  *guard
	made   map[string]int
}

func newNemesis(seed uint64, server *testcluster.Redis, f *fleet, g *guard) *nemesis {
	return &nemesis{
		random: rand.New(rand.NewPCG(seed, 0)), server: server, fleet: f, guard: g, made: map[string]int{},
	}
}

// rage makes one fault after the other until the deadline.
func (n *nemesis) rage(deadline time.Time) {
	for {
		pause := minPause + n.upTo(maxPause-minPause)
		if time.Now().Add(pause).After(deadline) {
			return
		}
		time.Sleep(pause)
		f := faults[n.random.IntN(len(faults))]
		n.made[f.name]++
		f.make(n)
	}
}

// upTo returns a random duration.
func (n *nemesis) upTo(longest time.Duration) time.Duration {
	return time.Duration(n.random.Int64N(int64(longest)))
}

// ask has the server do something. It closes the connection that asks, too,
// when it is told to close all: the error says nothing.
func (n *nemesis) ask(command ...string) { _, _ = n.server.TryDo(command...) }

func (n *nemesis) killClient() { n.fleet.kill(n.random.IntN(len(n.fleet.running))) }

func (n *nemesis) restart() {
	n.guard.serverDown()
	n.server.Kill()
	time.Sleep(n.upTo(maxDown))
	n.server.Start()
	n.guard.serverUp()
}

func (n *nemesis) freeze() {
	n.guard.serverDown()
	n.server.Pause()
	time.Sleep(n.upTo(maxFrozen))
	n.server.Resume()
	n.guard.serverUp()
}
