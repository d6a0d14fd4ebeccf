package redislock_test

import (
	"os"
	"strings"
	"testing"
	"time"

	"github.com/fencehold/fencehold"
	"github.com/fencehold/fencehold/internal/testcluster"
)

// documentedRights returns the rules for the user that the package's
// documentation shows.
func documentedRights(t *testing.T) []string {
	t.Helper()
	source, err := os.ReadFile("doc.go")
	if err != nil {
		t.Fatal(err)
	}
	_, rest, found := strings.Cut(string(source), "ACL SETUSER locks on >PASSWORD ")
	text, _, ended := strings.Cut(rest, "\n//\n")
	if !found || !ended {
		t.Fatal("doc.go shows no user")
	}
	return strings.Fields(strings.ReplaceAll(text, "//", " "))
}

// restrict makes the documented user on servers, and returns a URL with it.
func restrict(t *testing.T, url string, servers ...*testcluster.Redis) string {
	t.Helper()
	for _, server := range servers {
		known, _ := sift(server, documentedRights(t))
		user(server, known...)
		server.Do("ACL", "LOG", "RESET")
	}
	return strings.Replace(url, "://", "://app:secret@", 1)
}

// sift divides rules into those that a server knows and the others.
func sift(server *testcluster.Redis, rules []string) (known, unknown []string) {
	for _, rule := range rules {
		if _, err := server.TryDo("ACL", "SETUSER", "sift", rule); err != nil {
			unknown = append(unknown, rule)
			continue
		}
		known = append(known, rule)
	}
	return known, unknown
}

// Whoever copies the documentation must get no error, on any supported server.
func TestDocumentedRightsAreKnown(t *testing.T) {
	t.Parallel()
	_, unknown := sift(testcluster.StartRedis(t), documentedRights(t))
	if len(unknown) > 0 {
		t.Errorf("ACL SETUSER does not know %q", unknown)
	}
}

func TestRightsSuffice(t *testing.T) {
	t.Parallel()
	server := testcluster.StartRedis(t)
	useAllRights(t, restrict(t, server.URL(), server), "1", server)
}

func TestRightsSufficeUnderSentinel(t *testing.T) {
	t.Parallel()
	set := testcluster.StartSentinel(t, 1, 1)
	useAllRights(t, restrict(t, set.URL(), set.Servers()...), "1", set.Servers()...)
}

func TestRightsSufficeInACluster(t *testing.T) {
	t.Parallel()
	cluster := testcluster.StartCluster(t, 3, 0)
	useAllRights(t, restrict(t, cluster.URL(), cluster.Nodes()...), "0", cluster.Nodes()...)
}

// useAllRights does whatever a client can do. Nothing of it may be refused, not
// even what the client could do without.
func useAllRights(t *testing.T, url, replicas string, servers ...*testcluster.Redis) {
	t.Helper()
	a, b := openClient(t, url, fencehold.WithTTL(time.Second)), openClient(t, url, fencehold.WithTTL(time.Second))
	lease, second := acquire(t, a, "job"), acquire(t, a, "second")
	next := startAcquire(t, b, "job")
	awaitWaiters(t, a, "job", 1)
	before := second.Expires()
	eventually(t, "a renewal", func() bool { return second.Expires().After(before) || second.Err() != nil })
	if err := lease.Extend(bounded(t), time.Second); err != nil {
		t.Error(err)
	}
	release(t, lease)
	got := next.lease(t)
	within(t, "the wait", next.took, 700*time.Millisecond)
	listed := 0
	for holding, err := range b.Locks(bounded(t), "") {
		if err != nil || !holding.Held {
			t.Errorf("listed: %+v, %v", holding, err)
		}
		listed++
	}
	if listed != 2 {
		t.Errorf("%d locks are listed, want 2", listed)
	}
	if err := a.Unlock(bounded(t), "job", got.Fence().Holder, "test"); err != nil {
		t.Error(err)
	}
	closes(t, "the victim is told", got.Done(), time.Second)
	mustBeLost(t, got.Err(), fencehold.ReasonRevoked)
	release(t, second)
	useOptions(t, a)
	a.Close()
	b.Close()
	mustRefuseNothing(t, servers)
}

// useOptions does what takes scripts other ways.
func useOptions(t *testing.T, c *fencehold.Client) {
	t.Helper()
	lease := acquire(t, c, "kept", fencehold.WithMinHold(200*time.Millisecond), fencehold.WithDetached())
	resumed, err := c.Resume(bounded(t), lease.Fence())
	if err != nil {
		t.Fatal(err)
	}
	release(t, resumed)
	release(t, acquire(t, c, "kept", fencehold.WithMinHold(200*time.Millisecond)))
	release(t, acquire(t, c, "kept", fencehold.WithBarging()))
}

func mustRefuseNothing(t *testing.T, servers []*testcluster.Redis) {
	t.Helper()
	for _, server := range servers {
		if log := server.Do("ACL", "LOG"); log != "" {
			t.Errorf("refused: %s", strings.ReplaceAll(log, "\n", " "))
		}
	}
}
