//go:build unix

package filelock_test

import (
	"fmt"
	"strconv"
	"syscall"
	"testing"
	"time"
)

// playMint acquires and releases for as long as it lives.
func playMint(r *role) {
	for {
		grant := r.acquire()
		fmt.Println(grant.Token)
		r.release(grant)
	}
}

// Processes are killed at any moment of their cycles; tokens never go back.
func TestTokensAcrossKills(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	var last int64
	for i := range rounds(200) {
		minter := start(t, "mint", dir, "job")
		minter.line()
		time.Sleep(time.Duration(i%10) * 100 * time.Microsecond)
		minter.signal(syscall.SIGKILL)
		for line := range minter.lines {
			token, err := strconv.ParseInt(line, 10, 64)
			if err != nil || token <= last {
				t.Fatalf("token %q after %d", line, last)
			}
			last = token
		}
		b := newBackend(t, dir, nil)
		grant := acquireWithin(t, b, "job", 100*time.Millisecond)
		if int64(grant.Token) <= last {
			t.Fatalf("token %d after %d", grant.Token, last)
		}
		last = int64(grant.Token)
		release(t, b, grant)
	}
}
