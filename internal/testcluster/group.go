package testcluster

import (
	"errors"
	"fmt"
	"strings"
	"sync"
)

// launchAll starts prepared servers at the same time.
func launchAll(servers []*Redis) error {
	errs := make([]error, len(servers))
	var wg sync.WaitGroup
	for i, r := range servers {
		wg.Go(func() { errs[i] = r.launch() })
	}
	wg.Wait()
	return errors.Join(errs...)
}

// live returns the servers that answer.
func live(servers []*Redis) []*Redis {
	var up []*Redis
	for _, r := range servers {
		if _, err := r.ask(probeLimit, "PING"); err == nil {
			up = append(up, r)
		}
	}
	return up
}

// addrs joins the addresses of servers for clients by commas.
func addrs(servers []*Redis) string {
	var list []string
	for _, r := range servers {
		list = append(list, r.announced())
	}
	return strings.Join(list, ",")
}

// announced returns the address that clients are told.
func (r *Redis) announced() string {
	if r.proxy != nil {
		return r.proxy.Addr()
	}
	return r.Addr()
}

// byAddr returns the server that clients find at an address, nil if there is
// none.
func byAddr(servers []*Redis, addr string) *Redis {
	for _, r := range servers {
		if r.announced() == addr {
			return r
		}
	}
	return nil
}

// giveUp fails the test in the name of a set of servers, and shows their logs.
func giveUp(tb TB, servers []*Redis, what string, err error) {
	tb.Helper()
	for _, r := range servers {
		r.showLog()
	}
	tb.Fatalf("%s: %v", what, err)
}

// isPrimary returns nil if the server takes writes.
func (r *Redis) isPrimary() error {
	role, err := r.ask(probeLimit, "ROLE")
	if err == nil && !strings.HasPrefix(role, "master\n") {
		err = fmt.Errorf("%s is not a primary", r.Addr())
	}
	return err
}

// follows returns nil if the server is a replica whose link to the primary of
// is up.
func (r *Redis) follows(of *Redis) error {
	role, err := r.ask(probeLimit, "ROLE")
	if err != nil {
		return err
	}
	_, port, _ := strings.Cut(of.announced(), ":")
	want := fmt.Sprintf("slave\n127.0.0.1\n%s\nconnected\n", port)
	if !strings.HasPrefix(role, want) {
		return fmt.Errorf("%s is not yet a replica of %s", r.Addr(), of.Addr())
	}
	return nil
}
