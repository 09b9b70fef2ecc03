package rclone

import (
	"errors"
	"os"
	"path/filepath"
	"runtime"
	"testing"
)

const remotesWithTokens = `
[drive]
type = drive
root = /
token = {"access_token":"x"}

[empty]
type = drive
token =

[disk]
type = local
root = /

[secret]
type = crypt
remote = drive:photos

[pool]
type = union
upstreams = disk:a secret:b:ro

[loop]
type = alias
remote = loop:a
`

// TestRenewsTokens verifies which remotes have tokens that rclone renews, also behind others.
func TestRenewsTokens(t *testing.T) {
	environ := environment(t)
	path := valueOf(environ, "RCLONE_CONFIG")
	if err := os.WriteFile(path, []byte(remotesWithTokens), 0o600); err != nil {
		t.Fatal(err)
	}
	s := start(t, versions[0], environ)
	for name, want := range map[string]bool{
		"drive:": true, "drive:a/b": true, "empty:": false, "disk:": false, "secret:": true, "pool:": true, "loop:": false, "other:": false,
		":crypt,remote='drive:a':": true, ":sftp,host=example.com:": false, "disk,description='as drive':": false,
	} {
		r, err := ParseRemote(name)
		if err != nil {
			t.Fatal(err)
		}
		if renews, err := s.RenewsTokens(t.Context(), r); err != nil || renews != want {
			t.Errorf("%s: %v, want %v; %v", name, renews, want, err)
		}
		if err := s.CheckTokens(t.Context(), r); err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// TestReplaceable verifies which configurations rclone could not replace, as far as any account sees
// that.
func TestReplaceable(t *testing.T) {
	dir := t.TempDir()
	file, link := filepath.Join(dir, "rclone.conf"), filepath.Join(dir, "link")
	if err := errors.Join(os.WriteFile(file, nil, 0o400), os.Symlink("rclone.conf", link)); err != nil {
		if runtime.GOOS == "windows" {
			return // links need a privilege there
		}
		t.Fatal(err)
	}
	for _, path := range []string{file, link} {
		if err := CheckWritable(path); err != nil && runtime.GOOS != "windows" { // rclone replaces a read-only file
			t.Errorf("%s: %v", path, err)
		}
	}
	if _, ok := errors.AsType[*ConfigError](CheckWritable(dir)); !ok {
		t.Error("a folder is no configuration")
	}
	if left, _ := os.ReadDir(dir); len(left) != 2 {
		t.Errorf("left: %v", left)
	}
}
