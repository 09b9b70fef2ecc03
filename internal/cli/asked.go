package cli

import (
	"encoding/json"
	"path/filepath"
	"slices"
	"strings"

	"github.com/spf13/pflag"

	"assetferry/migrate"
	"assetferry/state"
)

// asked is the call that began a run, as far as its rules do not say it. Without that, a
// command that resumes the run would be refused, or would lack a safety check.
type asked struct {
	Source string     `json:"source,omitempty"` // path or address
	Plan   string     `json:"plan,omitempty"`   // file of apply
	Flags  [][]string `json:"flags,omitempty"`  // the words of each, paths absolute
}

// storedRules is how a run keeps its rules, the settings that a schedule compares, and the call
// that began it. Only the rules decide whether a run is resumed.
type storedRules struct {
	migrate.Rules
	Settings map[string][]string `json:"settings,omitempty"`
	Asked    asked               `json:"asked"`
}

// asks returns what this call asks for, to be kept with the run that it begins.
func (a *app) asks(source string) (asked, error) {
	is := asked{Source: source}
	var err error
	if a.planFile != "" {
		if is.Plan, err = filepath.Abs(a.planFile); err != nil {
			return is, err
		}
	}
	a.called.Flags().Visit(func(f *pflag.Flag) {
		if err != nil || f.Name == "wait" || slices.Contains(slices.Concat(onlyHere, singleRunFlags), f.Name) || slices.Contains(ofRules, "--"+f.Name) {
			return
		}
		words := flagWords(f)
		if f.Name == "config" || a.settings.IsPath(f.Name) {
			var path string
			path, err = filepath.Abs(f.Value.String())
			words = withValue(f.Name, path)
		}
		is.Flags = append(is.Flags, words)
	})
	return is, err
}

// askedBy reads the call that began a run; nothing of a run of an earlier version.
func askedBy(run state.Run) asked {
	var stored struct {
		Asked asked `json:"asked"`
	}
	_ = json.Unmarshal(run.Rules, &stored) // ReadRules reports what is wrong with it
	return stored.Asked
}

// describing are the flags that decide how assets are described. A run is resumed with
// those that it had.
var describing = []string{"--metadata", "--precedence", "--ignore-metadata", "--gps", "--on-limit"}

// flagsOf are the flags for a command about a run: those of this call, and the rest of those
// that the run was begun with.
func (a *app) flagsOf(run state.Run, command string) (flags []string) {
	was, not := askedBy(run), ofRules
	if was.Source != "" {
		not = slices.Concat(ofRules, describing)
	}
	flags = a.carried(command, not)
	other, _, err := a.called.Root().Find([]string{command})
	if err != nil {
		return flags
	}
	for _, words := range was.Flags {
		name, _, _ := strings.Cut(strings.TrimPrefix(words[0], "--"), "=")
		isGiven := a.called.Flags().Changed(name) && !slices.Contains(describing, "--"+name)
		if !isGiven && takes(other, name) {
			flags = append(flags, words...)
		}
	}
	return flags
}
