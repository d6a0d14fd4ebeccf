package redlock

import (
	"hash/maphash"
	"strings"
	"sync/atomic"
	"time"
)

// helper begins the keys that are no locks, behind the prefix.
const helper = "fh!"

// keyspace knows how keys are named, and remembers those of the names used last.
type keyspace struct {
	memberKeys
	kin   string // what scripts build helper keys of
	began time.Time
	slots [1024]atomic.Pointer[known]
}

// known is what a client remembers of the name of a lock.
type known struct {
	name string
	all  []string // the lock, the counter, the marker and the line

	contested atomic.Int64 // until when it is taken for contested, by the client's own time
}

// contestedFor is how long a lock is taken for contested after somebody else was
// seen to have it. Whoever asks for one that is not does not prepare to wait.
const contestedFor = 10 * time.Second

var nameSeed = maphash.MakeSeed()

func (k *keyspace) init(prefix string) {
	k.memberKeys, k.kin, k.began = memberKeysOf(prefix), prefix+helper, time.Now()
}

// of returns what is known of a name.
func (k *keyspace) of(name string) *known {
	slot := &k.slots[maphash.String(nameSeed, name)%uint64(len(k.slots))]
	if found := slot.Load(); found != nil && found.name == name {
		return found
	}
	found := &known{name: name, all: []string{k.lockKey(name), k.counter, k.marker, k.kin + "r:" + name}}
	slot.Store(found)
	return found
}

// contest remembers that somebody else has the lock.
func (k *keyspace) contest(name *known) {
	name.contested.Store(int64(time.Since(k.began) + contestedFor))
}

// calm reports whether nobody else was seen to have the lock lately.
func (k *keyspace) calm(name *known) bool {
	until := name.contested.Load()
	return until == 0 || int64(time.Since(k.began)) > until
}

// lockKey returns the key of a lock. A name that looks like a helper key is moved
// out of the way.
func (k *keyspace) lockKey(name string) string {
	if strings.HasPrefix(name, helper) {
		return k.kin + "n:" + name
	}
	return k.prefix + name
}

// lockName is the reverse of lockKey; false for a key that is none.
func (k *keyspace) lockName(key string) (string, bool) {
	name, ok := strings.CutPrefix(key, k.prefix)
	if !ok || k.helps(key) {
		return "", false
	}
	return strings.TrimPrefix(name, helper+"n:"), true
}

// inbox is the channel of a client.
func (k *keyspace) inbox(client string) string { return k.kin + "k:" + client }

// word is the key under which it is left how a grant was revoked.
func (k *keyspace) word(holder string) string { return k.kin + "x:" + holder }
