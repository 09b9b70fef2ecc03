package cli

import (
	"bytes"
	"context"
	"errors"
	"io"
	"os"
	"strings"
	"testing"

	"assetferry/internal/cli/command"
	"assetferry/internal/cli/exit"
	"assetferry/internal/config"
)

// An expecting writer signals when a text has been written.
type expecting struct {
	bytes.Buffer
	want string
	seen func()
}

func (e *expecting) Write(p []byte) (int, error) {
	n, err := e.Buffer.Write(p)
	if e.seen != nil && strings.Contains(e.String(), e.want) {
		e.seen()
		e.seen = nil
	}
	return n, err
}

// askInit runs init with a terminal.
func askInit(ctx context.Context, t *testing.T, stdin io.Reader, stderr io.Writer) error {
	t.Helper()
	t.Chdir(t.TempDir())
	f := command.New(command.Environment{Stdin: stdin, Stdout: io.Discard, Stderr: stderr, Lookup: func(string) (string, bool) { return "", false }}, false)
	cmd, _, err := rootCommand(f).Find([]string{"init"})
	if err != nil {
		t.Fatal(err)
	}
	cmd.SetContext(ctx)
	return runInit(f, cmd, initOptions{output: config.DefaultFile}, true)
}

func TestInitInterrupted(t *testing.T) {
	ctx, cancel := context.WithCancelCause(t.Context())
	stdin, typed := io.Pipe() // without further input
	defer typed.Close()
	go func() { _, _ = io.WriteString(typed, "https://api.ckbox.io\n") }()
	stderr := &expecting{want: "Environment ID: ", seen: func() { cancel(exit.ErrInterrupted) }}
	if err := askInit(ctx, t, stdin, stderr); !errors.Is(err, exit.ErrInterrupted) {
		t.Errorf("got %v", err)
	}
	if left, err := os.ReadDir("."); err != nil || len(left) > 0 {
		t.Errorf("left behind: %v (%v)", left, err)
	}
}

// The test verifies that init without a service asks only the questions that a sandbox needs.
func TestInitWithoutAService(t *testing.T) {
	stderr := &expecting{}
	if err := askInit(t.Context(), t, strings.NewReader("sandbox\ns3://photos/2024\n\n\n\n\ncreate\n"), stderr); err != nil {
		t.Fatal(err)
	}
	s, err := config.Load(map[string][]string{"job": {"2024"}}, func(string) (string, bool) { return "", false })
	if err != nil || s.To != "sandbox" || s.Source != "s3://photos/2024" || s.Unsupported != "create" || len(s.Destinations) > 0 {
		t.Errorf("got %+v (%v)", s, err)
	}
	if strings.Contains(stderr.String(), "Environment ID") {
		t.Error("a rehearsal needs no environment")
	}
}

// The test verifies that init finds a meaning for every setting in the help.
func TestInitExplainsEverySetting(t *testing.T) {
	root := rootCommand(command.New(command.Environment{Stdout: io.Discard, Stderr: io.Discard}, false))
	for _, k := range config.Keys() {
		if meaningOf(root, k.Flag) == "" {
			t.Errorf("no help says what %s is for", k.Name)
		}
	}
}
