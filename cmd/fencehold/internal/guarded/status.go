//go:build unix

package guarded

import (
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"time"

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
// of it. What is not a regular file is written to: a link, such as /dev/stdout,
// a pipe or a device stands for something that others have, too.
func WriteStatus(path, lock string, code int, r Result) error {
	text, err := json.Marshal(newStatus(lock, code, r))
	if err != nil {
		return err
	}
	text = append(text, '\n')
	if info, err := os.Lstat(path); err == nil && !info.Mode().IsRegular() {
		return writeInPlace(path, info.Mode(), text)
	}
	return replaceWhole(path, text)
}

// writeTime bounds how long a pipe may take nothing.
const writeTime = time.Second

// writeInPlace waits neither for a pipe to be opened by a reader nor, for more
// than writeTime, for one to be read.
func writeInPlace(path string, mode os.FileMode, text []byte) error {
	flags := os.O_WRONLY | os.O_TRUNC | unix.O_NONBLOCK | unix.O_NOCTTY
	if mode&os.ModeSymlink != 0 {
		flags |= os.O_CREATE // where the link points to
	}
	file, err := os.OpenFile(path, flags, 0o644)
	if err != nil {
		return err
	}
	_ = file.SetWriteDeadline(time.Now().Add(writeTime)) // not for files that never block
	_, err = file.Write(text)
	if e := file.Close(); err == nil {
		err = e
	}
	return err
}

// replaceWhole puts a new file in the place of the one at path.
func replaceWhole(path string, text []byte) error {
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
