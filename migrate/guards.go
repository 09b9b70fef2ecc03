package migrate

import (
	"fmt"
	"strconv"
	"strings"

	"assetferry/internal/flagname"
	"assetferry/state"
)

// A GuardError says that a guard keeps a run from being carried out. Nothing was sent.
type GuardError struct {
	What     string // happened
	NextStep string // see Remedy
}

func (e *GuardError) Error() string { return e.What }

// Remedy is the next step, with settings in braces.
func (e *GuardError) Remedy() string { return e.NextStep }

// NeverGone is in what is told where the sentinel is not there.
var NeverGone = flagname.InText("and {sentinel} says that it is always there")

// HasConsent reports whether users may consent to what a guard said: to changes they may,
// and not to that a source is whole which is not.
func HasConsent(guard string) bool {
	return !strings.Contains(guard, NeverGone) && !strings.Contains(guard, listsNothing)
}

// An Acceptance is a setting of one run by which a user accepts what a guard said.
type Acceptance struct {
	Setting string // its key
	Value   string // empty: the setting has none
}

// Accepting gives the settings by which users accept once what guards said of a run, with the
// numbers of its tallies; none where they may not accept it.
func Accepting(guard string, tallies []state.Tally) (all []Acceptance) {
	if !HasConsent(guard) {
		return nil
	}
	var changes, deletes int64
	for _, t := range tallies {
		switch {
		case Reason(t.Reason) == ReasonTooMany, t.Action == state.Trash && t.State == state.ItemPlanned:
			deletes += t.Objects
		case t.State == state.ItemPlanned && (t.Action == state.Replace || t.Action == state.Describe || t.Action == state.Move):
			changes += t.Objects
		}
	}
	if strings.Contains(guard, NotTheRules) {
		all = append(all, Acceptance{"accept_rules", ""})
	}
	if strings.Contains(guard, WouldChange) || strings.Contains(guard, AsIfEncrypted) {
		all = append(all, Acceptance{"accept_changes", strconv.FormatInt(changes, 10)})
	}
	if strings.Contains(guard, WouldTrash) {
		all = append(all, Acceptance{"accept_deletes", strconv.FormatInt(deletes, 10)})
	}
	return all
}

// What guards say, in words that tell them apart.
const (
	NotTheRules   = "the rules are not those of the last sync"
	WouldChange   = "would be replaced, described or moved"
	AsIfEncrypted = "as if somebody had encrypted the source"
	WouldTrash    = "would be trashed because their objects are gone"
)

// Grouped gives a number with its thousands apart, as people are told numbers everywhere.
func Grouped(n int64) string {
	if n < 1000 {
		return strconv.FormatInt(n, 10)
	}
	return fmt.Sprintf("%s,%03d", Grouped(n/1000), n%1000)
}
