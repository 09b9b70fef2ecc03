//go:build linux && fusemount

package mount_test

import (
	"encoding/binary"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"syscall"
	"testing"

	"assetferry/internal/mount"
	"assetferry/state"
	"assetferry/state/ownership"
)

// serve answers the requests of the kernel to a file system in user space with an empty root
// folder, until it is unmounted. See fuse(4).
func serve(dev int) error {
	const (
		lookup, forget, getattr, statfs, initialize, destroy = 1, 2, 3, 17, 26, 38
		batchForget, interrupt                               = 42, 36
	)
	request := make([]byte, 1<<17)
	for {
		n, err := syscall.Read(dev, request)
		switch {
		case errors.Is(err, syscall.ENODEV):
			return nil
		case errors.Is(err, syscall.EINTR), errors.Is(err, syscall.ENOENT), errors.Is(err, syscall.EAGAIN):
			continue
		case err != nil || n < 40:
			return err
		}
		var answer []byte
		failure := syscall.Errno(0)
		switch binary.LittleEndian.Uint32(request[4:]) {
		case forget, batchForget, interrupt, destroy:
			continue
		case initialize:
			answer = make([]byte, 64)
			binary.LittleEndian.PutUint32(answer, 7)
			binary.LittleEndian.PutUint32(answer[4:], 31)
			binary.LittleEndian.PutUint32(answer[20:], 1<<16) // the most that is written at once
		case statfs:
			answer = make([]byte, 80)
		case getattr:
			answer = make([]byte, 104)
			binary.LittleEndian.PutUint64(answer[16:], 1)           // inode
			binary.LittleEndian.PutUint32(answer[16+60:], 0o040755) // mode
			binary.LittleEndian.PutUint32(answer[16+64:], 2)        // links
		case lookup:
			failure = syscall.ENOENT
		default:
			failure = syscall.ENOSYS
		}
		head := make([]byte, 16, 16+len(answer))
		binary.LittleEndian.PutUint32(head, uint32(16+len(answer)))
		binary.LittleEndian.PutUint32(head[4:], uint32(-int32(failure)))
		copy(head[8:], request[8:16]) // which question it answers
		if _, err := syscall.Write(dev, append(head, answer...)); err != nil && !errors.Is(err, syscall.ENOENT) {
			return err
		}
	}
}

// mounted mounts such a file system under a type and a source.
func mounted(t *testing.T, kind, source string) (dir string) {
	t.Helper()
	dir = t.TempDir()
	dev, err := syscall.Open("/dev/fuse", syscall.O_RDWR|syscall.O_CLOEXEC, 0)
	if err != nil {
		t.Fatal(err)
	}
	options := fmt.Sprintf("fd=%d,rootmode=40000,user_id=%d,group_id=%d", dev, os.Getuid(), os.Getgid())
	if err := syscall.Mount(source, dir, kind, syscall.MS_NOSUID|syscall.MS_NODEV, options); err != nil {
		t.Fatalf("mount: %v (it takes root)", err)
	}
	ended := make(chan error, 1)
	go func() { ended <- serve(dev) }()
	t.Cleanup(func() {
		if err := syscall.Unmount(dir, 0); err != nil {
			t.Error(err)
		}
		if err := <-ended; err != nil {
			t.Error(err)
		}
		syscall.Close(dev)
	})
	return dir
}

// TestRealMount verifies that the kernel reports a real mount with the expected type, and that no
// state database is written there.
func TestRealMount(t *testing.T) {
	for _, c := range []struct{ kind, source, want string }{
		{"fuse.sshfs", "me@server:/home/me", "fuse.sshfs"},
		{"fuse.s3fs", "s3fs", "fuse.s3fs"},
		{"fuse.mine", "server:/export", "fuse.mine"},
		{"fuse.mine", "mine", ""},
		{"fuse.gocryptfs", "/home/me/cipher", ""},
	} {
		t.Run(c.kind+" "+c.source, func(t *testing.T) {
			dir := mounted(t, c.kind, c.source)
			path := filepath.Join(dir, "state.db")
			for _, p := range []string{dir, path} {
				if got, err := mount.Network(p); err != nil || got != c.want {
					t.Errorf("%s: got %q, %v", p, got, err)
				}
			}
			s, err := state.Open(t.Context(), path)
			if s != nil || errors.Is(err, ownership.ErrNetwork) != (c.want != "") {
				t.Errorf("got %v, %v", s, err)
			}
		})
	}
}
