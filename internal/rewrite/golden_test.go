package rewrite

import (
	"flag"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

var update = flag.Bool("update", false, "write the golden files")

// TestGolden verifies that each file in testdata becomes the file with .golden after its name, and
// that a second rewrite changes nothing.
func TestGolden(t *testing.T) {
	r, _ := newRewriter(t, library())
	names, err := filepath.Glob("testdata/golden/*")
	must(t, err)
	for _, name := range names {
		if strings.HasSuffix(name, ".golden") {
			continue
		}
		got := rewritten(t, r, strings.NewReader(readFile(t, name))).String()
		if *update {
			must(t, os.WriteFile(name+".golden", []byte(got), 0o600))
		}
		if diff := cmp.Diff(readFile(t, name+".golden"), got); diff != "" {
			t.Errorf("%s (-want +got):\n%s", name, diff)
		}
		if again := rewritten(t, r, strings.NewReader(got)).String(); again != got {
			t.Errorf("%s, again (-once +twice):\n%s", name, cmp.Diff(got, again))
		}
		if want := newReference(library()).rewrite(readFile(t, name), 0); want != got && !strings.Contains(got, "C:3") {
			t.Errorf("%s (-reference +got):\n%s", name, cmp.Diff(want, got))
		}
	}
}
