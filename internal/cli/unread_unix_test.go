//go:build unix

package cli

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"assetferry/internal/test/usertest"
)

// TestSidecarThatMayNotBeRead verifies that every run reports a sidecar without read permission,
// until the permission is granted.
func TestSidecarThatMayNotBeRead(t *testing.T) {
	usertest.Run(t, func(t *testing.T, dir string) {
		src := filepath.Join(dir, "src")
		if err := os.Mkdir(src, 0o700); err != nil {
			t.Fatal(err)
		}
		for name, content := range map[string]string{"a.jpg": "a", "a.jpg.json": `{"description": "Of a"}`} {
			if err := os.WriteFile(filepath.Join(src, name), []byte(content), 0o600); err != nil {
				t.Fatal(err)
			}
		}
		sidecar := filepath.Join(src, "a.jpg.json")
		if err := os.Chmod(sidecar, 0); err != nil {
			t.Fatal(err)
		}
		sync := func(code int, says string) {
			t.Helper()
			p := assetferry(t, dir, nil, "sync", "src", "--to", "sandbox", "--progress", "none")
			if out := p.must(t, code) + p.stderr.String(); !strings.Contains(out, says) {
				t.Errorf("a sync says nothing of %q:\n%s", says, out)
			}
		}
		sync(0, "Warnings: 1 object with an unreadable sidecar. See assetferry report --to sandbox.")
		report := assetferry(t, dir, nil, "report", "--to", "sandbox").must(t, 0)
		if says := "      a.jpg\n        sidecar a.jpg.json was not read: "; !strings.Contains(report, says) {
			t.Errorf("the report says nothing of %q:\n%s", says, report)
		}
		for range 2 {
			sync(3, "failed    a.jpg.json: ")
		}
		if err := os.Chmod(sidecar, 0o600); err != nil {
			t.Fatal(err)
		}
		sync(0, "All 2 objects are accounted for: 1 with updated metadata, 1 skipped (")
		sync(0, "All 2 objects are accounted for: 2 unchanged (")
	})
}
