package redisurl

import (
	"strconv"
	"strings"
	"time"
)

// String returns a URL of the same service without its passwords: what Parse
// makes of it differs from u in nothing else. A user name is kept, as USER:@.
func (u URL) String() string {
	var b strings.Builder
	b.WriteString(u.schemeName() + "://")
	if u.Username != "" {
		b.WriteString(escape(u.Username) + ":@")
	}
	b.WriteString(u.location())
	separator := "?"
	for _, opt := range u.differing() {
		b.WriteString(separator + opt.name + "=" + escapePath(opt.value))
		separator = "&"
	}
	return b.String()
}

// GoString keeps the passwords out of %#v too.
func (u URL) GoString() string { return "redisurl.URL(" + u.String() + ")" }

// schemeName is the canonical one: valkey and aliases have none of their own.
func (u URL) schemeName() string {
	name := "redis"
	if u.Mode == Redlock {
		name = "redlock"
	}
	if u.TLS {
		name += "s"
	}
	switch {
	case u.Network == "unix":
		name += "+unix"
	case u.Mode == Sentinel:
		name += "+sentinel"
	case u.Mode == Cluster:
		name += "+cluster"
	}
	return name
}

// location is hosts and path. The path of a socket has no room for a database.
func (u URL) location() string {
	list := strings.Join(u.Addrs, ",")
	if u.Network == "unix" {
		return escapePath(list)
	}
	list = strings.ReplaceAll(list, "%", "%25") // of the zone of an IPv6 address
	if u.Mode == Sentinel {
		list += "/" + escape(u.Master)
	}
	if u.DB != 0 {
		list += "/" + strconv.Itoa(u.DB)
	}
	return list
}

func formatNumber(f float64) string { return strconv.FormatFloat(f, 'g', -1, 64) }

// setting is an option with its value.
type setting struct{ name, value string }

// differing are the options that are not what they are by default, in a fixed
// order, without those that are secret.
func (u URL) differing() []setting {
	var list []setting
	add := func(name, value, byDefault string) {
		if value != byDefault {
			list = append(list, setting{name, value})
		}
	}
	if u.Network == "unix" {
		add("db", strconv.Itoa(u.DB), "0")
	}
	add("prefix", u.Prefix, DefaultPrefix)
	drift := 0.0
	if u.Mode == Redlock {
		drift = DefaultDrift
	}
	add("max_ttl", u.MaxTTL.String(), time.Duration(0).String())
	add("drift", formatNumber(u.Drift), formatNumber(drift))
	add("node_timeout", u.NodeTimeout.String(), time.Duration(0).String())
	add("min_replicas", strconv.Itoa(u.MinReplicas), "0")
	add("replica_timeout", u.ReplicaTimeout.String(), DefaultReplicaTimeout.String())
	add("dial_timeout", u.DialTimeout.String(), DefaultDialTimeout.String())
	add("client_name", u.ClientName, DefaultClientName)
	add("password_file", u.PasswordFile, "")
	add("cacert", u.CACert, "")
	add("cert", u.Cert, "")
	add("key", u.Key, "")
	add("servername", u.ServerName, "")
	add("insecure", strconv.FormatBool(u.Insecure), "false")
	add("sentinel_username", u.SentinelUsername, "")
	add("sentinel_password_file", u.SentinelPasswordFile, "")
	return list
}
