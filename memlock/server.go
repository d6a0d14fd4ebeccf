package memlock

import (
	"slices"
	"sync"
	"time"

	"github.com/fencehold/fencehold"
	"github.com/fencehold/fencehold/driver"
	"github.com/fencehold/fencehold/fence"
)

// A Server is a lock service in memory.
type Server struct {
	start time.Time

	mu     sync.Mutex
	offset time.Duration // what Advance has added to the clock
	last   fence.Token
	locks  map[string]*lock
	notes  map[string]*fencehold.LostError // how grants ended that did not end by themselves, by holder
	script func(Call) Fault

	watchers map[*backend]func(name, holder string, how error) // who is told of losses
}

// lock is what the server knows of one name: who has it and who waits.
type lock struct {
	name    string
	req     driver.Request // of the holder
	token   fence.Token
	since   time.Time
	taken   bool
	kept    bool          // by nobody, for the rest of a minimum hold
	expires time.Duration // on the server's clock
	queue   []*waiter
	timer   *time.Timer // ends the holder's time while somebody waits
}

// New returns an empty server.
func New() *Server {
	return &Server{
		start: time.Now(),
		locks: map[string]*lock{},
		notes: map[string]*fencehold.LostError{},

		watchers: map[*backend]func(name, holder string, how error){},
	}
}

// features are what a server promises to those who connect in a process that
// is taken to be a machine of its own, as tests do.
const features = driver.Fencing | driver.FairQueue | driver.MinHold | driver.Detached

// Backend returns a new connection to the server.
func (s *Server) Backend() driver.Backend { return &backend{server: s, features: features} }

// Advance sets the server's clock forward by d, as a clock step does: grants
// expire sooner than their holders can know. It panics if d is negative.
func (s *Server) Advance(d time.Duration) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if d < 0 {
		panic("memlock: clock advanced by " + d.String())
	}
	s.offset += d
	for _, l := range s.locks {
		s.refresh(l)
		s.watch(l)
	}
}

// Expire lets the grant that stands for name run out now.
func (s *Server) Expire(name string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if l := s.locks[name]; l != nil && l.taken {
		l.expires = s.now()
		s.refresh(l)
	}
}

// Delete removes the grant that stands for name, as an operator does who
// deletes a key by hand. The holder finds out with its next renewal.
func (s *Server) Delete(name string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if l := s.locks[name]; l != nil && l.taken {
		s.note(l.req.Holder, &fencehold.LostError{Reason: fencehold.ReasonDeleted})
		s.free(l)
	}
}

// now is the server's clock.
func (s *Server) now() time.Duration { return s.at(time.Now()) }

func (s *Server) at(t time.Time) time.Duration { return t.Sub(s.start) + s.offset }

// mint returns a token larger than all before, on the scale of microseconds
// since 1970, so that it grows also from one server to the next.
func (s *Server) mint(now time.Time) fence.Token {
	s.last = max(s.last+1, fence.Token(now.UnixMicro()))
	return s.last
}

// lookup returns the lock of this name with expiry taken into account; nil if
// it is free and nobody waits.
func (s *Server) lookup(name string) *lock {
	l := s.locks[name]
	if l != nil {
		s.refresh(l)
	}
	return s.locks[name]
}

// refresh ends a grant whose time is over.
func (s *Server) refresh(l *lock) {
	if l.taken && l.expires <= s.now() {
		s.free(l)
	}
}

// grant gives the lock to a request.
func (s *Server) grant(l *lock, req driver.Request) driver.Grant {
	l.req, l.taken, l.kept = req, true, false
	l.since = time.Now()
	l.token = s.mint(l.since)
	l.expires = s.at(l.since) + req.TTL
	s.watch(l)
	return driver.Grant{Name: l.name, Holder: req.Holder, Token: l.token, TTL: req.TTL}
}

// free ends what stands and grants the lock to the first in line.
func (s *Server) free(l *lock) {
	l.taken, l.kept, l.req = false, false, driver.Request{}
	if len(l.queue) == 0 {
		l.stopTimer()
		delete(s.locks, l.name)
		return
	}
	next := l.queue[0]
	l.queue = slices.Delete(l.queue, 0, 1)
	sent := driver.MonotonicNow()
	g := s.grant(l, next.req)
	g.Sent = sent
	next.granted <- g
}

// watch has the time of the holder end while somebody waits for that.
func (s *Server) watch(l *lock) {
	l.stopTimer()
	if len(l.queue) == 0 {
		return
	}
	l.timer = time.AfterFunc(max(0, l.expires-s.now()), func() {
		s.mu.Lock()
		defer s.mu.Unlock()
		if s.locks[l.name] == l {
			s.refresh(l)
		}
	})
}

func (l *lock) stopTimer() {
	if l.timer != nil {
		l.timer.Stop()
		l.timer = nil
	}
}

// maxNotes bounds what is remembered for holders that never ask.
const maxNotes = 1024

func (s *Server) note(holder string, how *fencehold.LostError) {
	if len(s.notes) >= maxNotes {
		clear(s.notes)
	}
	if holder != "" {
		s.notes[holder] = how
	}
}

// lost says how holder's grant of a name ended.
func (s *Server) lost(name, holder string) error {
	if how, ok := s.notes[holder]; ok {
		return how
	}
	if l := s.locks[name]; l != nil && l.taken {
		return &fencehold.LostError{Reason: fencehold.ReasonTakenOver, By: l.req.Owner}
	}
	return &fencehold.LostError{Reason: fencehold.ReasonExpired}
}

// mine returns the lock if holder has it.
func (s *Server) mine(name, holder string) (*lock, error) {
	if l := s.lookup(name); l != nil && l.taken && l.req.Holder == holder && holder != "" {
		return l, nil
	}
	return nil, s.lost(name, holder)
}

// held says who has the lock.
func (s *Server) held(l *lock, position int) error {
	return &fencehold.HeldError{
		Holder: l.req.Holder, Owner: l.req.Owner, Since: l.since, Remaining: l.expires - s.now(), Position: position,
	}
}
