package config

import (
	"regexp"
	"strings"
)

// serverURL is how a URL begins that may be one of a list. File names may have
// blanks, so a list is known by each of its items.
var serverURL = regexp.MustCompile(`^(?i:unix|(?:redis|valkey)[a-z+-]*|redlocks?)://`)

// URLs returns the URLs of servers that are separated by blanks in the setting
// url. Anything else, and what holds one URL, is returned as it is.
func URLs(raw string) []string {
	items := strings.Fields(raw)
	for _, item := range items {
		if !serverURL.MatchString(item) {
			return []string{raw}
		}
	}
	if len(items) == 0 {
		return []string{raw}
	}
	return items
}

// setURL is how the URL of a Redlock set begins.
var setURL = regexp.MustCompile(`^(?:redlocks?|(?:redis|valkey)s?\+redlock)://`)

// NamesSet reports whether the setting url names a Redlock set: by one URL, or by
// several of one server each.
func NamesSet(raw string) bool {
	urls := URLs(raw)
	return len(urls) > 1 || setURL.MatchString(urls[0])
}

// JoinURLs is the reverse of [URLs].
func JoinURLs(urls []string) string { return strings.Join(urls, " ") }

// eachURL changes every URL of a setting, and stops at the first error.
func eachURL(raw string, change func(string) (string, error)) (string, error) {
	urls := URLs(raw)
	changed := make([]string, len(urls))
	for i, url := range urls {
		var err error
		if changed[i], err = change(url); err != nil {
			return "", err
		}
	}
	return JoinURLs(changed), nil
}
