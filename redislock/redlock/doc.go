// Package redlock keeps locks on a set of independent Redis or Valkey servers, of
// which a majority decides (the Redlock algorithm, with fencing tokens). Importing it
// registers the URL schemes redlock and redlocks, which is with TLS:
//
//	client, err := fencehold.Open(ctx, "redlock://a.example,b.example,c.example")
//
// Each server is a node: one Redis server that has no replica that could take its
// place, and is no part of a Cluster. Their number is odd, and 3 at least. A lock is
// held by whoever has it on a majority of them, so the set goes on while fewer than
// half of the nodes are down. The locks are plain strings at "lock:NAME", which
// other libraries of the kind exclude and respect (redsync, node-redlock).
//
// One server with a replica is simpler, and quicker, and enough for most uses: see
// package redislock. Redlock is for those who must lose no lock when one server fails.
//
// # When it is not safe
//
// By time, two holders never overlap while no more nodes misbehave than the lease has to
// spare ([fencehold.Lease.Redundancy]). A lease that is on all of three nodes can stand
// one that forgets it; one that is on two of three cannot: a hook and a warning in the
// log say when nothing is left to spare. These break the exclusion by time, if they meet
// more nodes than are to spare:
//
//   - A node that forgets: a crash of a machine whose Redis does not write every
//     change to disk at once, FLUSHALL, an eviction, a restored backup.
//   - A node whose clock is set forward by about a TTL: its keys end too soon.
//   - Clocks whose rates differ by more than the option drift.
//
// And this breaks it always, here as with every lock that ends by time: a holder that
// is paused between the check of its lease and what it does next.
//
// What fencing gives is safe then, too: every grant has a token that is larger than
// those of all grants before it, and no token is given twice, as long as no majority
// loses its memory at once. A store that compares tokens refuses the older holder,
// whatever clocks and pauses do. The tokens do not depend on clocks; where the memory
// of a majority is lost, they go on from the clients' clocks.
//
// Shared locks and semaphores cannot be had this way, so there are none; waiters are
// served about in order, which is not promised.
//
// # How to run the nodes
//
// Persistence: "appendonly yes" with "appendfsync always", or none at all. With the
// first, a restart forgets nothing. Without any, it forgets everything, which is
// noticed: see below. What lies between, snapshots or fsync once a second, brings back
// an old state after a crash, in which the node votes on as if it had forgotten
// nothing: then start such a node no sooner than after the longest TTL.
//
// Clocks: slewed by NTP, never set in a step. Memory: "maxmemory-policy noeviction".
// Placement: what fails together, such as the machines of one rack, should be fewer
// than half of the nodes.
//
// # Nodes that lose their memory
//
// The first client founds the set when all nodes answer: it leaves a marker on each.
// A node without one beside a majority with it has lost its memory. It does not vote
// until the longest TTL (MaxTTL) has passed, because every lock that it has forgotten
// has ended by then; [Repair], or "fencehold redlock repair", copies to it what the
// others know and lets it vote at once. Both take a majority of the other nodes. If
// a majority has lost its memory there are no locks, only
// [fencehold.ErrUnavailable], until Repair is called with Force. If all nodes have lost
// it at once, they look like a new set: the next client founds it, whoever still works
// under a lock of before.
//
// All clients have to name the same nodes, with the same prefix. A client that names
// fewer or more of them, or wants a MaxTTL above that of the client which founded the
// set, gets [fencehold.ErrInvalid]. To change the number of nodes or the MaxTTL: stop
// all clients, delete lock:fh!m and lock:fh!j on every node, and wait for the old MaxTTL.
//
// A client that names another node in the place of one is not noticed. To replace a
// node, switch the old one off for good first, wait for MaxTTL or call [Repair] on a set
// with the new one, and then name the new one to all clients: while both are up, two
// holders are possible.
//
// # URLs
//
// The hosts are all nodes of the set; user, password, database and options are the
// same for all. [Open] takes a URL for each instead, which may have the options of the
// set if all have the same.
//
//	redlock://HOST[:PORT],HOST[:PORT],HOST[:PORT][/DB]
//	redlocks://...         with TLS
//	redis+redlock://, rediss+redlock://, valkey+redlock://, valkeys+redlock://
//	                       other names of the same
//
// Beside the options of package redislock, but for min_replicas and replica_timeout:
//
//	max_ttl                the longest TTL of any lock, 1s to 24h; that of the set, which
//	                       is 1m if this client founds it
//	drift                  how much faster one clock may run than another, 0.01 to 0.5;
//	                       that part of each TTL is not used; 0.01
//	node_timeout           how long to wait for one node, 1ms at least; a tenth of the
//	                       TTL, between 20ms and 1s
//
// The rights that a user needs are those that package redislock lists. With +info it
// is seen, too, if two hosts are the same server, which would vote twice.
package redlock
