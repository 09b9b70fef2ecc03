package shell

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestSplit(t *testing.T) {
	tests := []struct {
		line string
		want []string
		err  error
	}{
		{"", nil, nil},
		{"  \t ", nil, nil},
		{"vault", []string{"vault"}, nil},
		{" vault  read\tx\n", []string{"vault", "read", "x"}, nil},
		{`a 'b c' "d e" f\ g`, []string{"a", "b c", "d e", "f g"}, nil},
		{`a'b'"c"d`, []string{"abcd"}, nil},
		{`a '' ""`, []string{"a", "", ""}, nil},
		{`'a"b' "a'b"`, []string{`a"b`, "a'b"}, nil},
		{`"a\"b\\c\d"`, []string{`a"b\c\d`}, nil},
		{`'a\'`, []string{`a\`}, nil},
		{`a\`, []string{`a\`}, nil},
		{`$HOME $(x) ;|&*`, []string{"$HOME", "$(x)", ";|&*"}, nil},
		{`ü 'ß ß'`, []string{"ü", "ß ß"}, nil},
		{`'a`, nil, errQuote},
		{`a "b`, nil, errQuote},
		{`"a\"`, nil, errQuote},
	}
	for _, tt := range tests {
		got, err := Split(tt.line)
		if err != tt.err || !cmp.Equal(got, tt.want) {
			t.Errorf("%q: got %q, %v, want %q, %v", tt.line, got, err, tt.want, tt.err)
		}
	}
}

// FuzzSplit verifies that words in single quotes are split into the original words.
func FuzzSplit(f *testing.F) {
	f.Add("a", "b c")
	f.Add(`\`, `"`)
	f.Fuzz(func(t *testing.T, a, b string) {
		_, _ = Split(a + b) // must not panic
		if strings.ContainsRune(a+b, '\'') {
			return
		}
		got, err := Split("'" + a + "' '" + b + "'")
		if want := []string{a, b}; err != nil || !cmp.Equal(got, want) {
			t.Errorf("got %q, %v, want %q", got, err, want)
		}
	})
}
