package outcome

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"assetferry/internal/ui"
	"assetferry/migrate"
	"assetferry/state"
)

// The words for items that are done.
const (
	uploaded        = "uploaded"
	adopted         = "matched to existing assets"
	shared          = "sharing the asset of identical content"
	replaced        = "replaced"
	metadataUpdated = "with updated metadata"
	moved           = "moved"
	trashed         = "trashed"

	movedBack = "moved back" // and the other words of an undo
	restored  = "restored"
	reverted  = "reverted"
)

// The words for items that a run counts but does not finish.
const (
	unchanged = "unchanged"
	deleted   = "deleted at the source"
	skipped   = "skipped"

	scanRefused = "refused by the scan" // in an earlier run
)

// stateWords are the words for items that are not done.
var stateWords = map[state.ItemState]string{
	state.ItemStaged: "not planned", state.ItemPlanned: "not started", state.ItemSending: "unconfirmed", state.ItemSent: "unconfirmed",
	state.ItemUnconfirmed: "unconfirmed", state.ItemRetryScheduled: "scheduled for retry", state.ItemFailed: "failed",
	state.ItemChanged: "changed meanwhile", state.ItemConflict: "in conflict", state.ItemRetriesExhausted: "out of retries",
}

// StateWord returns the word for an item in its state.
func StateWord(i state.Item) string {
	if i.State == state.ItemRetriesExhausted && i.Reason == string(migrate.ReasonScanRefused) {
		return "refused"
	}
	return strings.TrimPrefix(stateWords[i.State], "in ")
}

// ProblemText returns the error of an item, or its reason if there is none. Errors that begin with
// the code of the reason begin with its text instead.
func ProblemText(i state.Item) string {
	text := migrate.Reason(i.Reason).Text()
	details, isReason := strings.CutPrefix(i.Error, i.Reason)
	switch {
	case i.Error == "":
		return text
	case isReason && i.Reason != "":
		return text + details
	}
	return i.Error
}

// wordOrder is the order of the words in a result.
var wordOrder = []string{
	uploaded, adopted, shared, replaced, metadataUpdated, moved, trashed, movedBack, restored, reverted,
	"failed", "in conflict", "changed meanwhile", "unconfirmed", "scheduled for retry", "out of retries", scanRefused, "not started", "not planned",
	unchanged, deleted, skipped,
}

// Result returns the result of a run in one sentence. took is the duration of this invocation.
func Result(run state.Run, tallies []state.Tally, took time.Duration) string {
	var total int64
	for _, t := range tallies {
		total += t.Objects
	}
	parts := countWords(tallies)
	problems := CountState(tallies, problemStates...)
	head := ""
	switch {
	case total == 0:
		return fmt.Sprintf("Nothing to do: no objects (%s).", ui.Duration(took))
	case run.Open():
		head = "Stopped"
	case problems == 1:
		head = fmt.Sprintf("1 of %s needs attention", ui.Counted(total, "object"))
	case problems > 1:
		head = fmt.Sprintf("%s of %s need attention", ui.Count(problems), ui.Counted(total, "object"))
	case total == 1:
		head = "1 object is accounted for"
	default:
		head = fmt.Sprintf("All %s are accounted for", ui.Counted(total, "object"))
	}
	effort := ui.Duration(took)
	if sent := BytesSent(tallies); sent > 0 {
		effort = ui.Bytes(sent) + " in " + effort
	}
	return fmt.Sprintf("%s: %s (%s).", head, strings.Join(parts, ", "), effort)
}

// Describe counts the items of a run by their outcome, without those that it skipped; see
// SkippedText.
func Describe(tallies []state.Tally) string {
	parts := slices.DeleteFunc(countWords(tallies), func(part string) bool {
		return strings.HasSuffix(part, " "+deleted) || strings.HasSuffix(part, " "+skipped)
	})
	if len(parts) == 0 {
		return "nothing to do"
	}
	return strings.Join(parts, ", ")
}

// IsQuiet reports whether a run finished and changed nothing.
func IsQuiet(run state.Run, tallies []state.Tally) bool {
	for _, t := range tallies {
		if t.State != state.ItemSkipped && t.Objects > 0 {
			return false
		}
	}
	return !run.Open() && run.Stopped == ""
}

// countWords counts items by words, such as "2 skipped".
func countWords(tallies []state.Tally) (parts []string) {
	counts := map[string]int64{}
	for _, t := range tallies {
		counts[wordOf(t)] += t.Objects
	}
	for _, word := range wordOrder {
		if n := counts[word]; n > 0 {
			parts = append(parts, ui.Count(n)+" "+word)
		}
	}
	return parts
}

func wordOf(t state.Tally) string {
	switch {
	case t.State == state.ItemSkipped && t.Action == state.Unchanged:
		return unchanged
	case t.State == state.ItemSkipped && isDeleted(migrate.Reason(t.Reason)):
		return deleted
	case t.State == state.ItemSkipped:
		return skipped
	case t.State == state.ItemDone:
		return doneWord(t)
	case t.State == state.ItemRetriesExhausted && t.Reason == string(migrate.ReasonScanRefused):
		return scanRefused
	}
	return stateWords[t.State]
}

// isDeleted reports whether a reason to skip is that the object was deleted at the source, and
// that its asset stays for now.
func isDeleted(r migrate.Reason) bool {
	return r == migrate.ReasonDeletedAtSource || r == migrate.ReasonGracePeriod
}

// doneWord is the word for items that are done.
func doneWord(t state.Tally) string {
	switch migrate.Reason(t.Reason) {
	case migrate.ReasonUndoMoved:
		return movedBack
	case migrate.ReasonIdenticalObject:
		return shared
	case migrate.ReasonUndoTrashed:
		return restored
	case migrate.ReasonUndoReplaced, migrate.ReasonUndoMetadataUpdated:
		return reverted
	}
	switch t.Action {
	case state.Adopt:
		return adopted
	case state.Replace:
		return replaced
	case state.UpdateMetadata:
		return metadataUpdated
	case state.Move:
		return moved
	case state.Trash:
		return trashed
	}
	return uploaded
}
