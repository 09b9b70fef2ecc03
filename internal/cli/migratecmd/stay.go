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

// defaultRescan is how long a command that watches relies on being told of changes.
const defaultRescan = 15 * time.Minute

// StayOptions say whether a command stays, and what it waits for.
type StayOptions struct {
	watch  bool
	rescan time.Duration
}

// AddStayFlags adds the flags of commands that can run again and again.
func AddStayFlags(f *pflag.FlagSet, o *StayOptions) {
	f.BoolVar(&o.watch, "watch", false, "stay, and run again whenever something changes in the source, which is a folder")
	f.DurationVar(&o.rescan, "rescan", 0, fmt.Sprintf("stay, and run again after this `duration`; with --watch also where no change was seen (default %v)", defaultRescan))
}

// stay has a command take turns, if it is to stay, or else do its work once.
func stay(ctx context.Context, f *command.Factory, cmd *cobra.Command, source string, o StayOptions, do command.Turn) error {
	if !o.watch && !cmd.Flags().Changed("rescan") {
		return do(ctx, f)
	}
	if err := mayStay(cmd, source, o); err != nil {
		return err
	}
	o.rescan = cmp.Or(o.rescan, defaultRescan)
	f.Loop = newLoop(f, source, o)
	var last error // of a turn that ends it
	f.Loop.Run(ctx, func(ctx context.Context) watchloop.Next {
		code, interrupted := f.TakeTurn(ctx, do)
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

// mayStay refuses what makes no sense for a command that stays.
func mayStay(cmd *cobra.Command, source string, o StayOptions) error {
	if o.watch && config.IsAddress(source) {
		return exit.Usage(errors.New("--watch needs a folder: only there the system tells of changes"), "use --rescan alone, such as --rescan 15m")
	}
	if cmd.Flags().Changed("rescan") && o.rescan < time.Second {
		return exit.Usage(errors.New("--rescan must be at least 1s"), fmt.Sprintf("%v is usual", defaultRescan))
	}
	for _, once := range cmdline.SingleRunFlags {
		if cmd.Flags().Changed(once) {
			return exit.Usage(fmt.Errorf("--%s is for one run, and with --watch or --rescan there are many", once), "run it once with that, then leave it out")
		}
	}
	if !config.IsAddress(source) { // a mistyped path is a mistake now, and a disk that is missing later on is waited for
		if info, err := os.Stat(source); err != nil || !info.IsDir() {
			return exit.With(exit.CodeError, fmt.Errorf("there is no folder %s", ui.Sanitize(source)), "check the path; is the disk mounted?")
		}
	}
	if name, _ := cmd.Flags().GetString("files-from"); name == "-" {
		return exit.Usage(errors.New("stdin can be read once, and with --watch or --rescan there are many runs"), "name a file with --files-from")
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
	for _, own := range []string{f.Settings.LogFile, f.Settings.Metrics} { // the others as soon as they are known
		if own != "" {
			l.Ignore([]string{own})
		}
	}
	return l
}

// verdictOf says how it goes on after a run. What another run at once would not better is
// left until the time has come, and what a person has to do something about ends it.
func verdictOf(code int) watchloop.Next {
	switch code {
	case exit.CodeDone, exit.CodeItems:
		return watchloop.AfterChange
	case exit.CodeUsage, exit.CodeAuth, exit.CodeInterrupted:
		return watchloop.Stop
	}
	return watchloop.AfterRescan
}

// printNextRun says what is waited for.
func printNextRun(f *command.Factory, o StayOptions, v watchloop.Next) {
	at := clock.Now().Add(o.rescan).Local().Format(time.DateTime)
	switch {
	case !o.watch:
		f.Out.Notef("The next run is at %s.", at)
	case v == watchloop.AfterRescan:
		f.Out.Notef("The next run is at %s, whatever changes until then.", at)
	default:
		f.Out.Notef("The next run is when something changes, or at %s.", at)
	}
}
