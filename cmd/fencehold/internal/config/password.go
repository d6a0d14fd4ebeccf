package config

import (
	"errors"
	"net/url"
	"os"
	"strings"
)

// splitPassword cuts the password out of a URL that has one. It does not
// parse the URL, since a list of hosts is none.
func splitPassword(raw string) (before, password, after string, found bool) {
	start := strings.Index(raw, "://")
	if start < 0 {
		return raw, "", "", false
	}
	start += len("://")
	end := start + strings.IndexAny(raw[start:]+"/", "/?#")
	at := strings.LastIndexByte(raw[start:end], '@')
	if at < 0 {
		return raw, "", "", false
	}
	colon := strings.IndexByte(raw[start:start+at], ':')
	if colon < 0 {
		return raw, "", "", false
	}
	from, to := start+colon+1, start+at
	return raw[:from], raw[from:to], raw[to:], true
}

// hasLiteralPassword reports whether a password stands in raw itself, and not
// only the name of a variable.
func hasLiteralPassword(raw string) bool {
	_, password, _, found := splitPassword(raw)
	return found && password != "" && (!strings.HasPrefix(password, "${") || !strings.HasSuffix(password, "}"))
}

// Redact returns raw with its password hidden.
func Redact(raw string) string {
	before, password, after, found := splitPassword(raw)
	if !found || password == "" {
		return raw
	}
	return before + "xxxxx" + after
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
	secret := url.QueryEscape(strings.TrimSuffix(line, "\r"))
	secret = strings.ReplaceAll(secret, "+", "%20")
	if hasLiteralPassword(raw) {
		return "", errors.New("the URL has a password already")
	}
	start := strings.Index(raw, "://")
	if start < 0 {
		return "", errors.New("the URL has no scheme")
	}
	start += len("://")
	end := start + strings.IndexAny(raw[start:]+"/", "/?#")
	user, hosts, found := strings.Cut(raw[start:end], "@")
	if !found {
		user, hosts = "", raw[start:end]
	}
	return raw[:start] + strings.TrimSuffix(user, ":") + ":" + secret + "@" + hosts + raw[end:], nil
}
