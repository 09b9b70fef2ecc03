package rewrite

import (
	"encoding/binary"
	"errors"
	"os"
	"path/filepath"
	"syscall"
	"testing"
)

// accessOf returns an access control list that lets another user read and write.
func accessOf(user uint32) []byte {
	const version, undefinedID = 2, 0xffffffff
	list := binary.LittleEndian.AppendUint32(nil, version)
	for _, e := range [...]struct {
		tag, may uint16
		id       uint32
	}{{1, 6, undefinedID}, {2, 6, user}, {4, 4, undefinedID}, {16, 6, undefinedID}, {32, 0, undefinedID}} { // owner, user, group, mask, others
		list = binary.LittleEndian.AppendUint16(list, e.tag)
		list = binary.LittleEndian.AppendUint16(list, e.may)
		list = binary.LittleEndian.AppendUint32(list, e.id)
	}
	return list
}

// TestReplaceKeepsAttributes verifies that a replaced file has the same readers as before, whatever
// access the folder gives to new files.
func TestReplaceKeepsAttributes(t *testing.T) {
	dir := t.TempDir()
	listed, plain := filepath.Join(dir, "listed.html"), filepath.Join(dir, "plain.html")
	writeFile(t, listed, "one")
	writeFile(t, plain, "one")
	kept := map[string]bool{}
	for _, a := range [...]struct {
		path, name string
		value      []byte
	}{{listed, "user.origin", []byte("here")}, {listed, accessList, accessOf(1234)}, {dir, "system.posix_acl_default", accessOf(4321)}} {
		if err := syscall.Setxattr(a.path, a.name, a.value, 0); errors.Is(err, syscall.ENOTSUP) {
			t.Logf("not kept by any file here: %s: %v", a.name, err)
		} else if err != nil {
			t.Fatal(err)
		} else {
			kept[a.name] = true
		}
	}
	for _, path := range []string{listed, plain} {
		before, err := os.Stat(path)
		must(t, err)
		original, err := Replace(path, backupOf(t), to("two"))
		must(t, err)
		after, err := os.Stat(path)
		must(t, err)
		if after.Mode() != before.Mode() {
			t.Errorf("%s: mode %v, was %v", path, after.Mode(), before.Mode())
		}
		for _, name := range []string{"user.origin", accessList} {
			read := func(path string) (value string) {
				b, err := attribute(func(to []byte) (int, error) { return syscall.Getxattr(path, name, to) })
				if err != nil && !errors.Is(err, syscall.ENODATA) && !errors.Is(err, syscall.ENOTSUP) {
					t.Fatal(err)
				}
				return string(b)
			}
			if was, is := read(original), read(path); was != is || kept[name] && path == listed && is == "" {
				t.Errorf("%s: %s is %q, was %q", path, name, is, was)
			}
		}
	}
}
