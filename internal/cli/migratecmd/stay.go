package migratecmd

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"assetferry/internal/cli/cmdline"
	"assetferry/internal/cli/command"
	"assetferry/internal/cli/exit"
	"assetferry/internal/clock"
	"assetferry/internal/config"
	"assetferry/internal/sandbox/datadir"
	"assetferry/internal/ui"
	"assetferry/internal/watchloop"
)

// defaultRescan is the interval of runs with --watch if no change is seen.
const defaultRescan = 15 * time.Minute

// StayOptions are the flags for repeated runs.
type StayOptions struct {
	watch  bool
	rescan time.Duration
}

// AddStayFlags adds the flags for repeated runs.
func AddStayFlags(f *pflag.FlagSet, o *StayOptions) {
	f.BoolVar(&o.watch, "watch", false, "keep running, and run again when the source folder changes")
	f.DurationVar(&o.rescan, "rescan", 0, fmt.Sprintf("keep running, and run again after this `duration`; with --watch, even without a change (default with --watch: %v)", defaultRescan))
}

// stay runs a command repeatedly if the flags ask for it, and else once.
func stay(ctx context.Context, f *command.Factory, cmd *cobra.Command, source string, o StayOptions, do command.Iteration) error {
	if !o.watch && !cmd.Flags().Changed("rescan") {
		return do(ctx, f)
	}
	if err := mayStay(cmd, source, o); err != nil {
		return err
	}
	o.rescan = cmp.Or(o.rescan, defaultRescan)
	f.Loop = newLoop(f, source, o)
	var last error // of the run that ends the loop
	f.Loop.Run(ctx, func(ctx context.Context) watchloop.Next {
		code, interrupted := f.RunIteration(ctx, do)
		verdict := verdictOf(code)
		if interrupted {
			verdict = watchloop.Stop
		}
		if verdict == watchloop.Stop {
			last = exit.Said(code)
		} else if ctx.Err() == nil {
			printNextRun(f, o, verdict)
		}
		return verdict
	})
	return last
}

// mayStay refuses flags that exclude repeated runs.
func mayStay(cmd *cobra.Command, source string, o StayOptions) error {
	if o.watch && config.IsURL(source) {
		return exit.Usage(errors.New("--watch needs a folder: the system reports no changes of other sources"), "use only --rescan, such as --rescan 15m")
	}
	if cmd.Flags().Changed("rescan") && o.rescan < time.Second {
		return exit.Usage(errors.New("--rescan must be at least 1s"), fmt.Sprintf("%v is usual", defaultRescan))
	}
	for _, once := range cmdline.SingleRunFlags {
		if cmd.Flags().Changed(once) {
			return exit.Usage(fmt.Errorf("--%s is for a single run, not for --watch or --rescan", once), fmt.Sprintf("run it once with --%s, then without", once))
		}
	}
	if !config.IsURL(source) { // later runs wait for a missing disk; a missing path now is an error
		if info, err := os.Stat(source); err != nil || !info.IsDir() {
			return exit.With(exit.CodeError, fmt.Errorf("folder %s does not exist", ui.Sanitize(source)), "check the path, and that the disk is mounted")
		}
	}
	if name, _ := cmd.Flags().GetString("files-from"); name == "-" {
		return exit.Usage(errors.New("--files-from - is for a single run, not for --watch or --rescan"), "use a file with --files-from")
	}
	return nil
}

func newLoop(f *command.Factory, source string, o StayOptions) *watchloop.Loop {
	options := watchloop.Options{
		Marker: datadir.MarkerFile, Rescan: o.rescan, Log: f.Out.Log(),
		Report: func(text string) { f.Out.Log().Warn(text) },
	}
	if o.watch {
		options.Root = source
	}
	l := watchloop.New(options)
	for _, own := range []string{f.Settings.LogFile, f.Settings.Metrics} { // the others are added when they are known
		if own != "" {
			l.Ignore([]string{own})
		}
	}
	return l
}

// verdictOf returns what follows a run with an exit code. Errors that only a person can fix end the
// loop; other errors wait for the next interval.
func verdictOf(code int) watchloop.Next {
	switch code {
	case exit.CodeDone, exit.CodeItems:
		return watchloop.AfterChange
	case exit.CodeUsage, exit.CodeAuth, exit.CodeInterrupted:
		return watchloop.Stop
	}
	return watchloop.AfterRescan
}

// printNextRun prints when the next run begins.
func printNextRun(f *command.Factory, o StayOptions, v watchloop.Next) {
	at := clock.Now().Add(o.rescan).Local().Format(time.DateTime)
	switch {
	case !o.watch:
		f.Out.Notef("Next run: at %s.", at)
	case v == watchloop.AfterRescan:
		f.Out.Notef("Next run: at %s, not earlier.", at)
	default:
		f.Out.Notef("Next run: after a change, or at %s.", at)
	}
}
