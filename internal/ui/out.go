// Package ui writes everything that people and programs see of a run: results, progress, log
// lines and JSON events.
//
// One Out owns both streams and serialises them. Results go to stdout; diagnostics, progress
// and logs go to stderr. The only control character is the carriage return that redraws the
// progress bar: there are no colours and no cursor movements, so every terminal works.
package ui

import (
	"fmt"
	"io"
	"log/slog"
	"os"
	"strings"
	"sync"
	"time"
	"unicode"

	"golang.org/x/term"

	"assetferry/internal/event"
)

// Options define where output goes and how detailed it is.
type Options struct {
	Stdout, Stderr io.Writer

	JSON     bool   // stdout is JSON Lines
	Quiet    bool   // no progress, errors only
	Verbose  bool   // log lines down to debug
	Progress string // "auto" (or empty), "bar", "plain", "none"

	// Hint has commands in notes and hints begin with the path of this program; may be nil.
	Hint func(string) string
	// Redact removes secrets from all output; may be nil. It is a second check: text from the
	// outside is redacted where it is read.
	Redact func(string) string

	LogFile io.Writer // gets every log record as JSON; may be nil

	Now        func() time.Time // time.Now if nil
	IsTerminal func() bool      // whether Stderr is a terminal; asks the system if nil
	Width      func() int       // columns of the terminal; asks the system if nil
}

// programName is the name that commands in texts have before they are adapted.
const programName = "assetferry"

// Out writes results, diagnostics, progress and logs. Its methods may be called
// from several goroutines at once.
type Out struct {
	json    bool
	quiet   bool
	verbose bool
	hint    func(string) string
	program string // the name that commands begin with
	now     func() time.Time
	width   func() int
	redact  func(string) string

	noteColumns, resultColumns func() int // to wrap lines at; 0: no terminal

	log      *slog.Logger
	file     *slog.Logger // the log file alone
	progress *Progress

	results sync.Mutex // held while writing to stdout, which may take as long as its reader likes
	stdout  io.Writer

	mu     sync.Mutex // held while writing to stderr, so that lines stay whole; protects the fields below
	stderr io.Writer
	bar    string // the bar that belongs on the terminal's last line; empty if there is none
	drawn  string // the one that is there
	hidden bool   // a result is being written, so nothing may be drawn
	err    error  // the first failure to write to stdout
}

// New returns an Out.
func New(o Options) *Out {
	out := &Out{
		json:    o.JSON,
		quiet:   o.Quiet,
		verbose: o.Verbose,
		hint:    o.Hint,
		now:     o.Now,
		width:   o.Width,
		stdout:  o.Stdout,
		stderr:  o.Stderr,
		redact:  o.Redact,
	}
	if out.redact == nil {
		out.redact = func(text string) string { return text }
	}
	if o.LogFile != nil {
		o.LogFile = redacting{o.LogFile, out.redact}
	}
	if out.hint == nil {
		out.hint = func(text string) string { return text }
	}
	out.program = strings.TrimSuffix(out.hint(programName+" status"), " status")
	if out.now == nil {
		out.now = time.Now
	}
	if out.width == nil {
		out.width = func() int { return terminalWidth(o.Stderr) }
	}
	out.noteColumns, out.resultColumns = wrapWidth(o, o.Stderr), wrapWidth(o, o.Stdout)
	isTerminal := o.IsTerminal
	if isTerminal == nil {
		isTerminal = func() bool { return drawsBars(o.Stderr) }
	}
	out.log, out.file = newLogger(out, o.LogFile), slog.New(slog.DiscardHandler)
	if o.LogFile != nil {
		out.file = slog.New(newFileHandler(o.LogFile))
	}
	out.progress = &Progress{out: out, form: chooseForm(o, isTerminal), events: o.JSON && showsProgress(o)}
	return out
}

// Log returns the logger: terse lines on stderr, full records in the log file.
func (o *Out) Log() *slog.Logger { return o.log }

// Progress returns the progress display; there is only one.
func (o *Out) Progress() *Progress { return o.progress }

// JSON reports whether stdout is JSON Lines.
func (o *Out) JSON() bool { return o.json }

// Verbose reports whether the user asked for more output.
func (o *Out) Verbose() bool { return o.verbose }

// Printf writes result lines to stdout; a missing last line break is added. In
// JSON mode it writes nothing, so that a command may call both Printf and Event
// without asking. Text from the outside goes through Sanitize first.
func (o *Out) Printf(format string, args ...any) {
	if !o.json {
		text := fmt.Sprintf(format, args...)
		if !strings.HasSuffix(text, "\n") {
			text += "\n"
		}
		o.result(wrapLines(text, o.resultColumns(), o.program))
	}
}

// Stream writes a piece of a long result to stdout, with its line breaks but without control
// codes. In JSON mode it writes nothing.
func (o *Out) Stream(piece string) {
	if !o.json {
		o.result(clean(piece, true))
	}
}

