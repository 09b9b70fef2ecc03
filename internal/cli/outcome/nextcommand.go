package outcome

import (
	"cmp"
	"context"
	"path"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"assetferry/internal/cli/cmdline"
	"assetferry/internal/cli/command"
	"assetferry/internal/config"
	"assetferry/internal/flagname"
	"assetferry/internal/report"
	"assetferry/internal/ui"
	"assetferry/migrate"
	"assetferry/sources"
	"assetferry/state"
)

// A NextStep is a purpose, for people, and a command that can be pasted. Either may be empty.
type NextStep struct{ Why, Command string }

// CommandOf returns the command that begins or resumes a run with its rules, as far as the
// settings of this call differ from them. change, if any, changes the rules; more are further
// flags.
func CommandOf(f *command.Factory, run state.Run, change func(command *string, r *migrate.Rules), more ...string) string {
	rules, err := migrate.ReadRules(run)
	if err != nil { // the command reports it
		return cmdline.Line(run.Command, nil)
	}
	command := run.Command
	if command == "apply" || command == "plan" || command == "adopt" && change != nil {
		command = "migrate"
		if rules.Sync != nil {
			command = "sync"
		}
	}
	if change != nil {
		before := rules
		change(&command, &rules)
		reshaped := len(rules.ScopeChanges(before)) > 0
		switch {
		case reshaped && run.State == state.Applying:
			more = append(more, "--restart")
		case reshaped && rules.Sync != nil && before.Sync != nil:
			more = append(more, "--accept-rules")
		}
	}
	source, flags := run.Pair.Source, append(append(flagsOf(f, run, command), RuleSwitches(f, rules)...), more...)
	named := cmp.Or(askedBy(run).Source, source)
	if !config.IsURL(source) && !filepath.IsAbs(source) || named != source {
		flags = append(flags, differing(f, "source-name", source, f.Settings.SourceName)...)
		if source = "SOURCE"; config.IsURL(named) || filepath.IsAbs(named) {
			source = named
		}
	}
	return cmdline.Line(command, flags, f.SourceArgument(source)...)
}

// NextAfter returns the step after a run: the command that helps with its problems, or brings
// the rest of the source, or verifies. It is empty after a run that changed nothing.
func NextAfter(f *command.Factory, run state.Run, tallies []state.Tally, refused int64) NextStep {
	if step := AfterRun(f, run, tallies, refused); step.Command != "" {
		return step
	}
	rest := tallied(tallies, migrate.ReasonLimit)
	absent := tallied(tallies, migrate.ReasonNotAtDestination)
	switch {
	case rest > 0:
		return NextStep{uploadOthers(rest), CommandOf(f, run, func(_ *string, r *migrate.Rules) { r.Limit = 0 })}
	case absent > 0:
		return NextStep{uploadOthers(absent), CommandOf(f, run, func(*string, *migrate.Rules) {})}
	case tallied(tallies, migrate.ReasonNeedsSync) > 0:
		return NextStep{"Replace the objects that changed at the source:", CommandOf(f, run, UseSync)}
	case IsQuiet(run, tallies):
		return NextStep{}
	}
	return NextStep{"Compare the destination with the state database:", f.Again("verify", nil)}
}

// uploadOthers returns the sentence above a command that uploads n more objects.
func uploadOthers(n int64) string {
	if n == 1 {
		return "Upload the other object:"
	}
	return "Upload the other " + ui.Counted(n, "object") + ":"
}

// CountRefused counts the objects whose content a scan refused in a run; not those of earlier runs.
func CountRefused(ctx context.Context, store *state.Store, run state.Run, tallies []state.Tally) (int64, error) {
	if CountState(tallies, state.ItemFailed) == 0 {
		return 0, nil
	}
	return store.CountRefused(ctx, run.Num)
}

