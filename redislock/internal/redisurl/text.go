package redisurl

import (
	"net/url"
	"strings"
)

// The characters that names consist of.
const (
	letters = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"
	digits  = "0123456789"
)

// maxShown is how many bytes an unknown name may have to be repeated in an error.
const maxShown = 32

// onlyOf says whether s has a character, and none but these.
func onlyOf(s, allowed string) bool { return s != "" && strings.Trim(s, allowed) == "" }

// decode resolves percent-encoding once; + stays +. The error leaves the bad
// escape out, which is three characters of what may be a password.
func decode(part, text string) (string, error) {
	decoded, err := url.PathUnescape(text)
	if err != nil {
		return "", refuse(part, "percent-encode % as %25 where two hex digits do not follow it")
	}
	return decoded, nil
}

// escape encodes everything but letters, digits and -_.~ for any part of a URL.
func escape(s string) string { return strings.ReplaceAll(url.QueryEscape(s), "+", "%20") }

// escapePath is escape for paths and values, which stay legible.
func escapePath(s string) string {
	return strings.NewReplacer("%2F", "/", "%3A", ":").Replace(escape(s))
}
