package layers

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// TestContributingNamesWhatIsThere verifies that the files and folders in CONTRIBUTING exist, and
// that files have the functions that it names.
func TestContributingNamesWhatIsThere(t *testing.T) {
	const root = "../../.."
	text, err := os.ReadFile(filepath.Join(root, ".github", "CONTRIBUTING.md"))
	if err != nil {
		t.Fatal(err)
	}
	folders := regexp.MustCompile("`((?:\\.ci|cmd|internal|migrate|sources|state)(?:/[a-zA-Z0-9_./]+)?)`")
	paths := folders.FindAllStringSubmatch(string(text), -1)
	if len(paths) < 20 {
		t.Errorf("%d paths were found", len(paths))
	}
	for _, m := range paths {
		if _, err := os.Stat(filepath.Join(root, m[1])); err != nil {
			t.Error(err)
		}
	}
	functions := regexp.MustCompile("`([a-zA-Z]+)`\\s+(?:in|of)\\s+`([a-z/_]+(?:\\.go)?)`").FindAllStringSubmatch(string(text), -1)
	if len(functions) < 4 {
		t.Errorf("%d functions were found", len(functions))
	}
	for _, m := range functions {
		name := filepath.Join(root, m[2])
		files := []string{name}
		if !strings.HasSuffix(name, ".go") {
			if files, err = filepath.Glob(filepath.Join(name, "*.go")); err != nil {
				t.Fatal(err)
			}
		}
		found := false
		for _, file := range files {
			code, err := os.ReadFile(file)
			if err != nil {
				t.Error(err)
			}
			found = found || regexp.MustCompile(`(?m)^(func (\([^)]*\) )?|type |const |var )`+m[1]+`\b`).Match(code)
		}
		if !found {
			t.Errorf("%s has no %s", m[2], m[1])
		}
	}
}
