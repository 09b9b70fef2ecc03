package token

import (
	"context"
	"encoding/json"
	"fmt"
	"time"
)

const unknownLife = 5 * time.Minute // how long a token without exp is used

// A Command has another program make the tokens, where somebody else holds the
// key. What the program prints is never shown, and neither are its arguments.
type Command struct {
	Timeout time.Duration    // for one run of the program; 0 means 30 s. Set it before first use
	Now     func() time.Time // nil means time.Now. Set it before first use

	program *Program

	turn   chan struct{} // holds one element while nobody touches what is below
	cached Secret
	until  time.Time
	from   time.Time
}

// NewCommand returns a Command that runs line, split into words like a shell
// does but without a shell. What the program prints, trimmed, is the token.
func NewCommand(line string) (*Command, error) {
	p, err := NewProgram(line)
	if err != nil {
		return nil, fmt.Errorf("token command: %w", err)
	}
	c := &Command{program: p, turn: make(chan struct{}, 1)}
	c.turn <- struct{}{}
	return c, nil
}

// Token returns a cached token or runs the program, once at a time. A token is
// used until half of its remaining life, or for five minutes if it does not say.
func (c *Command) Token(ctx context.Context) (Secret, error) {
	select {
	case <-c.turn:
	case <-ctx.Done():
		return Secret{}, context.Cause(ctx)
	}
	defer func() { c.turn <- struct{}{} }()
	now := c.now()
	if !c.cached.IsEmpty() && now.Before(c.until) && !now.Before(c.from) {
		return c.cached, nil
	}
	made, err := c.program.Secret(ctx, c.Timeout)
	if err != nil {
		return Secret{}, fmt.Errorf("token command %w", err)
	}
	now = c.now()
	c.cached, c.from, c.until = made, now, now.Add(usableFor(made, now))
	return made, nil
}

// Invalidate forgets the cached token.
func (c *Command) Invalidate() {
	<-c.turn
	defer func() { c.turn <- struct{}{} }()
	c.cached = Secret{}
}

func (c *Command) now() time.Time {
	if c.Now == nil {
		return time.Now().Round(0) // see Minter.now
	}
	return c.Now().Round(0)
}

// usableFor is half of what is left of a token's life.
func usableFor(s Secret, now time.Time) time.Duration {
	exp, ok := expiry(s)
	if !ok {
		return unknownLife
	}
	return exp.Sub(now) / 2
}

// expiry reads exp without checking the token: the service does that.
func expiry(s Secret) (time.Time, bool) {
	payload, err := payloadOf(s)
	if err != nil {
		return time.Time{}, false
	}
	var claims struct {
		Exp float64 `json:"exp"`
	}
	if json.Unmarshal(payload, &claims) != nil || claims.Exp <= 0 || claims.Exp > 1<<40 {
		return time.Time{}, false
	}
	return time.Unix(int64(claims.Exp), 0), true
}
