// Package topic holds the help pages that belong to no command.
package topic

// ExitCodes says what each exit code means.
const ExitCodes = `Exit codes of fencehold:

  0..255   run: the exit code of the command
  128+N    run: the command was ended by signal N
  64       wrong flags or URL, or not supported by this lock service
  69       lock service not reachable (mostly of those that have a server);
           doctor: also one that is reached, and where locks cannot work
  70       internal error; also a keeper process that was killed, and a system that
           the command does not run on
  73       local lock file, or its directory, cannot be made or used
  74       standard output cannot be written
  75       lock not acquired: it is held, or the time of -w ran out (-E sets this code);
           unlock: the question was not answered with yes, and nothing was changed
  77       lock service refused the credentials, or the user lacks a right there (mostly
           of those that have a server)
  78       configuration file is wrong
  79       lock lost while the command ran, which was stopped (--lost-exit-code sets
           this code); check, renew, release, unlock: not held, or not by the holder
           that was named
  126      command cannot be executed; found out before the lock is taken
  127      command not found; found out before the lock is taken
  128+N    signal N came while waiting for the lock

With --on-lost warn, a lost lock gives the command's exit code unless that is 0, then 79.
With --max-hold, a command that was stopped gives 79, also with --on-lost warn.
Any of these numbers can be the command's own: --status-file tells them apart.

  systemd      SuccessExitStatus=75
  cron         fencehold run -q -n -E 0 LOCK -- CMD
`

// URLs says how lock services are named.
const URLs = `URLs of lock services:

  file://              this machine, no server: .local/state/fencehold in the home
                       directory of the user database. This is the default.
                       Its locks are those of one user.
  file:///DIR          this machine, in the directory DIR, which is made if the
                       directory around it exists
  file:///DIR?mode=lease
                       the same, with locks that run out by time instead of being
                       tied to a process; both modes exclude each other
  mem://               this process alone, for tests of programs. run and acquire
                       refuse it: it excludes nobody

Users share locks in a directory that all may write, such as:

  install -d -m 1777 /var/lib/locks
  fencehold run --url file:///var/lib/locks LOCK -- CMD

A lock of file:// is seen by flock(1), and fencehold sees one of flock(1), while a
process holds it. Locks of acquire, and those that --min-hold keeps, follow lease
mode: no process holds them, and flock(1) does not see them.

  redis://HOST[:PORT][/DB]
                       one Redis or Valkey server; port 6379, database 0
  redis+sentinel://HOST,HOST,HOST/MASTER[/DB]
                       the server that Sentinels know as MASTER; port 26379
  redis+cluster://HOST,HOST,HOST
                       a Redis Cluster, of which some nodes are named
  redis+unix:///PATH   one server, at a socket
  redlock://HOST,HOST,HOST[/DB]
                       independent servers, of which a majority decides (Redlock): an
                       odd number, 3 at least; see help redlock
  rediss://...         with TLS: so too rediss+sentinel://, rediss+cluster:// and
                       redlocks://

"valkey" may stand for "redis", and unix:///PATH for redis+unix:///PATH. Also known:
redis-sentinel://HOSTS/DB?sentinelMasterId=MASTER, and rediss-sentinel:// with TLS;
redis+redlock:// for redlock://.
User and password stand before the hosts: USER:PASSWORD@, :PASSWORD@ or USER:@. What
has a meaning in a URL is percent-encoded there: @ is %40, / is %2F, : is %3A.

Options of Redis URLs, after ? and with & between:

  prefix=lock:         what all keys begin with; one with {TAG} keeps them in one slot
  min_replicas=0       how many replicas must have a grant before it counts
  replica_timeout=1s   how long to wait for them
  dial_timeout=5s      how long a connection may take; the time of -w begins after it
  client_name=fencehold
                       what the server lists the connections as
  db=0                 the database, where the path does not say it
  password_file=PATH   file that holds the password and nothing else
  cacert=PATH          with TLS: authorities to trust instead of those of the system
  cert=PATH key=PATH   with TLS: certificate to log in with, and its key
  servername=NAME      with TLS: the name that the certificate must have
  insecure=true        with TLS: take any certificate
  sentinel_username=NAME sentinel_password=PASSWORD sentinel_password_file=PATH
                       with Sentinels: how to log in there, if they ask for it
  max_ttl=1m           with Redlock: the longest TTL of any lock; a server that has lost
                       its memory does not vote for so long. That of the set unless given
  drift=0.01           with Redlock: how much faster one clock may run than another
  node_timeout=100ms   with Redlock: how long to wait for one server; a tenth of the TTL
                       unless given, between 20ms and 1s

min_replicas and replica_timeout do not go with Redlock.

"fencehold doctor" tells what locks are worth on the server of a URL. "fencehold help
redis" lists the rights that a user needs there.

The URL is taken from --url, FENCEHOLD_URL, or url in the configuration file. Several
URLs of one server each are a Redlock set: --url given once for each, or all in one
setting with blanks between, or a list in the file. In the file,
${NAME} stands for a variable of the environment, and password_file names a file
that holds the password, so that it stands neither in the file nor in the list of
processes.
`

