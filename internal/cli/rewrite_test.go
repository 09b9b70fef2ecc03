package cli

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"assetferry/internal/cli/exit"
)

// The test verifies that the old URL of a private asset stays, because the public could not read
// the new URL.
func TestRewriteLeavesPrivate(t *testing.T) {
	b := bring(t, tree{"one.jpg": "one", "two.txt": "two"})
	if err := b.makePrivate("Images"); err != nil {
		t.Fatal(err)
	}
	b.ferry(exit.CodeDone, "verify")
	page := `<img src="/f/one.jpg"> <a href="/f/two.txt">`
	tree{"page.html": page}.write(t, b.dir)
	stdout, _ := b.ferry(exit.CodeDone, "rewrite", "--old-prefix", "/f/", "page.html", "--write")
	wantIn(t, stdout, "1 of 1 file changed: 1 URL.", "Unchanged: 1 URL in private categories.")
	text, err := os.ReadFile(filepath.Join(b.dir, "page.html"))
	if err != nil || !strings.Contains(string(text), `"/f/one.jpg"`) || strings.Contains(string(text), `"/f/two.txt"`) {
		t.Errorf("got %s (%v)", text, err)
	}
	stdout, _ = b.ferry(exit.CodeDone, "rewrite", "--old-prefix", "/f/", "page.html", "--json")
	wantIn(t, stdout, `"rewritten":0`, `"current":1`, `"kept":{"private":1}`)
}

// The test verifies that a file that is not text is reported, and that all other files are
// rewritten.
func TestRewriteReportsNonText(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	tree{
		"map.tsv":        oldImage + "\thttps://new.example.com/assets/a/file\n",
		"dump.sql.gz":    "\x1f\x8b\x08\x08" + oldImage,
		"site/wide.html": "\xff\xfe<\x00",
		"site/page.html": oldImage,
		"site/photo.svg": "\x00",
	}.write(t, dir)
	p := assetferry(t, dir, nil, "rewrite", "--map", "map.tsv", "--write", "dump.sql.gz", "site")
	stdout := p.must(t, exit.CodeItems)
	wantIn(t, stdout, "1 of 1 file changed: 1 URL.", "Skipped: 1 binary file; --verbose lists them.")
	wantIn(t, p.stderr.String(), "Unchanged: dump.sql.gz: compressed file", "wide.html: UTF-16 file", "Failed: 2 files; see above.")
	wantIn(t, assetferry(t, dir, nil, "rewrite", "--map", "map.tsv", "--json", "dump.sql.gz", "site").must(t, exit.CodeItems), `"files_failed":2`)

	p = assetferry(t, dir, nil, "rewrite", "--map", "map.tsv", "-")
	p.Stdin = strings.NewReader("\x1f\x8b\x08\x08" + oldImage)
	if stdout := p.must(t, exit.CodeError); stdout != "" {
		t.Errorf("wrote %q", stdout)
	}
	wantIn(t, p.stderr.String(), "assetferry: stdin: compressed file: unpack it")
}
