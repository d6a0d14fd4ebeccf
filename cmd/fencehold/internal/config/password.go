package config

import (
	"errors"
	"net/url"
	"os"
	"regexp"
	"slices"
	"strings"
)

// hidden stands where a secret was.
const hidden = "xxxxx"

// A span is the part of a URL from one index up to another.
type span struct{ from, to int }

// secrets finds what may be secret in raw, which is often no proper URL: a list
// of hosts is none, and passwords are pasted in without being escaped.
// So it takes more rather than less.
func secrets(raw string) []span {
	spans := querySecrets(raw)
	if s, ok := password(raw); ok {
		spans = append(spans, s)
	}
	return slices.DeleteFunc(spans, func(s span) bool { return s.from == s.to })
}

// password finds the password before the hosts. It reaches to the last @ of all,
// since one that was not escaped may hold any character, also those that would
// end it.
func password(raw string) (span, bool) {
	_, rest, found := strings.Cut(raw, "://")
	if !found {
		rest = raw
	}
	start, at := len(raw)-len(rest), strings.LastIndexByte(raw, '@')
	// A directory is no user, and may be named as one likes.
	if at < start || strings.HasPrefix(strings.ToLower(raw), "file:///") {
		return span{}, false
	}
	colon := strings.IndexByte(raw[start:at], ':')
	if colon < 0 {
		return span{}, false
	}
	return span{start + colon + 1, at}, true
}

// querySecrets finds the values that have the name of a secret. They reach to the
// next & and no other character, as they may not have been escaped either.
func querySecrets(raw string) []span {
	var spans []span
	for i := range len(raw) {
		if !strings.ContainsRune("?&;#", rune(raw[i])) {
			continue
		}
		key, value, found := strings.Cut(raw[i+1:], "=")
		if !found || !namesSecret(key) {
			continue
		}
		value, _, _ = strings.Cut(value, "&")
		from := i + 1 + len(key) + 1
		spans = append(spans, span{from, from + len(value)})
	}
	return spans
}

// namesSecret reports whether the key of a query is that of a secret.
func namesSecret(key string) bool {
	if plain, err := url.QueryUnescape(key); err == nil {
		key = plain
	}
	key = strings.ToLower(key)
	return slices.ContainsFunc([]string{"pass", "secret", "token"}, func(word string) bool {
		return strings.Contains(key, word)
	})
}

// hasLiteralPassword reports whether a secret stands in raw itself, and not
// only the names of variables.
func hasLiteralPassword(raw string) bool {
	return slices.ContainsFunc(URLs(raw), func(url string) bool {
		return slices.ContainsFunc(secrets(url), func(s span) bool { return literal(url[s.from:s.to]) })
	})
}

// literal reports whether s has more than the names of variables.
func literal(s string) bool { return regexp.MustCompile(`\$\{[^}]*\}`).ReplaceAllString(s, "") != "" }

// unclear finds what stands before the hosts, if it is not plainly a user and a
// password: a user alone, which may be a password, or text in which something
// was not escaped, of which any piece may belong to one.
func unclear(raw string) []span {
	_, rest, found := strings.Cut(raw, "://")
	if !found {
		rest = raw
	}
	start, at := len(raw)-len(rest), strings.LastIndexByte(raw, '@')
	if at <= start || strings.HasPrefix(strings.ToLower(raw), "file:///") {
		return nil
	}
	if found && plainUser.MatchString(raw[start:at]) {
		return nil
	}
	return []span{{start, at}}
}

// plainUser is a user, which may be empty, and a password. Escapes may be bad
// in the password, which is hidden.
var plainUser = regexp.MustCompile(`^([\w.~!$&'()*+,;=-]|%[0-9A-Fa-f]{2})*:[^/?#@]*$`)

// Redact returns raw, a URL or a list of them, with its secrets hidden.
func Redact(raw string) string {
	urls := URLs(raw)
	for i, url := range urls {
		urls[i] = redact(url)
	}
	return JoinURLs(urls)
}

func redact(raw string) string {
	spans := append(secrets(raw), unclear(raw)...)
	slices.SortFunc(spans, func(a, b span) int { return a.from - b.from })
	var b strings.Builder
	end := 0
	for i, s := range spans {
		// Two may overlap, where one of them has characters that begin the other.
		if i == 0 || s.from > end {
			b.WriteString(raw[end:s.from] + hidden)
		}
		end = max(end, s.to)
	}
	return b.String() + raw[end:]
}

// userOf finds where the user and the password of a URL begin, behind the
// scheme, and where they end, which is zero if there are none.
func userOf(raw string) (start, end int, found bool) {
	start = strings.Index(raw, "://")
	if start < 0 {
		return 0, 0, false
	}
	start += len("://")
	hosts := start + strings.IndexAny(raw[start:]+"/", "/?#")
	if at := strings.LastIndexByte(raw[start:hosts], '@'); at >= 0 {
		end = start + at
	}
	return start, end, true
}

// withPassword puts the first line of the file at path into raw, which must
// have a user and no password.
// The password is escaped, so that it may hold any character; one in a URL must be
// escaped by who writes it.
func withPassword(raw, path string) (string, error) {
	text, err := os.ReadFile(path)
	if err != nil {
		return "", err
	}
	line, _, _ := strings.Cut(string(text), "\n")
	line = strings.TrimSuffix(line, "\r")
	if line == "" {
		return "", errors.New("the first line is empty: want the password there")
	}
	if s, ok := password(raw); ok && s.from != s.to {
		return "", errors.New("the URL has a password already (an @ behind the hosts is written %40)")
	}
	start, user, found := userOf(raw)
	if !found {
		return "", errors.New("the URL has no scheme")
	}
	name, rest := "", raw[start:]
	if user > 0 {
		name, rest = raw[start:user], raw[user+1:]
	}
	return raw[:start] + strings.TrimSuffix(name, ":") + ":" + escape(line) + "@" + rest, nil
}

// escape escapes a part of the user or the password of a URL.
func escape(s string) string { return strings.ReplaceAll(url.QueryEscape(s), "+", "%20") }
