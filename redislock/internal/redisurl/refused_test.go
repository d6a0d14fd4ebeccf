package redisurl_test

import (
	"errors"
	"strings"
	"testing"

	"github.com/fencehold/fencehold/redislock/internal/redisurl"
)

// refused are URLs, and words of the rule that each breaks.
var refused = []struct{ raw, rule string }{
	{"", "scheme: missing"},
	{"redis:h", "scheme: missing"},
	{"http://h", `scheme "http": not known: want one of redis, `},
	{"REDIS://h", `scheme "REDIS": not known`},
	{"rediss+unix:///s", `scheme "rediss+unix": not known: is "redis+unix" meant?`},
	{"redus://h", `scheme "redus": not known: is "redis" meant?`},
	{"redis+cluter://h", `is "redis+cluster" meant?`},
	{"u:" + encoded + "://h", "scheme: not known"},

	{"redis://u:" + password + "@h", "percent-encode"},
	{"redis://u:" + password + "@h/0?db=0", "percent-encode"},
	{"redis+sentinel://u:" + password + "@a,b/m", "percent-encode"},
	{"redis+cluster://:" + password + "@a,b", "percent-encode"},
	{"redis+unix://:" + password + "@/s", "percent-encode"},
	{"redis://u:hun@ter@h", "percent-encode @"},
	{"redis://u:hun/ter@h", "percent-encode @ /"},
	{"redis://u:hun?ter@h", "percent-encode @ / ?"},
	{"redis://u:hun#ter@h", "percent-encode @ / ? and #"},
	{"redis://u:hun%ter@h", "password: percent-encode % as %25"},
	{"redis://us%er:hunter@h", "user: percent-encode % as %25"},
	{"redis://u:hun ter@h", "percent-encode blanks"},
	{"redis://u:hun\nter@h", "control characters"},
	{"redis://hunter@h", "user: write USER:PASSWORD@, :PASSWORD@"},
	{"redis://:hunter@h?password_file=f", "option password_file: not together"},
	{"redis://h#hunter", "percent-encode"},
	{"redis://h?client_name=a@b", "an option"},
	{"redis://u:hunter", "host 1 of 1: the port"},

	{"redis://", "host: missing"},
	{"redlock://a,u:" + encoded + "@b,c", "before the first host, and are the same for all: give each server a URL"},
	{"redis+cluster://a,u:" + encoded + "@b,c", "before the first host; percent-encode , in them"},
	{"redis:///0", "host: missing"},
	{"redis://u:" + encoded + "@", "host: missing"},
	{"redis://a,b", "redis+cluster://"},
	{"redis://a,b,c", "redlock://"},
	{"rediss://u:" + encoded + "@a,b/0", "redis+sentinel://"},
	{"redis+cluster://a,", "host 2 of 2: empty"},
	{"redis+cluster://,a", "host 1 of 2: empty"},
	{"redis+cluster://a,b,A:6379", "host 3 of 3: the same as host 1"},
	{"redis+cluster://[::1],[0::1]", "host 2 of 2: the same as host 1"},
	{"redis+sentinel://a,a:26379/m", "the same as host 1"},
	{"redis://:6379", "must be a host name"},
	{"redis://h:", "port must be a number from 1 to 65535"},
	{"redis://h:0", "port must"},
	{"redis://h:65536", "port must"},
	{"redis://h:+1", "port must"},
	{"redis://h:hunter", "port must"},
	{"redis://::1", "stands in brackets"},
	{"redis://[::1", "want [ADDRESS]"},
	{"redis://[::1]6379", "want [ADDRESS]"},
	{"redis://[::1]:", "port must"},
	{"redis://[h]", "must be an IPv6 address"},
	{"redis://[1.2.3.4]", "must be an IPv6 address"},
	{"redis://[fe80::1%25e%20h]", "must be an IPv6 address"},
	{"redis://[fe80::1%eth0]", "percent-encode %"},
	{"redis://h!", "must be a host name"},
	{"redis://h%41", "must be a host name"},
	{"redis://bücher", "must be a host name"},
	{"redis://a..b", "must be a host name"},
	{"redis://1.2.3.256", "must be a host name"},
	{"redis://" + strings.Repeat("a", 64), "must be a host name"},
	{"redis://" + strings.Repeat("a.", 127), "must be a host name"},

	{"redis://u:" + encoded + "@h/abc", "database: must be a number from 0 to 1000000"},
	{"redis://h/-1", "database: must"},
	{"redis://h/1000001", "database: must"},
	{"redis://h/0/", "database: must"},
	{"redis://h?db=abc", "option db: must"},
	{"redis://h?db=", "option db: empty"},
	{"redis://h/1?db=2", "option db: the path says another"},
	{"redis://h/0?db=2", "option db: the path says another"},
	{"redis+cluster://h/1", "database 0 only"},
	{"redis+cluster://h?db=1", "database 0 only"},

	{"unix://run/s", "socket: the path must be absolute"},
	{"unix://", "socket: the path must name a file"},
	{"unix:///", "socket: the path must name a file"},
	{"unix:///s%00", "socket: the path must name a file"},
	{"unix:///s%zz", "socket: percent-encode %"},

	{"redlock://a", "hosts: a Redlock set has 3 servers at least"},
	{"redlock://a,b", "hosts: a Redlock set has 3"},
	{"redlocks://a,b,c,d", "hosts: a Redlock set has an odd number"},
	{"redlock://a,b,a:6379", "host 3 of 3: the same as host 1"},
	{"redlock://u:" + encoded + "@a,b", "hosts: a Redlock set has 3"},
	{"redlock://u:" + password + "@a,b,c", "percent-encode"},
	{"redlock://a,b,c/x", "database: must"},
	{"redlock://a,b,c?min_replicas=0", "option min_replicas: not with redlock://"},
	{"redlock://a,b,c?replica_timeout=1s", "option replica_timeout: not with redlock://"},
	{"redlock://a,b,c?max_ttl=999ms", "option max_ttl: must be a duration such as 30s"},
	{"redlock://a,b,c?max_ttl=25h", "option max_ttl: must"},
	{"redlock://a,b,c?max_ttl=1500500us", "option max_ttl: must"},
	{"redlock://a,b,c?max_ttl=60", "option max_ttl: must"},
	{"redlock://a,b,c?drift=0.009", "option drift: must be a number from 0.01 to 0.5"},
	{"redlock://a,b,c?drift=0.51", "option drift: must"},
	{"redlock://a,b,c?drift=nan", "option drift: must"},
	{"redlock://a,b,c?drift=1%25", "option drift: must"},
	{"redlock://a,b,c?node_timeout=0", "option node_timeout: must"},
	{"redlock://a,b,c?maxttl=1s", `option "maxttl": not known: is "max_ttl" meant?`},
	{"redlock://a,b,c?cacert=f", "option cacert: only with TLS"},
	{"redis://h?max_ttl=1s", "option max_ttl: only with redlock://"},
	{"redis+cluster://a,b,c?drift=0.02", "option drift: only with redlock://"},

	{"redis+sentinel://h", "master: missing: want redis+sentinel://"},
	{"redis+sentinel://h//0", "master: missing"},
	{"redis+sentinel://h/m/x", "database: must"},
	{"redis+sentinel://h/m/0/0", "database: must"},
	{"redis+sentinel://h/m%0A", "master: must be UTF-8"},
	{"redis+sentinel://h/m%zz", "master: percent-encode %"},
	{"redis+sentinel://h/m?master=m", "option master: only with redis-sentinel://"},
	{"redis-sentinel://h", "master: missing: want the option sentinelMasterId"},
	{"redis-sentinel://h/m", "database: must"},
	{"redis-sentinel://h?master=m&sentinelMasterId=m", "option sentinelMasterId: the master is given twice"},
	{"redis-sentinel://h?master=%FF", "option master: must be UTF-8"},
	{"redis-sentinel://hunter@h?master=m", "user: write"},
	{"redis://h?sentinel_password=" + encoded, "option sentinel_password: only with Sentinels"},
	{
		"redis+sentinel://h/m?sentinel_password=" + encoded + "&sentinel_password_file=f",
		"option sentinel_password_file: not together",
	},
	{"redis+sentinel://h/m?sentinel_password=" + password, "percent-encode"},
	{"redis+sentinel://h/m?sentinel_password=hun%ter", "option sentinel_password: percent-encode %"},
	{"redis+sentinel://h/m?sentinel_password=x&hunter", "option 2: want NAME=VALUE"},
	{"redis+sentinel://h/m?sentinel_password=x&hunter=y", "option 2: not known; percent-encode &"},

	{"redis://h?prefx=x", `option "prefx": not known: is "prefix" meant?`},
	{"redis://h?pref=x", `is "prefix" meant?`},
	{"redis://h?prefixes=x", `is "prefix" meant?`},
	{"redis://h?perfix=x", `is "prefix" meant?`},
	{"redis://h?dbb=1", `is "db" meant?`},
	{"redis://h?min-replica=1", `option 1: not known: is "min_replicas" meant?`},
	{"redis://h?protocol=2", `option "protocol": not known`},
	{"redis://h?password=hunter", "use password_file"},
	{"redis://h?" + strings.Repeat("a", 40) + "=1", "option 1: not known"},
	{"redis://h?db", "option 1: want NAME=VALUE"},
	{"redis://h?db=0&", "option 2: want NAME=VALUE"},
	{"redis://h?db=1&db=1", "option db: given twice"},
	{"redis://h?password_file=", "option password_file: empty"},
	{"redis://h?prefix=" + strings.Repeat("a", 129), "option prefix: must have 128 bytes"},
	{"redis://h?prefix=%FF", "option prefix: must be UTF-8"},
	{"redis://h?prefix=%C2%85", "option prefix: must be UTF-8"},
	{"redis://h?prefix={}", "one complete {tag}"},
	{"redis://h?prefix={a", "one complete {tag}"},
	{"redis://h?prefix=a}", "one complete {tag}"},
	{"redis://h?prefix=}a{", "one complete {tag}"},
	{"redis://h?prefix={a}{b}", "one complete {tag}"},
	{"redis://h?prefix={{a}", "one complete {tag}"},
	{"redis://h?min_replicas=17", "option min_replicas: must be a number from 0 to 16"},
	{"redis://h?min_replicas=-1", "option min_replicas: must"},
	{"redis://h?replica_timeout=999us", "option replica_timeout: must be a duration such as 500ms or 2s, at least 1ms"},
	{"redis://h?dial_timeout=5", "option dial_timeout: must"},
	{"redis://h?dial_timeout=-5s", "option dial_timeout: must"},
	{"redis://h?client_name=a%20b", "option client_name: must be printable"},
	{"redis://h?cacert=f", "option cacert: only with TLS"},
	{"redis://h?insecure=false", "option insecure: only with TLS"},
	{"rediss://h?insecure=maybe", "option insecure: must be true or false"},
	{"rediss://h?servername=a..b", "option servername: must"},
	{"rediss://h?cert=f", "options cert and key: want both or neither"},
	{"rediss://h?key=f", "options cert and key: want both or neither"},
}

// TestParseRefuses: each is refused with the rule, and without any password.
func TestParseRefuses(t *testing.T) {
	for _, c := range refused {
		u, err := redisurl.Parse(c.raw)
		if _, ok := errors.AsType[*redisurl.Error](err); !ok || u != nil || !strings.Contains(err.Error(), c.rule) {
			t.Errorf("%q: read as %v, error %v, want one with %q", c.raw, u, err, c.rule)
			continue
		}
		for _, secret := range []string{password, encoded, "p@s", "p%40s", "w rd", "w%20rd", "%=:", "hun", "ter@", "%te"} {
			if strings.Contains(err.Error(), secret) {
				t.Errorf("%q: the error shows %q: %v", c.raw, secret, err)
			}
		}
	}
}
