package redlock_test

import (
	"strings"
	"testing"
	"time"

	"github.com/fencehold/fencehold"
)

// TestUndecidedRenewalSaysWhoHasIt: a server that has nothing of the lock is told from
// one where somebody else has it.
func TestUndecidedRenewalSaysWhoHasIt(t *testing.T) {
	t.Parallel()
	for value, want := range map[string]string{
		"":                     ": has it no longer",
		"fh1:OTHER:7:1:o=them": ": held by them",
		"a stranger's":         ": held by another library",
	} {
		s := startSet(t, 3)
		c := s.client(t, 30*time.Second, fencehold.WithoutRenewal())
		lease := acquire(t, c, job)
		s.everywhere(t, lease)
		s[1].Do("DEL", jobKey)
		if value != "" {
			s[1].Do("SET", jobKey, value, "PX", "60000")
		}
		s[2].Kill()
		err := lease.Extend(bounded(t), 10*time.Second)
		mustBe(t, err, fencehold.ErrUnavailable)
		if !strings.Contains(err.Error(), s[1].Addr()+want) || !strings.Contains(err.Error(), "1 of 3 servers agreed") {
			t.Errorf("error %v, want %q", err, s[1].Addr()+want)
		}
	}
}
