package redisurl

import "strings"

// parts are the pieces of a URL as they were written.
type parts struct {
	scheme scheme
	user   string // before the @
	hosts  string
	path   string // with its slash
	query  string // without the question mark
}

// split takes a URL apart.
func split(raw string) (parts, error) {
	name, rest, found := strings.Cut(raw, "://")
	if !found {
		return parts{}, refuse("scheme", "missing: want a URL such as redis://HOST")
	}
	s, err := findScheme(name)
	if err != nil {
		return parts{}, err
	}
	p := parts{scheme: s}
	rest, p.query, _ = strings.Cut(rest, "?")
	authority, path := rest, ""
	if i := strings.IndexByte(rest, '/'); i >= 0 {
		authority, path = rest[:i], rest[i:]
	}
	p.hosts, p.path = authority, path
	if user, hosts, found := strings.Cut(authority, "@"); found {
		p.user, p.hosts = user, hosts
	}
	return p, checkEncoded(p)
}

// checkEncoded refuses what a password that is not percent-encoded leaves
// behind: an @ after the first, or after a slash or question mark. No part is
// read before, so no piece of it is taken for a host or an option.
func checkEncoded(p parts) error {
	all := p.user + p.hosts + p.path + p.query
	switch {
	case strings.Contains(p.hosts+p.path+p.query, "@") || strings.Contains(all, "#"):
		return refuse("user and password", "percent-encode @ / ? and # in them as %40 %2F %3F and %23 "+
			"(and @ and # in a path or an option)")
	case strings.ContainsFunc(all, isBlank):
		return refuse("user, password, path or options", "percent-encode blanks (as %20) and control characters")
	}
	return nil
}

// isBlank says whether r cannot stand in a URL as it is.
func isBlank(r rune) bool { return r <= ' ' || r == 0x7f }
