package redlock_test

import (
	"strings"
	"testing"
	"time"

	"github.com/fencehold/fencehold"
	"github.com/fencehold/fencehold/internal/testcluster"
)

// diagnosis finds out about a set.
func (s set) diagnosis(t *testing.T, maxTTL time.Duration) []fencehold.Finding {
	t.Helper()
	findings, err := s.client(t, maxTTL).Diagnose(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	return findings
}

// mustFind fails unless there is such a finding; an empty server is any, text a part.
func mustFind(t *testing.T, findings []fencehold.Finding, server string, grade fencehold.Grade, subject, text string) {
	t.Helper()
	for _, f := range findings {
		if f.Grade == grade && f.Subject == subject && strings.Contains(f.Text, text) && (server == "" || f.Server == server) {
			return
		}
	}
	t.Errorf("no %s %q of %q with %q among %+v", grade, subject, server, text, findings)
}

// TestDiagnoseVoters: who votes, who does not, and what the set promises then.
func TestDiagnoseVoters(t *testing.T) {
	t.Parallel()
	s := startSet(t, 3)
	mustFind(t, s.diagnosis(t, 30*time.Second), "", fencehold.GradeNote, "promise", "the first lock founds one of 3")
	c := s.client(t, 30*time.Second)
	cycle(t, c, "job")
	found := s.diagnosis(t, 30*time.Second)
	mustFind(t, found, s[2].Addr(), fencehold.GradeGood, "member", "3 servers, for TTLs of 30s")
	mustFind(t, found, "", fencehold.GradeGood, "promise", "all 3 servers vote, and a lock takes 2: 1 of them may fail")

	s[2].Do("FLUSHALL")
	cycle(t, c, "job")
	eventually(t, "join time", func() bool { return s[2].Do("EXISTS", "lock:fh!j") == "1" })
	found = s.diagnosis(t, 30*time.Second)
	mustFind(t, found, s[2].Addr(), fencehold.GradeWarning, "member", "it can vote in")
	mustFind(t, found, "", fencehold.GradeWarning, "promise", "none of them may fail now")

	s[0].Kill()
	found = s.diagnosis(t, 30*time.Second)
	mustFind(t, found, s[0].Addr(), fencehold.GradeWarning, "connection", "refused")
	mustFind(t, found, "", fencehold.GradeFailure, "promise", "there are no locks now")
}

// TestDiagnoseServers: what is found out about single servers is told of each.
func TestDiagnoseServers(t *testing.T) {
	t.Parallel()
	s := set{
		testcluster.StartRedis(t, testcluster.Config("maxmemory-policy", "allkeys-lru"), testcluster.Config("maxmemory", "100mb")),
		testcluster.StartRedis(t, testcluster.Config("appendonly", "yes"), testcluster.Config("appendfsync", "always")),
		testcluster.StartRedis(t, testcluster.Config("save", "60 1")),
	}
	found := s.diagnosis(t, 30*time.Second)
	for i, want := range [][2]string{{"memory", "a held lock too"}, {"", ""}, {"persistence", "brings back an old state"}} {
		if want[0] != "" {
			mustFind(t, found, s[i].Addr(), fencehold.GradeWarning, want[0], want[1])
		}
		mustFind(t, found, s[i].Addr(), fencehold.GradeGood, "rights", "scripts run")
	}
	mustFind(t, found, s[0].Addr(), fencehold.GradeNote, "persistence", "none")
	mustFind(t, found, s[1].Addr(), fencehold.GradeGood, "persistence", "appendfsync always")
	mustFind(t, found, "", fencehold.GradeGood, "clocks", "differ by")
	for _, f := range found {
		if f.Subject == "promise" && (f.Server != "" || strings.Contains(f.Text, "a restart forgets")) || f.Subject == "clock" {
			t.Errorf("what holds for a single server is said of a set: %+v", f)
		}
	}
	for _, r := range s {
		if keys := r.Do("KEYS", "*"); keys != "" {
			t.Errorf("it left behind %q", keys)
		}
	}
}
