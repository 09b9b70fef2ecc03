package mapping

import (
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"assetferry/internal/metadata"
)

// TestExplain compares explanations with those in testdata, whose rules come first. "go test -run
// TestExplain -update" rewrites them.
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
			got := mustMap(t, rules, Options{OnLimit: limit}).Explain(o, Place{Category: "Images", Folder: "archive/2019", Name: "Old Harbour.JPG"}).Text(strings.HasPrefix(rules, "# all"))
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
	got := (*Mapping)(nil).Explain(Object{Key: "a.jpg"}, Place{Category: "Images", Name: "a.jpg"}).Text(false)
	want := "Object: a.jpg\nPlace\n  category  Images  (no rule)\n  folder    -  (no rule)\n  name      a.jpg  (no rule)\nNo metadata found\n"
	if d := cmp.Diff(want, got); d != "" {
		t.Error(d)
	}
}

// TestExplainCamera verifies that of the dozens of fields from a camera, mapped ones come first,
// and that the explanation fits on a screen unless all fields are requested.
func TestExplainCamera(t *testing.T) {
	o := Object{Key: "a.jpg", Found: metadata.Found{metadata.FromEXIF: {"created": {"2019-08-07"}, "exif.UserComment": {strings.Repeat("long ", 100)}}}}
	for n := range 60 {
		o.Found[metadata.FromEXIF][fmt.Sprintf("exif.Tag%02d", n)] = []string{"1"}
	}
	e := (*Mapping)(nil).Explain(o, Place{Category: "Images", Name: "a.jpg"})
	brief, all := e.Text(false), e.Text(true)
	arrives, left := strings.Index(brief, "attribute created  2019-08-07"), strings.Index(brief, "Unmapped metadata\n  exif.Tag00")
	if arrives < 0 || left < arrives || !strings.HasSuffix(brief, "  … and 41 more; --verbose lists them\n") || strings.Count(brief, "\n") > 40 {
		t.Errorf("in brief:\n%s", brief)
	}
	if strings.Count(all, "exif.Tag") != 60 || !strings.Contains(all, strings.Repeat("long ", 99)) {
		t.Errorf("all:\n%s", all)
	}
}
