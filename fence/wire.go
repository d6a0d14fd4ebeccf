package fence

import (
	"fmt"
	"net/url"
	"strconv"
	"strings"
)

// String returns f as it travels in the Fencing-Token header and in the
// environment variable FENCEHOLD_FENCE: TOKEN;holder=HOLDER;resource=NAME,
// where holder and name are percent-encoded as in a URL path.
func (f Fence) String() string {
	return f.Token.String() + ";holder=" + url.PathEscape(f.Holder) + ";resource=" + url.PathEscape(f.Name)
}

// Parse reads what [Fence.String] wrote. The holder and the resource may be
// missing or in either order; a token that is not a decimal integer between 1
// and [MaxToken], an unknown field or a repeated one is an error.
func Parse(s string) (Fence, error) {
	fields := strings.Split(s, ";")
	t, err := parseToken(fields[0])
	if err != nil {
		return Fence{}, err
	}
	f := Fence{Token: t}
	seen := map[string]bool{}
	for _, field := range fields[1:] {
		if err := f.setField(field, seen); err != nil {
			return Fence{}, err
		}
	}
	return f, nil
}

func parseToken(s string) (Token, error) {
	n, err := strconv.ParseInt(s, 10, 64)
	if t := Token(n); err == nil && t.Valid() && t.String() == s {
		return t, nil
	}
	return 0, fmt.Errorf("fencing token %q: must be a decimal integer between 1 and %s", s, MaxToken)
}

func (f *Fence) setField(field string, seen map[string]bool) error {
	key, raw, found := strings.Cut(field, "=")
	value, err := url.PathUnescape(raw)
	switch {
	case !found:
		return fmt.Errorf("fencing token field %q: must be key=value", field)
	case err != nil:
		return fmt.Errorf("fencing token field %q: %w", field, err)
	case seen[key]:
		return fmt.Errorf("fencing token field %q: given twice", key)
	}
	seen[key] = true
	switch key {
	case "holder":
		f.Holder = value
	case "resource":
		f.Name = value
	default:
		return fmt.Errorf("fencing token field %q: must be holder or resource", key)
	}
	return nil
}
