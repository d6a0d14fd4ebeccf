package testcluster

import (
	"errors"
	"fmt"
	"net/url"
	"slices"
	"strconv"
	"strings"
)

// PrimaryName is the name that sentinels know the primary by.
const PrimaryName = "mymaster"

// Sentinel is a primary with replicas that sentinels watch.
type Sentinel struct {
	tb        TB
	servers   []*Redis
	sentinels []*Redis
}

// StartSentinel starts a primary, replicas and sentinels, and returns when all
// know each other. A primary that is silent for a second is replaced; the quorum
// is the majority of sentinels.
func StartSentinel(tb TB, replicas, sentinels int, opts ...Option) *Sentinel {
	tb.Helper()
	primary := StartRedis(tb, opts...)
	s := &Sentinel{tb: tb, servers: []*Redis{primary}}
	for range replicas {
		s.servers = append(s.servers, newReplica(tb, primary))
	}
	for range sentinels {
		s.sentinels = append(s.sentinels, newSentinel(tb, primary, sentinels))
	}
	others := slices.Concat(s.servers[1:], s.sentinels)
	if err := launchAll(others); err != nil {
		giveUp(tb, others, "start under Sentinel", err)
	}
	if err := await(settleLimit, settleEvery, s.complete); err != nil {
		giveUp(tb, s.all(), "sentinels do not see all", err)
	}
	return s
}

// newSentinel prepares one of count sentinels.
func newSentinel(tb TB, primary *Redis, count int) *Redis {
	tb.Helper()
	set := settings{tls: primary.set.tls, sentinelPassword: primary.set.sentinelPassword}
	watch := fmt.Sprintf("monitor %s 127.0.0.1 %d %d", PrimaryName, primary.Port(), count/2+1)
	opts := []Option{
		asSentinel,
		Config("sentinel", watch),
		Config("sentinel", "down-after-milliseconds "+PrimaryName+" "+downAfter),
		Config("sentinel", "failover-timeout "+PrimaryName+" "+failoverTime),
	}
	if p := primary.set.password; p != "" {
		opts = append(opts, Config("sentinel", "auth-pass "+PrimaryName+" "+strconv.Quote(p)))
	}
	r := newRedis(tb, set.with(opts...))
	r.onStart = r.hurry
	return r
}

// hurry makes a sentinel look around more often than its configuration could
// say, and not give up its work for half a minute after a stall. The server
// forgets that when it ends.
func (r *Redis) hurry() error {
	_, err := r.TryDo(
		"SENTINEL", "DEBUG",
		"info-period", "200", "ping-period", "200", "ask-period", "200", "publish-period", "200",
		"min-link-reconnect-period", "200", "election-timeout", "1000",
		"tilt-trigger", "5000", "tilt-period", "1000",
	)
	return err
}

// all returns every process.
func (s *Sentinel) all() []*Redis { return slices.Concat(s.servers, s.sentinels) }

// complete returns nil if every sentinel sees the others and all replicas, and
// these have their data.
func (s *Sentinel) complete() error {
	for _, r := range s.servers[1:] {
		if err := r.follows(s.servers[0]); err != nil {
			return err
		}
	}
	for _, r := range s.sentinels {
		if err := s.sees(r); err != nil {
			return err
		}
	}
	return nil
}

// sees returns nil if a sentinel knows the whole set and could fail over.
func (s *Sentinel) sees(r *Redis) error {
	info, err := r.ask(probeLimit, "INFO", "sentinel")
	if err != nil {
		return err
	}
	want := fmt.Sprintf("status=ok,address=%s,slaves=%d,sentinels=%d",
		s.servers[0].Addr(), len(s.servers)-1, len(s.sentinels))
	if !strings.Contains(info, want) {
		return fmt.Errorf("sentinel %s does not say %s", r.Addr(), want)
	}
	_, err = r.ask(probeLimit, "SENTINEL", "CKQUORUM", PrimaryName)
	return err
}

// Servers returns the servers that hold data. The first was the primary at the
// start.
func (s *Sentinel) Servers() []*Redis { return slices.Clone(s.servers) }

// Sentinels returns the sentinels.
func (s *Sentinel) Sentinels() []*Redis { return slices.Clone(s.sentinels) }

// URL returns redis+sentinel://h1,h2,h3/mymaster, with the password of the
// servers if there is one.
func (s *Sentinel) URL() string {
	u := url.URL{Scheme: "redis+sentinel", User: userinfo(s.servers[0].set.password), Host: addrs(s.sentinels)}
	return u.String() + "/" + PrimaryName
}

// Primary asks the sentinels who is the primary, and returns what the first one
// says that answers.
func (s *Sentinel) Primary() *Redis {
	s.tb.Helper()
	err := errors.New("there is no sentinel")
	for _, r := range s.sentinels {
		var p *Redis
		if p, err = s.named(r); err == nil {
			return p
		}
	}
	giveUp(s.tb, s.sentinels, "no sentinel knows the primary", err)
	return nil
}

// named returns who is the primary in the eyes of one sentinel.
func (s *Sentinel) named(by *Redis) (*Redis, error) {
	answer, err := by.ask(probeLimit, "SENTINEL", "GET-MASTER-ADDR-BY-NAME", PrimaryName)
	if err != nil {
		return nil, err
	}
	p := byAddr(s.servers, strings.ReplaceAll(answer, "\n", ":"))
	if p == nil {
		return nil, fmt.Errorf("sentinel %s names %q", by.Addr(), answer)
	}
	return p, nil
}
