package token

import (
	"context"
	"fmt"
	"time"
)

const unknownLife = 5 * time.Minute // how long a token without exp is used

// A Command runs another program to create the tokens, so that only that program needs the key. The
// output and the arguments of the program are never shown.
type Command struct {
	Timeout time.Duration    // for one run of the program; 0 means 30 s. Set it before first use
	Now     func() time.Time // nil means time.Now. Set it before first use

	program *Program
	held    held
}

// NewCommand returns a Command that runs line. It splits line into words like a shell, but does not
// start one. The token is the output of the program without surrounding white space.
func NewCommand(line string) (*Command, error) {
	p, err := NewProgram(line)
	if err != nil {
		return nil, fmt.Errorf("token command: %w", err)
	}
	return &Command{program: p, held: newHeld(unknownLife)}, nil
}

// Token returns a cached token, or runs the program, one call at a time. It uses a token for half of
// the remaining lifetime, or for five minutes if the token has no expiry.
func (c *Command) Token(ctx context.Context) (Secret, error) {
	return c.held.get(ctx, c.now, func() (Secret, error) {
		made, err := c.program.Secret(ctx, c.Timeout)
		if err != nil {
			return Secret{}, fmt.Errorf("token command %w", err)
		}
		return made, nil
	})
}

// Invalidate forgets the cached token.
func (c *Command) Invalidate() { c.held.forget() }

func (c *Command) now() time.Time {
	if c.Now == nil {
		return time.Now().Round(0) // see Minter.now
	}
	return c.Now().Round(0)
}
