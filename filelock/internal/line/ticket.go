package line

import (
	"crypto/rand"
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/fencehold/fencehold/driver"
	"github.com/fencehold/fencehold/filelock/internal/lockdir"
)

// A ticket is the place of a waiter: NUMBER,RANDOM,PID,HOST,OWNER is the name
// of its bell. Numbers rise in the order in which the waiters came, and are
// the time in microseconds unless many come at once or the clock is set back.
type ticket struct {
	file   string
	number int64
}

// liveness is what a ticket shows of its waiter.
type liveness int

const (
	alive  liveness = iota
	frozen          // has not answered for a while
	dead            // its process is gone
	gone            // the ticket is gone
)

const (
	numberLen = 16
	randomLen = 8
	hostLen   = 48
	ownerLen  = 140
)

// newTicket draws the ticket that is behind all of these.
func newTicket(all []ticket, who driver.Waiter) ticket {
	number := time.Now().UnixMicro()
	// The clock may have been set back since the last one came. Two who come at
	// once may draw one number: chance says then who is first.
	if len(all) > 0 {
		number = max(number, all[len(all)-1].number+1)
	}
	file := fmt.Sprintf("%0*x,%s,%d,%s,%s", numberLen, number, rand.Text()[:randomLen], who.PID,
		shorten(lockdir.Escape(who.Host), hostLen), shorten(lockdir.Escape(who.Owner), ownerLen))
	return ticket{file, number}
}

// parseTicket reads the number of a ticket, and reports false for a file that
// is none.
func parseTicket(file string) (ticket, bool) {
	number, err := strconv.ParseInt(file[:min(numberLen, len(file))], 16, 64)
	return ticket{file, number}, err == nil
}

// temp returns the name of the bell before it is ready. It is as distinct as
// the ticket.
func (t ticket) temp() string { return lockdir.TempPrefix + t.file[:numberLen+1+randomLen] }

// waiter reads what a ticket says of its waiter.
func (t ticket) waiter() driver.Waiter {
	fields := strings.Split(t.file, ",")
	w := driver.Waiter{Since: time.UnixMicro(t.number)}
	if len(fields) != 5 {
		return w
	}
	w.PID, _ = strconv.Atoi(fields[2])
	w.Host, _ = lockdir.Unescape(fields[3])
	w.Owner, _ = lockdir.Unescape(fields[4])
	// Shorten cuts between bytes, maybe inside a character.
	w.Owner = strings.ToValidUTF8(w.Owner, "")
	return w
}

// shorten cuts an escaped text between two escapes.
func shorten(escaped string, limit int) string {
	if len(escaped) <= limit {
		return escaped
	}
	cut := escaped[:limit]
	if i := strings.LastIndexByte(cut, '%'); i >= limit-2 {
		cut = cut[:i]
	}
	return cut
}
