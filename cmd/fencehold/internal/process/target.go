//go:build unix

package process

import (
	"errors"
	"os"
	"slices"
	"syscall"

	"golang.org/x/sys/unix"
)

// A Target is the processes of one command.
type Target interface {
	// Signal sends sig to each of them, if there is any. Whether it had an
	// effect is seen by Gone alone: a signal that could not be sent, to a program
	// of another user, changes nothing about who has to be waited for.
	Signal(sig syscall.Signal)
	// Gone reports whether none of them is alive.
	Gone() bool
}

// A Group is the process group with this number.
type Group int

// Signal reaches the whole group at once: the kernel leaves no gap in which a
// member could fork unseen.
func (g Group) Signal(sig syscall.Signal) { _ = unix.Kill(-int(g), sig) }

// Gone asks the kernel first, which counts zombies too, and reads the list of
// processes only if there is anything to tell apart.
func (g Group) Gone() bool {
	if errors.Is(unix.Kill(-int(g), 0), unix.ESRCH) {
		return true
	}
	all, err := All()
	// What cannot be read counts as alive: to release too late is the safe mistake.
	return err == nil && !slices.ContainsFunc(all, func(s Stat) bool { return s.Group == int(g) && s.Alive() })
}

// Descendants are the children of this process, which must be a subreaper,
// with all their descendants, as far as they are in its session.
type Descendants struct {
	// Except are processes that do not count, nor do their descendants.
	Except []Stat
}

// Signal reaches those that are there at this moment. Who must not miss any
// repeats it until Gone.
func (d Descendants) Signal(sig syscall.Signal) {
	members, err := d.members()
	if err != nil {
		return
	}
	for _, s := range members {
		_ = unix.Kill(s.PID, sig)
	}
}

// Gone reports whether no descendant is alive.
func (d Descendants) Gone() bool {
	members, err := d.members()
	return err == nil && len(members) == 0
}

// Existing returns the descendants that this process has now: those that it had
// before it was this program, if it was executed in place of another.
// One of theirs that is born later and then loses its parent is not told from others.
func Existing() []Stat {
	all, err := All()
	if err != nil {
		return nil
	}
	session, _ := unix.Getsid(0)
	return descend(all, os.Getpid(), nil, session)
}

// members reads the list of processes anew each time.
func (d Descendants) members() ([]Stat, error) {
	all, err := All()
	if err != nil {
		return nil, err
	}
	// It cannot fail for the caller's own session.
	session, _ := unix.Getsid(0)
	return descend(all, os.Getpid(), d.Except, session), nil
}

// Orphaned reports whether no shell looks after the group: none of its members
// has a parent in the session that is not of the group. Who, as a parent, does
// not count. What cannot be read is taken for looked after.
func Orphaned(group, session, who int) bool {
	all, err := All()
	return err == nil && orphaned(all, group, session, who)
}

// It is the rule of the kernel with one exception, the keeper.
func orphaned(all []Stat, group, session, who int) bool {
	shells := map[int]bool{}
	for _, s := range all {
		shells[s.PID] = s.PID != who && s.Session == session && s.Group != group
	}
	return !slices.ContainsFunc(all, func(s Stat) bool { return s.Group == group && s.Alive() && shells[s.Parent] })
}

// descend returns the living descendants of root in session, parents before
// their children.
// The list is not of one moment: a process may have been read before its parent ended,
// and then hangs on a number that is not there. The next look finds it.
func descend(all []Stat, root int, except []Stat, session int) []Stat {
	children := map[int][]Stat{}
	for _, s := range all {
		if s.PID != root && !slices.ContainsFunc(except, s.is) {
			children[s.Parent] = append(children[s.Parent], s)
		}
	}
	var found []Stat
	for queue := []int{root}; len(queue) > 0; queue = queue[1:] {
		for _, s := range children[queue[0]] {
			queue = append(queue, s.PID)
			// Dead ones are passed through, since children of a zombie may not have been
			// handed on yet.
			if s.Alive() && (s.Session == session || s.Session == 0) {
				found = append(found, s)
			}
		}
	}
	return found
}
