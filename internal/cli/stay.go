package cli

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"assetferry/internal/clock"
	"assetferry/internal/config"
	"assetferry/internal/sandbox"
	"assetferry/internal/turns"
	"assetferry/internal/ui"
)

// defaultRescan is how long a command that watches relies on being told of changes.
const defaultRescan = 15 * time.Minute

// stayOptions say whether a command stays, and what it waits for.
type stayOptions struct {
	watch  bool
	rescan time.Duration
}

func addStayFlags(f *pflag.FlagSet, o *stayOptions) {
	f.BoolVar(&o.watch, "watch", false, "stay, and run again whenever something changes in the source, which is a folder")
	f.DurationVar(&o.rescan, "rescan", 0, fmt.Sprintf("stay, and run again after this `duration`; with --watch also where no change was seen (default %v)", defaultRescan))
}

// A turn is what a command that stays does again and again, each time with an app of its
// own.
type turn func(context.Context, *app) error

// stay has a command take turns, if it is to stay, or else do its work once.
func (a *app) stay(ctx context.Context, cmd *cobra.Command, source string, o stayOptions, do turn) error {
	if !o.watch && !cmd.Flags().Changed("rescan") {
		return do(ctx, a)
	}
	if err := mayStay(cmd, source, o); err != nil {
		return err
	}
	o.rescan = cmp.Or(o.rescan, defaultRescan)
	a.loop = a.newLoop(source, o)
	var last error // of a turn that ends it
	a.loop.Run(ctx, func(ctx context.Context) turns.Verdict {
		code, interrupted := a.takeTurn(ctx, do)
		verdict := verdictOf(code)
		if interrupted {
			verdict = turns.Ends
		}
		if verdict == turns.Ends {
			last = said(code)
		} else if ctx.Err() == nil {
			a.tellNext(o, verdict)
		}
		return verdict
	})
	return last
}

// mayStay refuses what makes no sense for a command that stays.
func mayStay(cmd *cobra.Command, source string, o stayOptions) error {
	if o.watch && config.IsAddress(source) {
		return usage(errors.New("--watch needs a folder: only there the system tells of changes"), "use --rescan alone, such as --rescan 15m")
	}
	if cmd.Flags().Changed("rescan") && o.rescan < time.Second {
		return usage(errors.New("--rescan must be at least 1s"), fmt.Sprintf("%v is usual", defaultRescan))
	}
	for _, once := range singleRunFlags {
		if cmd.Flags().Changed(once) {
			return usage(fmt.Errorf("--%s is for one run, and with --watch or --rescan there are many", once), "run it once with that, then leave it out")
		}
	}
	if !config.IsAddress(source) { // a mistyped path is a mistake now, and a disk that is missing later on is waited for
		if info, err := os.Stat(source); err != nil || !info.IsDir() {
			return with(exitError, fmt.Errorf("there is no folder %s", ui.Sanitize(source)), "check the path; is the disk mounted?")
		}
	}
	if name, _ := cmd.Flags().GetString("files-from"); name == "-" {
		return usage(errors.New("stdin can be read once, and with --watch or --rescan there are many runs"), "name a file with --files-from")
	}
	return nil
}

func (a *app) newLoop(source string, o stayOptions) *turns.Loop {
	options := turns.Options{
		Marker: sandbox.MarkerFile, Rescan: o.rescan, Log: a.out.Log(),
		Tell: func(text string) { a.out.Log().Warn(text) },
	}
	if o.watch {
		options.Root = source
	}
	l := turns.New(options)
	for _, own := range []string{a.settings.LogFile, a.settings.Metrics} { // the others as soon as they are known
		if own != "" {
			l.Ignore([]string{own})
		}
	}
	return l
}

// takeTurn does the work once, from the first contact to the last line, and reports its
// exit code and whether somebody interrupted it, even if it was too late for the code.
func (a *app) takeTurn(ctx context.Context, do turn) (code int, interrupted bool) {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	t := &app{
		environment: a.environment, out: a.out, settings: a.settings, called: a.called, command: a.command, loop: a.loop,
		stop: make(chan struct{}), abort: cancel,
	}
	a.turn.Store(t)
	code = t.end(because(ctx, do(ctx, t)))
	a.turn.Store(nil)
	select {
	case <-t.stop:
		return code, t.why == errInterrupted
	default:
		return code, false
	}
}

// verdictOf says how it goes on after a run. What another run at once would not better is
// left until the time has come, and what a person has to do something about ends it.
func verdictOf(code int) turns.Verdict {
	switch code {
	case exitDone, exitItems:
		return turns.Goes
	case exitUsage, exitAuth, exitInterrupted:
		return turns.Ends
	}
	return turns.Pauses
}

// tellNext says what is waited for.
func (a *app) tellNext(o stayOptions, v turns.Verdict) {
	at := clock.Now().Add(o.rescan).Local().Format(time.DateTime)
	switch {
	case !o.watch:
		a.out.Notef("The next run is at %s.", at)
	case v == turns.Pauses:
		a.out.Notef("The next run is at %s, whatever changes until then.", at)
	default:
		a.out.Notef("The next run is when something changes, or at %s.", at)
	}
}
