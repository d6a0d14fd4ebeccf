package fencehold_test

import (
	"errors"
	"strings"
	"testing"

	"github.com/fencehold/fencehold"
)

// TestOpenNamesThePackageOfRedis: whoever forgot the import is told which one.
func TestOpenNamesThePackageOfRedis(t *testing.T) {
	for _, scheme := range []string{
		"redis", "rediss", "valkey", "valkeys", "unix", "redis+unix", "valkey+unix",
		"redis+sentinel", "rediss+sentinel", "valkey+sentinel", "valkeys+sentinel",
		"redis+cluster", "rediss+cluster", "valkey+cluster", "valkeys+cluster",
		"redis-sentinel", "rediss-sentinel",
	} {
		mustNamePackage(t, scheme, "redislock")
	}
	for _, scheme := range []string{
		"redlock", "redlocks", "redis+redlock", "rediss+redlock", "valkey+redlock", "valkeys+redlock",
	} {
		mustNamePackage(t, scheme, "redislock/redlock")
	}
}

func mustNamePackage(t *testing.T, scheme, pkg string) {
	t.Helper()
	_, err := fencehold.Open(t.Context(), scheme+"://:secret@host")
	hint := "import github.com/fencehold/fencehold/" + pkg + " to"
	if !errors.Is(err, fencehold.ErrInvalid) || !strings.Contains(err.Error(), hint) {
		t.Errorf("%s: error %v, want one that names the package", scheme, err)
	}
	if strings.Contains(err.Error(), "secret") {
		t.Errorf("%s: the error shows the password: %v", scheme, err)
	}
}
