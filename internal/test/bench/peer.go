package main

import (
	"fmt"
	"os/exec"
	"strings"
)

// A peer is rclone, if it is installed: it also copies between buckets, so users may compare the
// two. It does the same work on the same bucket.
type peer struct{ path, version string }

func findPeer() (p peer) {
	path, err := exec.LookPath("rclone")
	if err != nil {
		return p
	}
	out, err := exec.Command(path, "version").Output()
	if err != nil {
		return p
	}
	version, _, _ := strings.Cut(string(out), "\n")
	return peer{path, strings.TrimSpace(version)}
}

// rclone returns the name of a bucket of this world for rclone.
func (w *world) rclone(bucket string) string {
	return fmt.Sprintf(":s3,provider=Other,env_auth=true,region=us-east-1,endpoint=%q,list_version=2:%s", w.s3, bucket)
}

// sync makes the peer compare the bucket with another one without changes.
func (w *world) sync(other string, args ...string) (text string, err error) {
	if w.peer.path == "" {
		return "rclone is not installed", nil
	}
	lists := w.bucket.lists.Load()
	u, _, err := w.runWell(w.peer.path, append([]string{"sync", "--dry-run", "--quiet", "--config", "", w.rclone(bucketName), w.rclone(other)}, args...)...)
	return fmt.Sprintf("%s %s, %s CPU, %s, %d list requests", w.peer.version, seconds(u.Wall), seconds(u.CPU), megabytes(u.RSS), w.bucket.lists.Load()-lists), err
}
