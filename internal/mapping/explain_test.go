package mapping

import (
	"flag"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"assetferry/internal/metadata"
)

// TestExplain compares explanations with those in testdata, which hold the rules first.
// "go test -run TestExplain -update" writes them anew.
func TestExplain(t *testing.T) {
	files, err := filepath.Glob("testdata/explain/*.txt")
	if err != nil || len(files) == 0 {
		t.Fatal(files, err)
	}
	for _, name := range files {
		t.Run(filepath.Base(name), func(t *testing.T) {
			data, err := os.ReadFile(name)
			if err != nil {
				t.Fatal(err)
			}
			rules, want, _ := strings.Cut(string(data), "\n---\n")
			limit := Cut
			if strings.HasPrefix(rules, "# fail") {
				limit = Fail
			}
			o := harbour()
			o.Found[metadata.FromTable]["description"] = []string{strings.TrimSpace(strings.Repeat("Ships. ", 150))}
			got := mustMap(t, rules, Options{OnLimit: limit}).Explain(o, Place{Category: "Images", Folder: "archive/2019", Name: "Old Harbour.JPG"}).String()
			if *update {
				if err := os.WriteFile(name, []byte(rules+"\n---\n"+got), 0o600); err != nil {
					t.Fatal(err)
				}
			}
			if d := cmp.Diff(want, got); d != "" && !*update {
				t.Error(d)
			}
		})
	}
}

var update = flag.Bool("update", false, "write what is expected anew")

func TestExplainDefault(t *testing.T) {
	got := (*Mapping)(nil).Explain(Object{Key: "a.jpg"}, Place{Category: "Images", Name: "a.jpg"}).String()
	want := "Object: a.jpg\nNothing was found that describes it\nWhere it goes\n  category  Images  (no rule)\n  folder    -  (no rule)\n  name      a.jpg  (no rule)\n"
	if d := cmp.Diff(want, got); d != "" {
		t.Error(d)
	}
}
