package strictyaml

import (
	"errors"
	"strings"
	"testing"
)

// TestMistakes verifies the place of every error. The golden files of the packages that use this
// one contain the complete messages.
func TestMistakes(t *testing.T) {
	for _, tc := range []struct{ name, text, want string }{
		{"tab", "a:\n\tb: c\n", "f:2:1: a tab cannot indent; use spaces\n  2 |  b: c\n      ^"},
		{"tab after spaces", "a:\n  b: c\n  \td: e\n", "f:3:3: a tab cannot indent; use spaces\n  3 |    d: e\n        ^"},
		{"no colon", "a b\nc: d\n", `f:1:1: "key: value" is expected here; is the ":" missing?`},
		{"two colons", "a: b: c\n", `f:1:4: a second ":" in this line; put quotes around the value`},
		{"quote", "a: 'b\n", "f:1:4: the quote at the end is missing"},
		{"list", "a: [b\n", `f:1:4: the "]" at the end of the list is missing`},
		{"mapping", "a: {b: c\n", `f:1:4: the "}" at the end is missing`},
		{"reserved", "a: @b\n", "f:1:4: a value cannot begin with this character"},
		{"two documents", "a: b\n---\nc: d\n", "f:3:1: the file has a second document\n  3 | c: d\n      ^"},
		{"not UTF-8", "a: b\nä: caf\xe9\n", "f:2:7: not text: a byte that is not UTF-8\n  2 | ä: caf?\n            ^"},
		{"zero", "a: \x00\n", "f:1:4: not text"},
		{"too large", strings.Repeat("#", maxFile+1), "f: not a file of settings: it is larger than 256 KiB"},
		{"too many keys", strings.Repeat("a: b\nc:\n", maxKeys/2+1), "f: not a file of settings: it has more than 10000 keys"},
		{"too deep", strings.Repeat("[", maxDepth+1), "f: not a file of settings: it is nested too deeply"},
	} {
		_, err := Parse("f", []byte(tc.text))
		if _, is := errors.AsType[*Mistake](err); !is || !strings.HasPrefix(err.Error(), tc.want) {
			t.Errorf("%s: got %v, want %s", tc.name, err, tc.want)
		}
	}
}

func TestEntries(t *testing.T) {
	f, err := Parse("f", []byte("a: 1\nb: 2\na: 3\n"))
	if err != nil {
		t.Fatal(err)
	}
	if _, err := f.Entries(f.Root); err == nil || err.Error() != "f:3:1: \"a\" appears twice, first in line 1\n  3 | a: 3\n      ^" {
		t.Errorf("got %v", err)
	}
}

// TestHarmlessTabs verifies that tabs that do not indent a line are accepted, and that an error
// elsewhere is not attributed to them.
func TestHarmlessTabs(t *testing.T) {
	if f, err := Parse("f", []byte("a:\tb\n \t\nc: d\t# e\n")); err != nil || f.Root == nil {
		t.Errorf("got %v", err)
	}
}

func FuzzParse(f *testing.F) {
	for _, seed := range []string{"", "a: b\n", "a: [b, {c: d}]\n", "- a\n- b\n", "? a\n: b\n", "<<: {a: b}\n", "a: &x b\nc: *x\n", "\ta: b\n", "a: |\n  b\n", "%", "---\n---\n"} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		file, err := Parse("f", data)
		if err != nil {
			if _, is := errors.AsType[*Mistake](err); !is || !strings.HasPrefix(err.Error(), "f:") {
				t.Errorf("not a mistake at a place: %v", err)
			}
			return
		}
		if file.Root == nil {
			return
		}
		if _, err := file.Entries(file.Root); err != nil && !strings.HasPrefix(err.Error(), "f:") {
			t.Errorf("not a mistake at a place: %v", err)
		}
	})
}
