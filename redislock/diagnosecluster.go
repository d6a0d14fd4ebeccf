package redislock

import (
	"context"

	"github.com/fencehold/fencehold/driver"
)

// checkCluster says whether all slots are served, as this node sees it: another
// may see it otherwise for a while.
func (e *examination) checkCluster(ctx context.Context) {
	if e.b.conn.Mode() != Cluster {
		return
	}
	reply, refused := e.ask(ctx, "CLUSTER", "INFO")
	text, _ := reply.(string)
	info := parseInfo(text)
	switch served := e.coverage(ctx); {
	case e.err != nil:
	case refused == nil && info["cluster_state"] != "ok":
		e.found(driver.GradeFailure, "cluster", "state %s: %s of %d slots are served", info["cluster_state"],
			info["cluster_slots_ok"], slots)
	case served < 0:
		e.unseen("cluster", "which slots are served (CLUSTER SLOTS)")
	case served < slots:
		e.found(driver.GradeFailure, "cluster", "%d of %d slots are served: locks in the others cannot be taken", served, slots)
	default:
		e.found(driver.GradeGood, "cluster", "all slots are served")
	}
}

// coverage counts the slots that are served, -1 if that may not be seen. Whether
// they have replicas is no matter of this list: it leaves out new ones for a
// while.
func (e *examination) coverage(ctx context.Context) int64 {
	reply, refused := e.ask(ctx, "CLUSTER", "SLOTS")
	ranges, ok := reply.([]any)
	if refused != nil || !ok {
		return -1
	}
	served := int64(0)
	for _, r := range ranges {
		// FIRST, LAST, and the nodes.
		parts, _ := r.([]any)
		if len(parts) < 3 {
			continue
		}
		first, _ := parts[0].(int64)
		last, _ := parts[1].(int64)
		served += last - first + 1
	}
	return served
}
