// Package cli is the command line of assetferry: flags become settings, settings become the
// parts of the engine, errors become exit codes and one line with a hint. Each command has a
// file of its own, and so has each topic of the help, in the folder help.
package cli

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
	"github.com/spf13/pflag"

	"assetferry/internal/approvers"
	"assetferry/internal/clock"
	"assetferry/internal/config"
	"assetferry/internal/event"
	"assetferry/internal/private"
	"assetferry/internal/redact"
	"assetferry/internal/runstatus"
	"assetferry/internal/turns"
	"assetferry/internal/ui"
	"assetferry/sources/remote"
)

// An environment is what a process gets from outside, so that tests can give it.
type environment struct {
	stdin          io.Reader
	stdout, stderr io.Writer
	lookup         config.Env
	signals        chan os.Signal
	outOfReach     func(file string) error // see approvers.OutOfReach
}

func stdEnv() environment {
	signals := make(chan os.Signal, 3)
	signal.Notify(signals, os.Interrupt, syscall.SIGTERM)
	if !signal.Ignored(syscall.SIGHUP) { // as under nohup
		signal.Notify(signals, syscall.SIGHUP)
	}
	return environment{os.Stdin, os.Stdout, os.Stderr, os.LookupEnv, signals, approvers.OutOfReach}
}

// An app is one invocation.
type app struct {
	environment
	out      *ui.Out
	settings *config.Settings
	called   *cobra.Command
	command  string // its name
	planFile string // that is written or carried out, empty without one

	embedded sandboxAt      // where the embedded sandbox is, once it runs
	read     *destination   // what is read as a source, if that is a workspace
	headers  remote.Headers // that open the source, once they were asked for

	redactor *redact.Redactor // of all secrets that this process has

	closers   []func() error       // undo what was opened, last first
	logFile   io.Closer            // closed after everything that may be logged
	publisher *runstatus.Publisher // for others, nil if there are none
	summary   *event.Summary       // the last line of a run

	stop     chan struct{} // closed to drain
	draining atomic.Bool   // there is something that can be finished in good order
	ending   sync.Once     // closes stop
	why      error         // it was closed
	abort    context.CancelCauseFunc

	turn atomic.Pointer[app] // of a command that takes turns, while there is one
	loop *turns.Loop         // that a turn is of
}

// Main carries out the command that the arguments of this process are, and gives its exit code.
func Main(args []string) (code int) { return run(context.Background(), args, stdEnv()) }

// run is Main without the process.
func run(ctx context.Context, args []string, e environment) int {
	a := newApp(e, slices.Contains(args, "--json"))
	root := a.rootCommand()
	if isCompletion(args) {
		a.addCompletions(root)
	}
	root.SetArgs(args)
	return a.run(ctx, root)
}

// newApp makes the factory of an invocation. Until the flags are known, mistakes in them are
// shown as JSON or as text.
func newApp(e environment, json bool) *app {
	a := &app{environment: e, command: "assetferry", redactor: redact.New(), stop: make(chan struct{})}
	a.out = ui.New(ui.Options{Stdout: e.stdout, Stderr: e.stderr, Progress: "none", JSON: json, Now: clock.Now, Redact: a.redactor.Text, Hint: callable})
	return a
}

// run executes the command that was called, reports how it ended, and returns its exit code.
func (a *app) run(ctx context.Context, root *cobra.Command) int {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	a.abort = cancel
	done := make(chan struct{})
	var watcher sync.WaitGroup
	watcher.Go(func() { a.watchSignals(done) })
	code := a.end(because(ctx, root.ExecuteContext(ctx)))
	close(done)
	watcher.Wait()
	return code
}

// because is why a command ended early, where its error only follows from that.
func because(ctx context.Context, err error) error {
	if cause := context.Cause(ctx); err != nil && !isSaid(err) && (cause == errInterrupted || cause == errWindow) {
		return cause
	}
	return err
}

// end tells how the command ended, closes everything, and gives the exit code.
// The summary comes last, because it has that code.
func (a *app) end(err error) int {
	code := a.report(err)
	for _, c := range slices.Backward(a.closers) {
		code = worse(code, a.report(c()))
	}
	a.publishEnd(code)
	if a.logFile != nil {
		code = worse(code, a.report(a.logFile.Close()))
	}
	if a.summary != nil {
		a.summary.Exit = code
		a.out.Event("summary", *a.summary)
	}
	if err := a.out.Err(); err != nil { // stdout is no place to tell it
		fmt.Fprintln(a.stderr, "assetferry:", err)
		code = worse(code, exitError)
	}
	return code
}

