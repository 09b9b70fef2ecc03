package report

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"
)

func textOf(t testing.TB, r Report) string {
	t.Helper()
	var b bytes.Buffer
	if err := r.WriteText(&b, time.UTC); err != nil {
		t.Fatal(err)
	}
	return b.String()
}

// The text stays the same until it is changed on purpose, and fits into 80 columns except for
// long keys and commands.
func TestTextGolden(t *testing.T) {
	for name, s := range samples() {
		t.Run(name, func(t *testing.T) {
			got := textOf(t, s.Report)
			file := filepath.Join("testdata", "text-"+strings.ReplaceAll(name, " ", "-")+".txt")
			if *update {
				if err := os.WriteFile(file, []byte(got), 0o666); err != nil {
					t.Fatal(err)
				}
			}
			want, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(string(want), got); diff != "" {
				t.Errorf("(-want +got)\n%s", diff)
			}
			for line := range strings.Lines(got) {
				if words := strings.Fields(line); utf8.RuneCountInString(strings.TrimSuffix(line, "\n")) > textWidth && len(words) > 3 {
					t.Errorf("wider than a screen: %s", line)
				}
			}
		})
	}
}

// Nothing that comes from outside drives the terminal.
func TestTextSanitizes(t *testing.T) {
	const evil = "\x1b[2J\u202egnp.exe\n\r"
	r := failedSample().Report
	r.Run.Source, r.Run.URL, r.Run.Approval.By, r.Run.Approval.StatedBy, r.Run.StartedBy = evil, evil, evil, evil, evil
	r.Skipped = []Skipped{{Message: evil, Amount: Amount{1, 1}, Decides: evil, Examples: []string{evil}}}
	r.Problems = []Problem{{State: failed, Message: evil, Remedy: evil, Amount: Amount{1, 1}, Examples: []Example{{evil, evil}}}}
	r.Verification.First = []Difference{{evil, evil, "name", evil}}
	r.Alterations = []Alteration{{State: moved, Amount: Amount{2, 1}, Examples: []string{evil, evil}, Moves: []Move{{evil, evil}}}}
	r.Privacy.Categories = []Category{{ID: "1", Name: evil, Privacy: "public", Amount: Amount{1, 1}}}
	r.Found = Found{Unmapped: []Field{{evil, evil, 1}}, UnmappedFields: 1, Remarks: []Remark{{OtherRemark, "Other warnings", 1, []Example{{evil, evil}}}}}
	r.Types = []Slice{{evil, Amount{1, 1}}}
	var list bytes.Buffer
	line := Line{Key: evil, State: failed, Error: evil, Message: evil}
	if err := (textForm{}).line(&list, line); err != nil {
		t.Fatal(err)
	}
	if err := (textForm{}).entry(&list, Folder{Name: evil}, "0001-file"); err != nil {
		t.Fatal(err)
	}
	for _, text := range []string{textOf(t, r), list.String()} {
		if strings.ContainsAny(text, "\x1b\u202e\r") {
			t.Errorf("not sanitized: %q", text)
		}
	}
	if n := strings.Count(list.String(), "\n"); n != 5 {
		t.Errorf("%d lines instead of 5: %q", n, list.String())
	}
}
