package cli

import (
	"strings"
	"testing"

	"assetferry/internal/cli/cmdline"
	"assetferry/internal/cli/command"
)

// The test verifies that every command, topic and flag is suggested if its last character is
// doubled, and that a name without similarity gets no suggestion.
func TestDidYouMean(t *testing.T) {
	root := rootCommand(command.New(command.Environment{}, false))
	names := namesBelow(root)
	for _, name := range names {
		if got := didYouMean(name+name[len(name)-1:], names); !strings.Contains(got, `"`+name+`"`) {
			t.Errorf("%s: got %q", name, got)
		}
	}
	sync := below(root, "sync")
	for _, f := range append(cmdline.Visible(sync.NonInheritedFlags()), cmdline.Visible(sync.InheritedFlags())...) {
		if got := suggestFlag(sync, f.Name+f.Name[len(f.Name)-1:]); !strings.Contains(got, `"--`+f.Name+`"`) {
			t.Errorf("--%s: got %q", f.Name, got)
		}
	}
	for typed, want := range map[string]string{"migrat": "migrate", "cut": "cutover", "verfy": "verify", "nonsense": "", "xyz": ""} {
		got := didYouMean(typed, names)
		if want == "" && got != "" || !strings.Contains(got, want) {
			t.Errorf("%s: got %q, want %q", typed, got, want)
		}
	}
}
