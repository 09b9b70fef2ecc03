package migrate

import (
	"fmt"
	"strconv"
	"strings"

	"assetferry/internal/flagname"
	"assetferry/state"
)

// A SafetyCheckError says that a safety check keeps a run from being carried out. Nothing was sent.
type SafetyCheckError struct {
	What     string // happened
	NextStep string // see Remedy
}

func (e *SafetyCheckError) Error() string { return e.What }

// Remedy is the next step, with settings in braces.
func (e *SafetyCheckError) Remedy() string { return e.NextStep }

// CheckSentinelMissing is in the text of the safety check that fails where the sentinel is missing.
var CheckSentinelMissing = flagname.InText("but {sentinel} requires it")

// IsAcceptable reports whether users may override the safety check that has this text: they may
// accept changes, and not that a broken source is whole.
func IsAcceptable(check string) bool {
	return !strings.Contains(check, CheckSentinelMissing) && !strings.Contains(check, listsNothing)
}

// An Acceptance is a setting of one run by which a user accepts what a safety check said.
type Acceptance struct {
	Setting string // its key
	Value   string // empty: the setting has none
}

// AcceptancesFor returns the settings by which users override safety checks for one run, with the
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
	if strings.Contains(check, CheckRulesChanged) {
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
