// Package outcome says what became of a run, and which commands help with what it left: one
// wording for the end of a run, its status and its report.
package outcome

import (
	"context"
	"fmt"
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

// SumUp fills in the summary that is told last, whatever else goes wrong until
// then. The command is the one that was called: plan also for migrate -n.
func SumUp(f *command.Factory, run state.Run, tallies []state.Tally, took time.Duration) {
	s := SummaryOf(run, tallies, took, exit.CodeDone)
	s.Command, s.Supersedes = f.Summary.Command, f.Summary.Supersedes
	f.Summary = &s
}

// SummaryOf makes the summary of a run. Its numbers are over the whole run,
// however many invocations that took; seconds are of this one.
func SummaryOf(run state.Run, tallies []state.Tally, took time.Duration, exit int) event.Summary {
	s := event.Summary{
		Run: run.ID, Command: run.Command, Source: run.Pair.Source, Destination: run.Pair.Destination,
		Actions: event.Counts{}, States: event.Counts{}, Seconds: event.Seconds(took), Exit: exit,
		PlanHash: run.PlanHash, ApprovedBy: run.Approver.Name, ApprovalStatedBy: run.Approver.StatedBy, ApprovalKey: run.Approver.Key,
		StartedBy: run.StartedBy,
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

// ExitOf is the exit code of a run that came to its end: items that did not
// arrive must not look like success.
func ExitOf(tallies []state.Tally) int {
	for _, t := range tallies {
		switch t.State {
		case state.ItemFailed, state.ItemConflict, state.ItemUnconfirmed, state.ItemChanged, state.ItemRetryScheduled, state.ItemRetriesExhausted:
			return exit.CodeItems
		}
	}
	return exit.CodeDone
}

// BytesSent is of what went over the network: what was adopted, moved, described or trashed
// was there already, and so was what an undo brought back.
func BytesSent(tallies []state.Tally) (n int64) {
	for _, t := range tallies {
		if t.State != state.ItemDone || t.Action != state.Create && t.Action != state.Replace {
			continue
		}
		if word := wordOf(t); word == state.ItemDone || word == wasReplaced {
			n += t.Bytes
		}
	}
	return n
}

// What people are told of items that are done and created nothing.
const (
	adopted      = state.ItemState("adopted")
	sharing      = state.ItemState("sharing an asset")
	wasReplaced  = state.ItemState("replaced")
	wasDescribed = state.ItemState("described")
	wasMoved     = state.ItemState("moved")
	trashed      = state.ItemState("trashed")

	movedBack = state.ItemState("moved back")
	restored  = state.ItemState("restored")
	putBack   = state.ItemState("as before")
)

// stateOrder is the order of states in a summary.
var stateOrder = []state.ItemState{
	state.ItemDone, adopted, sharing, wasReplaced, wasDescribed, wasMoved, trashed, movedBack, restored, putBack,
	state.ItemPlanned, state.ItemSending, state.ItemSent, state.ItemUnconfirmed, state.ItemRetryScheduled,
	state.ItemFailed, state.ItemChanged, state.ItemConflict, state.ItemRetriesExhausted, state.ItemStaged,
}

// Describe says in a line what became of a run's items.
func Describe(tallies []state.Tally) string {
	counts := map[state.ItemState]int64{}
	var unchanged int64
	for _, t := range tallies {
		switch {
		case t.State == state.ItemSkipped && t.Action == state.Unchanged:
			unchanged += t.Objects
		case t.State == state.ItemSkipped:
		case t.State == state.ItemDone:
			counts[wordOf(t)] += t.Objects
		default:
			counts[t.State] += t.Objects
		}
	}
	var parts []string
	for _, s := range stateOrder {
		if n := counts[s]; n > 0 {
			parts = append(parts, fmt.Sprintf("%s %s", ui.Count(n), strings.ReplaceAll(string(s), "_", " ")))
		}
	}
	if unchanged > 0 {
		parts = append(parts, fmt.Sprintf("%s unchanged", ui.Count(unchanged)))
	}
	if len(parts) == 0 {
		parts = []string{"nothing to do"}
	}
	return strings.Join(parts, ", ")
}

// SkippedText says what a run skipped and why, nothing if that is nothing. What rules of the
// user's own skip, as an earlier run did, is only counted.
func SkippedText(ctx context.Context, store *state.Store, run state.Run, tallies []state.Tally) (string, error) {
	skipped := map[string]int64{} // by reason
	var all, seen int64
	for _, t := range tallies {
		if t.State == state.ItemSkipped && t.Action != state.Unchanged {
			skipped[t.Reason] += t.Objects
			all += t.Objects
		}
	}
	if all == 0 {
		return "", nil
	}
	fresh := map[string]int64{}
	for s, err := range migrate.NewSkips(ctx, store, run) {
		if err != nil {
			return "", err
		}
		fresh[s.Reason]++
	}
	var reasons []string
	for reason, n := range skipped {
		if migrate.Reason(reason).IsOwnRule() {
			seen += n - fresh[reason]
			n = fresh[reason]
		}
		if n > 0 {
			reasons = append(reasons, fmt.Sprintf("%s (%s)", migrate.Reason(reason).Text(), ui.Count(n)))
		}
	}
	slices.Sort(reasons)
	switch {
	case len(reasons) == 0:
		return fmt.Sprintf("Skipped %s by your rules, as before", ui.Count(seen)), nil
	case seen > 0:
		reasons = append([]string{ui.Count(seen) + " by your rules, as before"}, reasons...)
	}
	return fmt.Sprintf("Skipped %s: %s", ui.Count(all), strings.Join(reasons, "; ")), nil
}

// wordOf is what people are told of items that are done.
func wordOf(t state.Tally) state.ItemState {
	switch migrate.Reason(t.Reason) {
	case migrate.ReasonUndoMoved:
		return movedBack
	case migrate.ReasonIdenticalObject:
		return sharing
	case migrate.ReasonUndoTrashed:
		return restored
	case migrate.ReasonUndoReplaced, migrate.ReasonUndoMetadataUpdated:
		return putBack
	}
	switch t.Action {
	case state.Adopt:
		return adopted
	case state.Replace:
		return wasReplaced
	case state.UpdateMetadata:
		return wasDescribed
	case state.Move:
		return wasMoved
	case state.Trash:
		return trashed
	}
	return state.ItemDone
}

// lineWidth is how long lines for people are at most, where that is up to us.
const lineWidth = 80

// Wrapped breaks a list into lines for people, after semicolons only. All lines but the
// first are indented.
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

// ShownProblems is how many items a person is shown at the end of a run.
const ShownProblems = 20
