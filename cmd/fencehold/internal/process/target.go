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
	// Signal sends sig to each of them. It is no error if there is none.
	Signal(sig syscall.Signal) error
	// Gone reports whether none of them is alive.
	Gone() bool
}

// A Group is the process group with this number.
type Group int

// Signal reaches the whole group at once: the kernel leaves no gap in which a
// member could fork unseen.
func (g Group) Signal(sig syscall.Signal) error { return send(-int(g), sig) }

// Gone asks the kernel first, which counts zombies too, and reads the list of
// processes only if there is anything to tell apart.
func (g Group) Gone() bool {
	if errors.Is(unix.Kill(-int(g), 0), unix.ESRCH) {
		return true
	}
	all, err := All()
	return err == nil && !slices.ContainsFunc(all, func(s Stat) bool { return s.Group == int(g) && s.Alive() })
}

// Descendants are the children of this process, which must be a subreaper,
// with all their descendants, as far as they are in its session.
type Descendants struct {
	// Except is a child that does not count, or 0.
	Except int
}

// Signal reaches those that are there at this moment. Who must not miss any
// repeats it until Gone.
func (d Descendants) Signal(sig syscall.Signal) error {
	members, err := d.members()
	for _, pid := range members {
		err = errors.Join(err, send(pid, sig))
	}
	return err
}

// Gone reports whether no descendant is alive.
func (d Descendants) Gone() bool {
	members, err := d.members()
	return err == nil && len(members) == 0
}

// members reads the list of processes anew each time.
func (d Descendants) members() ([]int, error) {
	all, err := All()
	if err != nil {
		return nil, err
	}
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

func orphaned(all []Stat, group, session, who int) bool {
	shells := map[int]bool{}
	for _, s := range all {
		shells[s.PID] = s.PID != who && s.Session == session && s.Group != group
	}
	return !slices.ContainsFunc(all, func(s Stat) bool { return s.Group == group && s.Alive() && shells[s.Parent] })
}

// descend returns the living descendants of root in session, parents before
// their children.
func descend(all []Stat, root, except, session int) []int {
	children := map[int][]Stat{}
	for _, s := range all {
		if s.PID != except && s.PID != root {
			children[s.Parent] = append(children[s.Parent], s)
		}
	}
	var found []int
	for queue := []int{root}; len(queue) > 0; queue = queue[1:] {
		for _, s := range children[queue[0]] {
			queue = append(queue, s.PID)
			if s.Alive() && (s.Session == session || s.Session == 0) {
				found = append(found, s.PID)
			}
		}
	}
	return found
}

// send ignores that there is nobody, and nobody left who may be signalled.
func send(pid int, sig syscall.Signal) error {
	err := unix.Kill(pid, sig)
	if errors.Is(err, unix.ESRCH) || errors.Is(err, unix.EPERM) {
		return nil
	}
	return err
}
