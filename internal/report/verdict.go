package report

import (
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"assetferry/internal/shell"
	"assetferry/internal/ui"
	"assetferry/migrate"
	"assetferry/state"
)

// text returns the verdict as sentences.
func (v Verdict) text() string { return v.Title + ". " + v.Message }

// NextStep returns the next step, and the command that ends it; the command is empty if there is
// none.
func (v Verdict) NextStep() (s step) {
	if at := strings.LastIndex(v.Next, ": assetferry "); at >= 0 {
		return step{v.Next[:at+1], v.Next[at+len(": "):]}
	}
	return step{v.Next, ""}
}

// A step is what a user does next: a text, and a command if there is one.
type step struct{ Text, Command string }

// migrateAgain returns the command that migrates the source of the run, or its wave.
func (r Report) migrateAgain() string {
	source := "SOURCE" // the source has a name of the user
	if strings.Contains(r.Run.Source, "://") || filepath.IsAbs(r.Run.Source) {
		source = shell.Word(r.Run.Source)
	}
	return strings.Join(append([]string{"assetferry migrate", source}, r.waveFlag()...), " ")
}

// VerifyAgain returns the command that verifies the source of the run, or its wave.
func (r Report) VerifyAgain(flags ...string) string {
	return strings.Join(slices.Concat([]string{"assetferry verify"}, flags, r.waveFlag()), " ")
}

func (r Report) waveFlag() []string {
	if r.Run.Wave == "" {
		return nil
	}
	return []string{"--wave", r.Run.Wave}
}

// judge returns the verdict. Errors come before missing objects, and these before success: the
// first verdict that applies counts.
func judge(r Report) Verdict {
	v := judgeRun(r)
	if r.Run.PrunedAt != nil {
		v.Message += fmt.Sprintf(" The items of this run were pruned on %s; the counts remain.", r.Run.PrunedAt.Format(time.DateOnly))
	}
	return v
}

func judgeRun(r Report) Verdict {
	for _, judge := range []func(Report) (Verdict, bool){
		judgeResults, judgePlan, judgeUndo, judgeUndone, judgeStopped, judgeUnfinished, judgePartlyStopped, judgeProblems, judgeDifferences, judgeBehind,
		judgeSelection, judgeSkipped,
	} {
		if v, applies := judge(r); applies {
			return v
		}
	}
	return judgeComplete(r)
}

// judgeResults checks the report itself.
func judgeResults(r Report) (Verdict, bool) {
	if r.Results.Accounted || !r.Run.ListedAll { // an unfinished listing changes between two reads
		return Verdict{}, false
	}
	return Verdict{Incomplete, "Objects unaccounted for", fmt.Sprintf("%s listed, but only %s accounted for.",
		objects(r.Results.Listed.Objects), ui.Count(r.Results.Total.Objects)), "check the state database: assetferry state check"}, true
}

func judgePlan(r Report) (Verdict, bool) {
	if r.Run.Command != "plan" || r.Run.State == string(state.Applying) || r.Run.State == string(state.Finished) {
		return Verdict{}, false
	}
	next := "carry out the plan: " + r.migrateAgain()
	if r.Undo.Undoes != "" {
		next = "carry out the undo: assetferry undo --run " + r.Undo.Undoes + " --apply"
	}
	return Verdict{PlanOnly, "Plan only", "Nothing was changed at the destination.", next}, true
}

func judgeUndone(r Report) (Verdict, bool) {
	var inTrash, restored int64
	for _, u := range r.Undo.By {
		inTrash, restored = inTrash+u.Trashed.Objects, restored+u.Restored.Objects
	}
	if inTrash+restored == 0 {
		return Verdict{}, false
	}
	again := "upload the objects again: " + r.migrateAgain()
	if r.Sync != nil {
		again = "change the source or the settings; otherwise, the next sync repeats the changes"
	}
	left := r.Undo.left()
	return Verdict{Undone, undoneTitle(left), undoneText(inTrash, restored, left), again}, true
}

func undoneTitle(left int64) string {
	if left > 0 {
		return "Partly undone"
	}
	return "Undone"
}

