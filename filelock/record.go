package filelock

import (
	"bytes"
	"encoding/json"
	"fmt"
	"hash/crc32"
	"time"

	"github.com/fencehold/fencehold"
	"github.com/fencehold/fencehold/driver"
	"github.com/fencehold/fencehold/fence"
)

// A record is the content of a lock file: one line of JSON that says who holds
// the lock. In process mode it is for display, since the kernel knows who
// holds; in lease mode it is the grant itself.
type record struct {
	Version int               `json:"v"`
	Mode    mode              `json:"mode"`
	Name    string            `json:"name"`
	Holder  string            `json:"holder,omitempty"` // empty: kept taken by nobody
	Token   fence.Token       `json:"token,omitempty"`
	Owner   string            `json:"owner,omitempty"`
	Host    string            `json:"host,omitempty"`
	PID     int               `json:"pid,omitempty"`
	Since   time.Time         `json:"since,omitzero"`
	TTL     string            `json:"ttl,omitempty"`
	Until   *moment           `json:"held_until,omitempty"`
	Labels  map[string]string `json:"labels,omitempty"`
	Revoked *note             `json:"revoked,omitempty"`
}

// A mode is a way to hold a lock.
type mode string

const (
	processMode mode = "process"
	leaseMode   mode = "lease"
)

// A moment is a point of time between two starts of the machine.
type moment struct {
	Boot string        `json:"boot"`
	Nano time.Duration `json:"ns"`
}

// A note tells the victim of a revocation who did it. The records after it
// carry it on, since the victim of lease mode may look late.
type note struct {
	Holder string `json:"holder"`
	By     string `json:"by"`
	Why    string `json:"why"`
}

const (
	recordVersion = 1
	// minRecord is the length to which short records are padded: most then
	// have the same length and change no metadata.
	minRecord = 512
	// maxRecord is one page: a process that is killed has written all of it
	// or nothing.
	maxRecord = 4096
	// processHead begins every record of process mode.
	processHead = `{"v":1,"mode":"process"`
	// A record ends in its checksum: a reader that takes no lock may see
	// half of an old record and half of a new one.
	sumHead, sumTail = `,"crc":"`, `"}`
	sumLen           = len(sumHead) + 8 + len(sumTail)
)

// newRecord describes the grant that req asks for.
func (b *backend) newRecord(req driver.Request, token fence.Token, old record) record {
	rec := record{
		Version: recordVersion,
		Mode:    processMode,
		Name:    req.Name,
		Holder:  req.Holder,
		Token:   token,
		Owner:   req.Owner,
		Host:    b.host,
		PID:     b.pid,
		Since:   time.Now().Round(0),
		TTL:     req.TTL.String(),
		Labels:  req.Labels,
		Revoked: old.Revoked,
	}
	if b.leased(req) {
		rec.Mode = leaseMode
		rec.Until = b.after(req.TTL)
	}
	return rec
}

// kept is the record of a lock that stays taken for a while by nobody.
func (b *backend) kept(name string, keep time.Duration) record {
	return record{
		Version: recordVersion, Mode: leaseMode, Name: name, TTL: keep.String(),
		Since: time.Now().Round(0), Until: b.after(keep),
	}
}

// after is the moment in d from now.
func (b *backend) after(d time.Duration) *moment { return &moment{Boot: b.boot, Nano: sinceBoot() + d} }

// remaining is how long the record says that the lock is still held, whether
// the process lives or not. A record of before the last start of the machine
// says nothing.
func (b *backend) remaining(rec record) time.Duration {
	if rec.Until == nil || rec.Until.Boot != b.boot {
		return 0
	}
	return max(rec.Until.Nano-sinceBoot(), 0)
}

// encode returns the record as a line of at least size bytes.
func (r record) encode(size int) ([]byte, error) {
	line, err := json.Marshal(r)
	if err != nil {
		return nil, err
	}
	sum := crc32.ChecksumIEEE(line)
	line = fmt.Appendf(line[:len(line)-1], sumHead+"%08x"+sumTail, sum)
	if len(line) >= maxRecord {
		return nil, invalid("owner and labels of lock %q take %d bytes: at most %d are allowed",
			r.Name, len(line), maxRecord)
	}
	if pad := max(size, minRecord) - len(line) - 1; pad > 0 {
		line = append(line, bytes.Repeat([]byte(" "), pad)...)
	}
	return append(line, '\n'), nil
}

// decode reads what encode wrote, and nothing else.
func decode(line []byte) (record, bool) {
	line = bytes.TrimRight(line, " \n\x00")
	if len(line) < sumLen {
		return record{}, false
	}
	body := append(bytes.Clone(line[:len(line)-sumLen]), '}')
	sum := fmt.Sprintf(sumHead+"%08x"+sumTail, crc32.ChecksumIEEE(body))
	if string(line[len(line)-sumLen:]) != sum {
		return record{}, false
	}
	var r record
	if err := json.Unmarshal(body, &r); err != nil || r.Version != recordVersion {
		return record{}, false
	}
	return r, true
}

// held describes the holder to one who has to wait.
func (b *backend) held(rec record) *fencehold.HeldError {
	return &fencehold.HeldError{
		Holder: rec.Holder, Owner: rec.Owner, Since: rec.Since, Remaining: b.remaining(rec),
	}
}

// lost says how holder lost the lock whose record is rec now.
func (b *backend) lost(f *lockFile, rec record, holder string) error {
	if n := rec.Revoked; n != nil && n.Holder == holder {
		return &fencehold.LostError{Reason: fencehold.ReasonRevoked, By: n.By, Why: n.Why}
	}
	if rec.Holder != holder {
		if marked, err := f.marked(); err != nil {
			return err
		} else if marked || b.remaining(rec) > 0 {
			return &fencehold.LostError{Reason: fencehold.ReasonTakenOver, By: rec.Owner}
		}
	}
	return &fencehold.LostError{Reason: fencehold.ReasonExpired}
}

// observe reads the record, and whether the grant that it describes stands: it
// has a time of its own, or is marked by a process that lives. Who sees the
// mark first reads the record of that process, or of a later one.
func (b *backend) observe(f *lockFile) (rec record, held bool, err error) {
	marked, err := f.marked()
	if err != nil {
		return record{}, false, err
	}
	rec, err = f.read()
	return rec, marked || b.remaining(rec) > 0, err
}
