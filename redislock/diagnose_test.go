package redislock_test

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/fencehold/fencehold"
	"github.com/fencehold/fencehold/driver"
	"github.com/fencehold/fencehold/internal/testcluster"
)

// diagnose examines the service at a URL.
func diagnose(t *testing.T, url string) []driver.Finding {
	t.Helper()
	backend := openBackend(t, url)
	defer backend.Close()
	findings, err := backend.(driver.Diagnoser).Diagnose(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	return findings
}

// mustFind fails the test unless there is such a finding; text is a part.
func mustFind(t *testing.T, findings []driver.Finding, grade driver.Grade, subject, text string) {
	t.Helper()
	for _, f := range findings {
		if f.Grade == grade && f.Subject == subject && strings.Contains(f.Text, text) {
			return
		}
	}
	t.Errorf("no %s %q with %q among %+v", grade, subject, text, findings)
}

// TestDiagnosePersistence: what a restart loses is said, and what a lock
// promises follows from it.
func TestDiagnosePersistence(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		opts           []testcluster.Option
		grade          driver.Grade
		says, promises string
	}{
		{nil, driver.GradeNote, "none", "a restart forgets every lock"},
		{
			[]testcluster.Option{testcluster.Config("save", "3600 1")},
			driver.GradeNote, "save 3600 1", "since the last snapshot",
		},
		{
			[]testcluster.Option{testcluster.Config("appendonly", "yes")},
			driver.GradeNote, "appendfsync everysec", "the last second",
		},
		{
			[]testcluster.Option{testcluster.Config("appendonly", "yes"), testcluster.Config("appendfsync", "always")},
			driver.GradeGood, "appendfsync always", "a restart forgets no grant",
		},
		{
			[]testcluster.Option{testcluster.Config("rename-command", `CONFIG ""`)},
			driver.GradeNote, "not allowed to see", "assume every lock",
		},
	} {
		findings := diagnose(t, testcluster.StartRedis(t, c.opts...).URL())
		mustFind(t, findings, c.grade, "persistence", c.says)
		mustFind(t, findings, driver.GradeNote, "promise", c.promises)
	}
}

// TestDiagnoseRefusingServer: a server that takes no writes fails, in words
// that say why.
func TestDiagnoseRefusingServer(t *testing.T) {
	t.Parallel()
	full := testcluster.StartRedis(t)
	full.Do("CONFIG", "SET", "maxmemory", "1")
	findings := diagnose(t, full.URL())
	mustFind(t, findings, driver.GradeFailure, "rights", "out of memory")
	mustFind(t, findings, driver.GradeWarning, "memory", "limit of 1 B, and ")
	mustFind(t, findings, driver.GradeWarning, "memory", "it is full, and new locks are refused")

	lonely := testcluster.StartRedis(t, testcluster.Config("min-replicas-to-write", "1"))
	findings = diagnose(t, lonely.URL())
	mustFind(t, findings, driver.GradeFailure, "rights", "too few replicas")
	mustFind(t, findings, driver.GradeNote, "replicas", "fewer than 1 replica keep up")

	gap := testcluster.StartCluster(t, 3, 0, testcluster.Config("cluster-require-full-coverage", "no"))
	gap.Nodes()[1].Do("CLUSTER", "DELSLOTSRANGE", "6000", "6009")
	findings = diagnose(t, gap.URL())
	mustFind(t, findings, driver.GradeFailure, "cluster", "16374 of 16384")
}

// TestDiagnoseWrongKind: the URL of another arrangement is called that.
func TestDiagnoseWrongKind(t *testing.T) {
	t.Parallel()
	set := testcluster.StartSentinel(t, 1, 1)
	for _, scheme := range []string{"redis", "redis+cluster"} {
		findings := diagnose(t, scheme+"://"+set.Sentinels()[0].Addr())
		mustFind(t, findings, driver.GradeFailure, "role", "this is a Sentinel: use redis+sentinel://")
		if len(findings) != 1 {
			t.Errorf("%s of a Sentinel: more than that is found: %+v", scheme, findings)
		}
	}
	server := testcluster.StartRedis(t)
	findings := diagnose(t, "redis+cluster://"+server.Addr())
	mustFind(t, findings, driver.GradeWarning, "server", "this server is no Cluster: redis:// is meant")
	mustFind(t, findings, driver.GradeGood, "rights", "scripts run")
	for _, f := range append(findings, diagnose(t, server.URL())...) {
		if strings.Contains(f.Text, "URL means one server") || strings.Contains(f.Text, "even then") {
			t.Errorf("a false sentence: %+v", f)
		}
	}
	for _, f := range diagnose(t, server.URL()) {
		if f.Grade >= driver.GradeWarning {
			t.Errorf("of a good server: %+v", f)
		}
	}
}

// TestDiagnoseDisturbsNobody: with a lock held and waited for, both go on as
// before.
func TestDiagnoseDisturbsNobody(t *testing.T) {
	t.Parallel()
	server := testcluster.StartRedis(t)
	client, err := fencehold.Open(t.Context(), server.URL())
	if err != nil {
		t.Fatal(err)
	}
	defer client.Close()
	lease, err := client.Mutex("job").Acquire(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	before := server.Do("KEYS", "*")
	findings, err := client.Diagnose(t.Context())
	if err != nil || len(findings) == 0 || lease.Err() != nil {
		t.Errorf("%d findings, %v; the lease: %v", len(findings), err, lease.Err())
	}
	if after := server.Do("KEYS", "*"); len(after) != len(before) {
		t.Errorf("keys %q, before %q", after, before)
	}
}

// TestDiagnoseEnds: without an answer it ends with its context, and after Close
// at once.
func TestDiagnoseEnds(t *testing.T) {
	t.Parallel()
	server := testcluster.StartRedis(t)
	backend := openBackend(t, server.URL())
	server.Pause()
	ctx, cancel := context.WithTimeout(t.Context(), 100*time.Millisecond)
	defer cancel()
	began := time.Now()
	if _, err := backend.(driver.Diagnoser).Diagnose(ctx); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("error %v, want that of the context", err)
	}
	if took := time.Since(began); took > 5*time.Second {
		t.Errorf("it took %v", took)
	}
	server.Resume()
	backend.Close()
	if _, err := backend.(driver.Diagnoser).Diagnose(t.Context()); !errors.Is(err, fencehold.ErrClosed) {
		t.Errorf("error %v after Close, want ErrClosed", err)
	}
}
