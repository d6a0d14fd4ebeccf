package boot_test

import (
	"testing"
	"time"

	"github.com/fencehold/fencehold/filelock/internal/boot"
)

func TestMoments(t *testing.T) {
	id, err := boot.Read()
	if err != nil {
		t.Fatal(err)
	}
	if again, err := boot.Read(); err != nil || again != id || id == "" {
		t.Errorf("the boot is %q, then %q, %v", id, again, err)
	}
	if left := id.Until(id.In(time.Minute)); left > time.Minute || left < 50*time.Second {
		t.Errorf("a minute from now is in %v", left)
	}
	for what, m := range map[string]*boot.Moment{
		"no moment": nil, "a past one": id.In(-time.Second), "another boot's": (id + "x").In(time.Hour),
	} {
		if left := id.Until(m); left != 0 {
			t.Errorf("%s is in %v", what, left)
		}
	}
}

func TestClockGoesOn(t *testing.T) {
	const id = boot.ID("1")
	m := id.In(time.Minute)
	before := id.Until(m)
	time.Sleep(5 * time.Millisecond)
	if after := id.Until(m); before-after < 5*time.Millisecond {
		t.Errorf("%v left, and after 5 ms %v", before, after)
	}
}
