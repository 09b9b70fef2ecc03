package cli

import (
	"fmt"
	"io"
	"slices"
	"strings"
	"sync"
	"testing"
	"unicode/utf8"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"assetferry/internal/cli/cmdline"
	"assetferry/internal/cli/command"
	"assetferry/internal/cli/exit"
	"assetferry/internal/config"
)

// helpOf returns a help page.
func helpOf(c *cobra.Command, all bool) string {
	var b strings.Builder
	writeHelp(&b, c, all)
	return b.String()
}

// TestSyncHelpFits verifies that the help of sync fits on two screens, with ten flags.
func TestSyncHelpFits(t *testing.T) {
	root := rootCommand(command.New(command.Environment{}, false))
	for _, name := range []string{"plan", "migrate", "sync"} {
		c := below(root, name)
		if n := strings.Count(helpOf(c, false), "\n"); n > 90 {
			t.Errorf("%s --help has %d lines, and two screens are 100", name, n)
		}
		if first, rest := cmdline.Common(c); len(first) < 10 || len(first) > 12 || len(rest) < 20 {
			t.Errorf("%s --help has %d common flags of %d", name, len(first), len(first)+len(rest))
		}
	}
}

// TestHelpAllListsEveryFlag verifies that --help-all lists every flag, and that --help states the
// number of flags that it omits.
func TestHelpAllListsEveryFlag(t *testing.T) {
	for _, c := range allCommands(t) {
		page := helpOf(c, true)
		flags := cmdline.Visible(c.LocalFlags())
		flags = append(flags, cmdline.Visible(c.InheritedFlags())...)
		for _, f := range flags {
			if !strings.Contains(page, " --"+f.Name+" ") && !strings.Contains(page, " --"+f.Name+"\n") {
				t.Errorf("%s --help-all lists no --%s", c.CommandPath(), f.Name)
			}
		}
		if _, rest := cmdline.Common(c); len(rest) > 0 && !strings.Contains(helpOf(c, false), fmt.Sprintf("--help-all lists %d more flags: ", len(rest))) {
			t.Errorf("%s --help does not say that it lists no more", c.CommandPath())
		}
	}
}

// TestHelpLayout verifies that every help page fits on a terminal, has examples above flags, and
// has every flag of a long list in a section.
func TestHelpLayout(t *testing.T) {
	for _, c := range allCommands(t) {
		for _, all := range []bool{false, true} {
			page := helpOf(c, all)
			for line := range strings.Lines(page) {
				ours := !strings.HasPrefix(c.CommandPath(), "assetferry completion")
				if line = strings.TrimSuffix(line, "\n"); ours && (utf8.RuneCountInString(line) > helpColumns || strings.TrimRight(line, " ") != line) {
					t.Errorf("%s: %q", c.CommandPath(), line)
				}
			}
			if strings.Contains(page, "`") && !strings.HasPrefix(c.CommandPath(), "assetferry completion") {
				t.Errorf("%s: a back quote is left", c.CommandPath())
			}
			if examples, flags := strings.Index(page, "\nExamples:\n"), strings.Index(page, "lags:\n"); c.HasExample() && (examples < 0 || flags < examples) {
				t.Errorf("%s: examples are not above the flags", c.CommandPath())
			}
			if strings.Contains(page, "\nOther:\n") {
				t.Errorf("%s: a flag belongs to no section:\n%s", c.CommandPath(), page[strings.Index(page, "\nOther:\n"):])
			}
		}
	}
}

// TestWrapHelp verifies that text that belongs together stays on one line.
func TestWrapHelp(t *testing.T) {
	for _, test := range []struct {
		text    string
		columns int
		want    string
	}{
		{"stop after this duration (default 1m)", 30, "stop after this duration|(default 1m)"},
		{"the URL of the service [$ASSETFERRY_URL] (default x)", 28, "the URL of the service|[$ASSETFERRY_URL]|(default x)"},
		{"careful: --concurrency 4 --on-limit fail --wait 10m", 24, "careful: --concurrency 4|--on-limit fail|--wait 10m"},
		{"see assetferry help s3.", 10, "see|assetferry|help s3."},
	} {
		if got := strings.Join(wrapHelp(test.text, test.columns), "|"); got != test.want {
			t.Errorf("%q: got %q, want %q", test.text, got, test.want)
		}
	}
}