// undoneText counts the assets that an undo trashed, restored, and left as they are.
func undoneText(inTrash, restored, left int64) string {
	text := assets(inTrash) + " trashed"
	switch {
	case inTrash == 0 && restored > 0:
		text = assets(restored) + " restored"
	case restored > 0:
		text += ", " + ui.Count(restored) + " restored"
	}
	if left > 0 {
		text += ", " + ui.Count(left) + " not undone"
	}
	return text + "."
}

// followIt is the next step while a run is in progress.
const followIt = "follow the run: assetferry status --watch"

// judgeUndo returns the verdict on a run that undoes another one.
func judgeUndo(r Report) (Verdict, bool) {
	if r.Undo.Undoes == "" {
		return Verdict{}, false
	}
	count := map[string]int64{}
	for _, p := range r.Results.States {
		count[p.State] = p.Objects
	}
	left := count[conflict] + count[failed] + count[unconfirmed]
	restored := count[created] + count[replaced] + count[metadataUpdated] + count[moved]
	text := func(left int64) string {
		return "Run " + r.Undo.Undoes + ": " + undoneText(count[trashed], restored, left)
	}
	again := "resume the undo: assetferry undo --run " + r.Undo.Undoes + " --apply"
	if r.Run.AtWork {
		again = followIt
	}
	switch {
	case r.Run.FinishedAt == nil:
		return Verdict{Unfinished, "Undo not finished", text(r.Results.Listed.Objects - count[trashed] - restored - count[skipped]), again}, true
	case r.Run.GivenUp:
		return Verdict{Unfinished, "Undo superseded", text(0), again}, true
	case left > 0:
		return Verdict{Incomplete, undoneTitle(left), text(left), "read the reasons in this report; move assets to the trash by hand if other users changed them"}, true
	}
	next := "upload the objects again: " + r.migrateAgain()
	if restored > 0 {
		next = "change the settings; otherwise, the next sync repeats the changes. To see how to keep an asset as it is: assetferry explain KEY"
	}
	return Verdict{Undone, "Undone", text(0), next}, true
}

// judgeStopped returns the verdict on a run that a safety check stopped before it changed anything.
func judgeStopped(r Report) (Verdict, bool) {
	if r.Sync == nil || r.Sync.Stopped == "" || r.Run.State == string(state.Applying) || r.Run.State == string(state.Finished) {
		return Verdict{}, false
	}
	v := Verdict{Stopped, "Stopped by a safety check", sentence(capital(r.Sync.Stopped)) + " Nothing was changed.",
		"check the source and the settings. If they are correct, show the command that overrides the check: assetferry status"}
	if !migrate.IsAcceptable(r.Sync.Stopped) {
		v.Next = "check that the disk or share is mounted, then run the same command again"
	}
	return v, true
}

// judgePartlyStopped returns the verdict on a finished run of which a safety check stopped a part.
func judgePartlyStopped(r Report) (Verdict, bool) {
	if r.Sync == nil || r.Sync.Stopped == "" {
		return Verdict{}, false
	}
	v := Verdict{Stopped, "Partly stopped by a safety check", sentence(capital(r.Sync.Stopped)),
		"check that the source is complete. If it is, show the command that overrides the check: assetferry status"}
	if problems, any := judgeProblems(r); any {
		v.Message += " " + problems.Message
	}
	return v, true
}

// sentence ends a text with a full stop.
func sentence(text string) string { return strings.TrimSuffix(text, ".") + "." }

// deletedText counts the assets whose objects were deleted at the source; empty if there are none.
func deletedText(r Report) string {
	if r.Sync == nil || r.Sync.Deleted == nil || r.Sync.Deleted.Kept.Objects == 0 {
		return ""
	}
	d := r.Sync.Deleted
	text := fmt.Sprintf(" Deleted at the source, asset kept: %s", objects(d.Kept.Objects))
	if n := d.InGrace.Objects; n > 0 {
		text += fmt.Sprintf(", %s within the grace period", ui.Count(n))
	}
	return text + "."
}

