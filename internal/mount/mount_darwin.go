package mount

import "golang.org/x/sys/unix"

func network(path string) (string, error) {
	var s unix.Statfs_t
	if err := unix.Statfs(path, &s); err != nil {
		return "", err
	}
	kind := unix.ByteSliceToString(s.Fstypename[:])
	if s.Flags&unix.MNT_LOCAL == 0 || isNetwork(kind, unix.ByteSliceToString(s.Mntfromname[:])) {
		return kind, nil
	}
	return "", nil
}
