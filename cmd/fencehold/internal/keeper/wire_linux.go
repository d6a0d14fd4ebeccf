package keeper

import "golang.org/x/sys/unix"

// recvFlags keep a descriptor that arrives out of a command that is started at
// the same moment.
const recvFlags = unix.MSG_CMSG_CLOEXEC

// highest is the number at which the keeper's end of the socket is handed
// over, above those that scripts use for files of their own.
const highest = 200