func judgeUnfinished(r Report) (Verdict, bool) {
	again := "run the same command again to resume"
	if r.Run.AtWork {
		again = followIt
	}
	switch n := r.unsupported(); {
	case n > 0 && !r.Run.AtWork && !r.Run.GivenUp:
		return Verdict{Stopped, "Stopped: unsupported file types", fmt.Sprintf("%s an unsupported file type. Nothing was uploaded.", have(n)),
			"choose --unsupported skip or --unsupported create. To see the whole command: assetferry status"}, true
	case r.Run.GivenUp:
		return Verdict{Unfinished, "Superseded", fmt.Sprintf("Another run replaced this run, which had processed %s.", objects(done(r))), "see the later runs: assetferry runs"}, true
	case !r.Run.ListedAll:
		return Verdict{Unfinished, "Listing not finished", fmt.Sprintf("%s listed so far.", capital(objects(r.Results.Listed.Objects))), again}, true
	case r.Run.FinishedAt == nil:
		return Verdict{Unfinished, "Not finished", unfinished(r), again}, true
	}
	return Verdict{}, false
}

// unsupported counts the objects whose file types stop the run.
func (r Report) unsupported() (n int64) {
	if !r.stopsAtUnsupported || r.Run.State != string(state.Planned) {
		return 0
	}
	for _, s := range r.Skipped {
		if migrate.Reason(s.Reason) == migrate.ReasonUnsupportedType {
			n += s.Objects
		}
	}
	return n
}

func have(n int64) string {
	if n == 1 {
		return "1 object has"
	}
	return objects(n) + " have"
}

// were returns the verb for a number of objects.
func were(n int64) string {
	if n == 1 {
		return "was"
	}
	return "were"
}

// unfinished counts what an unfinished run has done and what is pending.
func unfinished(r Report) string {
	var left int64
	for _, p := range r.Results.States {
		if isPending(p.State) && p.State != unconfirmed {
			left += p.Objects
		}
	}
	text := fmt.Sprintf("%s done, %s pending", ui.Count(done(r)), ui.Count(left))
	for _, p := range r.Results.States {
		if isProblem(p.State) && p.State != retryScheduled {
			text += ", " + partText(p)
		}
	}
	return text + "."
}

// partText counts the objects in a state.
func partText(p Part) string {
	if p.State == conflict {
		return ui.Count(p.Objects) + " in conflict"
	}
	return ui.Count(p.Objects) + " " + words(p.State)
}

func partsText(all []Part) string {
	var texts []string
	for _, p := range all {
		texts = append(texts, partText(p))
	}
	return strings.Join(texts, ", ")
}

func judgeProblems(r Report) (Verdict, bool) {
	var problems []Part
	for _, p := range r.Results.States {
		if isProblem(p.State) {
			problems = append(problems, p)
		}
	}
	if len(problems) == 0 && r.Unlistable == 0 {
		return Verdict{}, false
	}
	var texts []string
	if len(problems) > 0 {
		texts = append(texts, fmt.Sprintf("%s (%s listed).", partsText(problems), objects(r.Results.Listed.Objects)))
	}
	if r.Unlistable > 0 {
		texts = append(texts, fmt.Sprintf("%s of the source could not be read, so the objects inside are unknown.", folders(r.Unlistable)))
	}
	next := "fix the causes in this report, then run the same command again"
	if len(problems) == 1 && problems[0].State == conflict && r.Unlistable == 0 {
		next = "resolve the conflicts in this report, then run the same command again"
	}
	if r.Run.PrunedAt != nil {
		next = "see the later runs: assetferry runs"
	}
	return Verdict{Incomplete, "Incomplete", strings.Join(texts, " "), next}, true
}

func judgeDifferences(r Report) (Verdict, bool) {
	if r.Verification.Differences == 0 {
		return Verdict{}, false
	}
	return Verdict{Different, "Differences found", fmt.Sprintf("The last verification found %s between the destination and the state database.", differences(r.Verification.Differences)),
		"resolve the differences, then verify again: " + r.VerifyAgain()}, true
}

// judgeBehind keeps a run with a small selection from hiding the problems of earlier runs.
func judgeBehind(r Report) (Verdict, bool) {
	if r.MissingFromEarlier == 0 {
		return Verdict{}, false
	}
	return Verdict{Incomplete, "Incomplete", fmt.Sprintf("This run covered only part of the source. Still missing from earlier runs: %s.", objects(r.MissingFromEarlier)),
		"run the command without --include, --files-from and --limit. To list the earlier runs: assetferry runs"}, true
}

