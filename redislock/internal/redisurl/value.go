package redisurl

import (
	"fmt"
	"net/netip"
	"strconv"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"
)

// The limits of values.
const (
	maxPrefix      = 128 // bytes
	maxClientName  = 128 // bytes
	maxMinReplicas = 16
	// minTimeout is the unit of the service, for which 0 means without end.
	minTimeout = time.Millisecond
)

// text sets a field to the value as it is.
func text(field func(*URL) *string) func(r *reading, part, value string) error {
	return func(r *reading, _, value string) error {
		*field(r.url) = value
		return nil
	}
}

// timeout sets a field to a duration such as 500ms.
func timeout(field func(*URL) *time.Duration) func(r *reading, part, value string) error {
	return func(r *reading, part, value string) error {
		d, err := time.ParseDuration(value)
		if err != nil || d < minTimeout {
			return refuse(part, fmt.Sprintf("must be a duration such as 500ms or 2s, at least %v", minTimeout))
		}
		*field(r.url) = d
		return nil
	}
}

// The limits of the options of Redlock. A set waits the longest TTL before a server
// that has lost its memory may vote again.
const (
	minMaxTTL = time.Second
	maxMaxTTL = 24 * time.Hour
	minDrift  = 0.01
	maxDrift  = 0.5
)

// setMaxTTL takes whole milliseconds, the unit in which the servers keep it.
func setMaxTTL(r *reading, part, value string) error {
	d, err := time.ParseDuration(value)
	if err != nil || d < minMaxTTL || d > maxMaxTTL || d%time.Millisecond != 0 {
		return refuse(part, "must be a duration such as 30s or 2m, from 1s to 24h, of whole milliseconds")
	}
	r.url.MaxTTL = d
	return nil
}

func setDrift(r *reading, part, value string) error {
	f, err := strconv.ParseFloat(value, 64)
	if err != nil || !(f >= minDrift && f <= maxDrift) {
		return refuse(part, fmt.Sprintf("must be a number from %v to %v, such as 0.02 for two percent", minDrift, maxDrift))
	}
	r.url.Drift = f
	return nil
}

func setMinReplicas(r *reading, part, value string) error {
	n, err := strconv.ParseUint(value, 10, 8)
	if err != nil || n > maxMinReplicas {
		return refuse(part, fmt.Sprintf("must be a number from 0 to %d", maxMinReplicas))
	}
	r.url.MinReplicas = int(n)
	return nil
}

// setClientName takes what CLIENT SETNAME does: no blanks.
func setClientName(r *reading, part, value string) error {
	unfit := func(c rune) bool { return c < '!' || c > '~' }
	if len(value) > maxClientName || strings.ContainsFunc(value, unfit) {
		return refuse(part, fmt.Sprintf("must be printable ASCII without blanks, %d bytes at most", maxClientName))
	}
	r.url.ClientName = value
	return nil
}

func setServerName(r *reading, part, value string) error {
	if _, err := netip.ParseAddr(value); err != nil && !isHostName(value) {
		return refuse(part, "must be a host name or an IP address")
	}
	r.url.ServerName = value
	return nil
}

func setInsecure(r *reading, part, value string) error {
	b, err := strconv.ParseBool(value)
	if err != nil {
		return refuse(part, "must be true or false")
	}
	r.url.Insecure = b
	return nil
}

func setPrefix(r *reading, part, value string) error {
	switch {
	case len(value) > maxPrefix:
		return refuse(part, fmt.Sprintf("must have %d bytes at most", maxPrefix))
	case !isLegible(value):
		return refuse(part, "must be UTF-8 without control characters")
	case !hasTagOrNone(value):
		return refuse(part, "may have one complete {tag} that is not empty, and no other brace")
	}
	r.url.Prefix = value
	return nil
}

// hasTagOrNone says whether the braces of a prefix are none, or one whole tag
// that decides the slot of all its keys.
func hasTagOrNone(prefix string) bool {
	_, inner, found := strings.Cut(prefix, "{")
	if !found {
		return !strings.Contains(prefix, "}")
	}
	return strings.Count(prefix, "{") == 1 && strings.Count(prefix, "}") == 1 && strings.IndexByte(inner, '}') > 0
}

// isLegible says whether s is UTF-8 without control characters.
func isLegible(s string) bool {
	return utf8.ValidString(s) && !strings.ContainsFunc(s, unicode.IsControl)
}
