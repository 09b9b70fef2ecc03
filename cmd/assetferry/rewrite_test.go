package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// The public could not read a private asset at its new address, so the old one stays.
func TestRewriteLeavesPrivate(t *testing.T) {
	b := bring(t, tree{"one.jpg": "one", "two.txt": "two"})
	if err := b.makePrivate("Images"); err != nil {
		t.Fatal(err)
	}
	b.ferry(exitDone, "verify")
	page := `<img src="/f/one.jpg"> <a href="/f/two.txt">`
	tree{"page.html": page}.write(t, b.dir)
	stdout, _ := b.ferry(exitDone, "rewrite", "--old-prefix", "/f/", "page.html", "--write")
	wantIn(t, stdout, "1 of 1 file changed: 1 address.", "Left as they are: 1 in private categories.")
	text, err := os.ReadFile(filepath.Join(b.dir, "page.html"))
	if err != nil || !strings.Contains(string(text), `"/f/one.jpg"`) || strings.Contains(string(text), `"/f/two.txt"`) {
		t.Errorf("got %s (%v)", text, err)
	}
	stdout, _ = b.ferry(exitDone, "rewrite", "--old-prefix", "/f/", "page.html", "--json")
	wantIn(t, stdout, `"rewritten":0`, `"current":1`, `"left_as_is":{"private":1}`)
}
