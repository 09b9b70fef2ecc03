package watchloop

import (
	"slices"

	"golang.org/x/sys/unix"
)

// isRemote reports whether a path is on a file system that other machines can change without an
// event here. Most FUSE file systems are remote, too.
func isRemote(path string) bool {
	var s unix.Statfs_t
	if unix.Statfs(path, &s) != nil {
		return false
	}
	const (
		cifs = 0xff534d42
		smb2 = 0xfe534d42
	)
	return slices.Contains([]uint32{
		unix.NFS_SUPER_MAGIC, unix.SMB_SUPER_MAGIC, cifs, smb2, unix.CEPH_SUPER_MAGIC,
		unix.AFS_SUPER_MAGIC, unix.CODA_SUPER_MAGIC, unix.NCP_SUPER_MAGIC, unix.V9FS_MAGIC, unix.FUSE_SUPER_MAGIC,
	}, uint32(s.Type))
}
