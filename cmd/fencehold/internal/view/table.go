package view

import (
	"fmt"
	"io"
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"

	"github.com/fencehold/fencehold"
)

// none stands for what is not known.
const none = "-"

// kept stands for the holder of a lock that nobody holds, and nobody can have
// before its minimum hold is over.
const kept = "(kept)"

// tableOf makes one row for each lock, after a heading.
func tableOf(locks []fencehold.Holding, wide bool, now time.Time) [][]string {
	heading := []string{"LOCK", "HOLDER", "TOKEN", "AGE", "TTL", "WAITERS"}
	if wide {
		heading = append(heading, "HOST", "PID", "LABELS", "BACKEND-KEY")
	}
	rows := [][]string{heading}
	for _, h := range locks {
		row := []string{Quote(h.Name), HolderOf(h), number(h.Token), age(h.Since, now), ttl(h.TTL), waiters(h.Waiting)}
		if wide {
			row = append(row, orNone(Quote(h.Host)), number(h.PID), Labels(h.Labels), orNone(Quote(h.Key)))
		}
		rows = append(rows, row)
	}
	return rows
}

// HolderOf names the holder to people: the owner, if it said who it is.
func HolderOf(h fencehold.Holding) string {
	switch {
	case !h.Held:
		return none
	case h.Kept:
		return kept
	case h.Owner != "":
		return Quote(h.Owner)
	case h.Holder != "":
		return Quote(h.Holder)
	case h.Foreign:
		return "(not fencehold)"
	}
	return none
}

// Labels lists labels in the order of their keys.
func Labels(labels map[string]string) string {
	var parts []string
	for _, key := range slices.Sorted(maps.Keys(labels)) {
		parts = append(parts, Quote(key+"="+labels[key]))
	}
	return orNone(strings.Join(parts, ","))
}

// orNone fills an empty cell.
func orNone(s string) string {
	if s == "" {
		return none
	}
	return s
}

// number is a cell for a number of which zero means that it is not known.
func number[T ~int | ~int64](n T) string {
	if n == 0 {
		return none
	}
	return strconv.FormatInt(int64(n), 10)
}

// waiters is a cell for a number of which a negative one means that it is not
// known.
func waiters(n int) string {
	if n < 0 {
		return none
	}
	return strconv.Itoa(n)
}

// age is how long ago since was. Clocks of machines differ, so it may not even
// have come yet.
func age(since, now time.Time) string {
	if since.IsZero() {
		return none
	}
	return short(max(now.Sub(since), 0))
}

// ttl is a cell for the time that is left.
func ttl(d time.Duration) string {
	if d == 0 {
		return none
	}
	return short(d)
}

// short is d with as much as matters at its size.
func short(d time.Duration) string {
	switch {
	case d < 10*time.Second:
		return d.Round(100 * time.Millisecond).String()
	case d < time.Hour:
		return d.Round(time.Second).String()
	}
	s := d.Round(time.Minute).String()
	return strings.TrimSuffix(s, "0s")
}

// writeTable aligns the columns with blanks.
func writeTable(out io.Writer, rows [][]string) error {
	width := make([]int, len(rows[0]))
	for _, row := range rows {
		for i, cell := range row {
			width[i] = max(width[i], utf8.RuneCountInString(cell))
		}
	}
	var b strings.Builder
	for _, row := range rows {
		var line strings.Builder
		for i, cell := range row {
			fmt.Fprintf(&line, "%-*s", width[i]+3, cell)
		}
		b.WriteString(strings.TrimRight(line.String(), " ") + "\n")
	}
	_, err := io.WriteString(out, b.String())
	return err
}

// Quote returns s as it is if it is safe in a line of a table and on a
// terminal, otherwise as a quoted string of Go.
// Names come from everybody who may take a lock, and a terminal obeys what is in them.
func Quote(s string) string {
	odd := func(r rune) bool {
		return !unicode.IsGraphic(r) || unicode.IsSpace(r) || r == '"' || r == '\\' || r == utf8.RuneError
	}
	if strings.ContainsFunc(s, odd) || s == none {
		return strconv.QuoteToGraphic(s)
	}
	return s
}
