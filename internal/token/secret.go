// Package token creates the JSON web tokens that authorise requests, or obtains them from a command
// or an endpoint, and prevents them from being printed.
package token

import (
	"context"
	"fmt"
	"io"
	"log/slog"
)

// A Source returns tokens. Its methods may be called from several goroutines at once.
type Source interface {
	// Token returns a token that is still valid for some time.
	Token(context.Context) (Secret, error)
	// Invalidate reports that the service rejected the current token, so that the next call of
	// Token returns a new one.
	Invalidate()
}

const redacted = "[redacted]"

// A Secret is a string that never prints itself. The zero Secret is empty.
type Secret struct {
	// A pointer, because fmt prints unexported fields of other structs without
	// asking their methods: this way it prints a URL.
	value *string
}

// NewSecret returns a Secret that contains a string.
func NewSecret(s string) Secret { return Secret{&s} }

// Reveal returns the string itself.
func (s Secret) Reveal() string {
	if s.value == nil {
		return ""
	}
	return *s.value
}

// IsEmpty reports whether the Secret is empty.
func (s Secret) IsEmpty() bool { return s.Reveal() == "" }

func (s Secret) String() string               { return redacted }
func (s Secret) GoString() string             { return redacted }
func (s Secret) Format(f fmt.State, _ rune)   { _, _ = io.WriteString(f, redacted) }
func (s Secret) LogValue() slog.Value         { return slog.StringValue(redacted) }
func (s Secret) MarshalJSON() ([]byte, error) { return []byte(`"` + redacted + `"`), nil }
func (s Secret) MarshalText() ([]byte, error) { return []byte(redacted), nil }
