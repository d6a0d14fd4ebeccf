package process

import (
	"os"
	"syscall"

	"golang.org/x/sys/unix"
)

// Adopt makes this process the parent of every descendant whose own parent
// ends: a subreaper.
func Adopt() error {
	return os.NewSyscallError("prctl", unix.Prctl(unix.PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0))
}

// DieWithParent lets the child be killed when the thread that starts it ends.
// Of the thread, not of the process: see where it is used.
func DieWithParent(attr *syscall.SysProcAttr) { attr.Pdeathsig = syscall.SIGKILL }

// Self is a path of the program that this process runs, also when its file
// was replaced meanwhile.
func Self() (string, error) {
	const link = "/proc/self/exe"
	if _, err := os.Lstat(link); err == nil {
		return link, nil
	}
	return os.Executable()
}
