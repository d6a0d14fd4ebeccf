//go:build unix

package lockdir

import (
	"io/fs"
	"os"
	"syscall"
)

// An owner is whom files are given to that root makes in the directory of
// another user: without that, root would lock that user out of it. The zero
// owner is nobody.
type owner struct {
	uid, gid int
	other    bool
}

func ownerOf(info fs.FileInfo) owner {
	st, ok := info.Sys().(*syscall.Stat_t)
	if !ok || os.Geteuid() != 0 || st.Uid == 0 {
		return owner{}
	}
	return owner{int(st.Uid), int(st.Gid), true}
}

// give gives a file that was just made to the owner of the directory.
func (o owner) give(path string) error {
	if !o.other {
		return nil
	}
	return os.Lchown(path, o.uid, o.gid)
}