// AfterRun returns the command that helps with the problems of the newest run of a source. It is
// empty if there are none, or no command helps. refused is the result of CountRefused: another run
// would not scan these objects again.
func AfterRun(f *command.Factory, run state.Run, tallies []state.Tally, refused int64) NextStep {
	rules, err := migrate.ReadRules(run)
	switch {
	case err != nil || run.Undoes != 0 || run.Command == "plan":
		return NextStep{}
	case run.Stopped != "":
		accept := migrate.AcceptancesFor(run.Stopped, tallies)
		if len(accept) == 0 {
			return NextStep{"Check that the source is complete. Then:", CommandOf(f, run, nil)}
		}
		return NextStep{"Check the source and the plan (--dry-run). To accept it once:", CommandOf(f, run, nil, acceptance(accept)...)}
	case run.Open() && run.State != state.Applying && rules.StopsAtUnsupported() && tallied(tallies, migrate.ReasonUnsupportedType) > 0:
		return NextStep{"Skip the objects with an unsupported file type:", CommandOf(f, run, skipUnsupported)}
	case run.Open():
		return NextStep{"Resume the run:", FinishIt(f, run)}
	case CountState(tallies, state.ItemRetriesExhausted) > tallied(tallies, migrate.ReasonScanRefused):
		return NextStep{"Retry the objects that failed in many runs:", CommandOf(f, run, nil, "--retry-exhausted")}
	case CountState(tallies, state.ItemFailed, state.ItemRetryScheduled, state.ItemChanged, state.ItemUnconfirmed) > tallied(tallies, migrate.ReasonChangedSinceApproval)+refused:
		return NextStep{"Retry the objects that were not completed:", FinishIt(f, run)}
	case CountState(tallies, state.ItemConflict) > 0:
		return NextStep{"List the conflicts and their options:", f.Again("report", nil, "--run", run.ID)}
	case refused > 0:
		return NextStep{"List the refused objects:", f.Again("report", nil, "--run", run.ID, "--only", "failed")}
	case tallied(tallies, migrate.ReasonScanRefused) > 0:
		return NextStep{"List the refused objects:", f.Again("report", nil, "--run", run.ID, "--only", "retries_exhausted")}
	}
	return NextStep{}
}

func skipUnsupported(_ *string, r *migrate.Rules) { r.Unsupported = "skip" }

func tallied(tallies []state.Tally, reason migrate.Reason) (n int64) {
	for _, t := range tallies {
		if t.Reason == string(reason) {
			n += t.Objects
		}
	}
	return n
}

// CountState counts the items in some states.
func CountState(tallies []state.Tally, states ...state.ItemState) (n int64) {
	for _, t := range tallies {
		if slices.Contains(states, t.State) {
			n += t.Objects
		}
	}
	return n
}

// acceptance returns the flags that override safety checks.
func acceptance(all []migrate.Acceptance) (flags []string) {
	for _, a := range all {
		flags = append(flags, "--"+flagname.Of(a.Setting))
		if a.Value != "" {
			flags = append(flags, a.Value)
		}
	}
	return flags
}

// ForItem returns the step that helps with an item of a run with those tallies.
func ForItem(f *command.Factory, run state.Run, tallies []state.Tally, i state.Item, now time.Time) NextStep {
	reason := migrate.Reason(i.Reason)
	switch i.State {
	case state.ItemDone:
		return NextStep{}
	case state.ItemRetriesExhausted:
		return NextStep{"See the error.", CommandOf(f, run, nil, "--retry-exhausted")}
	case state.ItemRetryScheduled:
		if wait := i.RetryAt.Sub(now).Round(time.Second) + time.Second; wait > time.Second {
			return NextStep{"", CommandOf(f, run, nil, "--wait", wait.String())}
		}
		return NextStep{"", CommandOf(f, run, nil)}
	case state.ItemSkipped, state.ItemConflict:
		if change := otherRules(reason, string(i.Key)); change != nil {
			return NextStep{"", CommandOf(f, run, change, acceptFor(reason, tallies)...)}
		}
		if remedy := reason.Remedy(); !strings.HasPrefix(remedy, migrate.NothingToDo) {
			return NextStep{flagname.InText(remedy), ""}
		}
		return NextStep{}
	case state.ItemFailed, state.ItemChanged, state.ItemUnconfirmed:
		_, todo := report.RemedyFor(i)
		return NextStep{todo, CommandOf(f, run, nil)}
	}
	if next := AfterRun(f, run, tallies, 0); next.Command != "" { // the run stopped before it
		return next
	}
	return NextStep{"", CommandOf(f, run, nil)}
}

// acceptFor returns the flags that a run needs once to act on objects with a reason.
func acceptFor(reason migrate.Reason, tallies []state.Tally) []string {
	switch reason {
	case migrate.ReasonTooManyDeletes:
		return []string{"--accept-deletes", strconv.FormatInt(tallied(tallies, reason), 10)}
	case migrate.ReasonAssetDeleted:
		return []string{"--repair"}
	}
	return nil
}

