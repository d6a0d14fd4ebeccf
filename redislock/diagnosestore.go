package redislock

import (
	"context"
	"fmt"
	"strings"

	"github.com/fencehold/fencehold/driver"
)

// persistence is what a server has of its locks after a restart.
type persistence int

// The kinds of persistence, from the least.
const (
	unknownPersistence persistence = iota
	keepsNothing
	keepsSnapshots
	keepsSeconds // an append-only file, written to disk once a second or when the system likes
	keepsAll
)

// persistence judges by INFO and the settings. A server that hides appendfsync
// is taken to have the default.
func (e *examination) persistence() persistence {
	save, known := e.config["save"]
	switch {
	case e.info == nil:
		return unknownPersistence
	case e.info["aof_enabled"] == "1" && e.config["appendfsync"] == "always":
		return keepsAll
	case e.info["aof_enabled"] == "1":
		return keepsSeconds
	case !known:
		return unknownPersistence
	case save == "":
		return keepsNothing
	}
	return keepsSnapshots
}

// checkPersistence says what a restart loses.
func (e *examination) checkPersistence(context.Context) {
	switch e.persistence() {
	case unknownPersistence:
		e.unseen("persistence", "what the server keeps on disk (INFO, CONFIG GET)")
	case keepsNothing:
		e.found(driver.GradeNote, "persistence", "none: a restart forgets every lock")
	case keepsSnapshots:
		e.found(driver.GradeNote, "persistence", "snapshots (save %s): a restart brings back the locks of the last one, "+
			"and forgets those granted since", e.config["save"])
	case keepsSeconds:
		e.found(driver.GradeNote, "persistence", "append-only file, appendfsync %s: a crash of the machine forgets the "+
			"last second or more, a crash of the server alone mostly nothing", orUnseen(e.config["appendfsync"]))
	case keepsAll:
		e.found(driver.GradeGood, "persistence", "append-only file, appendfsync always: a restart forgets no grant "+
			"that a client knows of")
	}
}

// orUnseen fills in for a setting that is hidden.
func orUnseen(value string) string {
	if value == "" {
		return "not to be seen"
	}
	return value
}

// evictions say what a policy does to a lock when memory is full.
var evictions = []struct{ head, text string }{
	{"allkeys-", "any key may be thrown out, a held lock too"},
	{"volatile-ttl", "keys that expire soonest are thrown out, and those are the locks"},
	{"volatile-", "keys that expire are thrown out, and every lock is one"},
}

// checkMemory says what happens to locks when memory is full.
func (e *examination) checkMemory(context.Context) {
	policy := e.info["maxmemory_policy"]
	if policy == "" {
		e.unseen("memory", "what the server does when memory is full (INFO)")
		return
	}
	limit := e.number("maxmemory")
	for _, eviction := range evictions {
		if strings.HasPrefix(policy, eviction.head) {
			e.found(driver.GradeWarning, "memory", "%s, maxmemory-policy %s: when it is full, %s, so two clients could "+
				"hold the same lock; want noeviction", sizeOf(limit), policy, eviction.text)
			return
		}
	}
	used := e.number("used_memory")
	switch {
	case limit > 0 && used > limit:
		e.found(driver.GradeWarning, "memory", "%s, and %s are used: it is full, and new locks are refused",
			sizeOf(limit), mebibytes(used))
		return
	case limit > 0 && used > limit/10*9:
		e.found(driver.GradeWarning, "memory", "%s, of which %d%% are used: when it is full, new locks are refused",
			sizeOf(limit), int64(float64(used)*100/float64(limit)))
		return
	}
	e.found(driver.GradeGood, "memory", "%s, maxmemory-policy %s: no lock is thrown out", sizeOf(limit), policy)
}

// sizeOf writes the limit of memory.
func sizeOf(limit int64) string {
	if limit == 0 {
		return "no limit"
	}
	return "limit of " + mebibytes(limit)
}

// mebibytes writes an amount of memory; less than a tenth of a MiB is in bytes.
func mebibytes(n int64) string {
	if n < 1<<20/10 {
		return fmt.Sprintf("%d B", n)
	}
	return fmt.Sprintf("%.1f MiB", float64(n)/(1<<20))
}
