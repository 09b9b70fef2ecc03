package sandbox

import (
	"strings"
	"testing"

	"assetferry/internal/sandbox/profile"
)

// FuzzReadProfile verifies that reading a profile never panics, and that a sandbox starts with
// every valid one.
func FuzzReadProfile(f *testing.F) {
	f.Add("version: 1\nequal_assets: rename\nrate: 5\nretry_after: \"1\"\n")
	f.Add("version: 1\nlacks: [replace]\n")
	f.Add("{")
	f.Add("version: *a\n")
	f.Add("version: 0\nlacks: !x ")
	f.Fuzz(func(t *testing.T, text string) {
		p, err := profile.Read("p.yaml", strings.NewReader(text))
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
