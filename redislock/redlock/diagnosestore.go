package redlock

import (
	"context"
	"fmt"
	"strings"

	"github.com/fencehold/fencehold/driver"
	"github.com/fencehold/fencehold/redislock"
)

// persistence says what a restart does to the node as a voter. What matters is
// whether it notices that it has forgotten something.
func (e *examination) persistence(ctx context.Context, conn redislock.Conn) {
	var appends, fsync, save string
	err := conn.Primaries(ctx, func(_ string, do redislock.Do) error {
		reply, err := do(ctx, "INFO", "persistence")
		appends = infoOf(reply, "aof_enabled")
		fsync, save = configOf(ctx, do, "appendfsync"), configOf(ctx, do, "save")
		return err
	})
	maxTTL := e.b.opts.MaxTTL
	if e.census.settled() {
		maxTTL = parseTitle(e.marker()).maxTTL
	}
	switch {
	case err != nil || appends == "" || appends == "0" && save == unseen:
		e.found(driver.GradeNote, "persistence", "not allowed to see what the server keeps on disk (INFO, CONFIG GET)")
	case appends == "1" && fsync == "always":
		e.found(driver.GradeGood, "persistence", "append-only file, appendfsync always: a restart forgets no lock and no "+
			"token")
	case appends == "1":
		e.found(driver.GradeWarning, "persistence", "append-only file, appendfsync %s: a crash of the machine can forget "+
			"the locks and tokens of the last second or more, and the server votes on as if it had not; want always, "+
			"or no persistence at all, or a restart no sooner than after %v", fsync, maxTTL)
	case save == "":
		e.found(driver.GradeNote, "persistence", "none: a restart forgets every lock and token, which is noticed: the "+
			"server does not vote for %v then; and where a majority restarts at once, the set has to be founded again", maxTTL)
	default:
		e.found(driver.GradeWarning, "persistence", "snapshots (save %s): a restart brings back an old state, and the "+
			"server votes on as if it had forgotten nothing; want appendonly with appendfsync always, or save \"\", "+
			"or a restart no sooner than after %v", save, maxTTL)
	}
}

// unseen is a setting that the server does not show.
const unseen = "not to be seen"

// infoOf finds a line of INFO, empty if it is not there.
func infoOf(reply any, name string) string {
	text, _ := reply.(string)
	for line := range strings.Lines(text) {
		if value, ok := strings.CutPrefix(strings.TrimSpace(line), name+":"); ok {
			return value
		}
	}
	return ""
}

// configOf reads a setting. The reply is a list with the second version of the
// protocol, a map with the third.
func configOf(ctx context.Context, do redislock.Do, name string) string {
	reply, err := do(ctx, "CONFIG", "GET", name)
	if err != nil {
		return unseen
	}
	switch reply := reply.(type) {
	case []any:
		if len(reply) == 2 {
			return fmt.Sprint(reply[1])
		}
	case map[string]any:
		if value, ok := reply[name]; ok {
			return fmt.Sprint(value)
		}
	case map[any]any:
		if value, ok := reply[name]; ok {
			return fmt.Sprint(value)
		}
	}
	return unseen
}
