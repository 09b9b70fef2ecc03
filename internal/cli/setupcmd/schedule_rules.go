package setupcmd

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"assetferry/internal/cli/cmdline"
	"assetferry/internal/cli/command"
	"assetferry/internal/cli/exit"
	"assetferry/internal/cli/migratecmd"
	"assetferry/internal/cli/outcome"
	"assetferry/internal/config"
	"assetferry/internal/flagname"
	"assetferry/internal/schedule"
	"assetferry/internal/ui"
	"assetferry/migrate"
	"assetferry/sources/ckbox"
	"assetferry/state"
)

// notScheduled lists the flags of sync that a schedule refuses.
var notScheduled = append([]string{"yes"}, cmdline.SingleRunFlags...)

// staying lists the flags that keep sync running.
var staying = []string{"watch", "rescan"}

// refuseSingleRunFlags refuses flags that are for a single run.
func refuseSingleRunFlags(cmd *cobra.Command) error {
	for _, name := range notScheduled {
		if cmd.Flags().Changed(name) {
			return exit.Usage(fmt.Errorf("--%s is for a single run", name), "omit it here, and run sync once with it")
		}
	}
	for _, name := range staying {
		if cmd.Flags().Changed(name) {
			return exit.Usage(fmt.Errorf("--%s keeps sync running, but a scheduled sync must end", name), "omit it here, or write your own service for sync --"+name)
		}
	}
	if name, _ := cmd.Flags().GetString("files-from"); name == "-" {
		return exit.Usage(errors.New("--files-from - reads stdin, and a scheduled run has none"), "name a file with --files-from")
	}
	return nil
}

// changedSettings lists the settings that differ from those of a run, and flags that restore them;
// ok is false if no flag can.
func changedSettings(f *command.Factory, cmd *cobra.Command, last state.Run) (changed, flags []string, ok bool, err error) {
	var was outcome.StoredRules
	if err := json.Unmarshal(last.Rules, &was); err != nil {
		return nil, nil, false, fmt.Errorf("read settings of run %s: %w", last.ID, err)
	}
	now, ok := outcome.SettingsOfRun(f, cmd), true
	for _, key := range schedule.ComparedSettings() {
		before, known := was.Settings[key]
		if !known { // schedule has no such flag
			before = now[key]
		}
		flag, said := flagname.Of(key), f.Settings.SourceOf(key) == config.FromFlag
		if !slices.Equal(before, now[key]) {
			changed = append(changed, fmt.Sprintf("--%s was %s, is %s", flag, settingText(before), settingText(now[key])))
		} else if !said {
			continue
		}
		ok = ok && (len(before) > 0 || said) // a flag cannot empty a list
		for _, value := range before {
			switch {
			case cmd.Flag(flag).NoOptDefVal != "" || value == "" && !said:
				flags = append(flags, "--"+flag+"="+value)
			case value != "":
				flags = append(flags, cmdline.WithValue(flag, value)...)
			}
		}
	}
	return changed, flags, ok, nil
}

func settingText(values []string) string {
	if text := strings.Join(values, " "); text != "" {
		return text
	}
	return "not set"
}

// flagNames lists the flags of compared settings.
func flagNames(keys []string) (flags []string) {
	for _, key := range keys {
		flags = append(flags, "--"+flagname.Of(key))
	}
	return flags
}

// checkLastRun refuses a schedule whose sync would stop at once or use other rules than the last
// run of the source. New rules first need a run by hand, where a person sees the result. first is
// the command for that if there was no run yet.
func checkLastRun(ctx context.Context, f *command.Factory, cmd *cobra.Command, source string) (first string, err error) {
	store, pair, err := recordedPair(ctx, f, source)
	if err != nil {
		return "", err
	}
	first = f.Again("sync", f.SourceArgument(source))
	if store == nil {
		return first, nil
	}
	open, decided, err := command.DecideRun(ctx, store, pair, migrate.RunSituation{Command: "sync"}) // independent of the rules
	if err != nil {
		return "", err
	}
	if decided.Step == migrate.StepRefuse {
		return "", exit.With(exit.CodeError, fmt.Errorf("run %s of %s is not finished, and a sync would stop", open.ID, open.Command), "finish it:\n  "+outcome.FinishIt(f, open))
	}
	last, err := schedule.LastRun(ctx, store, pair)
	if err != nil || last.Num == 0 {
		return first, err
	}
	return "", compareRules(f, cmd, source, last)
}

