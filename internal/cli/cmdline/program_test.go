package cmdline

import (
	"path/filepath"
	"strings"
	"testing"
)

// The test verifies that programs that go run builds are recognised, the first time and from its
// cache.
func TestGoRunPaths(t *testing.T) {
	for path, want := range map[string]bool{
		"/tmp/go-build2467095454/b001/exe/assetferry":                               true,
		"/home/me/.cache/go-build/44/" + strings.Repeat("4a", 32) + "-d/assetferry": true,
		`C:\Users\me\AppData\Local\Temp\go-build246\b001\exe\assetferry.exe`:        true,
		"/home/me/go/bin/assetferry":                                                false,
		"/home/me/go-build/assetferry":                                              false,
	} {
		if got := IsGoRun(path); got != want {
			t.Errorf("%s: got %t", path, got)
		}
	}
}

// The test verifies that the source is found in the folder of the repository and below it, but not
// in other folders.
func TestGoRunSource(t *testing.T) {
	root, err := filepath.Abs("../../..")
	if err != nil {
		t.Fatal(err)
	}
	for folder, want := range map[string]bool{root: true, filepath.Join(root, "migrate"): true, t.TempDir(): false} {
		t.Chdir(folder)
		if source, ok := GoRunSource(); ok != want || ok && source == "" {
			t.Errorf("in %s: got %q, %t", folder, source, ok)
		}
	}
}
