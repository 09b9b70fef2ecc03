package state

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"assetferry/state/disk"
	"assetferry/state/ownership"
)

// onNetwork opens state databases as if every file were on a network file system.
var onNetwork = opener{func(string) (string, error) { return "nfs", nil }}

// TestNetworkFileSystem verifies that a state database on a network file system can be read, but is
// neither written nor created.
func TestNetworkFileSystem(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, "new", "state.db")
	for _, takeover := range []bool{false, true} {
		s, err := onNetwork.open(t.Context(), path, takeover)
		if !errors.Is(err, ownership.ErrNetwork) || s != nil {
			t.Errorf("got %v, %v", s, err)
		}
		if e, ok := errors.AsType[*ownership.NetworkError](err); !ok || !strings.Contains(e.Error(), "nfs") || !strings.Contains(e.Hint(), "--state") {
			t.Errorf("got %v", err)
		}
	}
	if left, err := os.ReadDir(dir); err != nil || len(left) > 0 {
		t.Errorf("%v was made, %v", left, err)
	}
	local, err := Open(t.Context(), path)
	must(t, err)
	must(t, local.Close())
	if _, err := onNetwork.open(t.Context(), path, false); !errors.Is(err, ownership.ErrNetwork) {
		t.Errorf("one that is there: got %v", err)
	}
	s, err := OpenReadOnly(t.Context(), path)
	must(t, err)
	must(t, s.Close())
}

// TestUnknownFileSystem verifies that a file system whose type is unknown is accepted.
func TestUnknownFileSystem(t *testing.T) {
	unknown := opener{func(string) (string, error) { return "", errors.ErrUnsupported }}
	s, err := unknown.open(t.Context(), filepath.Join(t.TempDir(), "state.db"), false)
	must(t, err)
	must(t, s.Close())
}

// TestSymbolicLink verifies that a symbolic link leads to the state database with all files next to
// it.
func TestSymbolicLink(t *testing.T) {
	dir := t.TempDir()
	real := filepath.Join(dir, "real", "state.db")
	link := filepath.Join(dir, "link.db")
	s, err := Open(t.Context(), real)
	must(t, err)
	must(t, s.Close())
	must(t, os.Symlink(real, link))
	for _, path := range []string{link, real, link} {
		s, err := Open(t.Context(), path)
		must(t, err)
		if _, err := Open(t.Context(), real); !errors.Is(err, ownership.ErrInUse) {
			t.Errorf("two have it: %v", err)
		}
		_, err = s.Backup(t.Context())
		must(t, err)
		must(t, s.Close())
	}
	if beside, err := filepath.Glob(link + "*"); err != nil || len(beside) != 1 {
		t.Errorf("beside the link: %v, %v", beside, err)
	}
	if _, err := os.Stat(disk.BackupPath(link)); err != nil || filepath.Dir(disk.BackupPath(link)) != filepath.Dir(real) {
		t.Errorf("the backup: %s, %v", disk.BackupPath(link), err)
	}
	files := strings.Join(disk.Files(link), "\n")
	if !strings.Contains(files, real+disk.WALSuffix) || !strings.Contains(files, link) {
		t.Errorf("the files of the link are %s", files)
	}
	r, err := OpenReadOnly(t.Context(), link)
	must(t, err)
	must(t, r.Close())
}
