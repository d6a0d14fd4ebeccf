package lockdir

import "io/fs"

// owner is nobody here: access lists are handed on by the system.
type owner struct{ other bool }

func ownerOf(fs.FileInfo) owner { return owner{} }

func (owner) give(string) error { return nil }
