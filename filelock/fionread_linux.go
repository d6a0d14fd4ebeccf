package filelock

import "golang.org/x/sys/unix"

const fionread = unix.TIOCINQ
