package mapping

import (
	"errors"
	"strings"
	"testing"
	"unicode/utf8"

	"pgregory.net/rapid"

	"assetferry/internal/metadata"
)

func TestLimits(t *testing.T) {
	long := strings.TrimSpace(strings.Repeat("word ", 300))
	o := Object{Key: "a.jpg", Found: metadata.Found{metadata.FromTable: fields("description", long)}}
	for limit, want := range map[OnLimit]string{
		"":   "description: cut to 1020 of 1499 characters: the service accepts 1024",
		Cut:  "description: cut to 1020 of 1499 characters: the service accepts 1024",
		Skip: "description: omitted: it has 1499 characters, and the service accepts 1024",
	} {
		said, notes, err := New(nil, Options{OnLimit: limit}).Describe(o)
		if err != nil || len(notes) != 1 || notes[0].String() != want {
			t.Fatalf("%s: %v, %v", limit, notes, err)
		}
		if cut := strings.HasSuffix(said.Description, " word…"); cut == (limit == Skip) || limit == Skip && said.Description != "" {
			t.Errorf("%s: %q", limit, said.Description)
		}
	}
	_, _, err := New(nil, Options{OnLimit: Fail}).Describe(o)
	if e, ok := errors.AsType[*LimitError](err); !ok || e.Has != 1499 || e.Takes != 1024 || e.Field != "description" {
		t.Error(err)
	}
	o.Found[metadata.FromTable]["description"][0] = long[:1024]
	if said, notes, err := New(nil, Options{OnLimit: Fail}).Describe(o); err != nil || len(notes) > 0 || said.Description != long[:1024] {
		t.Error(notes, err)
	}
}

func TestCut(t *testing.T) {
	for _, tt := range []struct {
		text string
		most int
		want string
	}{
		{"one two three", 9, "one two…"},
		{"one two three", 8, "one two…"},
		{"one, two, three", 10, "one, two…"},
		{"onetwothree", 6, "onetw…"},
		{"e\u0301e\u0301e\u0301e\u0301", 6, "e\u0301e\u0301…"}, // no combining accent without its letter
		{"日本語の説明文です", 5, "日本語の…"},
	} {
		if got := cut(tt.text, tt.most); got != tt.want {
			t.Errorf("%q to %d is %q, want %q", tt.text, tt.most, got, tt.want)
		}
	}
}

// TestCutFits verifies that a shortened text fits, is valid and has the same beginning.
func TestCutFits(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		text := rapid.StringN(8, 60, -1).Draw(t, "text")
		most := rapid.IntRange(2, utf8.RuneCountInString(text)-1).Draw(t, "most")
		got := cut(text, most)
		if begin, ok := strings.CutSuffix(got, ellipsis); !ok || !strings.HasPrefix(text, begin) || characters(got) > most || !utf8.ValidString(got) {
			t.Errorf("%q to %d is %q", text, most, got)
		}
	})
}
