package view

import (
	"encoding/json"
	"fmt"
	"io"
	"slices"
	"strings"
	"time"

	"github.com/fencehold/fencehold"
)

// A Format is a way to print locks.
type Format string

// The formats.
const (
	Table Format = "table"
	Wide  Format = "wide"
	JSON  Format = "json"
	Lines Format = "jsonl"
	Names Format = "name"
)

// ParseFormat reads the value of -o.
func ParseFormat(s string, allowed ...Format) (Format, error) {
	if slices.Contains(allowed, Format(s)) {
		return Format(s), nil
	}
	names := make([]string, len(allowed))
	for i, f := range allowed {
		names[i] = string(f)
	}
	return "", fmt.Errorf("-o %q: want one of %s", s, strings.Join(names, ", "))
}

// list is the JSON of several locks.
type list struct {
	Schema int    `json:"schema_version"`
	Locks  []Lock `json:"locks"`
}

// Print writes the locks to out.
func Print(out io.Writer, f Format, locks []fencehold.Holding, now time.Time) error {
	switch f {
	case JSON:
		all := list{SchemaVersion, []Lock{}}
		for _, h := range locks {
			all.Locks = append(all.Locks, NewLock(h))
		}
		return WriteJSON(out, all)
	case Lines:
		for _, h := range locks {
			if err := WriteLine(out, NewLock(h)); err != nil {
				return err
			}
		}
		return nil
	case Names:
		var b strings.Builder
		for _, h := range locks {
			b.WriteString(Quote(h.Name) + "\n")
		}
		_, err := io.WriteString(out, b.String())
		return err
	}
	return writeTable(out, tableOf(locks, f == Wide, now))
}

// WriteJSON writes v for a program that people look at too.
func WriteJSON(out io.Writer, v any) error {
	enc := json.NewEncoder(out)
	enc.SetEscapeHTML(false)
	enc.SetIndent("", "  ")
	return enc.Encode(v)
}

// WriteLine writes v on one line.
// Each is one write, so that lines of several writers do not mix.
func WriteLine(out io.Writer, v any) error {
	enc := json.NewEncoder(out)
	enc.SetEscapeHTML(false)
	return enc.Encode(v)
}
