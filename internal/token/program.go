package token

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"os/exec"
	"strings"
	"time"
	"unicode"

	"assetferry/internal/shell"
)

const (
	defaultTimeout = 30 * time.Second
	maxOutput      = 64 << 10 // no secret is longer
)

// A Program prints a secret. Its output and its arguments are never shown.
type Program struct{ argv []string }

// NewProgram returns the program of a command line. It splits the line into words like a shell, but
// does not start one.
func NewProgram(line string) (*Program, error) {
	argv, err := shell.Split(line)
	if err != nil {
		return nil, err
	}
	if len(argv) == 0 || argv[0] == "" {
		return nil, errors.New("is empty")
	}
	return &Program{argv}, nil
}

// Secret runs the program for at most timeout and returns its output without surrounding white
// space. A timeout of 0 means 30 s.
func (p *Program) Secret(ctx context.Context, timeout time.Duration) (Secret, error) {
	return p.secret(ctx, cmp.Or(timeout, defaultTimeout), parseOutput)
}

// Line is like Secret, but the output may have spaces and letters of any script.
func (p *Program) Line(ctx context.Context, timeout time.Duration) (Secret, error) {
	return p.secret(ctx, cmp.Or(timeout, defaultTimeout), parseLine)
}

// Lines is like Secret, but the output may have several lines and any characters.
func (p *Program) Lines(ctx context.Context, timeout time.Duration) (Secret, error) {
	return p.secret(ctx, cmp.Or(timeout, defaultTimeout), parseLines)
}

func (p *Program) secret(ctx context.Context, timeout time.Duration, parse func([]byte) (Secret, error)) (Secret, error) {
	out, err := p.run(ctx, timeout)
	if err != nil {
		return Secret{}, fmt.Errorf("%q: %w", p.argv[0], err)
	}
	secret, err := parse(out)
	if err != nil {
		return Secret{}, fmt.Errorf("%q: %w", p.argv[0], err)
	}
	return secret, nil
}

func (p *Program) run(parent context.Context, timeout time.Duration) ([]byte, error) {
	ctx, cancel := context.WithTimeout(parent, timeout)
	defer cancel()
	var out limitedBuffer
	cmd := exec.CommandContext(ctx, p.argv[0], p.argv[1:]...)
	cmd.Stdout = &out
	cmd.WaitDelay = time.Second // a child of the program may keep its output open
	err := cmd.Run()
	switch {
	case parent.Err() != nil:
		return nil, context.Cause(parent)
	case ctx.Err() != nil:
		return nil, fmt.Errorf("took longer than %v", timeout)
	case err != nil:
		return nil, err // an exit status, or that there is no such program
	}
	return out.kept, nil
}

func parseLines(out []byte) (Secret, error) {
	s := string(bytes.TrimSpace(out))
	switch {
	case s == "":
		return Secret{}, errors.New("printed nothing")
	case len(out) > maxOutput:
		return Secret{}, errors.New("printed too much")
	}
	return NewSecret(s), nil
}

func parseLine(out []byte) (Secret, error) {
	s, err := parseLines(out)
	if err == nil && strings.ContainsFunc(s.Reveal(), unicode.IsControl) {
		return Secret{}, errors.New("printed more than one line")
	}
	return s, err
}

func parseOutput(out []byte) (Secret, error) {
	s := string(bytes.TrimSpace(out))
	switch {
	case s == "":
		return Secret{}, errors.New("printed nothing")
	case len(out) > maxOutput, strings.ContainsFunc(s, func(r rune) bool { return r <= ' ' || r > '~' }):
		return Secret{}, errors.New("printed something that is not a token or a key")
	}
	return NewSecret(s), nil
}

// A limitedBuffer stores slightly more than maxOutput and discards the rest.
type limitedBuffer struct{ kept []byte }

func (b *limitedBuffer) Write(p []byte) (int, error) {
	b.kept = append(b.kept, p[:min(len(p), maxOutput+1-len(b.kept))]...)
	return len(p), nil
}
