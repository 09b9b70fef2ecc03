package statecmd

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"assetferry/internal/cli/cmdline"
	"assetferry/internal/cli/command"
	"assetferry/internal/cli/exit"
	"assetferry/internal/event"
	"assetferry/internal/ui"
	"assetferry/state"
	"assetferry/state/erasure"
)

type forgetOptions struct {
	command.Change
	source          string
	assets, readmit bool
}

func newForgetCommand(f *command.Factory) *cobra.Command {
	var o forgetOptions
	c := &cobra.Command{
		Use:   "forget KEY...",
		Short: "Delete all data about some objects, for erasure requests",
		Long: `Forget deletes all data about objects from the state database and its backup:
names, metadata, URLs, proposals, error messages, and the items of all runs. It
includes previous keys and sidecars. The counts of runs no longer include these
objects. The action log stays valid: it never contains keys, and gets an entry
without keys.

Forget changes neither the source nor the destination. First delete the object
at the source, and its asset with sync --delete trash. If the state database
still has an upload record, forget refuses, because the asset may exist.

Only a salted checksum of each key stays, so that no run uploads the object
again, if it is still at the source. --allow-again removes the checksum.

For data in other files, see assetferry help state.
`,
		Example: `  assetferry state forget 2024/spring/harbour.jpg --dry-run
  assetferry state forget 2024/spring/harbour.jpg --yes`,
		Args: cobra.MinimumNArgs(1),
		RunE: f.Do(func(ctx context.Context, _ *cobra.Command, args []string) error {
			return forget(ctx, f, args, o)
		}),
	}
	flags := c.Flags()
	flags.BoolVarP(&o.DryRun, "dry-run", "n", false, "show what would be deleted and stop")
	flags.BoolVar(&o.Yes, "yes", false, "do not ask before the deletion")
	flags.StringVar(&o.source, "source", "", "objects of the source with this `name`")
	flags.BoolVar(&o.assets, "accept-assets", false, "override: delete the data although assets may exist")
	flags.BoolVar(&o.readmit, "allow-again", false, "let later runs upload forgotten objects again")
	return c
}

func forget(ctx context.Context, f *command.Factory, keys []string, o forgetOptions) error {
	slices.Sort(keys)
	keys = slices.Compact(keys)
	store, err := openForget(ctx, f, o)
	if err != nil {
		return err
	}
	if o.readmit {
		return readmit(ctx, f, store, keys, o)
	}
	pair, err := pairOfKeys(ctx, store, keys, o.source)
	if err != nil {
		return err
	}
	found, err := store.Forgettable(ctx, pair, keys)
	if err != nil {
		return err
	}
	showForgettable(f, pair, found)
	if err := checkForgettable(f, found, o); err != nil {
		return err
	}
	done := eventForgotten(pair, keys, found, o)
	if o.DryRun {
		f.Out.Event("forgotten", done)
		f.NoteDryRun(o.Change)
		return nil
	}
	question := fmt.Sprintf("Delete all data about %s from the state database? This cannot be undone.", ui.Counted(int64(len(keys)), "object"))
	if err := f.Agree(ctx, o.Change, question, "nothing was deleted"); err != nil {
		return err
	}
	if err := erase(ctx, f, store, pair, keys, found); err != nil {
		return err
	}
	f.Out.Event("forgotten", done)
	f.Out.Printf("Deleted all data about %s from the state database and its backup.", ui.Counted(int64(len(keys)), "object"))
	f.Out.Notef("Plan files, reports, redirect maps, log files, lists of certificates and other copies\nof the state database may still contain it: see assetferry help state.")
	return nil
}

// openForget opens the state database, for a dry run only to read.
func openForget(ctx context.Context, f *command.Factory, o forgetOptions) (*state.Store, error) {
	if o.DryRun {
		return f.ReadState(ctx)
	}
	if err := f.CanAnswer(o.Change); err != nil && !o.readmit {
		return nil, err
	}
	path, err := f.StatePath(ctx)
	if err != nil {
		return nil, err
	}
	if err := command.MustExist(path); err != nil {
		return nil, err
	}
	f.Out.Notef("State        %s", ui.Sanitize(path))
	return f.OpenState(ctx, path)
}

// pairsOf returns the sources and destinations of a state database, of one source or of all.
func pairsOf(ctx context.Context, store *state.Store, source string) ([]state.Pair, error) {
	pairs, err := store.Pairs(ctx)
	if err != nil {
		return nil, err
	}
	if source != "" {
		pairs = slices.DeleteFunc(pairs, func(p state.Pair) bool { return p.Source != source })
	}
	if len(pairs) == 0 {
		return nil, exit.With(exit.CodeNoSuch, fmt.Errorf("the state database has no source %s", ui.Sanitize(source)), "list the sources:\n  "+cmdline.Line("status", cmdline.WithValue("state", store.Path())))
	}
	return pairs, nil
}

// pairOfKeys finds the source and destination that have all keys.
func pairOfKeys(ctx context.Context, store *state.Store, keys []string, source string) (of state.Pair, err error) {
	pairs, err := pairsOf(ctx, store, source)
	if err != nil {
		return of, err
	}
	var having []state.Pair
	known := map[string]bool{}
	for _, p := range pairs {
		has := false
		for _, key := range keys {
			found, err := store.Forgettable(ctx, p, []string{key})
			if err != nil {
				return of, err
			}
			if !found.IsEmpty() {
				has, known[key] = true, true
			}
		}
		if has {
			having = append(having, p)
		}
	}
	for _, key := range keys {
		if !known[key] {
			return of, unknownKey(pairs, key)
		}
	}
	if len(having) > 1 {
		names := make([]string, len(having))
		for n, p := range having {
			names[n] = p.Source
		}
		return of, exit.Usage(fmt.Errorf("several sources have these keys: %s", ui.Sanitize(strings.Join(names, ", "))), "choose one with --source")
	}
	return having[0], nil
}

