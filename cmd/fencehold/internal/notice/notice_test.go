package notice_test

import (
	"encoding/json"
	"errors"
	"strings"
	"testing"

	"github.com/fencehold/fencehold/cmd/fencehold/internal/notice"
)

func TestLevels(t *testing.T) {
	t.Parallel()
	for level, want := range map[notice.Level]string{
		notice.Quiet:   "",
		notice.Normal:  "fencehold: warned\nfencehold: failed\n",
		notice.Verbose: "fencehold: told 1\nfencehold: warned\nfencehold: failed\n",
	} {
		var b strings.Builder
		p := notice.New(&b, level, false)
		p.Info("told %d", 1)
		p.Warn("warned")
		p.Error(errors.New("failed"))
		if b.String() != want {
			t.Errorf("level %d: %q, want %q", level, b.String(), want)
		}
	}
}

// TestOneLine: a message is one line that does not steer the terminal.
func TestOneLine(t *testing.T) {
	t.Parallel()
	var b strings.Builder
	notice.New(&b, notice.Normal, false).Error(errors.New("a\nb\r\n\x1b[2J\x7f"))
	if want := "fencehold: a; b; ?[2J?\n"; b.String() != want {
		t.Errorf("%q, want %q", b.String(), want)
	}
}

func TestJSON(t *testing.T) {
	t.Parallel()
	var b strings.Builder
	notice.New(&b, notice.Normal, true).Warn("lock %q", "a")
	var got map[string]string
	if err := json.Unmarshal([]byte(b.String()), &got); err != nil {
		t.Fatal(err)
	}
	if got["level"] != "warn" || got["msg"] != `lock "a"` || got["time"] == "" || strings.Count(b.String(), "\n") != 1 {
		t.Errorf("message %v", got)
	}
}
