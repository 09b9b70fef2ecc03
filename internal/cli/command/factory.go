// Package command holds what all commands share: the Factory, which opens settings, output,
// state database, source, destination and AI service when a command first asks for them, and
// ends the command in good order.
package command

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/signal"
	"slices"
	"sync"
	"sync/atomic"
	"syscall"

	"github.com/spf13/cobra"

	"assetferry/internal/approvers"
	"assetferry/internal/cli/cmdline"
	"assetferry/internal/cli/exit"
	"assetferry/internal/clock"
	"assetferry/internal/config"
	"assetferry/internal/event"
	"assetferry/internal/private"
	"assetferry/internal/redact"
	"assetferry/internal/runstatus"
	"assetferry/internal/ui"
	"assetferry/internal/watchloop"
	"assetferry/sources/remote"
)

// An Environment is what a process gets from outside, so that tests can give it.
type Environment struct {
	Stdin          io.Reader
	Stdout, Stderr io.Writer
	Lookup         config.Env
	Signals        chan os.Signal
	OutOfReach     func(file string) error // see approvers.OutOfReach
}

// StdEnv is the environment of this process.
func StdEnv() Environment {
	signals := make(chan os.Signal, 3)
	signal.Notify(signals, os.Interrupt, syscall.SIGTERM)
	if !signal.Ignored(syscall.SIGHUP) { // as under nohup
		signal.Notify(signals, syscall.SIGHUP)
	}
	return Environment{os.Stdin, os.Stdout, os.Stderr, os.LookupEnv, signals, approvers.OutOfReach}
}

// A Factory is one invocation of the program. A command is made by a function that takes it,
// and gets from it the settings, the output, and whatever it opens; what was opened is closed
// at the end.
type Factory struct {
	Environment
	Out      *ui.Out
	Settings *config.Settings
	Called   *cobra.Command
	Command  string // its path, beginning with assetferry
	PlanFile string // that is written or carried out, empty without one

	embedded sandboxAt      // where the embedded sandbox is, once it runs
	read     *Destination   // what is read as a source, if that is a workspace
	headers  remote.Headers // that open the source, once they were asked for

	Redactor *redact.Redactor // of all secrets that this process has

	closers   []func() error       // undo what was opened, last first
	logFile   io.Closer            // closed after everything that may be logged
	Publisher *runstatus.Publisher // for others, nil if there are none
	Summary   *event.Summary       // the last line of a run

	Stop     chan struct{} // closed to drain
	Draining atomic.Bool   // there is something that can be finished in good order
	ending   sync.Once     // closes stop
	why      error         // it was closed
	abort    context.CancelCauseFunc

	turn atomic.Pointer[Factory] // of a command that takes turns, while there is one
	Loop *watchloop.Loop         // that a turn is of
}

// New makes the factory of an invocation. Until the flags are known, mistakes in them are
// shown as JSON or as text.
func New(e Environment, json bool) *Factory {
	f := &Factory{Environment: e, Command: "assetferry", Redactor: redact.New(), Stop: make(chan struct{})}
	f.Out = ui.New(ui.Options{Stdout: e.Stdout, Stderr: e.Stderr, Progress: "none", JSON: json, Now: clock.Now, Redact: f.Redactor.Text, Hint: cmdline.Callable})
	return f
}

// Run executes the command that was called, reports how it ended, and returns its exit code.
func (f *Factory) Run(ctx context.Context, root *cobra.Command) int {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	f.abort = cancel
	done := make(chan struct{})
	var watcher sync.WaitGroup
	watcher.Go(func() { f.watchSignals(done) })
	code := f.end(Because(ctx, root.ExecuteContext(ctx)))
	close(done)
	watcher.Wait()
	return code
}

// Because is why a command ended early, where its error only follows from that.
func Because(ctx context.Context, err error) error {
	if cause := context.Cause(ctx); err != nil && !exit.IsSaid(err) && !errors.Is(err, cause) && (cause == exit.ErrInterrupted || cause == exit.ErrWindow) {
		return cause
	}
	return err
}

// end tells how the command ended, closes everything, and gives the exit code.
// The summary comes last, because it has that code.
func (f *Factory) end(err error) int {
	code := f.report(err)
	for _, c := range slices.Backward(f.closers) {
		code = exit.Worse(code, f.report(c()))
	}
	f.publishEnd(code)
	if f.logFile != nil {
		code = exit.Worse(code, f.report(f.logFile.Close()))
	}
	if f.Summary != nil {
		f.Summary.Exit = code
		f.Out.Event("summary", *f.Summary)
	}
	if err := f.Out.Err(); err != nil { // stdout is no place to tell it
		fmt.Fprintln(f.Stderr, "assetferry:", err)
		code = exit.Worse(code, exit.CodeError)
	}
	return code
}

// CloseLater has something closed when the command is over.
func (f *Factory) CloseLater(c func() error) { f.closers = append(f.closers, c) }

// watchSignals drains on the first signal, aborts on the second, and dies on the
// third. Where there is nothing to drain the first aborts. A terminal that is closed
// hangs up more than once, and means no more by that.
func (f *Factory) watchSignals(done <-chan struct{}) {
	for n := 0; ; {
		var s os.Signal
		select {
		case <-done:
			return
		case s = <-f.Signals:
		}
		if s == syscall.SIGHUP && n > 0 {
			continue
		}
		n++
		switch {
		case n == 1:
			f.endEarly(exit.ErrInterrupted, "Interrupted: finishing what has begun. Interrupt again to abort it.")
		case n == 2:
			f.abort(exit.ErrInterrupted)
		default:
			os.Exit(exit.CodeInterrupted)
		}
	}
}

