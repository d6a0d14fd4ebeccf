package redisurl

import (
	"maps"
	"slices"
	"strings"
)

// scheme is what the scheme of a URL decides.
type scheme struct {
	mode     Mode
	unix     bool
	tls      bool
	byOption bool // the name of the master is an option, and the path the database
	member   bool // of a Redlock set, whose options it may have
}

// modes are those that a scheme names after the product.
var modes = map[string]Mode{"": Single, "+sentinel": Sentinel, "+cluster": Cluster, "+redlock": Redlock}

// schemes are all schemes by name.
var schemes = makeSchemes()

func makeSchemes() map[string]scheme {
	all := map[string]scheme{
		"unix":            {unix: true},
		"redis-sentinel":  {mode: Sentinel, byOption: true},
		"rediss-sentinel": {mode: Sentinel, byOption: true, tls: true},
		"redlock":         {mode: Redlock},
		"redlocks":        {mode: Redlock, tls: true},
	}
	for _, product := range []string{"redis", "valkey"} {
		all[product+"+unix"] = scheme{unix: true}
		for suffix, mode := range modes {
			all[product+suffix] = scheme{mode: mode}
			all[product+"s"+suffix] = scheme{mode: mode, tls: true}
		}
	}
	return all
}

// Schemes returns the names of the schemes of one server, one set of replicas or
// one Cluster, sorted.
func Schemes() []string { return slices.DeleteFunc(allSchemes(), isRedlock) }

// RedlockSchemes returns the names of the other schemes, which are those of
// [Redlock], sorted.
func RedlockSchemes() []string {
	return slices.DeleteFunc(allSchemes(), func(name string) bool { return !isRedlock(name) })
}

func allSchemes() []string { return slices.Sorted(maps.Keys(schemes)) }

func isRedlock(name string) bool { return schemes[name].mode == Redlock }

// findScheme returns the scheme of that name. The error repeats the name only
// if it has the form of one.
func findScheme(name string) (scheme, error) {
	if s, ok := schemes[name]; ok {
		return s, nil
	}
	part := "scheme"
	if len(name) <= maxShown && onlyOf(name, letters+digits+"+-.") {
		part += ` "` + name + `"`
		if near := nearestScheme(name); near != "" {
			return scheme{}, refuse(part, `not known: is "`+near+`" meant?`)
		}
	}
	return scheme{}, refuse(part, "not known: want one of "+strings.Join(allSchemes(), ", "))
}

// defaultPort is the port of a host that is given without.
func (s scheme) defaultPort() string {
	if s.mode == Sentinel {
		return "26379"
	}
	return "6379"
}

// hostList is the rule for who writes a user behind the first host of several, empty
// where there is only one host.
func (s scheme) hostList() string {
	switch s.mode {
	case Single:
		return ""
	case Redlock:
		return "they stand once, before the first host, and are the same for all: give each server a URL of its own where " +
			"they differ; percent-encode , in them as %2C"
	}
	return "they stand once, before the first host; percent-encode , in them as %2C"
}