// recordedPair opens the state database, if it has runs of the source to this destination;
// otherwise the store is nil.
func recordedPair(ctx context.Context, f *command.Factory, source string) (*state.Store, state.Pair, error) {
	d, err := f.RecordedDestination(ctx)
	if isNoSuch(err) {
		return nil, state.Pair{}, nil
	} else if err != nil {
		return nil, state.Pair{}, err
	}
	path, err := f.StatePathOf(d)
	if err != nil {
		return nil, state.Pair{}, err
	}
	if err := command.MustExist(path); isNoSuch(err) {
		return nil, state.Pair{}, nil
	} else if err != nil {
		return nil, state.Pair{}, err
	}
	name, err := f.SourceName(ctx, source)
	if err != nil {
		return nil, state.Pair{}, err
	}
	store, err := state.OpenReadOnly(ctx, path)
	if err != nil {
		return nil, state.Pair{}, err
	}
	f.CloseLater(store.Close)
	pairs, err := store.Pairs(ctx)
	if err != nil {
		return nil, state.Pair{}, err
	}
	at := slices.IndexFunc(pairs, func(p state.Pair) bool { return p.Source == name && p.Destination == d.Identity() })
	if at < 0 {
		return nil, state.Pair{}, nil
	}
	pairs[at].Wave = f.Settings.Wave
	return store, pairs[at], nil
}

func isNoSuch(err error) bool {
	s, ok := errors.AsType[*exit.Error](err)
	return ok && s.Code == exit.CodeNoSuch
}

// compareRules refuses rules that differ from those of a run. It lists the differences, and the
// flags that remove them.
func compareRules(f *command.Factory, cmd *cobra.Command, source string, last state.Run) error {
	was, err := migrate.ReadRules(last)
	if err != nil {
		return err
	}
	migratecmd.IgnoreEmbedded(f, command.HasCompleteMetadata(source))
	now, err := migratecmd.PlanRules(f, cmd, source)
	if err != nil {
		return err
	}
	if strings.HasPrefix(source, ckbox.Scheme+"://") {
		f.FollowCategories(&now)
	}
	now.Sync = migratecmd.SettingsOfSync(f, migratecmd.SyncOptions{})
	was, now = schedule.Lasting(was), schedule.Lasting(now)
	if was.Sync == nil { // of a migration
		now.Sync = nil
	}
	others, settings, sayable, err := changedSettings(f, cmd, last)
	if err != nil {
		return err
	}
	changed := append(now.Changes(was), others...)
	if len(changed) == 0 {
		return nil
	}
	once := f.Again("sync", f.SourceArgument(source))
	if last.Command == "sync" {
		once = f.Again("sync", f.SourceArgument(source), "--accept-rules")
	}
	hint := "if the new rules are meant, run them once, then schedule them:\n  " + once
	if flagsCanSay(f, was, now) && sayable {
		flags := append(f.CarriedBut("schedule", slices.Concat(outcome.OfRules, flagNames(schedule.ComparedSettings()), cmdline.SingleRunFlags, []string{"--notify"}), nil), outcome.RuleSwitches(f, was)...)
		flags = append(flags, settings...)
		hint = "schedule the rules of that run:\n  " + cmdline.Line("schedule", flags, f.SourceArgument(source)...) + "\nOr, " + hint
	}
	return exit.Usage(fmt.Errorf("the last run of %s, %s %s, had other rules: %s", ui.Sanitize(source), last.Command, last.ID, strings.Join(changed, "; ")), hint)
}

// flagsCanSay reports whether flags can restore the rules of a run: no flag sets a mapping, and
// none empties a list of the configuration file.
func flagsCanSay(f *command.Factory, was, now migrate.Rules) bool {
	emptied := func(key string, was, now []string) bool {
		return len(was) == 0 && len(now) > 0 && f.Settings.SourceOf(key) != config.FromFlag
	}
	return was.Mapping == now.Mapping && was.Places == now.Places && was.Access == now.Access &&
		!emptied("include", was.Include, now.Include) && !emptied("exclude", was.Exclude, now.Exclude)
}
