package redlock

import (
	"strconv"
	"testing"
	"time"
)

// TestForgottenLeases: a lease that ran out and was never released is not kept for
// ever.
func TestForgottenLeases(t *testing.T) {
	var hs holds
	hs.init()
	lives, _ := hs.begin(&hold{holder: "lives"})
	hs.stand(lives, time.Hour)
	hs.begin(&hold{holder: "asks"})
	for i := range 20 * minForget {
		h, _ := hs.begin(&hold{holder: strconv.Itoa(i)})
		hs.stand(h, -time.Hour)
	}
	if n := len(hs.all); n > 2*minForget {
		t.Errorf("%d holds are kept of leases that ran out", n)
	}
	for _, holder := range []string{"lives", "asks"} {
		if hs.find(holder) == nil {
			t.Errorf("%q was forgotten", holder)
		}
	}
}
