package sim

import (
	"math/rand/v2"
	"os"
	"strconv"
	"testing"
)

// Each class makes so many attempts, in the conformance run and else.
const (
	allAttempts = 200_000
	fewAttempts = 4_000
)

// seedVariable names the environment variable with the seed of all classes. A
// class is run again with it and -run 'TestClasses/NAME'.
const seedVariable = "FENCEHOLD_SIM_SEED"

// seed is that of the variable, or a new one.
func seed(t *testing.T) uint64 {
	t.Helper()
	text := os.Getenv(seedVariable)
	if text == "" {
		return rand.Uint64()
	}
	n, err := strconv.ParseUint(text, 10, 64)
	if err != nil {
		t.Fatalf("%s: %v", seedVariable, err)
	}
	return n
}

// attempts is how many each class makes.
func attempts() int {
	if os.Getenv("FENCEHOLD_CONFORMANCE") == "full" {
		return allAttempts
	}
	return fewAttempts
}

func TestClasses(t *testing.T) {
	t.Parallel()
	for _, k := range Classes() {
		t.Run(k.Name, func(t *testing.T) {
			t.Parallel()
			n := seed(t)
			f := k.Run(n, attempts())
			t.Logf("%s: %d attempts, %d grants, %d overlaps, %d duplicates, %d falls, seed %d",
				k.Name, f.Attempts, f.Grants, f.Overlaps, f.Duplicates, f.Falls, n)
			t.Logf("in %d worlds; %d with P2, %d renewals, %d losses, %d clock steps, %d forgot",
				f.Worlds, f.Settled, f.Renewals, f.Losses, f.Steps, f.Forgotten)
			k.check(t, f)
		})
	}
}

// check compares figures with what the class promises.
func (k Class) check(t *testing.T, f Figures) {
	t.Helper()
	exclusion := k.Promise == Everything || k.Promise == ExclusionOnly
	if exclusion != (f.Overlaps == 0) {
		t.Errorf("%d overlaps; there must be none: %v", f.Overlaps, exclusion)
	}
	if k.Promise == Nothing {
		return
	}
	tokens := k.Promise != ExclusionOnly
	if tokens != (f.Duplicates+f.Falls == 0) {
		t.Errorf("%d duplicates and falls of tokens; there must be none: %v", f.Duplicates+f.Falls, tokens)
	}
}

// A seed is worth being printed.
func TestSameSeedSameFigures(t *testing.T) {
	t.Parallel()
	n := seed(t)
	for _, k := range Classes() {
		if first, second := k.Run(n, 500), k.Run(n, 500); first != second {
			t.Errorf("%s, seed %d: %+v, then %+v", k.Name, n, first, second)
		}
	}
}
