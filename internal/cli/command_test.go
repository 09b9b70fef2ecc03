package cli

import (
	"io"
	"maps"
	"net"
	"os"
	"slices"
	"strings"
	"testing"
	"unicode"
	"unicode/utf8"

	"assetferry/internal/cli/cmdline"
	"assetferry/internal/cli/command"
	"assetferry/internal/cli/exit"
	"assetferry/internal/config"

	"github.com/spf13/cobra"
)

// The test verifies that every help text fits on a terminal of 80 columns.
func TestHelpFits(t *testing.T) {
	var check func(*cobra.Command)
	check = func(c *cobra.Command) {
		if c.Name() == "completion" { // cobra writes its text
			return
		}
		var text strings.Builder
		c.SetOut(&text)
		if err := c.Help(); err != nil {
			t.Fatal(err)
		}
		for line := range strings.Lines(text.String()) {
			if n := utf8.RuneCountInString(strings.TrimRight(line, "\n")); n > 80 {
				t.Errorf("%s: %d columns: %s", c.CommandPath(), n, line)
			}
		}
		for _, below := range c.Commands() {
			check(below)
		}
	}
	f := command.New(command.Environment{Stdout: io.Discard, Stderr: io.Discard}, false)
	check(rootCommand(f))
}

// The test verifies that the help lists every command in a group.
func TestGroups(t *testing.T) {
	f := command.New(command.Environment{Stdout: io.Discard, Stderr: io.Discard}, false)
	for _, c := range rootCommand(f).Commands() {
		if c.GroupID == "" && !isTopic(c) {
			t.Errorf("%s is in no group", c.Name())
		}
	}
}

// The test verifies that help shows the topic if a command has the same name, and that the name
// alone runs the command.
func TestTopicsWithNamesOfCommands(t *testing.T) {
	for name, text := range helpTopics(t) {
		var shown strings.Builder
		f := command.New(command.Environment{Stdout: &shown, Stderr: io.Discard}, false)
		root := rootCommand(f)
		if c, _, err := root.Find([]string{name}); err != nil || isTopic(c) && slices.ContainsFunc(allCommands(t), func(c *cobra.Command) bool { return c.CommandPath() == "assetferry "+name }) {
			t.Errorf("%s: runs the topic, and not the command (%v)", name, err)
		}
		root.SetArgs([]string{"help", name})
		if err := root.Execute(); err != nil {
			t.Error(err)
		}
		if _, body, _ := strings.Cut(text, "\n\n"); !strings.Contains(shown.String(), strings.TrimSpace(body)) {
			t.Errorf("help %s does not show the topic, but:\n%s", name, shown.String())
		}
	}
}

// The test verifies that help json lists every class of errors.
func TestClassesAreDocumented(t *testing.T) {
	page, err := os.ReadFile("help/json.txt")
	if err != nil {
		t.Fatal(err)
	}
	_, listed, _ := strings.Cut(string(page), "\n    class      ")
	listed, _, _ = strings.Cut(listed, ":")
	documented := strings.FieldsFunc(listed, func(r rune) bool { return r == ',' || unicode.IsSpace(r) })
	if want := slices.Sorted(maps.Values(exit.Classes)); !slices.Equal(slices.Sorted(slices.Values(documented)), want) {
		t.Errorf("the page lists %q, want %q", documented, want)
	}
}

// The test verifies that the values in completions and in the help are the accepted ones.
func TestValues(t *testing.T) {
	none := func(string) (string, bool) { return "", false }
	t.Chdir(t.TempDir())
	checked := 0
	for _, k := range config.Keys() {
		for _, v := range cmdline.Values(k.Flag) {
			checked++
			if _, err := config.Load(map[string][]string{k.Flag: {v}}, none); err != nil {
				t.Errorf("--%s %s: %v", k.Flag, v, err)
			}
		}
		if v := cmdline.Values(k.Flag); v != nil {
			_, err := config.Load(map[string][]string{k.Flag: {"?"}}, none)
			if err == nil || !strings.Contains(err.Error(), strings.Join(v, ", ")) {
				t.Errorf("--%s takes other values than are offered: %v", k.Flag, err)
			}
		}
	}
	if checked == 0 {
		t.Error("no setting has values")
	}
}

// The test verifies that the first contact ends after ten seconds if a server accepts connections
// but never answers.
func TestSilentService(t *testing.T) {
	t.Parallel()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	asked := make(chan int, 1)
	go func() {
		n := 0
		for ; ; n++ {
			c, err := l.Accept()
			if err != nil {
				break
			}
			defer c.Close()
		}
		asked <- n
	}()
	dir := t.TempDir()
	tree{"one.jpg": "one"}.write(t, dir+"/src")
	p := assetferry(t, dir, []string{"ASSETFERRY_URL=http://" + l.Addr().String(), "ASSETFERRY_ENVIRONMENT_ID=id", "ASSETFERRY_ACCESS_KEY=key"}, "plan", "src")
	p.must(t, exit.CodeError)
	_ = l.Close()
	if n := <-asked; n != 1 {
		t.Errorf("it asked %d times", n)
	}
	if text := p.stderr.String(); !strings.Contains(text, "no response from") || !strings.Contains(text, "\nTry: ") {
		t.Errorf("it says: %s", text)
	}
}
