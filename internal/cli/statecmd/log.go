package statecmd

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"assetferry/internal/cli/cmdline"
	"assetferry/internal/cli/command"
	"assetferry/internal/cli/exit"
	"assetferry/internal/event"
	"assetferry/internal/ui"
	"assetferry/state"
	"assetferry/state/actionlog"
)

func newLogCommand(f *command.Factory) *cobra.Command {
	var since, output, check string
	var head bool
	c := &cobra.Command{
		Use:   "log",
		Short: "Show, export or verify the action log",
		Long: `Log shows the action log of the state database: the commands that changed
something, with their account, host, configuration and overrides. Each entry
contains the checksum of the previous entry. The last line shows the checksum of
the last entry. Keep it in another place: with it, you can find any later change
of the log. For the fields and the limits, see assetferry help evidence.

With --head, log shows only that checksum. Runs with --json have it in their
summary. With --output, log writes an export of JSON Lines. With --check, log
verifies such an export, and needs no state database.
`,
		Example: `  assetferry state log --since 2026-01-31
  assetferry state log --output log.jsonl
  assetferry state log --check log.jsonl`,
		Args: cobra.NoArgs,
		RunE: f.Do(func(ctx context.Context, cmd *cobra.Command, _ []string) error {
			for _, other := range []string{"since", "output"} {
				if err := cmdline.Together(cmd, "check", other, ""); err != nil {
					return err
				}
			}
			for _, other := range []string{"since", "output", "check"} {
				if err := cmdline.Together(cmd, "head", other, ""); err != nil {
					return err
				}
			}
			if head {
				return showHead(ctx, f)
			}
			if check != "" {
				return checkLog(f, check)
			}
			return showLog(ctx, f, since, output)
		}),
	}
	c.Flags().BoolVar(&head, "head", false, "show only the number and the checksum of the last entry")
	c.Flags().StringVar(&since, "since", "", "begin with the first entry on or after this `date`, such as 2026-01-31")
	c.Flags().StringVar(&output, "output", "", "write an export to this `file`; - is stdout")
	c.Flags().StringVar(&check, "check", "", "verify the export in this `file`")
	return c
}

func showLog(ctx context.Context, f *command.Factory, since, output string) error {
	var from time.Time
	if since != "" {
		var err error
		if from, err = time.ParseInLocation(time.DateOnly, since, time.Local); err != nil {
			return exit.Usage(fmt.Errorf("--since: %q is not a date", since), "such as 2026-01-31")
		}
	}
	store, err := f.ReadState(ctx)
	if err != nil {
		return err
	}
	if output != "" {
		return exportLog(ctx, f, store, from, output)
	}
	shown := int64(0)
	head, err := eachEntry(ctx, store, from, func(_ string, e actionlog.Entry, h actionlog.Head) error {
		showEntry(f, e, h)
		shown++
		return nil
	})
	if err != nil {
		return changedLog(f, err, "check the state database:\n  assetferry state check")
	}
	printHead(f, shown, head)
	return nil
}

// showHead shows the end of the log, without reading its entries.
func showHead(ctx context.Context, f *command.Factory) error {
	store, err := f.ReadState(ctx)
	if err != nil {
		return err
	}
	head, err := store.LogHead(ctx)
	if err != nil {
		return err
	}
	f.Out.Event("log_head", event.LogHead{Entries: head.Entries, SHA256: head.Checksum})
	if head.Entries == 0 {
		f.Out.Printf("The action log is empty.")
		return nil
	}
	f.Out.Printf("%d %s", head.Entries, head.Checksum)
	return nil
}

// changedLog reports a log that was changed, which is a result and no error of the command.
func changedLog(f *command.Factory, err error, hint string) error {
	if !errors.Is(err, actionlog.ErrChanged) {
		return err
	}
	f.Out.Event("check", event.Check{Result: "difference", Message: err.Error()})
	f.Out.Printf("! %s", ui.Sanitize(err.Error()))
	f.Out.Notef("Try: %s", hint)
	return exit.Said(exit.CodeDifference)
}

