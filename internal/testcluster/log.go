package testcluster

import (
	"os"
	"path/filepath"
)

// tailSize is how much of a log is shown, in bytes.
const tailSize = 4096

// logFile returns the path of the server's log.
func (r *Redis) logFile() string { return filepath.Join(r.dir, "redis.log") }

// logTail returns the end of the log.
func (r *Redis) logTail() string {
	b, err := os.ReadFile(r.logFile())
	if err != nil {
		return err.Error()
	}
	return string(b[max(0, len(b)-tailSize):])
}

// showLog shows the end of the log among the output of the test.
func (r *Redis) showLog() {
	r.tb.Helper()
	r.tb.Logf("log of %s:\n%s", r.Addr(), r.logTail())
}
