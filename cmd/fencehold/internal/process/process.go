// Package process knows what the kernel knows about processes: who belongs to
// a command, whether anybody of it is left, and how to reach all of them.
//
// Numbers of processes are used again. So nothing here remembers one alone: a set
// of processes is read from the kernel each time that it is asked for, and is
// rooted in a process that its caller has not yet reaped or is itself.
package process

// Stat is what the kernel tells about one process.
type Stat struct {
	// PID, Parent, Group and Session are its numbers.
	PID, Parent, Group, Session int
	// State is the kernel's letter for its first thread, such as R, S, T or Z.
	State byte
	// Threads is how many threads it has, 0 if that is not known.
	Threads int
	// Start is when it began, in a unit of the kernel, 0 if that is not known. It
	// tells apart two processes that had the same number one after the other.
	Start int
}

// Alive reports whether the process can still do anything, or has files open.
// A zombie can do nothing, unless only its first thread has ended.
func (s Stat) Alive() bool {
	return s.Threads > 1 || (s.State != 'Z' && s.State != 'X' && s.State != 'x')
}

// is reports whether both are the same process, looked at twice.
func (s Stat) is(other Stat) bool { return s.PID == other.PID && s.Start == other.Start }

// Stopped reports whether a signal stopped the process.
func (s Stat) Stopped() bool { return s.State == 'T' }
