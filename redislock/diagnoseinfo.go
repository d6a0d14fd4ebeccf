package redislock

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"strings"

	"github.com/fencehold/fencehold/driver"
)

// wasAnswered says whether the server itself refused.
func wasAnswered(err error) bool {
	_, ok := errors.AsType[ServerError](err)
	return ok
}

// read asks for INFO and for the settings that matter to locks.
func (e *examination) read(ctx context.Context) {
	if reply, refused := e.ask(ctx, "INFO"); refused == nil {
		text, _ := reply.(string)
		e.info = parseInfo(text)
	}
	for _, name := range []string{"appendfsync", "save", "min-replicas-to-write"} {
		reply, refused := e.ask(ctx, "CONFIG", "GET", name)
		if value, ok := pairs(reply)[name]; ok && refused == nil {
			e.config[name] = value
		}
	}
}

// parseInfo reads the lines NAME:VALUE of INFO. Some clients leave the format of
// a verbatim string before it.
func parseInfo(text string) map[string]string {
	info := map[string]string{}
	for line := range strings.Lines(strings.TrimPrefix(text, "txt:")) {
		if name, value, ok := strings.Cut(strings.TrimSpace(line), ":"); ok && !strings.HasPrefix(line, "#") {
			info[name] = value
		}
	}
	return info
}

// pairs reads a reply of names and values: a list with the second version of
// the protocol, a map with the third.
func pairs(reply any) map[string]string {
	found := map[string]string{}
	switch reply := reply.(type) {
	case []any:
		for i := 0; i+1 < len(reply); i += 2 {
			found[fmt.Sprint(reply[i])] = fmt.Sprint(reply[i+1])
		}
	case map[string]any:
		for name, value := range reply {
			found[name] = fmt.Sprint(value)
		}
	case map[any]any:
		for name, value := range reply {
			found[fmt.Sprint(name)] = fmt.Sprint(value)
		}
	}
	return found
}

// number returns a number of INFO, 0 if it is not there.
func (e *examination) number(name string) int64 {
	n, _ := strconv.ParseInt(e.info[name], 10, 64)
	return n
}

// checkServer says what the server is.
func (e *examination) checkServer(context.Context) {
	if e.info == nil {
		e.unseen("server", "what the server is (INFO)")
		return
	}
	product, version := "Redis", e.info["redis_version"]
	if v := e.info["valkey_version"]; v != "" {
		product, version = "Valkey", v
	}
	mode, cluster := e.info["redis_mode"], e.b.conn.Mode() == Cluster
	text := fmt.Sprintf("%s %s, %s, %s", product, version, mode, role(e.info["role"]))
	switch {
	case mode == "cluster" && !cluster:
		e.found(driver.GradeFailure, "server", "%s: a node of a Cluster needs a redis+cluster:// URL", text)
	case cluster && major(version) > 0 && major(version) < 7:
		e.found(driver.GradeWarning, "server", "%s: before version 7 a Cluster has no sharded channels, so waiting is polling", text)
	default:
		e.found(driver.GradeGood, "server", "%s", text)
	}
}

// role names the role as this package does.
func role(said string) string {
	switch said {
	case "master":
		return "primary"
	case "slave":
		return "replica"
	}
	return said
}

// major returns the first number of a version, 0 if there is none.
func major(version string) int {
	first, _, _ := strings.Cut(version, ".")
	n, _ := strconv.Atoi(first)
	return n
}

// checkReplicas counts who could take over, and who has to confirm.
func (e *examination) checkReplicas(context.Context) {
	if e.info == nil {
		e.unseen("replicas", "how many replicas there are (INFO)")
		return
	}
	n, mode := e.number("connected_slaves"), e.b.conn.Mode()
	switch {
	case n == 0 && mode != Single:
		e.found(driver.GradeWarning, "replicas", "none: if this server is gone, nobody takes over")
	case mode != Single:
		e.found(driver.GradeGood, "replicas", "%d connected", n)
	default:
		e.found(driver.GradeGood, "replicas", "%d connected; locks are asked of this one server, and follow no failover", n)
	}
	if least := e.config["min-replicas-to-write"]; least != "" && least != "0" {
		e.found(driver.GradeNote, "replicas", "the server refuses locks while fewer than %s keep up "+
			"(min-replicas-to-write)", countOf(least))
	}
}

// countOf writes how many replicas there are.
func countOf(n string) string {
	if n == "1" {
		return "1 replica"
	}
	return n + " replicas"
}

// checkSentinels counts those who watch: each listens on a channel of its own
// kind at every server that it watches.
func (e *examination) checkSentinels(ctx context.Context) {
	if e.b.conn.Mode() == Cluster {
		return
	}
	reply, refused := e.ask(ctx, "PUBSUB", "NUMSUB", "__sentinel__:hello")
	if refused != nil {
		e.unseen("sentinels", "whether Sentinels watch this server (PUBSUB NUMSUB)")
		return
	}
	n, _ := strconv.Atoi(pairs(reply)["__sentinel__:hello"])
	switch behind := e.b.conn.Mode() == Sentinel; {
	case behind && n < 3:
		e.found(driver.GradeWarning, "sentinels", "%s this server: fewer than 3 cannot agree when one is gone", watching(n))
	case behind:
		e.found(driver.GradeGood, "sentinels", "%s this server", watching(n))
	case n > 0:
		e.found(driver.GradeWarning, "sentinels", "%s this server, and may make another the primary, which this "+
			"URL would not follow: use redis+sentinel://", watching(n))
	}
}

// watching begins a sentence about Sentinels.
func watching(n int) string {
	if n == 1 {
		return "1 watches"
	}
	return fmt.Sprintf("%d watch", n)
}
