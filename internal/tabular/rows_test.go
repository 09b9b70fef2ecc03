package tabular

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

var use = Use{Kind: "list", Topic: "lists", Example: `{"a": "b"}`}

func table(tb testing.TB, name, content string) *File {
	tb.Helper()
	f, err := New(name, use, strings.NewReader(content), int64(len(content)))
	if err != nil {
		tb.Fatal(err)
	}
	return f
}

// all reads a table and returns its rows, their offsets and its mistakes.
func all(tb testing.TB, f *File) (read []string, at []int64, wrong *Mistakes) {
	tb.Helper()
	wrong = f.Mistakes()
	if err := f.Each(wrong, func(begin int64, r Row) error {
		line, column := r.Where(len(r.Cells) - 1)
		read = append(read, fmt.Sprintf("%d:%d %s", line, column, strings.TrimSpace(strings.Join(r.Cells, "|")+string(r.JSON))))
		at = append(at, begin)
		return nil
	}); err != nil {
		tb.Fatal(err)
	}
	return read, at, wrong
}

func TestRows(t *testing.T) {
	for _, test := range []struct {
		name, content string
		columns, want []string
	}{
		{"a.csv", "a,b\n1,2\n\n,\n\"3\n3\",4", []string{"a", "b"}, []string{"2:3 1|2", "6:4 3\n3|4"}},
		{"a.tsv", "\ufeffa\t b \r\n1\t2\r\n", []string{"a", "b"}, []string{"2:3 1|2"}},
		{"a.CSV", "cafe\u0301;b\n1,5;2\n", []string{"caf\u00e9", "b"}, []string{"2:5 1,5|2"}},
		{"a.jsonl", "\n{\"a\":1}\r\n\n[]", nil, []string{`2:1 {"a":1}`, "4:1 []"}},
		{"a.ndjson", "", nil, nil},
	} {
		f := table(t, test.name, test.content)
		got, at, wrong := all(t, f)
		if !slices.Equal(got, test.want) || !slices.Equal(f.Columns(), test.columns) || wrong.Verdict() != nil {
			t.Errorf("%s: got %q with %q, want %q with %q (%v)", test.name, got, f.Columns(), test.want, test.columns, wrong.Verdict())
		}
		for n, begin := range at {
			r, err := f.Place(begin)
			line, _ := r.Where(len(r.Cells) - 1)
			if err != nil || !strings.HasPrefix(got[n], fmt.Sprint(line, ":")) || !strings.HasSuffix(got[n], strings.TrimSpace(strings.Join(r.Cells, "|")+string(r.JSON))) {
				t.Errorf("%s: row %d is %q first and then in line %d: %v", test.name, n, got[n], line, err)
			}
		}
	}
}

func TestMistakesDoNotEndATable(t *testing.T) {
	f := table(t, "a.csv", "a,b\n1\n2,\xff\n7,8,9\n3,4\n5,\"6\n")
	got, _, wrong := all(t, f)
	if !slices.Equal(got, []string{"5:3 3|4"}) {
		t.Errorf("got %q", got)
	}
	want := "the list has 4 mistakes\na.csv:2:1: the row has 1 field, but the header has 2; write each field, even if it is empty\na.csv:3:3: the text is not in UTF-8; save the table as UTF-8\n" +
		"a.csv:4:1: the row has 3 fields, but the header has 2; put fields with ',' into quotes\na.csv:7:0: "
	if err := wrong.Verdict(); err == nil || !strings.HasPrefix(err.Error(), want[:len(want)-len("a.csv:7:0: ")]) || !strings.Contains(wrong.Hint(), "help lists") {
		t.Errorf("got %v, want %s", err, want)
	}
}

func TestLinesInAFileOfJSON(t *testing.T) {
	lines := use
	lines.Lines = true
	const content = "{\"a\":1}\n"
	f, err := New("a.JSON", lines, strings.NewReader(content), int64(len(content)))
	if err != nil {
		t.Fatal(err)
	}
	if got, _, wrong := all(t, f); !slices.Equal(got, []string{`1:1 {"a":1}`}) || wrong.Verdict() != nil {
		t.Errorf("got %q", got)
	}
	if _, err := New("a.json", use, strings.NewReader(content), int64(len(content))); err == nil {
		t.Error("JSON of another use was taken for lines")
	}
}

func TestUTF16IsNamed(t *testing.T) {
	for _, content := range []string{"\xff\xfea\x00,\x00b\x00", "\xfe\xff\x00a\x00,\x00b", "\xff\xfe"} {
		_, err := New("a.csv", use, strings.NewReader(content), int64(len(content)))
		if err == nil || !strings.Contains(err.Error(), "the table is in UTF-16; save it as UTF-8") {
			t.Errorf("%q: got %v", content, err)
		}
	}
}

func TestErrorsNameTheTable(t *testing.T) {
	_, err := Open("a.xlsx", use)
	if e, ok := errors.AsType[*FormatError](err); !ok || e.Error() != "list a.xlsx is not a .csv, .tsv, .jsonl or .ndjson file" || !strings.Contains(e.Hint(), "help lists") {
		t.Errorf("another form: %v", err)
	}
	path := filepath.Join(t.TempDir(), "a.csv")
	if _, err := Open(path, use); !errors.Is(err, os.ErrNotExist) || !strings.HasPrefix(err.Error(), "open list: ") {
		t.Errorf("no file: %v", err)
	}
	if err := os.WriteFile(path, []byte("a,b\n1,2\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	f, err := Open(path, use)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { f.Close() })
	_, at, _ := all(t, f)
	if err := os.WriteFile(path, []byte("a,b\n\""), 0o600); err != nil {
		t.Fatal(err)
	}
	_, err = f.At(at[0])
	if _, ok := errors.AsType[*ChangedError](err); !ok || !strings.HasPrefix(err.Error(), "list "+path+" changed while it was in use") {
		t.Errorf("another content: %v", err)
	}
}

func TestDecodeSaysWhatIsWrong(t *testing.T) {
	f := table(t, "a.jsonl", "{\"a\":1}\n[1]\n{\"a\":\n")
	var got []string
	err := f.Each(f.Mistakes(), func(_ int64, r Row) error {
		var is map[string]any
		got = append(got, fmt.Sprint(r.Decode(&is)))
		return nil
	})
	want := []string{"<nil>", `line 2, column 1: not a JSON object such as {"a": "b"}`, "line 3, column 6: not JSON: the object is not closed"}
	if err != nil || !slices.Equal(got, want) {
		t.Errorf("got %q, want %q (%v)", got, want, err)
	}
}
