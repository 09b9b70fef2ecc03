//go:build unix

package cli

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"assetferry/internal/test/usertest"
)

// A sidecar that may not be read is told every night, until it may.
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
		sync(0, "a.jpg: what a.jpg.json says was not taken: ")
		for range 2 {
			sync(3, "failed    a.jpg.json: ")
		}
		if err := os.Chmod(sidecar, 0o600); err != nil {
			t.Fatal(err)
		}
		sync(0, "1 described; 0 B sent.")
		sync(0, "2 unchanged; 0 B sent.")
	})
}