// closeLater has something closed when the command is over.
func (a *app) closeLater(c func() error) { a.closers = append(a.closers, c) }

// watchSignals drains on the first signal, aborts on the second, and dies on the
// third. Where there is nothing to drain the first aborts. A terminal that is closed
// hangs up more than once, and means no more by that.
func (a *app) watchSignals(done <-chan struct{}) {
	for n := 0; ; {
		var s os.Signal
		select {
		case <-done:
			return
		case s = <-a.signals:
		}
		if s == syscall.SIGHUP && n > 0 {
			continue
		}
		n++
		switch {
		case n == 1:
			a.endEarly(errInterrupted, "Interrupted: finishing what has begun. Interrupt again to abort it.")
		case n == 2:
			a.abort(errInterrupted)
		default:
			os.Exit(exitInterrupted)
		}
	}
}

// endEarly drains, where there is something that can be finished in good order and
// that is not happening yet, and aborts otherwise.
func (a *app) endEarly(why error, say string) {
	if !a.drain(why, say) {
		a.abort(why)
	}
}

func (a *app) drain(why error, say string) (drains bool) {
	if t := a.turn.Load(); t != nil {
		return t.drain(why, say)
	}
	if a.draining.Load() {
		a.ending.Do(func() {
			drains = true
			a.why = why
			close(a.stop)
			a.out.Notef("%s", say) // what is told has happened
		})
	}
	return drains
}

// whyStopped is why a run was drained; it is known once that has ended.
func (a *app) whyStopped() error { return a.why }

// A work is what a command does once its settings are known.
type work func(ctx context.Context, cmd *cobra.Command, args []string) error

// do wraps a command's work: settings are loaded and the output is set up first.
func (a *app) do(w work) func(*cobra.Command, []string) error {
	return func(cmd *cobra.Command, args []string) error {
		if err := a.configure(cmd); err != nil {
			return err
		}
		return w(cmd.Context(), cmd, args)
	}
}

func (a *app) configure(cmd *cobra.Command) error {
	a.called, a.command = cmd, cmd.CommandPath()
	if err := together(cmd, "quiet", "verbose", ""); err != nil {
		return err
	}
	a.out = a.newOut(cmd, "none", nil) // mistakes in the settings are told in the form asked for
	if err := a.loadSettings(cmd); err != nil {
		return err
	}
	logFile, repaired, err := a.openLog(a.settings.LogFile)
	if err != nil {
		return err
	}
	a.out = a.newOut(cmd, a.settings.Progress, logFile)
	if a.settings.JobIsDefault {
		a.out.Notef("Job          %s (%s)", a.settings.Job, ui.Sanitize(a.settings.File))
	}
	return a.noteRepaired(repaired, nil)
}

// openLog opens what --log-file names, nil for nothing. /dev/stderr and /dev/stdout are our
// own: as files they are links, or belong to another account.
func (a *app) openLog(path string) (w io.Writer, repaired []string, err error) {
	switch path {
	case "":
		return nil, nil, nil
	case "/dev/stderr":
		return a.stderr, nil, nil
	case "/dev/stdout":
		if a.out.JSON() {
			return nil, nil, usage(errors.New("--json and --log-file both want stdout"), "--log-file /dev/stderr")
		}
		return a.stdout, nil, nil
	}
	f, closed, err := private.OpenLog(path)
	if err != nil {
		hint := cmp.Or(hintOf(err), "name a file that can be written with --log-file")
		return nil, nil, usage(fmt.Errorf("open log file: %w", err), hint)
	}
	a.logFile = f
	if closed {
		repaired = []string{path}
	}
	return f, repaired, nil
}

// given are the switches that a command was called with, by name.
func given(cmd *cobra.Command) map[string][]string {
	values := map[string][]string{}
	cmd.Flags().Visit(func(f *pflag.Flag) {
		if list, ok := f.Value.(pflag.SliceValue); ok {
			values[f.Name] = list.GetSlice()
		} else {
			values[f.Name] = []string{f.Value.String()}
		}
	})
	return values
}

func (a *app) newOut(cmd *cobra.Command, progress string, logFile io.Writer) *ui.Out {
	flag := func(name string) bool { on, _ := cmd.Flags().GetBool(name); return on }
	return ui.New(ui.Options{
		Stdout: a.stdout, Stderr: a.stderr, Progress: progress, LogFile: logFile, Now: clock.Now, Redact: a.redactor.Text, Hint: callable,
		JSON: flag("json"), Quiet: flag("quiet"), Verbose: flag("verbose"),
	})
}
