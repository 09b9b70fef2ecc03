//go:build unix

package rewrite

import (
	"errors"
	"os"
	"path/filepath"
	"testing"

	"assetferry/internal/usertest"
)

// Who may not write a file may not replace it.
func TestReplaceReadOnly(t *testing.T) {
	usertest.Run(t, func(t *testing.T, dir string) {
		path := filepath.Join(dir, "a.html")
		writeFile(t, path, "one")
		must(t, os.Chmod(path, 0o444))
		if _, err := Replace(path, backupOf(t), to("two")); !errors.Is(err, os.ErrPermission) {
			t.Errorf("got %v", err)
		}
		onlyThese(t, dir, "a.html")
	})
}
