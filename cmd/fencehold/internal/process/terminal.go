//go:build unix

package process

import "golang.org/x/sys/unix"

// OnTerminal reports whether standard input is the controlling terminal of
// this process, so that the terminal's signals and its reads go to the
// process group that is in the foreground.
func OnTerminal() bool {
	_, err := unix.IoctlGetInt(0, unix.TIOCGPGRP)
	return err == nil
}