// Notef writes lines for people to stderr.
func (o *Out) Notef(format string, args ...any) {
	if !o.quiet {
		o.note(o.wrapped(o.hint(fmt.Sprintf(format, args...))) + "\n")
	}
}

// Next writes the step after a result to stderr: its purpose, and the command on a line of its
// own. Either may be empty.
func (o *Out) Next(purpose, command string) {
	if len(purpose) > 1 && !unicode.IsUpper(rune(purpose[1])) {
		purpose = strings.ToLower(purpose[:1]) + purpose[1:]
	}
	switch {
	case command != "" && purpose != "":
		o.Notef("Next: %s\n  %s", purpose, command)
	case command != "":
		o.Notef("Next:\n  %s", command)
	case purpose != "":
		o.Notef("Next: %s", purpose)
	}
}

// Fail reports the error that ends the program, and a remedy, which may be empty.
func (o *Out) Fail(e event.Error) { o.fatal(e, "Try: ") }

// Stopped reports an error that needs no remedy; its hint is the command to continue with.
func (o *Out) Stopped(e event.Error) { o.fatal(e, "Next: ") }

func (o *Out) fatal(e event.Error, label string) {
	e.Hint = o.hint(e.Hint)
	text := o.wrapped(programName+": "+e.Message) + "\n"
	if e.Hint != "" {
		text += o.wrapped(label+e.Hint) + "\n"
	}
	o.note(text)
	o.file.Error(e.Message, "class", e.Class, "hint", e.Hint)
	o.Event("error", e)
}

// wrapped makes text safe for the terminal at stderr, and fits it there.
func (o *Out) wrapped(text string) string {
	return wrapLines(clean(text, true), o.noteColumns(), o.program)
}

// Err returns the first failure to write to stdout: lost results must not look like success.
func (o *Out) Err() error {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.err
}

// result puts whole lines on stdout, with the bar out of the way. It blocks while the reader
// of stdout is slow; notes still reach stderr.
func (o *Out) result(lines string) {
	o.results.Lock()
	defer o.results.Unlock()
	o.hide(true)
	_, err := io.WriteString(o.stdout, o.redact(lines))
	o.hide(false)
	if err != nil {
		o.fail(fmt.Errorf("write results: %w", err))
	}
}

// note puts whole lines on stderr, with the bar out of the way.
func (o *Out) note(lines string) {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.paint("")
	_, _ = io.WriteString(o.stderr, o.redact(lines)) // there is no other place to report a failure
	if !o.hidden {
		o.paint(o.bar)
	}
}

// draw replaces the bar; an empty one clears the line.
func (o *Out) draw(bar string) {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.bar = bar
	if !o.hidden {
		o.paint(bar)
	}
}

// hide removes the bar from the terminal, or shows it again.
func (o *Out) hide(on bool) {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.hidden = on
	if on {
		o.paint("")
	} else {
		o.paint(o.bar)
	}
}

// paint makes the last line of the terminal show a bar. The lock is held.
func (o *Out) paint(bar string) {
	if bar == o.drawn {
		return
	}
	rest := max(0, textWidth(o.drawn)-textWidth(bar)) // clear the rest of the old bar
	text := "\r" + bar + strings.Repeat(" ", rest)
	if bar == "" {
		text += "\r"
	}
	_, _ = io.WriteString(o.stderr, text) // a bar that cannot be seen is no failure
	o.drawn = bar
}

// fail keeps the first failure to write to stdout.
func (o *Out) fail(err error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.err == nil {
		o.err = err
	}
}

// IsTerminal reports whether a stream, read or written, is a terminal.
func IsTerminal(stream any) bool {
	f, ok := stream.(*os.File)
	return ok && term.IsTerminal(int(f.Fd()))
}

// drawsBars reports whether w is a terminal that can return to the start of a line.
func drawsBars(w io.Writer) bool {
	return IsTerminal(w) && os.Getenv("TERM") != "dumb"
}

func terminalWidth(w io.Writer) int {
	if f, ok := w.(*os.File); ok {
		if width, _, err := term.GetSize(int(f.Fd())); err == nil && width > 0 {
			return width
		}
	}
	return 80
}

// wrapWidth returns a function for the columns that lines on w must fit into; 0 is no limit.
func wrapWidth(o Options, w io.Writer) func() int {
	switch {
	case o.IsTerminal != nil && o.Width != nil && o.IsTerminal(): // a test
		return o.Width
	case IsTerminal(w):
		return func() int { return terminalWidth(w) }
	}
	return func() int { return 0 }
}

// Event writes one JSON line to stdout, see event.Marshal. Without JSON mode it writes nothing.
func (o *Out) Event(kind string, fields any) {
	if !o.json {
		return
	}
	line, err := event.Marshal(kind, o.now(), fields)
	if err != nil { // a programming error; say so rather than lose the line
		line, _ = event.Marshal("error", o.now(), event.Error{Class: "error", Message: kind + " event: " + err.Error()})
	}
	o.result(line + "\n")
}
