// Package command has the Factory that all commands share. It opens settings, output, state
// database, source, destination and AI service on demand, and closes them at the end.
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
	"assetferry/internal/rclone"
	"assetferry/internal/redact"
	"assetferry/internal/runstatus"
	"assetferry/internal/ui"
	"assetferry/internal/watchloop"
	"assetferry/sources/remote"
	"assetferry/state/actionlog"
)

// An Environment is the input of a process from outside, which tests replace.
type Environment struct {
	Stdin          io.Reader
	Stdout, Stderr io.Writer
	Lookup         config.Env
	Signals        chan os.Signal
	OutOfReach     func(file string) error // see approvers.OutOfReach
}

// StdEnv returns the environment of this process.
func StdEnv() Environment {
	signals := make(chan os.Signal, 3)
	signal.Notify(signals, os.Interrupt, syscall.SIGTERM)
	if !signal.Ignored(syscall.SIGHUP) { // as under nohup
		signal.Notify(signals, syscall.SIGHUP)
	}
	return Environment{os.Stdin, os.Stdout, os.Stderr, os.LookupEnv, signals, approvers.OutOfReach}
}

// A Factory is one call of the program. The constructor of a command takes it, and gets settings,
// output and connections from it. The Factory closes everything at the end.
type Factory struct {
	Environment
	Out      *ui.Out
	Settings *config.Settings
	Called   *cobra.Command
	Command  string // its path, beginning with assetferry
	PlanFile string // the plan that is written or carried out; may be empty

	scratch  *scratch                      // nil unless the command rehearses
	embedded sandboxAt                     // URL of the embedded sandbox, once it runs
	read     *Destination                  // the workspace that is the source, if it is one
	headers  remote.Headers                // for the source, once they are known
	account  siteAccount                   // for a WordPress site, once it is known
	rclone   *rclone.Server                // nil until a source needs it
	remote   atomic.Pointer[rclone.Remote] // that it reads, once it is known

	Redactor *redact.Redactor // of all secrets that this process has

	closers   []func() error       // run at the end, last first
	logFile   io.Closer            // closed after everything that may be logged
	Publisher *runstatus.Publisher // nil if there are neither metrics nor notifications
	Summary   *event.Summary       // the last line of a run

	Stop     chan struct{} // closed to drain
	Draining atomic.Bool   // the command can finish work in progress
	ending   sync.Once     // closes Stop
	why      error         // Stop was closed
	abort    context.CancelCauseFunc

	iteration atomic.Pointer[Factory] // of a command that keeps running
	Loop      *watchloop.Loop         // of this iteration
}

// New makes the factory of a call. json is the form of errors in flags, before the flags are known.
func New(e Environment, json bool) *Factory {
	f := &Factory{Environment: e, Command: "assetferry", Redactor: redact.New(), Stop: make(chan struct{})}
	f.Out = ui.New(ui.Options{Stdout: e.Stdout, Stderr: e.Stderr, Progress: "none", JSON: json, Now: clock.Now, Redact: f.Redactor.Text, Hint: cmdline.Callable})
	return f
}

// Run executes the command that was called, reports its error, and returns its exit code.
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

// Because returns the cause of an early end in place of an error that only follows from it.
func Because(ctx context.Context, err error) error {
	if cause := context.Cause(ctx); err != nil && !exit.IsSaid(err) && !errors.Is(err, cause) && (cause == exit.ErrInterrupted || cause == exit.ErrWindow) {
		return cause
	}
	return err
}

// end reports the error of the command, closes everything, and returns the exit code. The summary
// comes last, because it contains that code.
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
	if err := f.Out.Err(); err != nil { // stdout does not work
		fmt.Fprintln(f.Stderr, "assetferry:", err)
		code = exit.Worse(code, exit.CodeError)
	}
	return code
}

// CloseLater registers a function that runs at the end of the command.
func (f *Factory) CloseLater(c func() error) { f.closers = append(f.closers, c) }

// watchSignals drains on the first signal, aborts on the second, and exits on the third. A command
// that cannot drain is aborted at once. A closed terminal may send several SIGHUPs, which count as
// one.
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
			f.endEarly(exit.ErrInterrupted, "Interrupted: finishing work in progress. Interrupt again to abort it.")
		case n == 2:
			f.abort(exit.ErrInterrupted)
		default:
			os.Exit(exit.CodeInterrupted)
		}
	}
}

