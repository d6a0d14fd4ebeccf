package lockfile

import (
	"bytes"
	"encoding/json"
	"fmt"
	"hash/crc32"
	"time"

	"github.com/fencehold/fencehold"
	"github.com/fencehold/fencehold/fence"
	"github.com/fencehold/fencehold/filelock/internal/boot"
)

// A Record is the content of a lock file: one line of JSON that says who holds
// the lock. In process mode it is for display, since the kernel knows who
// holds; in lease mode it is the grant itself.
type Record struct {
	Version int               `json:"v"` // 0 in an empty record; set by Write
	Mode    Mode              `json:"mode"`
	Name    string            `json:"name"`
	Holder  string            `json:"holder,omitempty"` // empty: the lock is free
	Token   fence.Token       `json:"token,omitempty"`
	Owner   string            `json:"owner,omitempty"`
	Host    string            `json:"host,omitempty"`
	PID     int               `json:"pid,omitempty"`
	Since   time.Time         `json:"since,omitzero"`
	TTL     string            `json:"ttl,omitempty"`
	Until   *boot.Moment      `json:"held_until,omitempty"`
	Labels  map[string]string `json:"labels,omitempty"`
	Kept    bool              `json:"kept,omitempty"` // released, and taken by nobody for a while
	Revoked *Note             `json:"revoked,omitempty"`
}

// A Mode is a way to hold a lock.
type Mode string

const (
	// ProcessMode is to hold it by the locks of the kernel.
	ProcessMode Mode = "process"
	// LeaseMode is to hold it by the time in the record.
	LeaseMode Mode = "lease"
)

// A Note tells the victim of a revocation who did it. The records after it
// carry it on, since the victim of lease mode may look late.
type Note struct {
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
	// rereads is how often one looks again who meets a writer.
	rereads = 3
	// processHead begins every record of process mode.
	processHead = `{"v":1,"mode":"process"`
	// A record ends in its checksum: a reader that takes no lock may see
	// half of an old record and half of a new one.
	sumHead, sumTail = `,"crc":"`, `"}`
	sumLen           = len(sumHead) + 8 + len(sumTail)
)

// encode returns the record as a line of at least size bytes.
func (r Record) encode(size int) ([]byte, error) {
	r.Version = recordVersion
	line, err := marshal(r)
	if err != nil {
		return nil, err
	}
	if len(line)+sumLen >= maxRecord && r.Revoked != nil {
		// The note is an earlier holder's: it must not keep this one out.
		r.Revoked = nil
		return r.encode(size)
	}
	// The sum is of the line without it, and takes the place of its last brace.
	sum := crc32.ChecksumIEEE(line)
	line = fmt.Appendf(line[:len(line)-1], sumHead+"%08x"+sumTail, sum)
	if len(line) >= maxRecord {
		return nil, fmt.Errorf("%w: owner and labels of lock %q take %d bytes: at most %d are allowed",
			fencehold.ErrInvalid, r.Name, len(line), maxRecord)
	}
	if pad := max(size, minRecord) - len(line) - 1; pad > 0 {
		line = append(line, bytes.Repeat([]byte(" "), pad)...)
	}
	return append(line, '\n'), nil
}

// marshal is that of package json, without the escapes that are for HTML: they
// make six bytes of one.
func marshal(r Record) ([]byte, error) {
	var buf bytes.Buffer
	enc := json.NewEncoder(&buf)
	enc.SetEscapeHTML(false)
	err := enc.Encode(r)
	return bytes.TrimRight(buf.Bytes(), "\n"), err
}

// decode reads what encode wrote, and nothing else.
func decode(line []byte) (Record, bool) {
	r, ok := parse(line)
	if !ok || r.Version != recordVersion {
		return Record{}, false
	}
	return r, true
}

// parse reads a record of any version whose checksum is right.
func parse(line []byte) (Record, bool) {
	// Zeros are what a power cut leaves of a page that was not written.
	line = bytes.TrimRight(line, " \n\x00")
	if len(line) < sumLen {
		return Record{}, false
	}
	body := append(bytes.Clone(line[:len(line)-sumLen]), '}')
	sum := fmt.Sprintf(sumHead+"%08x"+sumTail, crc32.ChecksumIEEE(body))
	if string(line[len(line)-sumLen:]) != sum {
		return Record{}, false
	}
	var r Record
	if err := json.Unmarshal(body, &r); err != nil {
		return Record{}, false
	}
	return r, true
}

// isBlank reports whether the content of a lock file is none, such as that of
// one that flock(1) has made.
func isBlank(content []byte) bool { return len(bytes.TrimSpace(content)) == 0 }

// isOfProcessMode reports whether the content is a record of process mode, or
// begins like one.
func isOfProcessMode(content []byte) bool { return bytes.HasPrefix(content, []byte(processHead)) }
