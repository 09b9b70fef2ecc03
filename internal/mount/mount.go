// Package mount knows which folders another machine serves. SQLite keeps its write-ahead
// log in memory that processes share, which only works within one kernel, and locks on such
// a file system hold on one machine or not at all: two processes would both believe that
// they are alone.
//
// A file system in user space (FUSE) is one that a program serves, and may be anything. It is
// taken for a network file system if its type is one of those known to be, or if its source
// names another machine. One that nobody knows is taken for a local one: what is refused
// should be refused for a reason.
package mount

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
)

// Network is the type of the network file system that a path is on, or would be if it is
// not there yet; "" for a local one, and where that is not known.
func Network(path string) (kind string, err error) { return network(nearest(path)) }

// nearest is a path, or the first folder above it that is there.
func nearest(path string) string {
	for {
		if _, err := os.Stat(path); err == nil || path == filepath.Dir(path) {
			return path
		}
		path = filepath.Dir(path)
	}
}

// networkTypes are types of mounts that another machine serves, as /proc/self/mountinfo
// names them: those in user space, and those whose number tells no more.
var networkTypes = []string{
	"9p", "afs", "beegfs", "ceph", "cifs", "coda", "fakeowner", "gfs2", "gpfs", "lustre", "ncpfs", "nfs", "nfs4", "ocfs2",
	"prl_fs", "smb3", "smbfs", "vboxsf", "virtiofs", "vmhgfs", "webdav", "afpfs",
	"fuse.afuse", "fuse.blobfuse", "fuse.blobfuse2", "fuse.ceph", "fuse.ceph-fuse", "fuse.curlftpfs", "fuse.davfs", "fuse.davfs2",
	"fuse.gcsfuse", "fuse.geesefs", "fuse.glusterfs", "fuse.goofys", "fuse.google-drive-ocamlfuse", "fuse.grpcfuse",
	"fuse.gvfsd-fuse", "fuse.jmtpfs", "fuse.juicefs", "fuse.lizardfs", "fuse.mfs", "fuse.moosefs", "fuse.mount-s3", "fuse.onedriver", "fuse.osxfs",
	"fuse.rclone", "fuse.s3fs", "fuse.seaweedfs", "fuse.smbnetfs", "fuse.sshfs", "fuse.vmhgfs-fuse",
}

// isNetwork judges a mount by its type and its source.
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
