package view_test

import (
	"io"
	"strings"
	"testing"

	"github.com/fencehold/fencehold"
	"github.com/fencehold/fencehold/cmd/fencehold/internal/view"
)

func TestDiagnosisTable(t *testing.T) {
	t.Parallel()
	d := view.Diagnosis{URL: "redis://h", Findings: []fencehold.Finding{
		{Server: "a:1", Subject: "memory", Grade: fencehold.GradeGood, Text: "no limit"},
		{Server: "b:2", Subject: "rights", Grade: fencehold.GradeFailure, Text: "says \x1b[2J"},
		{Subject: "promise", Grade: fencehold.GradeNote, Text: "much"},
	}}
	for _, c := range []struct {
		findings []fencehold.Finding
		want     string
	}{
		{nil, "url   redis://h\n"},
		{d.Findings[:1], "url   redis://h\n\ngood   memory   no limit\n"},
		{d.Findings, "url   redis://h\n\n" +
			"good      a:1   memory    no limit\n" +
			"failure   b:2   rights    says \ufffd[2J\n" +
			"note      -     promise   much\n"},
	} {
		var b strings.Builder
		if err := view.PrintDiagnosis(&b, view.Table, view.Diagnosis{URL: d.URL, Findings: c.findings}); err != nil {
			t.Fatal(err)
		}
		if b.String() != c.want {
			t.Errorf("got\n%s\nwant\n%s", b.String(), c.want)
		}
	}
	if d.Worst() != fencehold.GradeFailure || (view.Diagnosis{}).Worst() != fencehold.GradeGood {
		t.Errorf("the worst is %v, and %v of none", d.Worst(), view.Diagnosis{}.Worst())
	}
}

// TestDiagnosisReportsFailedWrites: whichever part could not be written.
func TestDiagnosisReportsFailedWrites(t *testing.T) {
	t.Parallel()
	d := view.Diagnosis{Findings: []fencehold.Finding{{Subject: "memory"}}}
	for _, f := range []view.Format{view.Table, view.JSON, view.Lines} {
		for n := range map[view.Format]int{view.Table: 3, view.JSON: 1, view.Lines: 1}[f] {
			if err := view.PrintDiagnosis(struct{ io.Writer }{&limited{left: n}}, f, d); err == nil {
				t.Errorf("%s: no error where write %d fails", f, n+1)
			}
		}
	}
}
