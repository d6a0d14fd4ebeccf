package redlock

import (
	"context"
	"fmt"
	"strings"

	"github.com/fencehold/fencehold/redislock"
)

// memberKeys are the keys of membership, and how to tell locks from all others.
type memberKeys struct{ prefix, marker, joined, counter string }

func memberKeysOf(prefix string) memberKeys {
	return memberKeys{prefix: prefix, marker: prefix + "fh!m", joined: prefix + "fh!j", counter: prefix + "fh!h"}
}

// helps reports whether a key is no lock. Locks whose names look like one are moved
// to fh!n:NAME.
func (k memberKeys) helps(key string) bool {
	name := strings.TrimPrefix(key, k.prefix)
	return strings.HasPrefix(name, "fh!") && !strings.HasPrefix(name, "fh!n:fh!")
}

// scanStep is how many keys a server is asked to look at in one step of a SCAN.
const scanStep = "1000"

// escapeGlob takes the meaning from what has one in a pattern of SCAN.
var escapeGlob = strings.NewReplacer(`\`, `\\`, `*`, `\*`, `?`, `\?`, `[`, `\[`, `]`, `\]`)

// scanKeys calls found for every batch of keys with the prefix.
func scanKeys(ctx context.Context, do redislock.Do, prefix string, found func([]string) error) error {
	for cursor := "0"; ; {
		reply, err := do(ctx, "SCAN", cursor, "MATCH", escapeGlob.Replace(prefix)+"*", "COUNT", scanStep)
		if err != nil {
			return err
		}
		parts, ok := reply.([]any)
		if !ok || len(parts) != 2 {
			return fmt.Errorf("SCAN answered %T", reply)
		}
		cursor, _ = parts[0].(string)
		list, _ := parts[1].([]any)
		keys := make([]string, 0, len(list))
		for _, key := range list {
			if s, ok := key.(string); ok {
				keys = append(keys, s)
			}
		}
		if err := found(keys); err != nil || cursor == "0" {
			return err
		}
	}
}
