package mount

import (
	"testing"

	"golang.org/x/sys/unix"
)

// TestServed compares the numbers with those in the header of the kernel.
func TestServed(t *testing.T) {
	for number, want := range map[uint32]string{
		unix.NFS_SUPER_MAGIC: "nfs", unix.SMB_SUPER_MAGIC: "smbfs", unix.CIFS_SUPER_MAGIC: "cifs", unix.SMB2_SUPER_MAGIC: "smb3", unix.V9FS_MAGIC: "9p",
		unix.CEPH_SUPER_MAGIC: "ceph", unix.AFS_SUPER_MAGIC: "afs", unix.AFS_FS_MAGIC: "afs", unix.CODA_SUPER_MAGIC: "coda", unix.NCP_SUPER_MAGIC: "ncpfs",
		unix.OCFS2_SUPER_MAGIC: "ocfs2", unix.EXT4_SUPER_MAGIC: "", unix.TMPFS_MAGIC: "", unix.BTRFS_SUPER_MAGIC: "", unix.XFS_SUPER_MAGIC: "",
	} {
		if got := served[number]; got != want {
			t.Errorf("%#x: got %q, want %q", number, got, want)
		}
	}
	if unix.FUSE_SUPER_MAGIC != fuse {
		t.Error("FUSE has another number")
	}
}