// Redis says what a user of a Redis server needs. Its rules are those that package
// redislock documents.
const Redis = `A user of Redis or Valkey with the rights that locks need, and no others:

  ACL SETUSER locks on >PASSWORD ~lock:* &lock:* +@scripting +ping +hello
      +client|tracking +client|setname +role +wait +scan
      +get +set +del +exists +pttl +pexpire +time +type
      +zadd +zrem +zrange +zrank +zscore +zcard
      +publish +spublish +subscribe +ssubscribe +unsubscribe +sunsubscribe
      +punsubscribe +discard +pubsub +cluster|slots +cluster|shards

It is one line for the server. lock: is the prefix: with another one in the URL it is
another one here. From Redis 7.2 on, +client|setinfo spares a refused command at each
connection. Without the right to subscribe or to publish, waiting is polling.

"fencehold doctor" tries all of that. With more rights it sees more, which locks do
not need:

  +info                what the server is, its replicas and its memory
  +config|get          what it keeps on disk
  +acl|whoami          the name of the user
  +cluster|info        the state of a Cluster

"fencehold help urls" is about the URLs of such servers.
`

// Redlock says what a set of independent servers is, and how it is run.
const Redlock = `A Redlock set is an odd number of Redis or Valkey servers, 3 at least, that know
nothing of each other: no replicas, no Cluster. A lock is held by whoever has it on a
majority, so fewer than half of the servers may be down.

  fencehold run --url redlock://a.example,b.example,c.example LOCK -- CMD
  fencehold run --url redis://a.example --url redis://b.example \
                --url redis://c.example:6380/2 LOCK -- CMD

The second form is for servers that differ in more than their name; max_ttl, drift and
node_timeout may stand in all of its URLs, and are the same in all then.

All clients must name the same servers, with the same prefix. Clients that name another
server in the place of one are not noticed. To replace a server, switch the old one off
for good first, wait for max_ttl or run "fencehold redlock repair" with the new one
named, and then name the new one to all clients: while both are up, two holders are
possible.

What it promises and what not: one holder at a time, by time, while no more servers
forget a lock, or have their clock set, than the lease has to spare: on all of 3 servers
one, on all of 5 two. A lease with a bare majority is exposed to a single one: run and
acquire warn of that. A pause of the holder, and memory lost on a majority at once, are
covered by the fencing token alone, where it is checked with each write; after such a loss
tokens go on rising by the clients' clocks.

How to run the servers:

  clocks       slewed by NTP, never set in a step
  persistence  appendonly yes with appendfsync always; or none at all (save "" and no
               appendonly). Anything between brings back an old state after a crash,
               and the server votes on as if it had forgotten nothing: then do not
               start it again before the longest TTL (max_ttl, 1 minute) is over.
  memory       maxmemory-policy noeviction

The first client founds the set, once all servers answer. A server that has lost its
memory does not vote until max_ttl has passed; "fencehold redlock repair" lets it in at
once. It takes a majority of the others to do so: of three servers, both. Where the
majority has lost its memory there are no locks until "fencehold redlock repair --force".

max_ttl is that of the client which founded the set, 1 minute unless its URL says another
one. Clients that name none take that of the set, and none may name more. To change it, or
the number of servers, stop all clients, delete lock:fh!m and lock:fh!j on every server,
and wait for the old max_ttl.

"fencehold doctor" tells for each server whether it votes, how many more may fail, and
why there are no locks, where there are none.
`