// judgeSelection returns the verdict on a run for which only a part of the source was selected.
func judgeSelection(r Report) (Verdict, bool) {
	var left int64
	for _, s := range r.Skipped {
		switch migrate.Reason(s.Reason) {
		case migrate.ReasonNotInList, migrate.ReasonLimit, migrate.ReasonNotAtDestination:
			left += s.Objects
		}
	}
	if !r.Run.Narrow || left == 0 {
		return Verdict{}, false
	}
	return Verdict{Selection, "Complete for part of the source", fmt.Sprintf("%s of %s %s not selected. %s",
		ui.Count(left), objects(r.Results.Listed.Objects), were(left), judgeVerification(r).Message),
		"run the command without --include, --files-from and --limit to process the rest"}, true
}

// judgeSkipped returns the verdict on a run that skipped objects which users may miss, for another
// reason than a rule of the user's own.
func judgeSkipped(r Report) (Verdict, bool) {
	var n int64
	for _, s := range r.Skipped {
		n += s.ToLookAt()
	}
	if n == 0 {
		return Verdict{}, false
	}
	return Verdict{Partial, "Complete except for skipped objects", fmt.Sprintf("%s skipped. %s%s%s", mayBeMissed(n), judgeVerification(r).Message, ownRulesText(r), deletedText(r)),
		"review the reasons under Skipped, and decide what to do about each"}, true
}

// mayBeMissed begins a sentence about skipped objects that users may miss.
func mayBeMissed(n int64) string {
	if n == 1 {
		return "1 object that users may expect at the destination was"
	}
	return objects(n) + " that users may expect at the destination were"
}

// ownRulesText counts the objects that rules of the user's own skip; empty if there are none.
func ownRulesText(r Report) string {
	var n, fresh int64
	for _, s := range r.Skipped {
		if s.ByRule {
			n, fresh = n+s.Objects, fresh+s.New
		}
	}
	switch {
	case n == 0:
		return ""
	case fresh == 0 || fresh == n:
		return fmt.Sprintf(" %s skipped by your rules.", objects(n))
	}
	return fmt.Sprintf(" %s skipped by your rules, %s for the first time.", objects(n), ui.Count(fresh))
}

// judgeComplete returns the verdict on a run that did what was configured.
func judgeComplete(r Report) Verdict {
	v := judgeVerification(r)
	if r.Sync != nil && r.Sync.Unchanged && r.Destination.Objects > 0 {
		v.Title = "Nothing changed"
	}
	v.Message += ownRulesText(r) + deletedText(r)
	return v
}

// judgeVerification returns the verdict by what is verified, for a run that did what was configured.
func judgeVerification(r Report) Verdict {
	verify := "verify the content: " + r.VerifyAgain("--content")
	p := r.Verification
	switch {
	case r.Destination.Objects == 0:
		return Verdict{Complete, "Nothing to do", "No object had to be uploaded.", ""}
	case p.At == nil:
		return Verdict{Complete, "Complete", "Not verified yet.", verify}
	case p.Verified == 0 && !p.Covers:
		return Verdict{Complete, "Complete", "Not verified since the last upload.", verify}
	case !p.Covers:
		return Verdict{Complete, "Complete", capital(verifiedText(p)) + ".", verify}
	case p.ByChecksum == 0:
		return Verdict{Verified, "Complete and verified", assets(p.Verified) + " verified by name and size.", verify}
	case p.ByChecksum < p.Verified:
		return Verdict{Verified, "Complete and verified", fmt.Sprintf("%s verified by name and size, %s of them by checksum.", assets(p.Verified), ui.Count(p.ByChecksum)), verify}
	}
	return Verdict{Verified, "Complete and verified", assets(p.Verified) + " verified by checksum.", ""}
}

// verifiedText counts the assets that are verified, and those that are not.
func verifiedText(p Verification) string {
	return fmt.Sprintf("%s verified on %s, %s not verified yet", assets(p.Verified), p.At.Format(time.DateOnly), ui.Count(p.NotVerified))
}

// done counts the objects whose action was carried out.
func done(r Report) (n int64) {
	for _, p := range r.Results.States {
		if isDone(p.State) && p.State != trashed {
			n += p.Objects
		}
	}
	return n
}

func capital(s string) string {
	if s == "" {
		return ""
	}
	return strings.ToUpper(s[:1]) + s[1:]
}

func objects(n int64) string     { return ui.Counted(n, "object") }
func assets(n int64) string      { return ui.Counted(n, "asset") }
func folders(n int64) string     { return ui.Counted(n, "folder") }
func differences(n int64) string { return ui.Counted(n, "difference") }
