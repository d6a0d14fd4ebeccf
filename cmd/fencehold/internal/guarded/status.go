//go:build unix

package guarded

import (
	"encoding/json"
	"errors"
	"os"
	"path/filepath"

	"github.com/fencehold/fencehold"
	"golang.org/x/sys/unix"
)

// statusSchema changes when a key of the status changes its meaning or goes.
const statusSchema = 1

// status is what "run --status-file" writes: it tells apart what an exit code
// alone cannot.
type status struct {
	Schema   int     `json:"schema_version"`
	Outcome  string  `json:"outcome"`
	ExitCode int     `json:"exit_code"`
	Signal   *string `json:"signal"`
	Lock     string  `json:"lock"`
	Token    *string `json:"token"`
	WaitMS   int64   `json:"wait_ms"`
	HoldMS   int64   `json:"hold_ms"`
	Error    *string `json:"error"`
}

// newStatus collects what there is to say about a run. A lock that was held by
// somebody else has an outcome of its own, since scripts ask for it.
func newStatus(lock string, code int, r Result) status {
	s := status{
		Schema: statusSchema, Outcome: string(r.Outcome), ExitCode: code, Lock: lock,
		WaitMS: r.Wait.Milliseconds(), HoldMS: r.Hold.Milliseconds(),
	}
	if r.Outcome == NotAcquired && errors.Is(r.Err, fencehold.ErrHeld) {
		s.Outcome = "busy"
	}
	switch {
	case r.Ran && r.Status.Signaled():
		s.Signal = new(unix.SignalName(r.Status.Signal()))
	case r.Signal != 0:
		s.Signal = new(unix.SignalName(r.Signal))
	}
	if r.Token != 0 {
		s.Token = new(r.Token.String())
	}
	if r.Err != nil {
		s.Error = new(r.Err.Error())
	}
	return s
}

// WriteStatus replaces the file at path as a whole, so that nobody reads half
// of it.
func WriteStatus(path, lock string, code int, r Result) error {
	text, err := json.Marshal(newStatus(lock, code, r))
	if err != nil {
		return err
	}
	text = append(text, '\n')
	// A pipe or a device has readers that would be left behind by a rename.
	if info, err := os.Stat(path); err == nil && !info.Mode().IsRegular() {
		return os.WriteFile(path, text, 0o644)
	}
	temporary, err := os.CreateTemp(filepath.Dir(path), ".status-*")
	if err != nil {
		return err
	}
	defer func() { _ = os.Remove(temporary.Name()) }() // there is none after success
	_, err = temporary.Write(text)
	if e := temporary.Chmod(0o644); err == nil {
		err = e
	}
	if e := temporary.Close(); err == nil {
		err = e
	}
	if err != nil {
		return err
	}
	// Not synced: the file tells of this run to who waits for it, and after a crash
	// of the machine nobody does.
	return os.Rename(temporary.Name(), path)
}