// Env lists the variables that are read and given.
const Env = `Environment that fencehold run gives to its command:

  FENCEHOLD_LOCK         name of the lock
  FENCEHOLD_TOKEN        fencing token: larger with each grant of this lock
  FENCEHOLD_HOLDER       random id of this grant
  FENCEHOLD_FENCE        all three, as in the header Fencing-Token
  FENCEHOLD_BACKEND      URL of the lock service, without password; "fencehold check"
                         connects there unless told a URL
  FENCEHOLD_TTL_MS       the time of --ttl, in milliseconds
  FENCEHOLD_ACQUIRED_AT  when the lock was acquired (RFC 3339)
  FENCEHOLD_STACK        NAME=TOKEN;BACKEND of this and all outer runs, the outermost
                         first, with blanks between; NAME and BACKEND are
                         percent-encoded, with + for a blank, as in a query

FENCEHOLD_BACKEND and FENCEHOLD_STACK have no password, so where the service wants one,
"fencehold check" in the command needs the URL by FENCEHOLD_URL, a configuration file or
--url. All other variables stay as they were: the command sees FENCEHOLD_URL with the
password in it. Who does not want that uses password_file.

Environment that fencehold reads; a flag counts more, a configuration file less:

  FENCEHOLD_URL  FENCEHOLD_TTL  FENCEHOLD_KILL_AFTER  FENCEHOLD_OWNER
  FENCEHOLD_PASSWORD_FILE  FENCEHOLD_LOG_FORMAT  FENCEHOLD_CONFIG  FENCEHOLD_PROFILE
`

// Config documents the configuration file.
const Config = `The configuration file is TOML. Each key may be left out:

  default_profile = "prod"             # the profile unless told otherwise
  url = "file:///var/lib/locks"        # where locks are kept; see help urls. A list
                                       # has the servers of a Redlock set
  ttl = "30s"                          # as --ttl of run; a number counts seconds
  kill_after = 5                       # as --kill-after of run
  owner = "build farm"                 # as --owner of run
  password_file = "/etc/fencehold/pw"  # its first line is the password of the URL
  log_format = "text"                  # or "json": messages on standard error

  [profile.prod]                       # all but default_profile may stand here too
  url = "redis://app:${LOCK_PASSWORD}@locks.example/0"

${NAME} in a URL stands for a variable of the environment, which must be set. In the
user and the password its value may hold any character, and is not percent-encoded.
A URL with a password of its own does without password_file, if it counts more.
A file that everybody can read must hold no password, neither before an @ nor in a
query as the value of a password, secret or token. An @ behind the hosts is %40.

The file is that of --config, or of FENCEHOLD_CONFIG. Otherwise it is
fencehold/config.toml in $XDG_CONFIG_HOME, else in .config of $HOME, else (with HOME
unset, or no directory) in .config of the home directory of the user database, where
cron finds it too. Then it need not exist.

What counts more comes first: flag, environment (FENCEHOLD_TTL for ttl, and so on),
profile, top of the file, default. The profile is that of --profile, of
FENCEHOLD_PROFILE, or default_profile. "fencehold config show --origin" shows what
counts, and why.
`
