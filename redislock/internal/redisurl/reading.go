package redisurl

import (
	"strconv"
	"strings"
)

// maxDB is the highest number of a database that is accepted.
const maxDB = 1_000_000

// reading is a URL of which some parts are read.
type reading struct {
	url      *URL
	scheme   scheme
	given    map[string]bool // names of options so far
	pathDB   bool            // the path has a database
	bareUser bool            // there is a user without a colon
}

func newReading(s scheme) *reading {
	u := &URL{
		Mode: s.mode, Network: "tcp", TLS: s.tls, Prefix: DefaultPrefix,
		ReplicaTimeout: DefaultReplicaTimeout, DialTimeout: DefaultDialTimeout, ClientName: DefaultClientName,
	}
	if s.unix {
		u.Network = "unix"
	}
	if s.mode == Redlock {
		u.Drift = DefaultDrift
	}
	return &reading{url: u, scheme: s, given: map[string]bool{}}
}

// readUser reads [USER][:PASSWORD].
func (r *reading) readUser(text string) (err error) {
	if len(r.scheme.hostList()) > 0 && strings.Contains(text, ",") {
		return refuse("user and password", r.scheme.hostList())
	}
	name, password, colon := strings.Cut(text, ":")
	r.bareUser = name != "" && !colon
	if r.url.Username, err = decode("user", name); err != nil {
		return err
	}
	r.url.Password, err = decode("password", password)
	return err
}

// readHosts reads the list of hosts, of which a socket has none.
func (r *reading) readHosts(list string) (err error) {
	switch {
	case r.scheme.unix && list != "":
		return refuse("socket", "the path must be absolute, without a host: want redis+unix:///PATH")
	case r.scheme.unix:
		return nil
	case list == "":
		return refuse("host", "missing: want a URL such as redis://HOST")
	case r.scheme.mode == Single && strings.Contains(list, ","):
		return refuse("hosts", "this scheme takes one: with several use redis+cluster:// for the nodes of a cluster, "+
			"redis+sentinel:// for Sentinels (with TLS rediss+...), redlock:// for servers that are independent of each other")
	}
	r.url.Addrs, err = parseHosts(list, r.scheme.defaultPort())
	return err
}

// readPath reads the path: a socket, MASTER[/DB] or a database.
func (r *reading) readPath(path string) error {
	rest := strings.TrimPrefix(path, "/")
	switch {
	case r.scheme.unix:
		return r.readSocket(path)
	case r.scheme.mode == Sentinel && !r.scheme.byOption:
		master, db, _ := strings.Cut(rest, "/")
		if err := r.readMaster(master); err != nil {
			return err
		}
		return r.readPathDB(db)
	}
	return r.readPathDB(rest)
}

func (r *reading) readSocket(path string) error {
	decoded, err := decode("socket", path)
	if err != nil {
		return err
	}
	if strings.Trim(decoded, "/") == "" || strings.ContainsRune(decoded, 0) {
		return refuse("socket", "the path must name a file: want redis+unix:///PATH")
	}
	r.url.Addrs = []string{decoded}
	return nil
}

func (r *reading) readMaster(text string) error {
	if text == "" {
		return nil // its absence is refused when all is read
	}
	decoded, err := decode("master", text)
	if err != nil {
		return err
	}
	return setMaster(r, "master", decoded)
}

// setMaster also sets the options that give the name.
func setMaster(r *reading, part, name string) error {
	if !isLegible(name) {
		return refuse(part, "must be UTF-8 without control characters")
	}
	if r.url.Master != "" {
		return refuse(part, "the master is given twice")
	}
	r.url.Master = name
	return nil
}

func (r *reading) readPathDB(text string) (err error) {
	if text == "" {
		return nil
	}
	r.pathDB = true
	r.url.DB, err = parseDB("database", text)
	return err
}

// setDB sets the option db.
func setDB(r *reading, part, text string) error {
	n, err := parseDB(part, text)
	if err != nil {
		return err
	}
	if r.pathDB && n != r.url.DB {
		return refuse(part, "the path says another database")
	}
	r.url.DB = n
	return nil
}

func parseDB(part, text string) (int, error) {
	n, err := strconv.ParseUint(text, 10, 32)
	if err != nil || n > maxDB {
		return 0, refuse(part, "must be a number from 0 to "+strconv.Itoa(maxDB))
	}
	return int(n), nil
}
