package ui

import (
	"bytes"
	"context"
	"io"
	"log/slog"
	"strings"
)

// newLogger returns a logger that is terse on stderr and complete in the log file.
func newLogger(o *Out, file io.Writer) *slog.Logger {
	level := slog.LevelWarn
	switch {
	case o.quiet:
		level = slog.LevelError
	case o.verbose:
		level = slog.LevelDebug
	}
	var terse slog.Handler = terseHandler{out: o, level: level, format: asIs}
	if file == nil {
		return slog.New(terse)
	}
	return slog.New(slog.NewMultiHandler(terse, newFileHandler(file)))
}

// A redacting writer removes secrets; each write must be a whole record.
type redacting struct {
	to     io.Writer
	redact func(string) string
}

func (r redacting) Write(record []byte) (int, error) {
	_, err := io.WriteString(r.to, r.redact(string(record)))
	return len(record), err
}

func newFileHandler(file io.Writer) slog.Handler {
	return slog.NewJSONHandler(file, &slog.HandlerOptions{Level: slog.LevelDebug})
}

// A terseHandler writes "warning: message key=value" lines.
type terseHandler struct {
	out   *Out
	level slog.Level
	// format adds the groups and attributes of this logger to a handler.
	format func(slog.Handler) slog.Handler
}

func asIs(h slog.Handler) slog.Handler { return h }

func (h terseHandler) Enabled(_ context.Context, level slog.Level) bool { return level >= h.level }

func (h terseHandler) WithAttrs(attrs []slog.Attr) slog.Handler {
	outer := h.format
	h.format = func(t slog.Handler) slog.Handler { return outer(t).WithAttrs(attrs) }
	return h
}

func (h terseHandler) WithGroup(name string) slog.Handler {
	outer := h.format
	h.format = func(t slog.Handler) slog.Handler { return outer(t).WithGroup(name) }
	return h
}

func (h terseHandler) Handle(ctx context.Context, r slog.Record) error {
	var attrs bytes.Buffer
	text := slog.NewTextHandler(&attrs, &slog.HandlerOptions{ReplaceAttr: attributesOnly})
	if err := h.format(text).Handle(ctx, r); err != nil {
		return err
	}
	line := levelWord(r.Level) + ": " + clean(r.Message, false)
	if rest := strings.TrimSpace(attrs.String()); rest != "" {
		line += " " + rest
	}
	h.out.note(line + "\n")
	return nil
}

// attributesOnly drops time, level and message: a terse line begins with them.
func attributesOnly(groups []string, a slog.Attr) slog.Attr {
	if len(groups) == 0 && (a.Key == slog.TimeKey || a.Key == slog.LevelKey || a.Key == slog.MessageKey) {
		return slog.Attr{}
	}
	return a
}

func levelWord(l slog.Level) string {
	switch {
	case l >= slog.LevelError:
		return "error"
	case l >= slog.LevelWarn:
		return "warning"
	case l >= slog.LevelInfo:
		return "info"
	}
	return "debug"
}