// endEarly drains the command if it can and does not yet; otherwise it aborts it.
func (f *Factory) endEarly(why error, say string) {
	if !f.drain(why, say) {
		f.abort(why)
	}
}

func (f *Factory) drain(why error, say string) (drains bool) {
	if t := f.iteration.Load(); t != nil {
		return t.drain(why, say)
	}
	if f.Draining.Load() {
		f.ending.Do(func() {
			drains = true
			f.why = why
			close(f.Stop)
			f.Out.Notef("%s", say) // after the fact
		})
	}
	return drains
}

// WhyStopped returns why a run was drained. It is known once the run has ended.
func (f *Factory) WhyStopped() error { return f.why }

// A Work is the body of a command. It runs once the settings are known.
type Work func(ctx context.Context, cmd *cobra.Command, args []string) error

// Do wraps the body of a command: it loads the settings and sets up the output first.
func (f *Factory) Do(w Work) func(*cobra.Command, []string) error {
	return func(cmd *cobra.Command, args []string) error {
		if err := f.Configure(cmd); err != nil {
			return err
		}
		return w(actionlog.WithActor(cmd.Context(), f.actor(args)), cmd, args)
	}
}

// Configure loads the settings of a command and sets up its output.
func (f *Factory) Configure(cmd *cobra.Command) error {
	f.Called, f.Command = cmd, cmd.CommandPath()
	if err := cmdline.Together(cmd, "quiet", "verbose", ""); err != nil {
		return err
	}
	f.Out = f.NewOut(cmd, "none", nil) // for mistakes in the settings
	if err := f.loadSettings(cmd); err != nil {
		return err
	}
	f.Settings.Today = clock.Now()
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

// openLog opens the file of --log-file, nil for none. /dev/stderr and /dev/stdout are the streams
// of this process: as files they are links, or belong to another account.
func (f *Factory) openLog(path string) (w io.Writer, repaired []string, err error) {
	switch path {
	case "":
		return nil, nil, nil
	case "/dev/stderr":
		return f.Stderr, nil, nil
	case "/dev/stdout":
		if f.Out.JSON() {
			return nil, nil, exit.Usage(errors.New("--json and --log-file both write to stdout"), "--log-file /dev/stderr")
		}
		return f.Stdout, nil, nil
	}
	file, closed, err := private.OpenLog(path)
	if err != nil {
		hint := cmp.Or(exit.HintOf(err), "name a writable file with --log-file")
		return nil, nil, exit.Usage(fmt.Errorf("open log file: %w", err), hint)
	}
	f.logFile = file
	if closed {
		repaired = []string{path}
	}
	return file, repaired, nil
}

// NewOut makes the output that the flags of a command ask for.
func (f *Factory) NewOut(cmd *cobra.Command, progress string, logFile io.Writer) *ui.Out {
	flag := func(name string) bool { on, _ := cmd.Flags().GetBool(name); return on }
	return ui.New(ui.Options{
		Stdout: f.Stdout, Stderr: f.Stderr, Progress: progress, LogFile: logFile, Now: clock.Now, Redact: f.Redactor.Text, Hint: cmdline.Callable,
		JSON: flag("json"), Quiet: flag("quiet"), Verbose: flag("verbose"),
	})
}

// report shows why a command ended, and returns its exit code.
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

// isSuccess reports whether a run with this exit code needs no attention. The next run does the
// rest of a run that reached a limit or the end of its time window.
func isSuccess(code int) bool { return code == exit.CodeDone || code == exit.CodeLimit }

// publishEnd notifies others of the end of the run.
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

// An Iteration is one run of a command that keeps running, each with its own factory.
type Iteration func(context.Context, *Factory) error

// RunIteration runs the work once. It returns the exit code, and whether there was an interrupt, even one
// too late for the code.
func (f *Factory) RunIteration(ctx context.Context, do Iteration) (code int, interrupted bool) {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	t := &Factory{
		Environment: f.Environment, Out: f.Out, Settings: f.Settings, Called: f.Called, Command: f.Command, Loop: f.Loop,
		Stop: make(chan struct{}), abort: cancel,
	}
	f.iteration.Store(t)
	code = t.end(Because(ctx, do(ctx, t)))
	f.iteration.Store(nil)
	select {
	case <-t.Stop:
		return code, t.why == exit.ErrInterrupted
	default:
		return code, false
	}
}
