package filelock_test

import (
	"errors"
	"strings"
	"testing"

	"github.com/fencehold/fencehold"
)

// TestRefusedURLs: each is refused with the rule, and without what may be a
// password in it.
func TestRefusedURLs(t *testing.T) {
	t.Parallel()
	for raw, rule := range map[string]string{
		"file://locks":                      "must be absolute",
		"file://user:SECRET@host/x":         "must be absolute",
		"file://user:SEC/RET@h/x":           "must be absolute",
		"file://user:SEC#RET@h/x":           "must be absolute",
		"file://#SECRET":                    "must be absolute",
		"file:///d#SECRET":                  "only a directory and a query",
		"file:///d?password=SECRET":         `query "password": the only key is mode`,
		"file:///d?password=SEC;RET":        "invalid semicolon",
		"file:///d?password=SECRET%zz":      `invalid URL escape "%zz"`,
		"file:///d%zz?password=SECRET":      `invalid URL escape "%zz"`,
		"file:///d?password=SECRET\x01":     "invalid control character",
		"file:///d?mode=x":                  `mode "x": must be process or lease`,
		"file:///d?mode=process&mode=lease": "given once",
	} {
		_, err := fencehold.Open(t.Context(), raw)
		if !errors.Is(err, fencehold.ErrInvalid) || !strings.Contains(err.Error(), rule) {
			t.Errorf("%q: error %v, want one with %q", raw, err, rule)
			continue
		}
		if strings.Contains(err.Error(), "SEC") || strings.Contains(err.Error(), "RET") {
			t.Errorf("%q: the error shows what may be a password: %v", raw, err)
		}
	}
}
