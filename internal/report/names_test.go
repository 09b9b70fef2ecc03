package report_test

import (
	"bytes"
	"strings"
	"testing"
	"time"

	"assetferry/internal/report"
	"assetferry/migrate"
)

// Every form of a report contains the names of renamed assets.
func TestRenamed(t *testing.T) {
	w := newWorld(t)
	w.put("dir/Photo.jpg", "one", "dir/photo.jpg", "another", "e\u0301.jpg", "decomposed")
	r := w.read(w.migrate(migrate.DefaultRules()))
	if r.Names.Count != 1 || len(r.Names.First) != 1 || r.Names.First[0].Key != "dir/photo.jpg" {
		t.Fatalf("got %+v", r.Names)
	}
	name := r.Names.First[0].AssetName
	if !strings.HasPrefix(name, "photo~") || !strings.HasSuffix(name, ".jpg") {
		t.Errorf("its name is %q", name)
	}
	forms := map[string]func(b *bytes.Buffer) error{
		"text": func(b *bytes.Buffer) error { return r.WriteText(b, time.UTC) },
		"json": func(b *bytes.Buffer) error { return r.WriteJSON(b) },
		"html": func(b *bytes.Buffer) error { return r.WriteHTML(t.Context(), b, time.UTC) },
		"csv": func(b *bytes.Buffer) error {
			return r.WriteList(t.Context(), b, "csv", report.Choice{}, func(s string) string { return s })
		},
	}
	for form, write := range forms {
		var b bytes.Buffer
		must(t, write(&b))
		if !strings.Contains(b.String(), name) {
			t.Errorf("%s: no %q in:\n%s", form, name, b.String())
		}
	}
	var b bytes.Buffer
	must(t, forms["csv"](&b))
	for line := range strings.Lines(b.String()) {
		if named := strings.HasSuffix(line, ","+name+"\n") || strings.HasSuffix(line, ","+name+"\r\n"); named != strings.HasPrefix(line, "dir/photo.jpg,") {
			t.Errorf("csv: %q", line)
		}
	}
}