// eachEntry verifies the log, and calls a function for each entry from a time on. An entry is not
// older than those before it, even if the clock was set back. Another process may add entries
// meanwhile, so the stored end need not be the last entry.
func eachEntry(ctx context.Context, store *state.Store, from time.Time, each func(string, actionlog.Entry, actionlog.Head) error) (actionlog.Head, error) {
	var chain actionlog.Chain
	started := false
	stored, err := store.LogHead(ctx)
	if err != nil {
		return stored, err
	}
	ends := stored.Entries == 0
	_, err = store.ReadLog(ctx, 0, func(line string) error {
		e, err := chain.Add(line)
		if err != nil {
			return err
		}
		ends = ends || chain.Head() == stored
		if started = started || !e.Time.Before(from); !started {
			return nil
		}
		return each(line, e, chain.Head())
	})
	if err == nil && !ends {
		err = fmt.Errorf("%w: it ends after entry %d of %d, or with another entry", actionlog.ErrChanged, chain.Head().Entries, stored.Entries)
	}
	return chain.Head(), err
}

func exportLog(ctx context.Context, f *command.Factory, store *state.Store, from time.Time, output string) error {
	var written int64
	var head actionlog.Head
	err := f.WriteOutput(output, func(w io.Writer) (err error) {
		head, err = eachEntry(ctx, store, from, func(line string, _ actionlog.Entry, _ actionlog.Head) error {
			written++
			_, err := io.WriteString(w, line+"\n")
			return err
		})
		if err != nil {
			return err
		}
		if written == 0 && head.Entries > 0 { // an export without entries cannot be verified
			return exit.With(exit.CodeNoSuch, fmt.Errorf("the action log has no entry since %s", from.Format(time.DateOnly)), "name an earlier date with --since")
		}
		return actionlog.WriteTrailer(w, head)
	})
	if err != nil {
		return changedLog(f, err, "check the state database:\n  assetferry state check")
	}
	if output != "-" {
		f.Out.Notef("Wrote %s", ui.Sanitize(output))
		printHead(f, written, head)
	}
	return nil
}

func checkLog(f *command.Factory, name string) error {
	file, err := os.Open(name)
	if err != nil {
		return err
	}
	defer file.Close()
	first, head, err := actionlog.Check(file, func(e actionlog.Entry, h actionlog.Head) {
		if f.Out.Verbose() || f.Out.JSON() {
			showEntry(f, e, h)
		}
	})
	if err != nil {
		return changedLog(f, fmt.Errorf("%s: %w", name, err), "compare the file with another export:\n  assetferry state log --output FILE")
	}
	if first > 1 {
		f.Out.Printf("The export begins with entry %s. Earlier entries are not verified.", ui.Count(first))
	}
	f.Out.Printf("The export is intact. Compare the last checksum with the one that you kept.")
	entries := int64(0)
	if first > 0 {
		entries = head.Entries - first + 1
	}
	printHead(f, entries, head)
	return nil
}

func printHead(f *command.Factory, shown int64, head actionlog.Head) {
	f.Out.Event("log_head", event.LogHead{Entries: head.Entries, SHA256: head.Checksum})
	if head.Entries == 0 {
		f.Out.Printf("The action log is empty.")
		return
	}
	f.Out.Printf("%s. Last entry: number %d, SHA-256 %s", ui.CountedAs(shown, "entry", "entries"), head.Entries, head.Checksum)
}

func showEntry(f *command.Factory, e actionlog.Entry, h actionlog.Head) {
	f.Out.Event("log_entry", event.LogEntry{
		Number: e.Number, Recorded: ui.UTC(e.Time), Kind: string(e.Kind), Run: e.Run, Account: e.Account, Host: e.Host, ToolVersion: e.Version,
		Command: e.Command, ConfigSHA256: e.Config, Overrides: e.Overrides, Details: e.Details, Previous: e.Previous, SHA256: h.Checksum,
	})
	f.Out.Printf("%5d  %s  %-19s  %s%s", e.Number, e.Time.Local().Format(time.DateTime), e.Kind, ui.Sanitize(e.Account), runText(e.Run))
	line := func(title, text string) {
		if text != "" {
			f.Out.Printf("       %-10s %s", title, ui.Sanitize(text))
		}
	}
	line("Command", e.Command)
	line("Overrides", strings.Join(e.Overrides, ", "))
	line("Details", detailsText(e.Details))
}

func runText(run string) string {
	if run == "" {
		return ""
	}
	return "  run " + ui.Sanitize(run)
}
