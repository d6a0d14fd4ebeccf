//go:build unix

package guarded

import (
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/fencehold/fencehold"
)

// The environment of a command that runs under a lock.
const (
	EnvLock       = "FENCEHOLD_LOCK"
	EnvToken      = "FENCEHOLD_TOKEN"
	EnvHolder     = "FENCEHOLD_HOLDER"
	EnvFence      = "FENCEHOLD_FENCE"
	EnvBackend    = "FENCEHOLD_BACKEND"
	EnvTTL        = "FENCEHOLD_TTL_MS"
	EnvAcquiredAt = "FENCEHOLD_ACQUIRED_AT"
	EnvStack      = "FENCEHOLD_STACK"
)

// environ returns base with what is told about the lease in place of what an
// outer run told.
// The frames of outer runs stay: a lock of any of them, asked for again, would be
// waited for until it is released by the one that waits.
func environ(base []string, lease *fencehold.Lease, backend string) []string {
	frame := Frame{Name: lease.Name(), Token: lease.Token().String(), Backend: backend}
	ours := [][2]string{
		{EnvLock, lease.Name()},
		{EnvToken, frame.Token},
		{EnvHolder, lease.Fence().Holder},
		{EnvFence, lease.Fence().String()},
		{EnvBackend, backend},
		{EnvTTL, strconv.FormatInt(lease.TTL().Milliseconds(), 10)},
		{EnvAcquiredAt, time.Now().Format(time.RFC3339Nano)},
		{EnvStack, strings.TrimSpace(lookup(base, EnvStack) + " " + frame.String())},
	}
	env := slices.DeleteFunc(slices.Clone(base), func(entry string) bool {
		name, _, _ := strings.Cut(entry, "=")
		return slices.ContainsFunc(ours, func(o [2]string) bool { return o[0] == name })
	})
	for _, o := range ours {
		env = append(env, o[0]+"="+o[1])
	}
	return env
}

// lookup returns the value that counts if a name is given twice: the last.
func lookup(env []string, name string) string {
	for _, entry := range slices.Backward(env) {
		if value, ok := strings.CutPrefix(entry, name+"="); ok {
			return value
		}
	}
	return ""
}

// A Frame is one run that encloses this process.
type Frame struct {
	// Name is the lock, Token the run's, Backend where the lock is kept.
	Name, Token, Backend string
}

// String returns the frame as it stands in EnvStack: NAME=TOKEN;BACKEND,
// where name and backend are escaped as in the query of a URL.
func (f Frame) String() string {
	return url.QueryEscape(f.Name) + "=" + f.Token + ";" + url.QueryEscape(f.Backend)
}

// Stack reads the value of EnvStack, the outermost run first. What does not
// read as a frame is left out.
// The value comes from the environment, and so from anybody.
func Stack(value string) []Frame {
	var frames []Frame
	for entry := range strings.FieldsSeq(value) {
		name, rest, ok := strings.Cut(entry, "=")
		if !ok {
			continue
		}
		token, backend, _ := strings.Cut(rest, ";")
		n, err := url.QueryUnescape(name)
		b, err2 := url.QueryUnescape(backend)
		if err == nil && err2 == nil {
			frames = append(frames, Frame{n, token, b})
		}
	}
	return frames
}
