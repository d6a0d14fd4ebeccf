package keeper

import "golang.org/x/sys/unix"

// replace makes the descriptor to a copy of from.
func replace(from, to int) { _ = unix.Dup3(from, to, 0) }
