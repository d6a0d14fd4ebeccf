//go:build unix && !linux

package keeper

// recvFlags: there is no flag for close-on-exec here. The command is started
// by the same goroutine that takes the descriptor over, after it set it.
const recvFlags = 0

// highest is the number at which the keeper's end of the socket is handed
// over, above those that scripts use for files of their own.
const highest = 200
