package lockfile

import (
	"bytes"
	"context"
	"time"

	"github.com/fencehold/fencehold/filelock/internal/boot"
	"github.com/fencehold/fencehold/filelock/internal/flock"
)

// lookAgain is the pause of a look that met a holder who comes or goes.
const lookAgain = time.Millisecond

// A Sight is what one sees of a lock file who takes none of its locks.
type Sight struct {
	Record  Record // of the holder, or of the last one if the lock is free
	Held    bool
	Foreign bool // held by somebody who is not of ours
	PID     int  // of a foreign holder, if it is known
}

// Observe reads the record, and whether the grant that it describes stands: it
// has a time of its own, or is marked by a process that lives.
func (f *File) Observe(id boot.ID) (rec Record, held bool, err error) {
	// Who sees the mark first reads the record of that process, or of a later
	// one. The other way round, the record may be of the holder before.
	marked, err := f.Marked()
	if err != nil {
		return Record{}, false, err
	}
	rec, err = f.Read()
	return rec, marked || id.Until(rec.Until) > 0, err
}

// Look observes the file, and looks for a foreign holder too. It takes no lock,
// and so makes nobody's attempt fail.
func (f *File) Look(ctx context.Context, id boot.ID) (Sight, error) {
	for {
		sight, settled, err := f.glance(id)
		if settled || err != nil {
			return sight, err
		}
		if err := flock.Sleep(ctx, lookAgain); err != nil {
			return Sight{}, err
		}
	}
}

// glance looks once. A foreign holder is a lock without a claim of ours, and
// may turn out to be one of ours who came or went in the middle of the look:
// then it is not settled.
func (f *File) glance(id boot.ID) (sight Sight, settled bool, err error) {
	before, err := f.content(make([]byte, maxRecord))
	if err != nil {
		return Sight{}, false, err
	}
	claimed, err := f.claimed()
	if err != nil {
		return Sight{}, false, err
	}
	rec, held, err := f.Observe(id)
	if err != nil {
		return Sight{}, false, err
	}
	if held {
		return Sight{Record: rec, Held: true, Foreign: rec.Version == 0}, true, nil
	}
	foreign, pid, err := f.foreign()
	if !foreign || err != nil {
		return Sight{Record: rec}, true, err
	}
	// One of ours has a claim from before its lock to after it. So no claim
	// before and after the lock was seen leaves one who came and went in
	// between, and that one has written a record.
	claimedNow, err := f.claimed()
	if claimed || claimedNow || err != nil {
		return Sight{}, false, err
	}
	after, err := f.content(make([]byte, maxRecord))
	return Sight{Record: rec, Held: true, Foreign: true, PID: pid}, bytes.Equal(before, after), err
}
