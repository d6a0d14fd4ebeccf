package main

import (
	"fmt"
	"io"
	"slices"

	"github.com/fencehold/fencehold/bench/internal/figure"
)

// measure is one kind of figure.
type measure struct {
	name, unit string
	base       string // the library that others are compared with; empty: none
	goal       string // what fencehold has to reach; empty: nothing
}

// row is what one library reached in one measure, in each round.
type row struct {
	measure measure
	library string
	values  []float64
}

// table collects figures, in the order in which they come.
type table struct{ rows []*row }

func newTable() *table { return &table{} }

// add adds the figure of one round.
func (t *table) add(m measure, library string, value float64) {
	r := t.find(m, library)
	if r == nil {
		r = &row{measure: m, library: library}
		t.rows = append(t.rows, r)
	}
	r.values = append(r.values, value)
}

// find returns the row of a library; nil if there is none.
func (t *table) find(m measure, library string) *row {
	i := slices.IndexFunc(t.rows, func(r *row) bool { return r.measure == m && r.library == library })
	if i < 0 {
		return nil
	}
	return t.rows[i]
}

// print writes Markdown.
func (t *table) print(w io.Writer) {
	_, _ = fmt.Fprintln(w, "| measure | library | median | rounds | ratio | goal |")
	_, _ = fmt.Fprintln(w, "| - | - | - | - | - | - |")
	for _, r := range t.rows {
		goal := ""
		if r.library == ours {
			goal = r.measure.goal
		}
		_, _ = fmt.Fprintf(w, "| %s | %s | %s %s | %s | %s | %s |\n", r.measure.name, r.library,
			short(figure.Quantile(r.values, 0.5)), r.measure.unit, spread(r.values), t.ratio(r), goal)
	}
}

// ours is the name of the library that goals are for.
const ours = "fencehold"

// ratio compares a row with its base, round by round.
func (t *table) ratio(r *row) string {
	base := t.find(r.measure, r.measure.base)
	if base == nil || base == r {
		return ""
	}
	ratios := make([]float64, len(r.values))
	for i, v := range r.values {
		ratios[i] = v / base.values[i]
	}
	return fmt.Sprintf("%.2f (%s)", figure.Quantile(ratios, 0.5), spread(ratios))
}

// spread is the least and the greatest of values.
func spread(values []float64) string {
	return short(slices.Min(values)) + "–" + short(slices.Max(values))
}

// short writes a number with three digits or so.
func short(v float64) string {
	switch {
	case v >= 100 || v <= -100:
		return fmt.Sprintf("%.0f", v)
	case v >= 10 || v <= -10:
		return fmt.Sprintf("%.1f", v)
	default:
		return fmt.Sprintf("%.2f", v)
	}
}
