package state

import (
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// TestMapOfFiles verifies that the package comment lists exactly the files of the package.
func TestMapOfFiles(t *testing.T) {
	text, err := os.ReadFile("state.go")
	must(t, err)
	comment, _, _ := strings.Cut(string(text), "\npackage state")
	named := regexp.MustCompile(`[a-z_]+\.(go|sql)`).FindAllString(comment, -1)
	slices.Sort(named)
	for _, file := range slices.Compact(named) {
		if _, err := os.Stat(file); err != nil {
			t.Errorf("the map names %s, which is not there", file)
		}
	}
	files, err := filepath.Glob("*.go")
	must(t, err)
	for _, file := range files {
		if !strings.HasSuffix(file, "_test.go") && !slices.Contains(named, file) {
			t.Errorf("%s is not on the map", file)
		}
	}
}
