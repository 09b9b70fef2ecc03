package report

import (
	"bytes"
	"errors"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"

	"assetferry/internal/tabular"
)

// splitCSV reads a row as RFC 4180 says, with code of its own.
func splitCSV(t testing.TB, row string) (cells []string) {
	t.Helper()
	row, ok := strings.CutSuffix(row, "\n")
	if !ok {
		t.Fatalf("the row does not end: %q", row)
	}
	for {
		quoted := strings.HasPrefix(row, `"`)
		var cell strings.Builder
		if quoted {
			row = row[1:]
		}
		for {
			switch {
			case quoted && strings.HasPrefix(row, `""`):
				cell.WriteByte('"')
				row = row[2:]
				continue
			case quoted && strings.HasPrefix(row, `"`):
				quoted = false
				row = row[1:]
				continue
			case row == "" && quoted:
				t.Fatal("a quote is not closed")
			case row == "", !quoted && row[0] == ',':
			default:
				if !quoted && strings.ContainsAny(row[:1], "\"\n\r") {
					t.Fatalf("%q without quotes", row[:1])
				}
				cell.WriteByte(row[0])
				row = row[1:]
				continue
			}
			break
		}
		cells = append(cells, cell.String())
		if row == "" {
			return cells
		}
		row = row[1:]
	}
}

// A row of CSV has any text as it is, except for an apostrophe that keeps spreadsheets from
// evaluating it as a formula.
func FuzzCSV(f *testing.F) {
	for _, s := range []string{"", "a.jpg", "=1+1", "+1", "-1", "@SUM(A1)", "\t=1", "a,b", `a"b`, "a\nb", "\r\n", "\n=1", "'", "'+", "\xff\x00", `\.`, " a ", "\ufeff=1"} {
		f.Add(s, "x", s)
	}
	f.Fuzz(func(t *testing.T, key, name, why string) {
		l := Line{Key: key, Action: "create", State: failed, Size: -1, Name: name, Error: why}
		var b bytes.Buffer
		if err := newCSVForm(func(s string) string { return s }).line(&b, l); err != nil {
			t.Fatal(err)
		}
		cells := splitCSV(t, b.String())
		if len(cells) != len(csvColumns()) {
			t.Fatalf("%d cells: %q", len(cells), b.String())
		}
		for n, want := range map[int]string{0: key, 8: name, 11: why} {
			got := cells[n]
			if first, _ := utf8.DecodeRuneInString(got); strings.ContainsRune("=+-@\t\r\n＝＋－＠", first) {
				t.Errorf("column %d is a formula: %q", n, got)
			}
			if back := tabular.UnescapeFormula(got); back != want {
				t.Errorf("column %d: got %q, which means %q, want %q", n, got, back, want)
			}
		}
	})
}

// A list of keys can be read line by line, as --files-from does. Keys with line breaks are counted,
// and the first one is named.
func TestKeys(t *testing.T) {
	f := &keysForm{clean: func(s string) string { return s }}
	var b bytes.Buffer
	for _, key := range []string{"a.jpg", " b ", "./c", "d\nd", "e\r", "\ff"} {
		if err := f.line(&b, Line{Key: key}); err != nil {
			t.Fatal(err)
		}
	}
	var got []string
	for line := range strings.Lines(b.String()) {
		got = append(got, strings.TrimPrefix(strings.TrimSuffix(line, "\n"), "./"))
	}
	if diff := cmp.Diff([]string{"a.jpg", " b ", "./c", "\ff"}, got); diff != "" {
		t.Error(diff)
	}
	want := `2 keys with line breaks were omitted, because each line is one key; the first is d\nd`
	if f.broken.Keys != 2 || f.broken.Error() != want {
		t.Errorf("got %d, %q", f.broken.Keys, f.broken.Error())
	}
}

// States select objects, with hyphens as well as underscores.
func TestParseChoice(t *testing.T) {
	for _, word := range States() {
		if c, err := ParseChoice(word); err != nil || len(c.states) == 0 {
			t.Errorf("%s: %+v (%v)", word, c, err)
		}
	}
	for word, want := range map[string]map[Line]bool{
		"":                 {{State: failed}: true, {State: unchanged}: true},
		"done":             {{State: created}: true, {State: adopted}: true, {State: trashed}: true, {State: unchanged}: false, {State: failed}: false},
		"metadata-updated": {{State: metadataUpdated}: true, {State: failed}: false},
		retriesExhausted:   {{State: retriesExhausted}: true},
		"undone":           {{State: created, Undone: true}: true, {State: created}: false},
	} {
		c, err := ParseChoice(word)
		if err != nil {
			t.Fatal(err)
		}
		for l, takes := range want {
			if c.takes(l) != takes {
				t.Errorf("%q takes %+v: %v, want %v", word, l, !takes, takes)
			}
		}
	}
	if _, err := ParseChoice("lost"); err == nil {
		t.Error("an unknown state is accepted")
	}
}

// broken fails after some bytes, as a full disk does.
type broken int

var errFull = errors.New("full")

func (b *broken) Write(p []byte) (int, error) {
	if *b -= broken(len(p)); *b < 0 {
		return 0, errFull
	}
	return len(p), nil
}

// Each form returns write errors, wherever they happen.
func TestFormsFail(t *testing.T) {
	for _, name := range []string{"csv", "keys", "json", "text"} {
		writeAll := func(w *broken) error {
			f, err := formOf(name, nil)
			if err != nil {
				t.Fatal(err)
			}
			l, folder := Line{Key: "a/b", State: created}, Folder{Name: "a", States: []Part{part(created, 1, 1)}}
			for _, err := range []error{f.begin(w, verifiedSample().Report), f.line(w, l), f.end(w, folder),
				f.beginIndex(w, verifiedSample().Report), f.entry(w, folder, "file"), f.endIndex(w, verifiedSample().Report)} {
				if err != nil {
					return err
				}
			}
			return nil
		}
		const room = 1 << 20
		left := broken(room)
		if err := writeAll(&left); err != nil {
			t.Fatal(err)
		}
		for n := range room - left {
			if err := writeAll(&n); !errors.Is(err, errFull) {
				t.Fatalf("%s: after %d bytes: %v", name, n, err)
			}
		}
	}
}
