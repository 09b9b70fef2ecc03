package cli

import (
	"errors"
	"fmt"
	"io"
	"maps"
	"net"
	"os"
	"slices"
	"strings"
	"testing"
	"unicode"
	"unicode/utf8"

	"github.com/spf13/cobra"

	"assetferry/internal/config"
	"assetferry/internal/sandbox"
	"assetferry/migrate"
	"assetferry/state"
	"assetferry/state/ownership"
)

// TestHelpFits shows every help on a terminal of the usual width.
func TestHelpFits(t *testing.T) {
	var check func(*cobra.Command)
	check = func(c *cobra.Command) {
		if c.Name() == "completion" { // its text is cobra's
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
	a := newApp(environment{stdout: io.Discard, stderr: io.Discard}, false)
	check(a.rootCommand())
}

// TestGroups has the help list every command by what it is for.
func TestGroups(t *testing.T) {
	a := newApp(environment{stdout: io.Discard, stderr: io.Discard}, false)
	for _, c := range a.rootCommand().Commands() {
		if c.GroupID == "" && !isTopic(c) {
			t.Errorf("%s is in no group", c.Name())
		}
	}
}

// TestTopicsWithNamesOfCommands: help shows the topic, and the name runs the command.
func TestTopicsWithNamesOfCommands(t *testing.T) {
	for name, text := range helpTopics(t) {
		var shown strings.Builder
		a := newApp(environment{stdout: &shown, stderr: io.Discard}, false)
		root := a.rootCommand()
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

func TestLoopback(t *testing.T) {
	for listen, want := range map[string]bool{
		"127.0.0.1:0": true, "127.1.2.3:80": true, "[::1]:80": true, "localhost:80": true,
		":80": false, "0.0.0.0:80": false, "[::]:80": false, "192.0.2.1:80": false, "example.com:80": false, "": false, "80": false,
	} {
		if got := loopback(listen); got != want {
			t.Errorf("loopback(%q) = %v, want %v", listen, got, want)
		}
	}
}

func TestWorse(t *testing.T) {
	order := []int{exitInterrupted, exitAuth, exitError, exitGuard, exitItems, exitDone}
	for i, a := range order {
		for _, b := range order[i:] {
			if worse(a, b) != a || worse(b, a) != a {
				t.Errorf("worse of %d and %d is %d and %d", a, b, worse(a, b), worse(b, a))
			}
		}
	}
	if got := worse(exitDone, exitDifference); got != exitDifference {
		t.Errorf("worse(0, 4) = %d", got)
	}
}

// The page about JSON lists every class that an error may have.
func TestClassesAreDocumented(t *testing.T) {
	page, err := os.ReadFile("help/json.txt")
	if err != nil {
		t.Fatal(err)
	}
	_, listed, _ := strings.Cut(string(page), "\n    class      ")
	listed, _, _ = strings.Cut(listed, ":")
	documented := strings.FieldsFunc(listed, func(r rune) bool { return r == ',' || unicode.IsSpace(r) })
	if want := slices.Sorted(maps.Values(classes)); !slices.Equal(slices.Sorted(slices.Values(documented)), want) {
		t.Errorf("the page lists %q, want %q", documented, want)
	}
}

func TestExplain(t *testing.T) {
	for _, test := range []struct {
		err  error
		code int
	}{
		{errors.New("any"), exitError},
		{fmt.Errorf("x: %w", &config.UsageError{Msg: "m"}), exitUsage},
		{fmt.Errorf("x: %w", ownership.ErrInUse), exitInUse},
		{fmt.Errorf("x: %w", sandbox.ErrInUse), exitInUse},
		{fmt.Errorf("x: %w", ownership.ErrNotOwner), exitInUse},
		{fmt.Errorf("x: %w", state.ErrNotFound), exitNoSuch},
		{fmt.Errorf("x: %w", state.ErrForeign), exitError},
		{fmt.Errorf("x: %w", state.ErrNewer), exitError},
		{fmt.Errorf("x: %w", state.ErrOlder), exitError},
		{errors.Join(errors.New("x"), migrate.ErrStopped), exitInterrupted},
		{&stop{code: exitGuard, err: errors.New("x")}, exitGuard},
	} {
		f := failureOf(test.err)
		if f.code != test.code || f.class == "" {
			t.Errorf("failureOf(%v) = %+v, want code %d", test.err, f, test.code)
		}
	}
	for _, err := range []error{state.ErrForeign, state.ErrNewer, state.ErrOlder, ownership.ErrNotOwner, ownership.ErrInUse, state.ErrNotFound, sandbox.ErrInUse, migrate.ErrStopped} {
		if failureOf(err).hint == "" {
			t.Errorf("no way out of %v", err)
		}
	}
}

// TestValues holds the values that shells offer, and that help shows, against
// those that are taken.
func TestValues(t *testing.T) {
	none := func(string) (string, bool) { return "", false }
	t.Chdir(t.TempDir())
	checked := 0
	for _, k := range config.Keys() {
		for _, v := range values(k.Flag) {
			checked++
			if _, err := config.Load(map[string][]string{k.Flag: {v}}, none); err != nil {
				t.Errorf("--%s %s: %v", k.Flag, v, err)
			}
		}
		if v := values(k.Flag); v != nil {
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

// TestSilentService makes the first contact, which gives up within ten seconds, and nothing
// else where somebody listens and never answers.
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
	p := command(t, dir, []string{"ASSETFERRY_URL=http://" + l.Addr().String(), "ASSETFERRY_ENVIRONMENT_ID=id", "ASSETFERRY_ACCESS_KEY=key"}, "plan", "src")
	p.must(t, exitError)
	_ = l.Close()
	if n := <-asked; n != 1 {
		t.Errorf("it asked %d times", n)
	}
	if text := p.stderr.String(); !strings.Contains(text, "first contact") || !strings.Contains(text, "\nTry: ") {
		t.Errorf("it says: %s", text)
	}
}

// Lists are broken between their parts, so that they fit and no part is torn apart.
func TestWrapped(t *testing.T) {
	long := strings.Repeat("x", 50)
	for list, want := range map[string]string{
		"":                                  "",
		"one":                               "one",
		"one (1); two (2)":                  "one (1); two (2)",
		long + "; " + long[:27] + "; a (1)": long + "; " + long[:27] + ";\n  a (1)",
		long + "; " + long + "; " + long:    long + ";\n  " + long + ";\n  " + long,
		long + long + "; b":                 long + long + ";\n  b",
	} {
		if got := wrapped(list, "  "); got != want {
			t.Errorf("got\n%s\nwant\n%s", got, want)
		}
	}
}

func TestBytesSent(t *testing.T) {
	tallies := []state.Tally{
		{Action: state.Create, State: state.ItemDone, Bytes: 1},
		{Action: state.Replace, State: state.ItemDone, Bytes: 2, Reason: string(migrate.ReasonContent)},
		{Action: state.Create, State: state.ItemFailed, Bytes: 4},
		{Action: state.Move, State: state.ItemDone, Bytes: 8},
		{Action: state.Adopt, State: state.ItemDone, Bytes: 16},
		{Action: state.Create, State: state.ItemDone, Bytes: 32, Reason: string(migrate.ReasonTrashed)},
		{Action: state.Replace, State: state.ItemDone, Bytes: 64, Reason: string(migrate.ReasonReplaced)},
	}
	if got := bytesSent(tallies); got != 1+2 {
		t.Errorf("bytesSent = %d, want what was created and replaced: 3", got)
	}
}

// A sandbox is stopped by what it prints also where it listens at another address of this
// machine; an order for the real service goes nowhere.
func TestSandboxIsOnThisMachine(t *testing.T) {
	hosts := map[string]bool{"127.0.0.1": true, "localhost": true, "::1": true, "0.0.0.0": true, "::": true, "api.example.com": false, "192.0.2.1": false, "": false}
	own, err := net.InterfaceAddrs()
	if err != nil {
		t.Fatal(err)
	}
	for _, a := range own {
		if n, ok := a.(*net.IPNet); ok {
			hosts[n.IP.String()] = true
		}
	}
	for host, want := range hosts {
		if got := isThisMachine(host); got != want {
			t.Errorf("isThisMachine(%q) = %v, want %v", host, got, want)
		}
	}
}
