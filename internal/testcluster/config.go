package testcluster

import (
	"os"
	"path/filepath"
	"strconv"
	"strings"
)

// configFile is the name of the configuration file in a server's directory. The
// server rewrites it when Sentinel changes its role.
const configFile = "redis.conf"

// writeConfig writes the configuration of a server.
func (r *Redis) writeConfig() error {
	lines := r.network()
	switch {
	case r.set.sentinel:
	case r.set.cluster:
		lines = append(append(lines, dataServer...), clusterNode...)
	default:
		lines = append(lines, dataServer...)
	}
	lines = append(append(lines, r.secrets()...), r.set.config...)
	var b strings.Builder
	for _, d := range lines {
		b.WriteString(d.String() + "\n")
	}
	return os.WriteFile(filepath.Join(r.dir, configFile), []byte(b.String()), 0o600)
}

// String returns the line.
func (d directive) String() string {
	if d.value == "" {
		return d.name + ` ""`
	}
	return d.name + " " + d.value
}

// dataServer is the default configuration of a server that holds data: nothing
// is written to disk, and replicas are served without the delay that waits for
// more of them.
var dataServer = []directive{
	{"save", ""},
	{"appendonly", "no"},
	{"enable-debug-command", "local"},
	{"repl-diskless-sync", "yes"},
	{"repl-diskless-sync-delay", "0"},
	{"shutdown-timeout", shutdownWait},
}

// clusterNode is what a node of a Cluster has beside it. A replica may always
// stand for election, however long it was without its primary.
var clusterNode = []directive{
	{"cluster-enabled", "yes"},
	{"cluster-node-timeout", nodeTimeout},
	{"cluster-replica-validity-factor", "0"},
}

// network is where the server listens and keeps its files.
func (r *Redis) network() []directive {
	lines := []directive{
		{"bind", "127.0.0.1"},
		{"protected-mode", "no"},
		{"dir", strconv.Quote(r.dir)},
		{"loglevel", "warning"},
	}
	if r.set.unix {
		lines = append(lines, directive{"unixsocket", strconv.Quote(r.socket)})
	}
	if !r.set.tls {
		return append(lines, directive{"port", strconv.Itoa(r.port)})
	}
	return append(
		lines,
		directive{"port", "0"},
		directive{"tls-port", strconv.Itoa(r.port)},
		directive{"tls-ca-cert-file", strconv.Quote(r.CAFile())},
		directive{"tls-cert-file", strconv.Quote(filepath.Join(r.dir, certFile))},
		directive{"tls-key-file", strconv.Quote(filepath.Join(r.dir, keyFile))},
		directive{"tls-auth-clients", "no"},
		directive{"tls-replication", "yes"},
		directive{"tls-cluster", yes(r.set.cluster)},
	)
}

// secrets is what clients and replicas have to know.
func (r *Redis) secrets() []directive {
	if r.set.password == "" {
		return nil
	}
	quoted := strconv.Quote(r.set.password)
	if r.set.sentinel {
		return []directive{{"requirepass", quoted}, {"sentinel", "sentinel-pass " + quoted}}
	}
	return []directive{{"requirepass", quoted}, {"masterauth", quoted}}
}

// yes is how a configuration file says b.
func yes(b bool) string {
	if b {
		return "yes"
	}
	return "no"
}
