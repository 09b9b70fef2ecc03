package sandbox

import (
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

func TestReadProfile(t *testing.T) {
	tests := []struct {
		text string
		want Profile
		err  string // a part of it; empty: none
	}{
		{"version: 1\n", Profile{Version: 1}, ""},
		{"# odd\nversion: 1\nequal_assets: rename\nmax_tag: -1\nlacks: [head, etag]\ntoken_age: 12h\nunknown:\n  rate: not asked\n",
			Profile{Version: 1, EqualAssets: "rename", MaxTag: -1, Lacks: []string{"head", "etag"}, TokenAge: 12 * time.Hour, Unknown: map[string]string{"rate": "not asked"}}, ""},
		{"", Profile{}, "EOF"},
		{"version: 2\n", Profile{}, "version is 2"},
		{"version: 1\nequal_asset: rename\n", Profile{}, "equal_asset"},
		{"version: 1\nequal_assets: ignore\n", Profile{}, `"ignore" is not one of accept rename refuse`},
		{"version: 1\nlacks: [head, heart]\n", Profile{}, `"heart"`},
		{"version: 1\nrate: -1\n", Profile{}, "negative"},
		{"version: 1\nlatency: soon\n", Profile{}, "invalid duration"},
		{"version: 1\n#" + strings.Repeat("x", maxProfile), Profile{}, "too long"},
	}
	for _, tt := range tests {
		got, err := ReadProfile(strings.NewReader(tt.text))
		if tt.err != "" {
			if err == nil || !strings.Contains(err.Error(), tt.err) {
				t.Errorf("%.40q: got %v, want %q", tt.text, err, tt.err)
			}
			continue
		}
		if diff := cmp.Diff(tt.want, got); err != nil || diff != "" {
			t.Errorf("%.40q: %v, -want +got:\n%s", tt.text, err, diff)
		}
	}
}

// FuzzReadProfile reads anything without falling over, and takes nothing that a
// sandbox does not start with.
func FuzzReadProfile(f *testing.F) {
	f.Add("version: 1\nequal_assets: rename\nrate: 5\nretry_after: \"1\"\n")
	f.Add("version: 1\nlacks: [replace]\n")
	f.Add("{")
	f.Add("version: *a\n")
	f.Fuzz(func(t *testing.T, text string) {
		p, err := ReadProfile(strings.NewReader(text))
		if err != nil {
			return
		}
		s, err := New(Options{Profile: p})
		if err != nil {
			t.Fatal(err)
		}
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	})
}
