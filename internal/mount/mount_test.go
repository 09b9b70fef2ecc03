package mount

import (
	"testing"
)

func TestIsNetwork(t *testing.T) {
	for _, c := range []struct {
		kind, source string
		want         bool
	}{
		{"ext4", "/dev/sda1", false}, {"tmpfs", "tmpfs", false}, {"overlay", "overlay", false}, {"fuseblk", "/dev/sdb1", false},
		{"fuse.gocryptfs", "/home/me/cipher", false}, {"fuse.fuse-overlayfs", "fuse-overlayfs", false}, {"fuse.mergerfs", "a:b", false},
		{"fuse.bindfs", "/a:b/c", false}, {"fuse.something", "something", false}, {"", "", false},
		{"nfs4", "server:/export", true}, {"nfs", "server:/export", true}, {"cifs", "//server/share", true}, {"9p", "drvfs", true},
		{"virtiofs", "mount0", true}, {"fuse.sshfs", "sshfs", true}, {"fuse.s3fs", "s3fs", true}, {"fuse.rclone", "remote:", true},
		{"fuse.mine", "me@server:/home", true}, {"fuse", "//server/share", true}, {"fuse.mine", "davs://server/dav", true},
	} {
		if got := isNetwork(c.kind, c.source); got != c.want {
			t.Errorf("%s of %s: got %v", c.kind, c.source, got)
		}
	}
}

// TestLocal verifies that the temporary folder is local, also for a path that does not exist.
func TestLocal(t *testing.T) {
	dir := t.TempDir()
	for _, path := range []string{dir, dir + "/not/there/yet.db"} {
		if kind, err := Network(path); err != nil || kind != "" {
			t.Errorf("%s: got %q, %v", path, kind, err)
		}
	}
}
