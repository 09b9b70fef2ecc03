// Package mount detects network file systems. SQLite keeps the index of its write-ahead log in
// memory that processes share, which works only within one kernel. Locks on a network file system
// may be limited to one machine, or have no effect. Two processes could then write at the same
// time.
//
// A file system in user space (FUSE) is implemented by a program. It counts as a network file
// system if its type is known as one, or if its source names another machine. Unknown types count
// as local, so that no folder is refused without a reason.
package mount

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
)

// Network returns the type of the network file system that contains a path, or would contain it if
// it does not exist. It returns "" if the file system is local or unknown.
func Network(path string) (kind string, err error) { return network(nearest(path)) }

// nearest returns the path if it exists, otherwise the first parent folder that exists.
func nearest(path string) string {
	for {
		if _, err := os.Stat(path); err == nil || path == filepath.Dir(path) {
			return path
		}
		path = filepath.Dir(path)
	}
}

// networkTypes lists types of network file systems in the form of /proc/self/mountinfo. It needs
// the FUSE types, and those that statfs does not distinguish.
var networkTypes = []string{
	"9p", "afs", "beegfs", "ceph", "cifs", "coda", "fakeowner", "gfs2", "gpfs", "lustre", "ncpfs", "nfs", "nfs4", "ocfs2",
	"prl_fs", "smb3", "smbfs", "vboxsf", "virtiofs", "vmhgfs", "webdav", "afpfs",
	"fuse.afuse", "fuse.blobfuse", "fuse.blobfuse2", "fuse.ceph", "fuse.ceph-fuse", "fuse.curlftpfs", "fuse.davfs", "fuse.davfs2",
	"fuse.gcsfuse", "fuse.geesefs", "fuse.glusterfs", "fuse.goofys", "fuse.google-drive-ocamlfuse", "fuse.grpcfuse",
	"fuse.gvfsd-fuse", "fuse.jmtpfs", "fuse.juicefs", "fuse.lizardfs", "fuse.mfs", "fuse.moosefs", "fuse.mount-s3", "fuse.onedriver", "fuse.osxfs",
	"fuse.rclone", "fuse.s3fs", "fuse.seaweedfs", "fuse.smbnetfs", "fuse.sshfs", "fuse.vmhgfs-fuse",
}

// isNetwork reports whether a mount of this type and source is a network file system.
func isNetwork(kind, source string) bool {
	if slices.Contains(networkTypes, kind) {
		return true
	}
	return strings.HasPrefix(kind, "fuse") && namesMachine(source)
}

// namesMachine reports whether the source of a mount is a place on another machine:
// host:/path, //host/share, scheme://host.
func namesMachine(source string) bool {
	host, rest, found := strings.Cut(source, ":")
	return strings.HasPrefix(source, "//") ||
		found && host != "" && !strings.Contains(host, "/") && strings.HasPrefix(rest, "/")
}
