package redlock

import (
	"strings"
	"testing"
	"time"

	"github.com/fencehold/fencehold/driver"
)

// TestDiagnoseClocks: what counts is how they differ, less what that can be off.
func TestDiagnoseClocks(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		ahead, within time.Duration
		grade         driver.Grade
		says          string
	}{
		{300 * time.Millisecond, 0, driver.GradeGood, "differ by 300ms at most"},
		{3 * time.Second, 1500 * time.Millisecond, driver.GradeGood, "to within 3s"},
		{3 * time.Second, 0, driver.GradeNote, "b is 3s ahead of that of a"},
		{-3 * time.Second, 0, driver.GradeNote, "a is 3s ahead of that of b"},
		{2 * time.Minute, 0, driver.GradeWarning, "second round"},
	} {
		a, b := &seat{index: 0, name: "a"}, &seat{index: 1, name: "b"}
		e := &examination{census: census{
			{seat: a, within: c.within},
			{seat: b, ahead: c.ahead, within: c.within},
			{seat: &seat{index: 2, name: "c"}, err: errSilent},
		}}
		e.clocks()
		if f := e.findings[0]; f.Grade != c.grade || !strings.Contains(f.Text, c.says) {
			t.Errorf("%v ahead: %v %q, want %v %q", c.ahead, f.Grade, f.Text, c.grade, c.says)
		}
	}
}
