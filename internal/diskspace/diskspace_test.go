package diskspace

import (
	"errors"
	"path/filepath"
	"testing"
)

func TestFree(t *testing.T) {
	dir := t.TempDir()
	if n, err := Free(dir); !errors.Is(err, errors.ErrUnsupported) && (err != nil || n <= 0) {
		t.Errorf("got %d, %v", n, err)
	}
	if _, err := Free(filepath.Join(dir, "missing")); err == nil {
		t.Error("no error for a folder that is not there")
	}
}
