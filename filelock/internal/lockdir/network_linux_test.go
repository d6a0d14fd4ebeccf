package lockdir

import (
	"testing"

	"golang.org/x/sys/unix"
)

func TestNetworkFileSystems(t *testing.T) {
	for magic, want := range map[uint32]string{
		unix.NFS_SUPER_MAGIC: "nfs", unix.CIFS_SUPER_MAGIC: "smb", unix.SMB2_SUPER_MAGIC: "smb", unix.SMB_SUPER_MAGIC: "smb",
		unix.AFS_SUPER_MAGIC: "afs", unix.CEPH_SUPER_MAGIC: "ceph", unix.CODA_SUPER_MAGIC: "coda",
		unix.EXT4_SUPER_MAGIC: "", unix.TMPFS_MAGIC: "", unix.XFS_SUPER_MAGIC: "", unix.BTRFS_SUPER_MAGIC: "",
	} {
		if got := networkKind(&unix.Statfs_t{Type: int64(magic)}); got != want {
			t.Errorf("file system %#x is taken for %q, want %q", magic, got, want)
		}
	}
	if err := refuseNetwork(t.TempDir()); err != nil {
		t.Error(err)
	}
	if err := refuseNetwork("/nowhere/at/all"); err == nil {
		t.Error("a directory that is not there is not on a network")
	}
}
