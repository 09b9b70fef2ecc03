package migrate

import (
	"fmt"
	"strconv"
	"strings"

	"assetferry/internal/flagname"
	"assetferry/state"
)

// A SafetyCheckError means that a safety check stops a run before it uploads anything.
type SafetyCheckError struct {
	What     string // happened
	NextStep string // see Remedy
}

func (e *SafetyCheckError) Error() string { return e.What }

// Remedy returns the next step, with settings in braces.
func (e *SafetyCheckError) Remedy() string { return e.NextStep }

// CheckSentinelMissing is in the message of the check for the sentinel.
var CheckSentinelMissing = flagname.InText("but {sentinel} requires it")

// IsAcceptable reports whether users may override the safety check with this message: they can
// accept changes, but not a missing source.
func IsAcceptable(check string) bool {
	return !strings.Contains(check, CheckSentinelMissing) && !strings.Contains(check, listsNothing)
}

// An Acceptance is a setting by which a user overrides a safety check for one run.
type Acceptance struct {
	Setting string // its key
	Value   string // empty: the setting has none
}

// AcceptancesFor returns the settings that override the failed safety checks of one run, with the
// numbers of its tallies; none if the checks are not [IsAcceptable].
func AcceptancesFor(check string, tallies []state.Tally) (all []Acceptance) {
	if !IsAcceptable(check) {
		return nil
	}
	var changes, deletes int64
	for _, t := range tallies {
		switch {
		case Reason(t.Reason) == ReasonTooManyDeletes, t.Action == state.Trash && t.State == state.ItemPlanned:
			deletes += t.Objects
		case t.State == state.ItemPlanned && (t.Action == state.Replace || t.Action == state.UpdateMetadata || t.Action == state.Move):
			changes += t.Objects
		}
	}
	if strings.Contains(check, CheckRulesChanged) || strings.Contains(check, CheckSignedOut) {
		all = append(all, Acceptance{"accept_rules", ""})
	}
	if strings.Contains(check, CheckManyChanges) || strings.Contains(check, CheckLooksEncrypted) {
		all = append(all, Acceptance{"accept_changes", strconv.FormatInt(changes, 10)})
	}
	if strings.Contains(check, CheckManyDeletes) {
		all = append(all, Acceptance{"accept_deletes", strconv.FormatInt(deletes, 10)})
	}
	return all
}

// Fragments of the other safety check messages, which identify them.
const (
	CheckRulesChanged   = "the rules differ from those of the last sync"
	CheckSignedOut      = "the source is read without an application password"
	CheckManyChanges    = "would be replaced, moved or get new metadata"
	CheckLooksEncrypted = "as after encryption of the source"
	CheckManyDeletes    = "would be trashed because their objects were deleted at the source"
)

// Grouped returns a number with commas between its thousands: 12,345.
func Grouped(n int64) string {
	if n < 1000 {
		return strconv.FormatInt(n, 10)
	}
	return fmt.Sprintf("%s,%03d", Grouped(n/1000), n%1000)
}
