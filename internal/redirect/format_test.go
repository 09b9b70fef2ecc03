package redirect

import (
	"bytes"
	"encoding/csv"
	"encoding/json"
	"flag"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"assetferry/internal/oldurl"
	"assetferry/internal/oldurl/oldurltest"
	"assetferry/internal/tabular"
)

var update = flag.Bool("update", false, "write the golden files")

func must(tb testing.TB, err error) {
	tb.Helper()
	if err != nil {
		tb.Fatal(err)
	}
}

func rowOf(tb testing.TB, prefix, key string) Row {
	tb.Helper()
	p, err := oldurl.ParsePrefix(prefix)
	must(tb, err)
	old, ok := p.Template().URL(key, 0)
	if !ok {
		tb.Fatalf("%q has no old URL", key)
	}
	base := "https://ckbox.example/ws/assets/kq3-Zr8Lw_aT"
	return Row{
		Old: old, New: base + "/file", Key: key, AssetID: "kq3-Zr8Lw_aT", Size: int64(len(key)), Verified: len(key)%2 == 0, Kind: oldurl.Current,
		Images: map[string]string{"80": base + "/images/80.webp", "1024": base + "/images/1024.webp", "default": base + "/images/1024.jpeg"},
	}
}

func write(tb testing.TB, format string, rows ...Row) string {
	tb.Helper()
	text, omitted := writeSome(tb, format, rows...)
	for _, r := range omitted {
		tb.Fatalf("%s: %q is omitted", format, r.Old)
	}
	return text
}

// writeSome returns a map, and the rows that the format cannot contain.
func writeSome(tb testing.TB, format string, rows ...Row) (text string, omitted []Row) {
	tb.Helper()
	s := newPathSummary(format)
	for _, r := range rows {
		must(tb, s.Add(r))
	}
	var b bytes.Buffer
	w, err := New(format, &b, s)
	must(tb, err)
	for _, r := range rows {
		err := w.Write(r)
		if whyOmitted(err) != "" {
			omitted, err = append(omitted, r), nil
		}
		must(tb, err)
	}
	must(tb, w.Close())
	return b.String(), omitted
}

func TestGolden(t *testing.T) {
	var rows []Row
	for _, key := range oldurltest.Hostile() {
		rows = append(rows, rowOf(t, "https://old.example.com/my files/", key))
	}
	rows[1].Images = nil
	for _, format := range Formats() {
		name := filepath.Join("testdata", format+".golden")
		got, omitted := writeSome(t, format, rows...)
		for _, r := range omitted {
			if !strings.ContainsAny(r.Key, "*:") {
				t.Errorf("%s: %q is omitted", format, r.Old)
			}
		}
		if *update {
			must(t, os.WriteFile(name, []byte(got), 0o600))
		}
		want, err := os.ReadFile(name)
		must(t, err)
		if diff := cmp.Diff(string(want), got); diff != "" {
			t.Errorf("%s (-want +got):\n%s", format, diff)
		}
	}
}

func TestUnknownFormat(t *testing.T) {
	if _, err := New("yaml", nil, nil); err == nil {
		t.Error("there is a format yaml")
	}
}

// TestTooLong verifies that rows which nginx or Apache would refuse are reported, and that the rest
// is written.
func TestTooLong(t *testing.T) {
	for _, format := range []string{"nginx", "apache"} {
		var s PathSummary
		long, short := rowOf(t, "/", strings.Repeat("long/", 1000)), rowOf(t, "/", "short")
		must(t, s.Add(long))
		must(t, s.Add(short))
		var b bytes.Buffer
		w, err := New(format, &b, &s)
		must(t, err)
		if err := w.Write(long); err != ErrTooLong {
			t.Errorf("%s: got %v", format, err)
		}
		must(t, w.Write(short))
		must(t, w.Close())
		if got := b.String(); strings.Contains(got, "long/") || !strings.Contains(got, "/short") {
			t.Errorf("%s: got %s", format, got)
		}
	}
}

// TestSizesForNginx verifies that the sizes for nginx are computed from the rows.
func TestSizesForNginx(t *testing.T) {
	var s PathSummary
	for _, size := range []struct {
		row  Row
		want string
	}{
		{rowOf(t, "/", "a"), "map_hash_max_size 2048;\nmap_hash_bucket_size 1024;\n"},
		{rowOf(t, "/", strings.Repeat("a", 900)), "map_hash_max_size 2048;\nmap_hash_bucket_size 2048;\n"},
		{rowOf(t, "/", strings.Repeat("a", 30000)), "map_hash_max_size 2048;\nmap_hash_bucket_size 8192;\n"},
	} {
		must(t, s.Add(size.row))
		var b bytes.Buffer
		w, err := New("nginx", &b, &s)
		must(t, err)
		must(t, w.Close())
		if !strings.Contains(b.String(), size.want) {
			t.Errorf("got %s, want %s", b.String(), size.want)
		}
	}
	s = PathSummary{hashes: make([]uint64, 5000)}
	var b bytes.Buffer
	w, err := New("nginx", &b, &s)
	must(t, err)
	must(t, w.Close())
	if want := "map_hash_max_size 16384;"; !strings.Contains(b.String(), want) {
		t.Errorf("5,000 rows: got %s, want %s", b.String(), want)
	}
}

func TestCSV(t *testing.T) {
	var want []Row
	for _, key := range oldurltest.Hostile() {
		want = append(want, rowOf(t, "/", key))
	}
	all, err := csv.NewReader(strings.NewReader(write(t, "csv", want...))).ReadAll()
	must(t, err)
	if len(all) != len(want)+1 {
		t.Fatalf("%d lines", len(all))
	}
	for n, r := range want {
		got := all[n+1]
		if got[2] != tabular.EscapeFormula(r.Key) {
			t.Errorf("the key %q is not guarded", r.Key)
		}
		got[2] = tabular.UnescapeFormula(got[2])
		if got[0] != r.Old || got[1] != r.New || got[2] != r.Key || got[6] != "80 1024" || got[7] != r.Images["default"] || got[8] != "current" {
			t.Errorf("%+v became %q", r, got)
		}
	}
}

func TestJSON(t *testing.T) {
	for _, key := range oldurltest.Hostile() {
		want := rowOf(t, "/", key)
		var got Row
		must(t, json.Unmarshal([]byte(write(t, "json", want)), &got))
		if diff := cmp.Diff(want, got); diff != "" {
			t.Error(diff)
		}
	}
}

// TestTSVEscapesFormulas verifies that spreadsheets take no URL for a formula, and that the reader
// of maps returns the original.
func TestTSVEscapesFormulas(t *testing.T) {
	var b strings.Builder
	w, err := New("tsv", &b, nil)
	if err != nil {
		t.Fatal(err)
	}
	if err := w.Write(Row{Old: "=1+1.jpg", New: "@a"}); err != nil {
		t.Fatal(err)
	}
	if err := w.Close(); err != nil || b.String() != "'=1+1.jpg\t'@a\n" {
		t.Errorf("got %q, %v", b.String(), err)
	}
}
