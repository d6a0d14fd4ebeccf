package lockdir

import "golang.org/x/sys/unix"

// networkKind names the network file system, or is empty for a local one.
func networkKind(st *unix.Statfs_t) string {
	if st.Flags&unix.MNT_LOCAL != 0 {
		return ""
	}
	return unix.ByteSliceToString(st.Fstypename[:])
}
