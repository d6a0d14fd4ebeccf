package redislock

import (
	"strings"
	"sync"
)

// helper begins the keys that are no locks, behind the prefix.
const helper = "fh!"

// keys are those of one lock.
type keys struct {
	lock, counter, line string
	tag                 string // of the slot; empty outside of a Cluster
	where               string // what scripts build helper keys of
}

// keyspace knows how keys are named.
type keyspace struct {
	prefix  string
	cluster bool
	kin     string // what scripts build helper keys of
	counter string // outside of a Cluster
	where   string // outside of a Cluster
}

func newKeyspace(prefix string, cluster bool) keyspace {
	k := keyspace{prefix: prefix, cluster: cluster, kin: prefix + helper}
	k.counter, k.where = k.counterOf(""), k.whereOf("")
	return k
}

// lockKey returns the key of a lock. A name that looks like a helper key is
// moved out of the way.
func (k keyspace) lockKey(name string) string {
	if strings.HasPrefix(name, helper) {
		return k.prefix + helper + "n:" + name
	}
	return k.prefix + name
}

// lockName is the reverse of lockKey; false for a helper key.
func (k keyspace) lockName(key string) (string, bool) {
	name, ok := strings.CutPrefix(key, k.prefix)
	if !ok {
		return "", false
	}
	if moved, ok := strings.CutPrefix(name, helper+"n:"); ok {
		return moved, strings.HasPrefix(moved, helper)
	}
	return name, !strings.HasPrefix(name, helper)
}

// of returns the keys of a lock.
func (k keyspace) of(name string) keys {
	lock := k.lockKey(name)
	if !k.cluster {
		return keys{lock: lock, counter: k.counter, where: k.where, line: k.prefix + helper + "q:" + name}
	}
	tag := tagOf(slotOf(lock))
	return keys{
		lock: lock, tag: tag,
		counter: k.counterOf(tag), where: k.whereOf(tag),
		line: k.prefix + helper + "q" + tag + ":" + name,
	}
}

// whereOf is what scripts build the helper keys of a slot of: a prefix has no
// line breaks.
func (k keyspace) whereOf(tag string) string { return k.kin + "\n" + tag }

// counterOf is the counter of a slot, or of the server.
func (k keyspace) counterOf(tag string) string { return k.prefix + helper + "c" + tag }

// life is the key of a client's sign of life.
func (k keyspace) life(tag, client string) string { return k.kin + "p" + tag + ":" + client }

// word is the key under which it is left how a grant was revoked.
func (k keyspace) word(tag, holder string) string { return k.kin + "x" + tag + ":" + holder }

// inbox is the channel of a client for one subscription.
func (k keyspace) inbox(tag, client, epoch string) string {
	return k.kin + "i" + tag + ":" + client + ":" + epoch
}

// losses begins the channels on which clients hear of losses.
func (k keyspace) losses() string { return k.kin + "l:" }

// slots is the number of hash slots of a Cluster.
const slots = 16384

// slotOf computes the slot of a key: CRC16 (XMODEM) of the key, or of the part
// in its first braces if that is not empty, as the Redis Cluster
// specification says.
func slotOf(key string) int {
	if _, rest, ok := strings.Cut(key, "{"); ok {
		if tag, _, ok := strings.Cut(rest, "}"); ok && tag != "" {
			key = tag
		}
	}
	var crc uint16
	for i := range len(key) {
		crc ^= uint16(key[i]) << 8
		for range 8 {
			if crc&0x8000 != 0 {
				crc = crc<<1 ^ 0x1021
			} else {
				crc <<= 1
			}
		}
	}
	return int(crc) % slots
}

// tagOf returns four letters in braces that hash to a slot.
func tagOf(slot int) string { return slotTags()[slot] }

const tagLetters = "0123456789abcdefghijklmnopqrstuvwxyz"

// slotTags finds a tag for every slot: four letters of 36 reach them all.
var slotTags = sync.OnceValue(func() []string {
	tags := make([]string, slots)
	for left, i := slots, 0; left > 0; i++ {
		tag := "{" + string([]byte{
			tagLetters[i/46656%36], tagLetters[i/1296%36], tagLetters[i/36%36], tagLetters[i%36],
		}) + "}"
		if slot := slotOf(tag); tags[slot] == "" {
			tags[slot] = tag
			left--
		}
	}
	return tags
})
