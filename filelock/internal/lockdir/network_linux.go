package lockdir

import "golang.org/x/sys/unix"

// networkKind names the network file system, or is empty for one that may be
// local.
func networkKind(st *unix.Statfs_t) string {
	switch uint32(st.Type) {
	case unix.NFS_SUPER_MAGIC:
		return "nfs"
	case unix.SMB_SUPER_MAGIC, unix.CIFS_SUPER_MAGIC, unix.SMB2_SUPER_MAGIC:
		return "smb"
	case unix.AFS_SUPER_MAGIC, unix.AFS_FS_MAGIC:
		return "afs"
	case unix.CODA_SUPER_MAGIC:
		return "coda"
	case unix.NCP_SUPER_MAGIC:
		return "ncp"
	case unix.CEPH_SUPER_MAGIC:
		return "ceph"
	}
	return ""
}
