package tabular

import (
	"slices"
	"strings"
	"testing"
	"unicode/utf8"
)

func TestEscapeFormula(t *testing.T) {
	for text, want := range map[string]string{
		"": "", "a": "a", "'": "'", "'a": "'a", " =1": " =1", "a=1": "a=1",
		"=1": "'=1", "+1": "'+1", "-1": "'-1", "@a": "'@a", "\t=1": "'\t=1", "\r=1": "'\r=1", "\n=1": "'\n=1", "＝1": "'＝1", "＠a": "'＠a",
		"'=1": "''=1", "''=1": "'''=1",
	} {
		got := EscapeFormula(text)
		if got != want || UnescapeFormula(got) != text {
			t.Errorf("%q: got %q and back %q, want %q", text, got, UnescapeFormula(got), want)
		}
	}
}

func TestWriter(t *testing.T) {
	for _, c := range []struct {
		cells []string
		want  string
	}{
		{[]string{"a", "", "b c"}, "a,,b c\n"},
		{[]string{""}, "\"\"\n"},
		{[]string{`say "hi"`, "a,b", "x;=1+1;", "x\t=1+1"}, `"say ""hi""","a,b","x;=1+1;","x` + "\t" + `=1+1"` + "\n"},
		{[]string{"=cmd|' /C calc'!A0", "-2", " lead"}, `'=cmd|' /C calc'!A0,'-2," lead"` + "\n"},
	} {
		var b strings.Builder
		if err := NewWriter(&b).Write(c.cells); err != nil || b.String() != c.want {
			t.Errorf("%q: got %q, %v, want %q", c.cells, b.String(), err, c.want)
		}
	}
	var b strings.Builder
	if err := NewCRLFWriter(&b).Write([]string{"a", "b"}); err != nil || b.String() != "a,b\r\n" {
		t.Errorf("got %q, %v", b.String(), err)
	}
}

// FuzzWriter verifies that our reader reads exactly the cells that were written, and that no cell
// begins like a formula, at whichever characters a program splits the rows.
func FuzzWriter(f *testing.F) {
	f.Add("=1+1", "'=1", "a;b")
	f.Add("\t", "", `"`)
	f.Add("'", "－1", "a\nb")
	f.Fuzz(func(t *testing.T, a, b, c string) {
		cells := []string{a, b, c, "end"}
		for n, cell := range cells {
			if !utf8.ValidString(cell) || len(cell) > 1000 {
				t.Skip()
			}
			cells[n] = strings.ReplaceAll(cell, "\r", "\n")
		}
		var text strings.Builder
		w := NewWriter(&text)
		for _, row := range [][]string{{"one", "two", "three", "four"}, cells} {
			if err := w.Write(row); err != nil {
				t.Fatal(err)
			}
		}
		file, err := New("x.csv", Use{}, strings.NewReader(text.String()), int64(text.Len()))
		if err != nil {
			t.Fatal(err)
		}
		var got []string
		wrong := file.Mistakes()
		err = file.Each(wrong, func(_ int64, r Row) error {
			for _, cell := range r.Cells {
				if plain := UnescapeFormula(cell); plain != cell || !isFormula(cell) {
					got = append(got, plain)
				} else {
					t.Errorf("%q is a formula", cell)
				}
			}
			return nil
		})
		if err != nil || wrong.Verdict() != nil || !slices.Equal(got, cells) {
			t.Errorf("%q came back as %q: %v %v", cells, got, err, wrong.Verdict())
		}
	})
}
