package interop

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/fencehold/fencehold"
	"github.com/fencehold/fencehold/internal/testcluster"
)

// TestOtherFormat meets locks that are not strings: they are reported as held,
// waited for, and never touched.
func TestOtherFormat(t *testing.T) {
	for kind, write := range map[string][]string{
		"hash": {"HSET", "lock:job", "6f0f:1", "1"},     // as Redisson's
		"zset": {"ZADD", "lock:job", "1893456000", "k"}, // as Symfony's
	} {
		t.Run(kind, func(t *testing.T) {
			server := testcluster.StartRedis(t)
			client := newFencehold(t, server, nil)
			server.Do(write...)
			before := server.Do("DUMP", "lock:job")
			if report := held(t, client, "job"); !strings.Contains(report.Error(), "another format") ||
				!strings.Contains(report.Error(), kind) {
				t.Errorf("reported as %q; want another format, %s", report, kind)
			}
			if h := inspect(t, client, "job"); !h.Held || !h.Foreign || !strings.Contains(h.Owner, kind) {
				t.Errorf("Inspect shows %+v; want a foreign %s", h, kind)
			}
			giveUp(t, client)
			if server.Do("DUMP", "lock:job") != before {
				t.Error("the foreign lock was touched")
			}
			server.Do("DEL", "lock:job")
			acquire(t, client, "job").Release(t.Context())
		})
	}
}

// giveUp waits for a lock for a while, in vain.
func giveUp(t *testing.T, client *fencehold.Client) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 200*time.Millisecond)
	defer cancel()
	if _, err := client.Mutex("job").Acquire(ctx); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("waiting returned %v; want the deadline of the context", err)
	}
}
