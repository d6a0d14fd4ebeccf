package model

// A Config says what may happen. The zero Config has no faults at all.
type Config struct {
	Clients    int   // modelled ones, 1 or 2
	TTL        ticks // of a lease
	GrantTTL   ticks // of a pushed grant
	LifeTTL    ticks // of a sign of life
	Calls      int   // requests that a client awaits the answers of at a time
	Ghosts     int   // requests in flight at a time that nobody awaits
	Pushes     int   // pushes in flight at a time to one client; more end the subscription
	States     int   // the search ends after so many; 0: no limit
	Once       bool  // a client waits once, and is done
	Others     bool  // clients of ours that are not modelled: take, renew, release, die, stand before others
	Foreign    bool  // SET NX PX and DEL by a client that knows nothing of lines
	Names      bool  // other names are granted, from the same counter
	Lose       bool  // an answer is not awaited for ever
	Break      bool  // subscriptions end, and leave half-open ones
	Cancel     bool  // waits are given up
	Death      bool  // a client dies; with one client there is nobody left to look at
	Flush      bool  // FLUSHALL
	Quarantine bool  // no grants for a TTL after a FLUSHALL
	ClockBack  bool  // the server's clock is set back, and catches up
	Failover   bool  // a second server takes over, perhaps with an older state
	FailedOver bool  // the search begins after a failover: inboxes moved, requests go to either
	Unsafe     Variant
}

// A Variant is the protocol with one rule left out, or several.
type Variant uint32

// The rules that can be left out.
const (
	NoTokenCheck      Variant = 1 << iota // a push counts whatever its token
	BaseFromSent                          // a ping counts as a base before it is answered
	BaseFromReceipt                       // a push counts from its receipt
	BaseMixed                             // the send time is of the last answer, F of the first
	BaseUnseen                            // an answer gives a base without seeing the subscriber
	BaseUncounted                         // a missing counter counts as zero
	RetryFromCounter                      // a repeated attempt is answered from the counter
	HolderKept                            // a client has one holder id for all its grants
	HolderRejoins                         // unknown: the wait joins again under the old id
	RefusalForgotten                      // a refused push is not looked into
	RefusalCanceled                       // a waiting answer cancels the renewal after a refused push
	RefusalNotChecked                     // that renewal's "not mine" is not looked into
	LifeSilent                            // a changed incarnation means nothing
	ChannelSilent                         // a changed channel is no new incarnation
	EpochSilent                           // a new epoch does not check
	ReleaseAny                            // a release does not compare the holder
	EntryKept                             // a hand-over leaves the entry in line
	FrontPolls                            // behind a foreigner nobody checks but who was first in line when asking
	NoTimer                               // nobody minds the holder's expiry
	TimerPutOff                           // an answer sets the timer even if it is due sooner
	FrontUntold                           // a hand-over does not tell the new front
	NoClock                               // tokens are counted, and do not follow the clock
	NoCounter                             // tokens follow the clock alone
)

// without reports whether a rule is left out.
func (c *Config) without(v Variant) bool { return c.Unsafe&v != 0 }
