package view

import (
	"fmt"
	"io"
	"strings"
	"time"

	"github.com/fencehold/fencehold"
)

// PrintInspected writes all that is known of one lock.
func PrintInspected(out io.Writer, f Format, h fencehold.Holding, info fencehold.Info) error {
	switch f {
	case JSON:
		return WriteJSON(out, NewLock(h))
	case Table, Wide:
		_, err := io.WriteString(out, Describe(h, info))
		return err
	}
	return Print(out, f, []fencehold.Holding{h}, time.Now())
}

// Describe tells all that is known of a lock, one thing on each line.
func Describe(h fencehold.Holding, info fencehold.Info) string {
	var b strings.Builder
	put := func(key, value string) {
		if value != "" && value != "0" {
			fmt.Fprintf(&b, "%-10s %s\n", key, value)
		}
	}
	put("lock", Quote(h.Name))
	put("held", map[bool]string{true: "yes", false: "no"}[h.Held])
	if h.Held {
		put("by", HolderOf(h))
	}
	put("holder", h.Holder)
	put("token", h.Token.String())
	put("host", Quote(h.Host))
	put("pid", fmt.Sprint(h.PID))
	if !h.Since.IsZero() {
		put("since", fmt.Sprintf("%s (%s ago)", h.Since.Format(time.RFC3339), time.Since(h.Since).Round(time.Second)))
	}
	if h.TTL > 0 {
		put("ttl", h.TTL.Round(time.Millisecond).String())
	}
	if len(h.Labels) > 0 {
		put("labels", Labels(h.Labels))
	}
	put("backend", info.Kind+" "+info.URL)
	put("key", Quote(h.Key))
	put("by hand", byHand(h, info))
	if h.Waiting > 0 {
		put("waiting", fmt.Sprint(h.Waiting))
	}
	for i, w := range h.Waiters {
		put(fmt.Sprintf("  %d.", i+1), strings.TrimSpace(fmt.Sprintf("%s %s", Quote(w.Owner), since(w.Since))))
	}
	return b.String()
}

// since is empty for a time that is not known.
func since(t time.Time) string {
	if t.IsZero() {
		return ""
	}
	return "since " + t.Format(time.RFC3339)
}

// byHand is a command that shows the lock without this program, empty if nobody
// holds it: what the file of a free lock says is about an earlier holder.
func byHand(h fencehold.Holding, info fencehold.Info) string {
	if info.Kind == "file" && h.Held && h.Key != "" {
		return "cat " + shellQuote(h.Key)
	}
	return ""
}

// shellQuote returns s as one word of a shell.
func shellQuote(s string) string {
	safe := func(r rune) bool {
		return r < 0x80 && (r == '/' || r == '.' || r == '-' || r == '_' || r == '%' || '0' <= r && r <= '9' ||
			'a' <= r && r <= 'z' || 'A' <= r && r <= 'Z')
	}
	if s != "" && strings.IndexFunc(s, func(r rune) bool { return !safe(r) }) < 0 {
		return s
	}
	return "'" + strings.ReplaceAll(s, "'", `'\''`) + "'"
}