// TestPresetsInHelp verifies that the help lists presets with exactly the flags that they set.
func TestPresetsInHelp(t *testing.T) {
	root := rootCommand(command.New(command.Environment{}, false))
	page := strings.Join(strings.Fields(helpOf(below(root, "sync"), false)), " ")
	for _, p := range config.Presets() {
		if want := p.Name + " " + p.About + ": " + strings.Join(p.Flags(), " "); !strings.Contains(page, want) {
			t.Errorf("the help has no %q", want)
		}
		for _, s := range p.Settings {
			if below(root, "sync").Flag(strings.ReplaceAll(s.Key, "_", "-")) == nil {
				t.Errorf("%s: sync has no flag for %s", p.Name, s.Key)
			}
		}
	}
}

// TestExitCodesOfCommands verifies that each command lists codes that exist, each with its meaning.
func TestExitCodesOfCommands(t *testing.T) {
	known := map[string]bool{"": true}
	for _, c := range allCommands(t) {
		_, path, _ := strings.Cut(c.CommandPath(), " ")
		known[path] = true
		list := exitCodesOf(c)
		if len(list) < 2 || list[0].code != exit.CodeDone || !slices.IsSortedFunc(list, func(a, b meaning) int { return a.code - b.code }) {
			t.Errorf("%s: %v", c.CommandPath(), list)
		}
		for _, m := range list {
			if m.text == "" || m.code != exit.CodeDone && exit.Classes[m.code] == "" {
				t.Errorf("%s: exit code %d has no meaning", c.CommandPath(), m.code)
			}
		}
	}
	for _, table := range []map[string]bool{keysOf(codes), keysOf(ownMeanings)} {
		for path := range table {
			if !known[path] {
				t.Errorf("there is no command %q", path)
			}
		}
	}
	for path, own := range ownMeanings {
		for code := range own {
			if c, _, err := rootCommand(command.New(command.Environment{}, false)).Find(strings.Fields(path)); err != nil || !listsCode(c, code) {
				t.Errorf("%s does not list %d", path, code)
			}
		}
	}
}

func keysOf[V any](m map[string]V) map[string]bool {
	keys := map[string]bool{}
	for key := range m {
		keys[key] = true
	}
	return keys
}

func listsCode(c *cobra.Command, code int) bool {
	return slices.ContainsFunc(exitCodesOf(c), func(m meaning) bool { return m.code == code })
}

// calledRoot finds commands by their arguments, for checkListed.
var calledRoot struct {
	sync.Mutex
	root *cobra.Command
}

// checkListed returns an error if the help of the called command does not list an exit code.
func checkListed(args []string, code int) error {
	calledRoot.Lock()
	defer calledRoot.Unlock()
	if calledRoot.root == nil {
		calledRoot.root = rootCommand(command.New(command.Environment{Stdout: io.Discard, Stderr: io.Discard}, false))
	}
	c, _, err := calledRoot.root.Find(args)
	if err != nil || listsCode(c, code) {
		return nil
	}
	return fmt.Errorf("%s ended with %d, which its help does not list", c.CommandPath(), code)
}

// TestCommonFlagsExist verifies that all names in the tables of flags exist.
func TestCommonFlagsExist(t *testing.T) {
	all := map[string]bool{}
	for _, c := range allCommands(t) {
		for _, set := range []*pflag.FlagSet{c.LocalFlags(), c.InheritedFlags()} {
			set.VisitAll(func(f *pflag.Flag) { all[f.Name] = true })
		}
	}
	for _, name := range cmdline.GroupedFlags() {
		if !all[name] {
			t.Errorf("no command has --%s", name)
		}
	}
	for path, names := range cmdline.CommonFlags() {
		c, _, err := rootCommand(command.New(command.Environment{}, false)).Find(strings.Fields(path))
		if err != nil {
			t.Error(err)
			continue
		}
		for _, name := range names {
			if f := c.Flag(name); f == nil || f.Hidden {
				t.Errorf("%s has no --%s", path, name)
			}
		}
	}
}
