// Package outcome words the result of a run and the commands that follow it, for the end of the
// run, its status and its report.
package outcome

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"assetferry/internal/cli/command"
	"assetferry/internal/cli/exit"
	"assetferry/internal/event"
	"assetferry/internal/ui"
	"assetferry/migrate"
	"assetferry/state"
)

// SumUp sets the summary, which is the last line of --json. Its command is the one that was
// called: plan also for migrate -n.
func SumUp(f *command.Factory, run state.Run, tallies []state.Tally, took time.Duration) {
	s := SummaryOf(run, tallies, took, exit.CodeDone)
	s.Command, s.Supersedes = f.Summary.Command, f.Summary.Supersedes
	s.Unassigned, s.ChangedAfterFreeze, s.Forgotten = f.Summary.Unassigned, f.Summary.ChangedAfterFreeze, f.Summary.Forgotten
	f.Summary = &s
}

// SummaryOf returns the summary of a run. Its numbers cover all invocations of the run; its
// seconds cover this one.
func SummaryOf(run state.Run, tallies []state.Tally, took time.Duration, exit int) event.Summary {
	s := event.Summary{
		Run: run.ID, Command: run.Command, Source: run.Pair.Source, Destination: run.Pair.Destination,
		Actions: event.Counts{}, States: event.Counts{}, Seconds: event.Seconds(took), Exit: exit,
		PlanHash: run.PlanHash, ApprovedBy: run.Approver.Name, ApprovalStatedBy: run.Approver.StatedBy, ApprovalKey: run.Approver.Key,
		StartedBy: run.StartedBy, Wave: run.Pair.Wave,
	}
	if run.Approver.Name != "" {
		s.ApprovedAt = run.ApprovedAt.Format(time.RFC3339)
	}
	for _, t := range tallies {
		if t.Action != "" {
			s.Actions[string(t.Action)] += t.Objects
		}
		s.States[string(t.State)] += t.Objects
		if t.State == state.ItemDone {
			s.Bytes += t.Bytes
		}
	}
	return s
}

// ExitOf returns the exit code of a finished run: items that did not arrive must not look like
// success.
func ExitOf(tallies []state.Tally) int {
	if CountState(tallies, problemStates...) > 0 {
		return exit.CodeItems
	}
	return exit.CodeDone
}

// problemStates are the states of items that a person or another run has to take care of.
var problemStates = []state.ItemState{state.ItemFailed, state.ItemConflict, state.ItemUnconfirmed, state.ItemChanged, state.ItemRetryScheduled, state.ItemRetriesExhausted}

// BytesSent returns the bytes that were uploaded. Content of assets that were adopted, moved or
// trashed was at the destination already, and so was content that an undo restored.
func BytesSent(tallies []state.Tally) (n int64) {
	for _, t := range tallies {
		if t.State != state.ItemDone || t.Action != state.Create && t.Action != state.Replace {
			continue
		}
		if word := doneWord(t); word == uploaded || word == replaced {
			n += t.Bytes
		}
	}
	return n
}

// SkippedText returns the number of objects that a run skipped, and the reasons; "" for none.
// Objects that earlier runs skipped too, by rules of the user, are only counted.
func SkippedText(ctx context.Context, store *state.Store, run state.Run, tallies []state.Tally) (string, error) {
	s, err := skipsOf(ctx, store, run, tallies)
	if err != nil || s.all == 0 {
		return "", err
	}
	var parts []string
	if s.known > 0 {
		parts = append(parts, ui.Count(s.known)+" by your rules, as before")
	}
	for _, reason := range slices.Sorted(maps.Keys(s.fresh)) {
		parts = append(parts, fmt.Sprintf("%s (%s)", migrate.Reason(reason).Text(), ui.Count(s.fresh[reason])))
	}
	if s.known == s.all {
		return "Skipped " + parts[0], nil
	}
	return fmt.Sprintf("Skipped %s: %s", ui.Count(s.all), strings.Join(parts, "; ")), nil
}

// NewlyMissed returns how many objects a run skipped that users may miss, by reason. Objects
// that earlier runs skipped too, by rules of the user, do not count.
func NewlyMissed(ctx context.Context, store *state.Store, run state.Run, tallies []state.Tally) (map[string]int64, error) {
	s, err := skipsOf(ctx, store, run, tallies)
	maps.DeleteFunc(s.fresh, func(reason string, _ int64) bool { return !migrate.Reason(reason).IsMissed() })
	return s.fresh, err
}

// skips counts the objects that a run skipped.
type skips struct {
	all, known int64            // known: by rules of the user, as in an earlier run
	fresh      map[string]int64 // the others, by reason
}

func skipsOf(ctx context.Context, store *state.Store, run state.Run, tallies []state.Tally) (skips, error) {
	s := skips{fresh: map[string]int64{}}
	for _, t := range tallies {
		if t.State == state.ItemSkipped && t.Action != state.Unchanged {
			s.fresh[t.Reason] += t.Objects
			s.all += t.Objects
		}
	}
	if s.all == 0 {
		return s, nil
	}
	fresh := map[string]int64{}
	for skip, err := range migrate.NewSkips(ctx, store, run) {
		if err != nil {
			return s, err
		}
		fresh[skip.Reason]++
	}
	for reason, n := range s.fresh {
		if !migrate.Reason(reason).IsOwnRule() {
			continue
		}
		s.known += n - fresh[reason]
		if s.fresh[reason] = fresh[reason]; fresh[reason] == 0 {
			delete(s.fresh, reason)
		}
	}
	return s, nil
}

// lineWidth is the number of columns that lists are wrapped at.
const lineWidth = 80

// Wrapped breaks a list into lines, after semicolons only. All lines but the first are indented.
func Wrapped(list, indent string) string {
	var done []string
	line := ""
	for n, part := range strings.SplitAfter(list, "; ") {
		if n > 0 && len(line)+len(strings.TrimSpace(part)) > lineWidth {
			done, line = append(done, strings.TrimSuffix(line, " ")), indent
		}
		line += part
	}
	return strings.Join(append(done, line), "\n")
}

// ShownProblems is the number of items that the end of a run lists without --verbose.
const ShownProblems = 5