// otherRules returns the change of the rules that accepts objects which were skipped, or in
// conflict, for a reason; nil if no rule decides that.
func otherRules(reason migrate.Reason, key string) func(command *string, r *migrate.Rules) {
	_, extension := splitKey(key)
	set := map[migrate.Reason]func(command *string, r *migrate.Rules){
		migrate.ReasonExcluded:           func(_ *string, r *migrate.Rules) { r.Include, r.Exclude = letIn(r.Include, r.Exclude, key) },
		migrate.ReasonNotInList:          func(_ *string, r *migrate.Rules) { r.FilesFrom = nil },
		migrate.ReasonTooYoung:           func(_ *string, r *migrate.Rules) { r.MinAge = 0 },
		migrate.ReasonLimit:              func(_ *string, r *migrate.Rules) { r.Limit = 0 },
		migrate.ReasonSymlink:            func(_ *string, r *migrate.Rules) { r.Symlinks = "follow" },
		migrate.ReasonNotFailedBefore:    func(_ *string, r *migrate.Rules) { r.Sync.Failed = nil },
		migrate.ReasonUnsupportedType:    func(_ *string, r *migrate.Rules) { createUnsupported(r, extension) },
		migrate.ReasonNoCategoryPossible: func(_ *string, r *migrate.Rules) { createUnsupported(r, extension) },
		migrate.ReasonNameExists:         func(_ *string, r *migrate.Rules) { r.OnExisting = "create" },
		migrate.ReasonNameCollision:      func(_ *string, r *migrate.Rules) { r.OnCollision = "rename" },
		migrate.ReasonNotAtDestination:   func(*string, *migrate.Rules) {},
		migrate.ReasonNeedsSync:          UseSync,
		migrate.ReasonDeletedAtSource:    func(_ *string, r *migrate.Rules) { r.Sync.Delete = "trash" },
		migrate.ReasonGracePeriod:        func(_ *string, r *migrate.Rules) { r.Sync.GracePeriod = 0 },
		migrate.ReasonTooManyDeletes:     func(*string, *migrate.Rules) {},
		migrate.ReasonAssetDeleted:       func(*string, *migrate.Rules) {},
		migrate.ReasonAssetMoved:         overwrite, migrate.ReasonAssetMetadataEdited: overwrite, migrate.ReasonAssetEdited: overwrite,
	}
	return set[reason]
}

// UseSync changes a command to sync.
func UseSync(command *string, _ *migrate.Rules) { *command = "sync" }

func overwrite(_ *string, r *migrate.Rules) { r.Sync.OnDestinationChange = "overwrite" }

// createUnsupported has a category created for an extension, or for files without one.
func createUnsupported(r *migrate.Rules, extension string) {
	r.Unsupported = "create"
	if !migrate.ValidExtension(strings.ToLower(extension)) {
		r.FallbackCategory = cmp.Or(r.FallbackCategory, "Other files")
	}
}

func splitKey(key string) (dir, extension string) {
	dir, name := path.Split(key)
	if at := strings.LastIndexByte(name, '.'); at > 0 {
		extension = name[at+1:]
	}
	return dir, extension
}

// letIn changes patterns so that they match a key.
func letIn(include, exclude []string, key string) (in, out []string) {
	for _, glob := range exclude {
		if !migrate.Match(glob, sources.Key(key)) {
			out = append(out, glob)
		}
	}
	if len(include) > 0 && !slices.ContainsFunc(include, func(glob string) bool { return migrate.Match(glob, sources.Key(key)) }) {
		include = append(slices.Clone(include), "/"+literal(key))
	}
	return include, out
}

// literal returns the pattern that matches only a key.
func literal(key string) string {
	return strings.NewReplacer(`\`, `\\`, `*`, `\*`, `?`, `\?`, `[`, `\[`).Replace(key)
}

// ApplyUndo returns the command that undoes a run, or resumes its undo.
func ApplyUndo(f *command.Factory, undone state.Run) string {
	this := []string{"--run", undone.ID, "--apply"}
	return cmdline.Line("undo", append(f.Carried("undo", append(this, "--wave")), this...))
}

// ToGoOn returns the command that resumes a run, which may be an undo.
func ToGoOn(ctx context.Context, f *command.Factory, store *state.Store, run state.Run) (string, error) {
	if run.Undoes == 0 {
		return FinishIt(f, run), nil
	}
	undone, err := store.UndoneRun(ctx, run)
	if err != nil {
		return "", err
	}
	return ApplyUndo(f, undone), nil
}

// Differences returns the number of differences of a verification, with its noun.
func Differences(v state.Verification) string {
	if v.Differences == 0 {
		return "no difference"
	}
	return ui.Counted(v.Differences, "difference")
}
