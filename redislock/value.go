package redislock

import (
	"net/url"
	"os"
	"strconv"
	"strings"
	"time"

	"github.com/fencehold/fencehold/driver"
	"github.com/fencehold/fencehold/fence"
)

// valueHead begins the values of this library.
const valueHead = "fh1:"

// keptMark is the letter that marks the description of a lock kept taken after
// its release.
const keptMark = "k"

// A value is what the lock's key holds.
type value struct {
	holder string
	token  fence.Token
	about  about
}

// about says who a holder or a waiter is.
type about struct {
	client, owner, host string
	pid                 int
	labels              map[string]string
	kept                bool
}

// parseValue reads a value of this library. It returns false for that of
// another.
func parseValue(s string) (value, bool) {
	rest, ours := strings.CutPrefix(s, valueHead)
	parts := strings.SplitN(rest, ":", 4)
	if !ours || len(parts) != 4 || parts[0] == "" {
		return value{}, false
	}
	token, ok := parseToken(parts[1])
	return value{holder: parts[0], token: token, about: parseAbout(parts[3])}, ok
}

func parseToken(s string) (fence.Token, bool) {
	n, err := strconv.ParseInt(s, 10, 64)
	return fence.Token(n), err == nil && fence.Token(n).Valid()
}

// since is when the value was granted: a token is the server's clock.
func (v value) since() time.Time { return time.UnixMicro(int64(v.token)) }

// meta writes about as a query string, which has neither blanks nor colons.
func (a about) meta() string {
	q := url.Values{"c": {a.client}, "o": {a.owner}, "h": {a.host}, "p": {strconv.Itoa(a.pid)}}
	for key, label := range a.labels {
		q.Set("l."+key, label)
	}
	return q.Encode()
}

func parseAbout(meta string) about {
	q, _ := url.ParseQuery(meta) // what cannot be read is not shown
	a := about{client: q.Get("c"), owner: q.Get("o"), host: q.Get("h"), kept: q.Has(keptMark)}
	a.pid, _ = strconv.Atoi(q.Get("p"))
	for key, labels := range q {
		if label, ok := strings.CutPrefix(key, "l."); ok && len(labels) > 0 {
			if a.labels == nil {
				a.labels = map[string]string{}
			}
			a.labels[label] = labels[0]
		}
	}
	return a
}

// describe returns the description of a request's owner. Most requests of a
// client have the same, so the last one is remembered.
func (b *backend) describe(req driver.Request) string {
	if last := b.described.Load(); last != nil && last.owner == req.Owner && len(req.Labels) == 0 {
		return last.meta
	}
	meta := about{client: b.client, owner: req.Owner, host: b.host, pid: os.Getpid(), labels: req.Labels}.meta()
	if len(req.Labels) == 0 {
		b.described.Store(&description{owner: req.Owner, meta: meta})
	}
	return meta
}

type description struct{ owner, meta string }
