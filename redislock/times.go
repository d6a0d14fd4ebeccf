package redislock

import (
	"strconv"
	"time"
)

// maxPing is the longest time between two signs of life, and minLife how long
// one lasts at least.
const (
	maxPing = time.Second
	minLife = time.Second
)

// pingEvery is the time between two signs of life of a waiter with this TTL.
func pingEvery(ttl time.Duration) time.Duration { return min(ttl/3, maxPing) }

// lifeOf is how long a sign of life lasts.
func lifeOf(every time.Duration) time.Duration { return max(minLife, 3*every) }

// grantTTL is what a pushed grant begins with: a waiter that dies at the wrong
// moment costs no more.
func grantTTL(ttl time.Duration) time.Duration {
	return min(ttl, max(time.Second, ttl/5, 3*pingEvery(ttl)))
}

// times are the durations that follow from a TTL, as the server reads them.
type times struct {
	of               time.Duration
	ttl, grant, life string
}

// timesOf returns those of a TTL. Most requests of a client have the same, so
// the last ones are remembered.
func (b *backend) timesOf(ttl time.Duration) *times {
	if last := b.timed.Load(); last != nil && last.of == ttl {
		return last
	}
	t := &times{of: ttl, ttl: millis(ttl), grant: millis(grantTTL(ttl)), life: millis(lifeOf(pingEvery(ttl)))}
	b.timed.Store(t)
	return t
}

// millis writes a duration for the server, which refuses 0.
func millis(d time.Duration) string {
	return strconv.FormatInt(max(1, d.Milliseconds()), 10)
}
