package view

import (
	"fmt"
	"io"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/fencehold/fencehold"
)

// Diagnosis is what was found out about a lock service.
type Diagnosis struct {
	// URL has no password.
	URL string
	// Info is what the service says of itself, nil if it was not reached.
	Info *fencehold.Info
	// Findings are in the order in which they are shown.
	Findings []fencehold.Finding
}

// Worst is the grade of the worst finding.
func (d Diagnosis) Worst() fencehold.Grade {
	worst := fencehold.GradeGood
	for _, f := range d.Findings {
		worst = max(worst, f.Grade)
	}
	return worst
}

// features says in plain words what each of them means, and what it means to
// be without.
var features = []struct {
	feature                   fencehold.Features
	name, with, without, json string
}{
	{fencehold.Fencing, "fencing", "each grant has a larger token than all before it", "grants have no tokens", "fencing"},
	{
		fencehold.Durable, "durable", "tokens go on rising after crashes and power cuts",
		"not promised: what a crash forgets depends on how the service keeps its data", "durable",
	},
	{fencehold.FairQueue, "queue", "who came first is served first", "waiters are served in no order", "fair_queue"},
	{fencehold.MinHold, "min hold", "--min-hold works", "--min-hold does not work", "min_hold"},
	{
		fencehold.Detached, "acquire", "a lock can outlive the process that took it",
		"a lock ends with the process that took it", "detached",
	},
}

// diagnosisView is a diagnosis as JSON.
type diagnosisView struct {
	Schema   int           `json:"schema_version"`
	URL      string        `json:"url"`
	Backend  *string       `json:"backend"`
	MinTTL   *int64        `json:"min_ttl_ms"`
	MaxTTL   *int64        `json:"max_ttl_ms"`
	Features []string      `json:"features"`
	Worst    string        `json:"worst"`
	Findings []findingView `json:"findings"`
}

type findingView struct {
	Grade   string  `json:"grade"`
	Server  *string `json:"server"`
	Subject string  `json:"subject"`
	Text    string  `json:"text"`
}

// PrintDiagnosis writes a diagnosis. Lines and names have one finding each.
func PrintDiagnosis(out io.Writer, f Format, d Diagnosis) error {
	switch f {
	case JSON:
		return WriteJSON(out, d.view())
	case Lines:
		for _, found := range d.view().Findings {
			if err := WriteLine(out, found); err != nil {
				return err
			}
		}
		return nil
	}
	if err := d.writeInfo(out); err != nil || len(d.Findings) == 0 {
		return err
	}
	if _, err := io.WriteString(out, "\n"); err != nil {
		return err
	}
	return writeTable(out, d.rows())
}

func (d Diagnosis) view() diagnosisView {
	v := diagnosisView{
		Schema: SchemaVersion, URL: d.URL, Worst: d.Worst().String(), Features: []string{}, Findings: []findingView{},
	}
	if d.Info != nil {
		v.Backend, v.MinTTL = &d.Info.Kind, new(d.Info.MinTTL.Milliseconds())
		if d.Info.MaxTTL > 0 {
			v.MaxTTL = new(d.Info.MaxTTL.Milliseconds())
		}
		for _, f := range features {
			if d.Info.Features.Has(f.feature) {
				v.Features = append(v.Features, f.json)
			}
		}
	}
	for _, f := range d.Findings {
		v.Findings = append(v.Findings, findingView{f.Grade.String(), known(f.Server), f.Subject, f.Text})
	}
	return v
}

// writeInfo writes what the service is, and promises.
func (d Diagnosis) writeInfo(out io.Writer) error {
	rows := [][]string{{"url", d.URL}}
	if d.Info != nil {
		rows = append(rows, []string{"backend", d.Info.Kind}, []string{"ttl", ttls(*d.Info)})
		for _, f := range features {
			text := f.without
			if d.Info.Features.Has(f.feature) {
				text = f.with
			}
			rows = append(rows, []string{f.name, text})
		}
	}
	return writeTable(out, rows)
}

// ttls says which TTLs the service takes.
func ttls(info fencehold.Info) string {
	text := fmt.Sprintf("%v at least", info.MinTTL)
	if info.MaxTTL > 0 {
		text += fmt.Sprintf(", %v at most", info.MaxTTL)
	}
	return text
}

// rows is a line for each finding. The server is named if there are several.
func (d Diagnosis) rows() [][]string {
	several := slices.ContainsFunc(d.Findings, func(f fencehold.Finding) bool {
		return f.Server != "" && f.Server != d.Findings[0].Server
	})
	var rows [][]string
	for _, f := range d.Findings {
		row := []string{f.Grade.String(), f.Subject, legible(f.Text)}
		if several {
			row = slices.Insert(row, 1, orNone(f.Server))
		}
		rows = append(rows, row)
	}
	return rows
}

// legible takes out of a text what a terminal would obey: a part of it may be
// what the server said.
func legible(text string) string {
	return strings.Map(func(r rune) rune {
		if !unicode.IsGraphic(r) {
			return utf8.RuneError
		}
		return r
	}, text)
}