// unknownKey is the error for a key of which the state database has no data.
func unknownKey(pairs []state.Pair, key string) error {
	for _, p := range pairs {
		if p.Forgotten.Has(key) {
			return exit.With(exit.CodeNoSuch, fmt.Errorf("%s is forgotten already", ui.Sanitize(key)), "if the first call was interrupted, run:\n  assetferry state compact\n  assetferry state backup\nTo let later runs upload the object again, add --allow-again")
		}
	}
	return exit.With(exit.CodeNoSuch, fmt.Errorf("the state database has no data about the object %s", ui.Sanitize(key)), "check the key. KEY is the path of the object below the source, as explain shows it")
}

func showForgettable(f *command.Factory, pair state.Pair, found erasure.Selection) {
	f.Out.Notef("Source       %s", ui.Sanitize(pair.Source))
	for _, key := range found.Keys {
		f.Out.Printf("%s", ui.Sanitize(key))
	}
	f.Out.Printf("%s, %s of runs, %s of the AI content service", ui.Counted(int64(len(found.Records)), "upload record"),
		ui.Counted(found.Items, "item"), ui.Counted(found.Proposals, "proposal"))
	if found.Settings > 0 {
		f.Out.Notef("The flags of %s contain such a key. They stay until the run is older than all data about it.", ui.Counted(found.Settings, "run"))
	}
}

// checkForgettable refuses a deletion that would leave assets without a trace, or that an unfinished
// run needs.
func checkForgettable(f *command.Factory, found erasure.Selection, o forgetOptions) error {
	refuse := func(hint, format string, args ...any) error {
		return exit.With(exit.CodeSafetyCheck, fmt.Errorf(format, args...), hint)
	}
	list := func(texts []string) string { return ui.Sanitize(strings.Join(texts, ", ")) }
	switch {
	case len(found.Moved) > 0:
		return refuse("name the present key", "the object was moved or renamed: its key is now %s", list(found.Moved))
	case len(found.Sharing) > 0:
		return refuse("name these objects too, or delete the object at the source and run sync first", "other objects share the asset: %s", list(found.Sharing))
	case len(found.Applying) > 0:
		return refuse("finish the run first; to see how:\n  "+f.Again("status", nil), "run %s has the object and is not finished", list(found.Applying))
	case found.InProgress > 0:
		return refuse("run the enrich command again first: it ends them, and deletes the conversations", "requests to the AI content service about the asset are not finished")
	case len(found.Records) > 0 && !o.assets:
		return refuse("delete the object at the source, and trash its asset:\n  "+f.Again("sync", []string{"SOURCE"}, "--delete", "trash", "--grace-period", "0s")+
			"\nIf you delete the asset by hand, note its ID and add --accept-assets", "the state database has upload records, so these assets may exist: %s", list(found.Records))
	}
	return nil
}

func eventForgotten(pair state.Pair, keys []string, found erasure.Selection, o forgetOptions) event.Forgotten {
	e := event.Forgotten{Source: pair.Source, Destination: pair.Destination, State: o.State(), Objects: len(keys), Keys: found.Keys,
		Assets: found.Assets, UploadRecords: len(found.Records), Items: found.Items, Proposals: found.Proposals}
	if e.Assets == nil {
		e.Assets = []string{}
	}
	return e
}

// erase deletes the data, and rewrites the file and the backup, which would contain it otherwise.
func erase(ctx context.Context, f *command.Factory, store *state.Store, pair state.Pair, keys []string, found erasure.Selection) error {
	if err := store.Forget(ctx, pair, keys, found); err != nil {
		return err
	}
	_, _, err := store.Compact(ctx)
	if err == nil {
		_, err = store.Backup(ctx)
	}
	if err != nil {
		again := func(name string) string { return "  " + f.Again("state "+name, nil) }
		return exit.With(exit.CodeError, fmt.Errorf("the data is deleted, but unused parts of the file or the backup may contain it: %w", err),
			"remove the cause, then run:\n"+again("compact")+"\n"+again("backup"))
	}
	return nil
}

// readmit lets later runs upload forgotten objects again.
func readmit(ctx context.Context, f *command.Factory, store *state.Store, keys []string, o forgetOptions) error {
	pairs, err := pairsOf(ctx, store, o.source)
	if err != nil {
		return err
	}
	pairs = slices.DeleteFunc(pairs, func(p state.Pair) bool { return !slices.ContainsFunc(keys, p.Forgotten.Has) })
	for _, key := range keys {
		if !slices.ContainsFunc(pairs, func(p state.Pair) bool { return p.Forgotten.Has(key) }) {
			return exit.With(exit.CodeNoSuch, fmt.Errorf("%s is not forgotten", ui.Sanitize(key)), "check the key")
		}
	}
	if len(pairs) > 1 {
		return exit.Usage(errors.New("several sources have these keys"), "choose one with --source")
	}
	if !o.DryRun {
		if err := store.Readmit(ctx, pairs[0], keys); err != nil {
			return err
		}
	}
	f.Out.Printf("%s %s again.", ui.Counted(int64(len(keys)), "object"), o.Verb("can be uploaded", "could be uploaded"))
	f.NoteDryRun(o.Change)
	return nil
}
