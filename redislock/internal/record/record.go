// Package record has what the key of a lock holds: a value that names the holder,
// its token and who that is.
package record

import (
	"net/url"
	"strconv"
	"strings"
	"time"

	"github.com/fencehold/fencehold/fence"
)

// Head begins the values of this library.
const Head = "fh1:"

// keptMark is the letter that marks the description of a lock kept taken after
// its release.
const keptMark = "k"

// A Value is what the lock's key holds.
type Value struct {
	Holder string
	Token  fence.Token
	About  About
}

// About says who a holder or a waiter is.
type About struct {
	Client, Owner, Host string
	PID                 int
	Labels              map[string]string
	// Kept says that the lock was released and is kept taken.
	Kept bool
}

// Parse reads a value of this library. It returns false for that of
// another.
func Parse(s string) (Value, bool) {
	rest, ours := strings.CutPrefix(s, Head)
	parts := strings.SplitN(rest, ":", 4)
	if !ours || len(parts) != 4 || parts[0] == "" {
		return Value{}, false
	}
	token, ok := ParseToken(parts[1])
	return Value{Holder: parts[0], Token: token, About: ParseAbout(parts[3])}, ok
}

// ParseToken reads a token in decimal digits.
func ParseToken(s string) (fence.Token, bool) {
	n, err := strconv.ParseInt(s, 10, 64)
	return fence.Token(n), err == nil && fence.Token(n).Valid()
}

// Since is when the value was granted: a token is the server's clock.
func (v Value) Since() time.Time { return time.UnixMicro(int64(v.Token)) }

// Meta writes a description as a query string, which has neither blanks nor colons.
func (a About) Meta() string {
	q := url.Values{"c": {a.Client}, "o": {a.Owner}, "h": {a.Host}, "p": {strconv.Itoa(a.PID)}}
	for key, label := range a.Labels {
		q.Set("l."+key, label)
	}
	return q.Encode()
}

// ParseAbout reads what Meta wrote; what cannot be read is left out.
func ParseAbout(meta string) About {
	q, _ := url.ParseQuery(meta) // what cannot be read is not shown
	a := About{Client: q.Get("c"), Owner: q.Get("o"), Host: q.Get("h"), Kept: q.Has(keptMark)}
	a.PID, _ = strconv.Atoi(q.Get("p"))
	for key, labels := range q {
		if label, ok := strings.CutPrefix(key, "l."); ok && len(labels) > 0 {
			if a.Labels == nil {
				a.Labels = map[string]string{}
			}
			a.Labels[label] = labels[0]
		}
	}
	return a
}
