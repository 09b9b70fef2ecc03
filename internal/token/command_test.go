package token_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"go.uber.org/goleak"

	"assetferry/internal/token"
)

// TestMain makes the test binary act as the program that prints tokens.
func TestMain(m *testing.M) {
	if len(os.Args) > 2 && os.Args[1] == "make-token" {
		os.Exit(makeToken(os.Args[2], os.Args[3:]))
	}
	goleak.VerifyTestMain(m)
}

func makeToken(how string, args []string) int {
	fmt.Fprintln(os.Stderr, seed)
	switch how {
	case "print":
		fmt.Println(" " + strings.Join(args, " ") + " ")
	case "count": // another token each time; the file contains a byte for each
		f, err := os.OpenFile(args[0], os.O_CREATE|os.O_APPEND|os.O_RDWR, 0o600)
		if err != nil {
			return 1
		}
		defer f.Close()
		f.WriteString("x")
		info, _ := f.Stat()
		fmt.Print("token-", info.Size())
	case "fail":
		fmt.Print(seed)
		return 3
	case "flood":
		for range 1000 {
			fmt.Print(strings.Repeat("x", 1000))
		}
	case "hang":
		time.Sleep(time.Hour) // killed long before
	}
	return 0
}

func command(t testing.TB, args ...string) *token.Command {
	t.Helper()
	t.Setenv("GORACE", "atexit_sleep_ms=0") // a program under the race detector lingers otherwise
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	var line strings.Builder
	line.WriteString("'" + self + "' make-token")
	for _, a := range args {
		line.WriteString(" '" + a + "'")
	}
	c, err := token.NewCommand(line.String())
	if err != nil {
		t.Fatal(err)
	}
	return c
}

func TestCommandTrims(t *testing.T) {
	if got := mint(t, command(t, "print", "abc")); got != "abc" {
		t.Errorf("got %q, want abc", got)
	}
}

// TestProgramLine verifies that a program may print words if Line is called, but not several lines.
func TestProgramLine(t *testing.T) {
	t.Setenv("GORACE", "atexit_sleep_ms=0")
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	for args, want := range map[string]string{"print 'abcd efgh ü'": "abcd efgh ü", "print 'a b\nc'": "", "print": "", "flood": ""} {
		p, err := token.NewProgram("'" + self + "' make-token " + args)
		if err != nil {
			t.Fatal(err)
		}
		got, err := p.Line(t.Context(), 0)
		if got.Reveal() != want || (err == nil) != (want != "") {
			t.Errorf("%s: %q and %v, want %q", args, got.Reveal(), err, want)
		}
	}
}

// TestProgramLines verifies that a program may print several lines if Lines is called.
func TestProgramLines(t *testing.T) {
	t.Setenv("GORACE", "atexit_sleep_ms=0")
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	for args, want := range map[string]string{"print 'a: b c\nd: ü'": "a: b c\nd: ü", "print": "", "flood": ""} {
		p, err := token.NewProgram("'" + self + "' make-token " + args)
		if err != nil {
			t.Fatal(err)
		}
		got, err := p.Lines(t.Context(), 0)
		if got.Reveal() != want || (err == nil) != (want != "") {
			t.Errorf("%s: %q and %v, want %q", args, got.Reveal(), err, want)
		}
	}
}

func TestCommandErrors(t *testing.T) {
	self, _ := os.Executable()
	tests := []struct {
		name string
		args []string
		want string
	}{
		{"status", []string{"fail", seed}, "exit status 3"},
		{"nothing", []string{"print"}, "printed nothing"},
		{"two words", []string{"print", seed + " b"}, "not a token"},
		{"control", []string{"print", seed + "\nb"}, "not a token"},
		{"flood", []string{"flood"}, "not a token"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			_, err := command(t, tt.args...).Token(t.Context())
			if err == nil || !strings.Contains(err.Error(), tt.want) || !strings.Contains(err.Error(), self) {
				t.Errorf("got %v, want %q of %s", err, tt.want, self)
			}
			if err != nil && strings.Contains(err.Error(), seed) {
				t.Errorf("error tells what the program printed or was given: %v", err)
			}
		})
	}
}

func TestCommandNotThere(t *testing.T) {
	c, err := token.NewCommand("no-such-program-anywhere " + seed)
	if err != nil {
		t.Fatal(err)
	}
	_, err = c.Token(t.Context())
	if err == nil || !strings.Contains(err.Error(), "no-such-program-anywhere") || strings.Contains(err.Error(), seed) {
		t.Errorf("got %v", err)
	}
}

func TestCommandLine(t *testing.T) {
	for _, line := range []string{"", "  ", "''", "'a"} {
		if _, err := token.NewCommand(line); err == nil {
			t.Errorf("%q: no error", line)
		}
	}
}

func TestCommandTimeout(t *testing.T) {
	c := command(t, "hang")
	c.Timeout = 50 * time.Millisecond
	if _, err := c.Token(t.Context()); err == nil || !strings.Contains(err.Error(), "longer than 50ms") {
		t.Errorf("got %v", err)
	}
}

func TestCommandCancelled(t *testing.T) {
	cause := errors.New("enough")
	ctx, cancel := context.WithCancelCause(t.Context())
	c := command(t, "hang")
	time.AfterFunc(20*time.Millisecond, func() { cancel(cause) })
	if _, err := c.Token(ctx); !errors.Is(err, cause) {
		t.Errorf("got %v, want %v", err, cause)
	}
}

func TestCommandCaches(t *testing.T) {
	now := time.Unix(1_700_000_000, 0)
	c := command(t, "count", filepath.Join(t.TempDir(), "count"))
	c.Now = func() time.Time { return now }
	want := func(want string) {
		t.Helper()
		if got := mint(t, c); got != want {
			t.Errorf("got %s, want %s", got, want)
		}
	}
	want("token-1")
	now = now.Add(5*time.Minute - 1)
	want("token-1")
	now = now.Add(1)
	want("token-2")
	c.Invalidate()
	want("token-3")
	now = now.Add(-time.Hour)
	want("token-4") // the clock was set back
}

func TestCommandUsesHalfOfExp(t *testing.T) {
	now := time.Unix(1_700_000_000, 0)
	m := newMinter(t, token.Claims{Environment: "env"})
	m.Now = func() time.Time { return now }
	jwt := mint(t, m) // lives for an hour
	c := command(t, "print", jwt)
	c.Now = func() time.Time { return now }
	first, err := c.Token(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	for _, tt := range []struct {
		after time.Duration
		same  bool
	}{{29 * time.Minute, true}, {31 * time.Minute, false}} {
		now = time.Unix(1_700_000_000, 0).Add(tt.after)
		got, err := c.Token(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		if same := got == first; same != tt.same { // secrets are equal if they are the same one
			t.Errorf("after %v: from the cache %v, want %v", tt.after, same, tt.same)
		}
	}
}

func TestCommandRunsOnceAtATime(t *testing.T) {
	c := command(t, "count", filepath.Join(t.TempDir(), "count"))
	var wg sync.WaitGroup
	for range 8 {
		wg.Go(func() {
			if got := mint(t, c); got != "token-1" {
				t.Errorf("got %s, want token-1", got)
			}
		})
	}
	wg.Wait()
}