// endEarly drains, where there is something that can be finished in good order and
// that is not happening yet, and aborts otherwise.
func (f *Factory) endEarly(why error, say string) {
	if !f.drain(why, say) {
		f.abort(why)
	}
}

func (f *Factory) drain(why error, say string) (drains bool) {
	if t := f.turn.Load(); t != nil {
		return t.drain(why, say)
	}
	if f.Draining.Load() {
		f.ending.Do(func() {
			drains = true
			f.why = why
			close(f.Stop)
			f.Out.Notef("%s", say) // what is told has happened
		})
	}
	return drains
}

// WhyStopped is why a run was drained; it is known once that has ended.
func (f *Factory) WhyStopped() error { return f.why }

// A Work is what a command does once its settings are known.
type Work func(ctx context.Context, cmd *cobra.Command, args []string) error

// Do wraps a command's work: settings are loaded and the output is set up first.
func (f *Factory) Do(w Work) func(*cobra.Command, []string) error {
	return func(cmd *cobra.Command, args []string) error {
		if err := f.Configure(cmd); err != nil {
			return err
		}
		return w(cmd.Context(), cmd, args)
	}
}

// Configure loads the settings of a command and sets up its output.
func (f *Factory) Configure(cmd *cobra.Command) error {
	f.Called, f.Command = cmd, cmd.CommandPath()
	if err := cmdline.Together(cmd, "quiet", "verbose", ""); err != nil {
		return err
	}
	f.Out = f.NewOut(cmd, "none", nil) // mistakes in the settings are told in the form asked for
	if err := f.loadSettings(cmd); err != nil {
		return err
	}
	logFile, repaired, err := f.openLog(f.Settings.LogFile)
	if err != nil {
		return err
	}
	f.Out = f.NewOut(cmd, f.Settings.Progress, logFile)
	if f.Settings.JobIsDefault {
		f.Out.Notef("Job          %s (%s)", f.Settings.Job, ui.Sanitize(f.Settings.File))
	}
	return f.noteRepaired(repaired, nil)
}

// openLog opens what --log-file names, nil for nothing. /dev/stderr and /dev/stdout are our
// own: as files they are links, or belong to another account.
func (f *Factory) openLog(path string) (w io.Writer, repaired []string, err error) {
	switch path {
	case "":
		return nil, nil, nil
	case "/dev/stderr":
		return f.Stderr, nil, nil
	case "/dev/stdout":
		if f.Out.JSON() {
			return nil, nil, exit.Usage(errors.New("--json and --log-file both want stdout"), "--log-file /dev/stderr")
		}
		return f.Stdout, nil, nil
	}
	file, closed, err := private.OpenLog(path)
	if err != nil {
		hint := cmp.Or(exit.HintOf(err), "name a file that can be written with --log-file")
		return nil, nil, exit.Usage(fmt.Errorf("open log file: %w", err), hint)
	}
	f.logFile = file
	if closed {
		repaired = []string{path}
	}
	return file, repaired, nil
}

// NewOut makes the output of a command by its flags.
func (f *Factory) NewOut(cmd *cobra.Command, progress string, logFile io.Writer) *ui.Out {
	flag := func(name string) bool { on, _ := cmd.Flags().GetBool(name); return on }
	return ui.New(ui.Options{
		Stdout: f.Stdout, Stderr: f.Stderr, Progress: progress, LogFile: logFile, Now: clock.Now, Redact: f.Redactor.Text, Hint: cmdline.Callable,
		JSON: flag("json"), Quiet: flag("quiet"), Verbose: flag("verbose"),
	})
}

// report tells a person why a command ended and gives its exit code.
func (f *Factory) report(err error) int {
	if err == nil {
		return exit.CodeDone
	}
	why := exit.FailureOf(err)
	if exit.IsSaid(err) {
		return why.Code
	}
	if why.Code == exit.CodeUsage {
		why.Hint = exit.OrHint(why.Hint, f.Command+" --help")
	}
	line := event.Error{Class: why.Class, Message: err.Error(), Hint: why.Hint}
	if why.Resumes {
		f.Out.Stopped(line)
	} else {
		f.Out.Fail(line)
	}
	if f.Publisher != nil {
		f.Publisher.Fail(line, why.Code == exit.CodeSafetyCheck)
	}
	return why.Code
}

// isSuccess reports whether a run that ended so needs nobody to look at it. What a budget
// or a time window left is brought by the next run, as somebody has wished.
func isSuccess(code int) bool { return code == exit.CodeDone || code == exit.CodeLimit }

// publishEnd tells others how the run ended.
func (f *Factory) publishEnd(code int) {
	if f.Publisher == nil {
		return
	}
	notifyErrs, metricsErr := f.Publisher.End(code, exit.Classes[code], isSuccess(code), f.Summary)
	if metricsErr != nil {
		f.Out.Log().Warn("the metrics were not written", "file", f.Publisher.File, "error", metricsErr)
	}
	for _, err := range notifyErrs {
		f.Out.Log().Warn(err.Error())
	}
}

// A Turn is what a command that stays does again and again, each time with a factory of
// its own.
type Turn func(context.Context, *Factory) error

// TakeTurn does the work once, from the first contact to the last line, and reports its
// exit code and whether somebody interrupted it, even if it was too late for the code.
func (f *Factory) TakeTurn(ctx context.Context, do Turn) (code int, interrupted bool) {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	t := &Factory{
		Environment: f.Environment, Out: f.Out, Settings: f.Settings, Called: f.Called, Command: f.Command, Loop: f.Loop,
		Stop: make(chan struct{}), abort: cancel,
	}
	f.turn.Store(t)
	code = t.end(Because(ctx, do(ctx, t)))
	f.turn.Store(nil)
	select {
	case <-t.Stop:
		return code, t.why == exit.ErrInterrupted
	default:
		return code, false
	}
}
