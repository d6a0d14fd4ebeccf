package view_test

import (
	"strings"
	"testing"
	"time"

	"github.com/fencehold/fencehold"
	"github.com/fencehold/fencehold/cmd/fencehold/internal/view"
)

// TestDescribe: what is known is told, and of a lock that is free nothing that
// only its last holder left behind.
func TestDescribe(t *testing.T) {
	t.Parallel()
	info := fencehold.Info{Kind: "file", URL: "file:///x"}
	all := holdings(time.Now())
	free := fencehold.Holding{Name: "f", Key: "/x/f.lock"}
	for _, c := range []struct {
		lock   fencehold.Holding
		want   []string
		absent []string
	}{
		{all[0], []string{"held       yes", `by         "web 1"`, "by hand    cat /x/a.lock", "  1.       w since "}, nil},
		{all[1], []string{`lock       "b\x1b[2J"`, "by         (not fencehold)"}, []string{"holder", "token", "\x1b"}},
		{all[2], []string{"by         (kept)", "holder     K"}, []string{"token"}},
		{free, []string{"held       no", "key        /x/f.lock"}, []string{"by ", "holder", "since"}},
	} {
		got := view.Describe(c.lock, info)
		for _, s := range c.want {
			if !strings.Contains(got, s) {
				t.Errorf("no %q in\n%s", s, got)
			}
		}
		for _, s := range c.absent {
			if strings.Contains(got, s) {
				t.Errorf("%q in\n%s", s, got)
			}
		}
	}
}

// TestByHand: the command can be pasted into a shell, whatever the path is.
func TestByHand(t *testing.T) {
	t.Parallel()
	for key, want := range map[string]string{
		"/x/a.lock": "cat /x/a.lock", "/x/it's $me": `cat '/x/it'\''s $me'`, "/é": "cat '/é'",
	} {
		got := view.Describe(fencehold.Holding{Name: "a", Held: true, Key: key}, fencehold.Info{Kind: "file"})
		if !strings.Contains(got, "by hand    "+want+"\n") {
			t.Errorf("no %q in\n%s", want, got)
		}
	}
	if got := view.Describe(fencehold.Holding{Held: true, Key: "k"}, fencehold.Info{Kind: "memory"}); strings.Contains(got, "by hand") {
		t.Errorf("a command for a service that has none:\n%s", got)
	}
}
