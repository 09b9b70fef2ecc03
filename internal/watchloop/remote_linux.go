package watchloop

import (
	"slices"

	"golang.org/x/sys/unix"
)

// isRemote reports whether others can change what is at a path without this machine
// hearing of it. Most of what runs outside the kernel is on another machine, too.
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
