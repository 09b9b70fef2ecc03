// Package report reads the result of a run from the state database and writes it as text, JSON,
// CSV, a list of keys, or a page of HTML.
//
// Read returns a Report of bounded size however many objects there are: counts, and the first
// few of every list. Long lists are iterators over the state database. All forms are written
// from the same Report, so they cannot contradict each other.
package report

import "time"

// schema is the version of the JSON document. Fields may be added under the same version; a
// changed meaning needs the next one.
const schema = 1

// A Report is the result of one run. Its JSON form is stable.
type Report struct {
	Version int       `json:"version"`
	MadeAt  time.Time `json:"made_at"`      // UTC; when the state database was read
	Tool    string    `json:"tool_version"` // version of assetferry; the caller sets it

	Verdict Verdict `json:"verdict"`
	Run     Run     `json:"run"`
	// Destination counts all assets from this source, from all runs.
	Destination Amount  `json:"at_destination"`
	Results     Results `json:"results"`
	// Sync compares a sync with the previous one; nil for other commands.
	Sync *Sync `json:"sync,omitempty"`
	// Freeze lists late changes of a wave; nil if the run has no wave, or the wave no freeze.
	Freeze *Freeze `json:"freeze,omitempty"`

	Problems   []Problem `json:"problems"`           // objects that need attention, by state and cause, most objects first
	Skipped    []Skipped `json:"skipped"`            // by reason, most objects first
	Unlistable int64     `json:"unreadable_folders"` // folders that could not be read: there may be more objects
	// MissingFromEarlier counts objects that earlier runs with a larger selection could not process,
	// and no run has since. It is 0 unless Run.Narrow.
	MissingFromEarlier int64        `json:"missing_from_earlier_runs"`
	Verification       Verification `json:"verification"`
	// Alterations are changes to assets that existed before the run.
	Alterations []Alteration `json:"changed_assets"`
	Undo        Undo         `json:"undo"`

	// Names covers all assets from this source, from all runs.
	Names    Names    `json:"renamed"`
	Privacy  Privacy  `json:"privacy"`
	Metadata Metadata `json:"metadata"`
	Found    Found    `json:"findings"`
	// Versions is nil unless the run brings older versions.
	Versions *Versions `json:"older_versions,omitempty"`
	URLs     URLs      `json:"urls"`

	// Types and Sizes count the objects in Charted by extension and by size.
	Types []Slice `json:"types"`
	Sizes []Slice `json:"sizes"`
	// Charted is everything listed, or everything but the unchanged objects where the state
	// database has only their number.
	Charted    Amount  `json:"charted"`
	Throughput []Point `json:"throughput"` // in order of time, at most 120

	stopsAtUnsupported bool // its rules stop at unsupported file types

	lists *lists
}

// An Amount is a number of objects and their bytes.
type Amount struct {
	Objects int64 `json:"objects"`
	Bytes   int64 `json:"bytes"`
}

func (a *Amount) add(size int64) { a.Objects++; a.Bytes += size }

func (a Amount) plus(b Amount) Amount { return Amount{a.Objects + b.Objects, a.Bytes + b.Bytes} }

// less returns the difference, at least 0.
func (a Amount) less(b Amount) Amount {
	return Amount{max(0, a.Objects-b.Objects), max(0, a.Bytes-b.Bytes)}
}

// A Kind is the code of a verdict.
type Kind string

// The kinds of verdicts. Verified and Complete mean that the run did what was configured.
const (
	Verified   Kind = "verified"   // complete, and a later verification found no difference
	Complete   Kind = "complete"   // complete, but not verified, or not all of it
	Selection  Kind = "selection"  // complete for the selected part of the source
	Partial    Kind = "partial"    // objects were skipped that users may miss, not by a rule of the user's own
	Incomplete Kind = "incomplete" // objects failed, changed, are in conflict, or could not be listed
	Different  Kind = "different"  // a verification found differences
	Unfinished Kind = "unfinished" // objects are pending, or another run replaced this one
	PlanOnly   Kind = "plan"       // a plan, which uploads nothing
	Undone     Kind = "undone"     // the run was undone
	Stopped    Kind = "stopped"    // a safety check stopped the run or a part of it
)

// A Verdict is the result in one or two sentences.
type Verdict struct {
	Kind    Kind   `json:"kind"`
	Title   string `json:"title"`          // a few words, such as "Complete and verified"
	Message string `json:"message"`        // sentences that follow the title
	Next    string `json:"next,omitempty"` // the next step; empty if there is none
}

// A Run identifies a run.
type Run struct {
	ID          string `json:"id"`
	Command     string `json:"command"`
	State       string `json:"state"` // a state.RunState
	Source      string `json:"source"`
	Wave        string `json:"wave,omitempty"` // of the source; empty if the run covered all of it
	Destination string `json:"destination"`    // environment and workspace
	URL         string `json:"url"`            // of the destination, when it was last reached
	// Purpose is "sandbox", "production", or empty if unknown.
	Purpose    string     `json:"purpose"`
	PlanHash   string     `json:"plan_hash,omitempty"`
	AtWork     bool       `json:"in_progress"` // a process holds the state database and the run is not finished
	GivenUp    bool       `json:"superseded"`  // another run replaced it before it was finished
	BeganAt    time.Time  `json:"started_at"`
	ListedAt   time.Time  `json:"listed_at"` // when its listing started
	FinishedAt *time.Time `json:"finished_at,omitempty"`
	Seconds    float64    `json:"seconds,omitempty"` // from start to end, including pauses; 0 until finished
	ListedAll  bool       `json:"listing_complete"`
	StartedBy  string     `json:"started_by,omitempty"` // the account that started it
	Approval   *Approval  `json:"approval,omitempty"`   // nil if no approver is recorded
	// Narrow reports whether --include, --files-from or --limit selected a part of the source, or a
	// flag disabled uploads.
	Narrow bool `json:"part_of_source"`
	// PrunedAt is when its items were deleted from the state database; nil if they are there.
	PrunedAt *time.Time `json:"pruned_at,omitempty"`
}

// An Approval records who approved a run. Key is the fingerprint of the key that signed the
// approval; without one, the account in StatedBy named the approver.
type Approval struct {
	By       string    `json:"by"`
	StatedBy string    `json:"stated_by,omitempty"`
	Key      string    `json:"key,omitempty"`
	At       time.Time `json:"at"`
}

// Known says how the approver is known.
func (a Approval) Known() string {
	if a.Key != "" {
		return "signed with " + a.Key
	}
	return "stated by " + a.StatedBy
}

// Results counts all listed objects by state.
type Results struct {
	Listed Amount `json:"listed"` // counted object by object
	States []Part `json:"states"` // none of them empty
	Total  Amount `json:"total"`  // of the states
	Shared Amount `json:"shared"` // adopted objects that share the asset of another object
	// Accounted reports whether Total is Listed.
	Accounted bool   `json:"accounted_for"`
	Message   string `json:"message"` // the same in a sentence
}

// A Part counts the objects in one state.
type Part struct {
	State string `json:"state"` // created, adopted, …, unchanged, failed, skipped: see States
	// Good reports whether the objects are as configured: at the destination, or skipped.
	Good bool `json:"good"`
	Amount
}

// Skipped counts the objects that were skipped for one reason. A skip is not a failure.
type Skipped struct {
	Reason  string `json:"reason"`
	Message string `json:"message"`
	Amount
	// Missed reports whether users may miss these objects at the destination.
	Missed bool `json:"missed"`
	// ByRule reports whether a rule of the user's own skips them. New counts the objects that no
	// earlier run skipped for the same reason.
	ByRule   bool     `json:"by_rule"`
	New      int64    `json:"new"`
	Decides  string   `json:"remedy"`   // the setting or the person that decides about them
	Examples []string `json:"examples"` // the first few keys, new ones if there are any
}

// ToLookAt counts the objects that need attention: users may miss them, and no rule of the
// user's own skips them.
func (s Skipped) ToLookAt() int64 {
	if s.ByRule || !s.Missed {
		return 0
	}
	return s.Objects
}

// A Problem counts objects in one state that need attention for one cause.
type Problem struct {
	State   string `json:"state"`   // failed, retries_exhausted, changed, conflict, unconfirmed or retry_scheduled
	Reason  string `json:"reason"`  // a code of a reason, or of a kind of error
	Message string `json:"message"` // the cause in words
	Remedy  string `json:"remedy"`
	Amount
	Examples []Example `json:"examples"`
}

// An Example is one object of many.
type Example struct {
	Key   string `json:"key"`
	Error string `json:"error,omitempty"` // empty if Problem.Message is all there is
}

// A Verification is the result of the last comparison with the destination, and counts how
// the present assets were verified. It covers all assets from the source, from all runs; after a run
// of a wave, those of the wave.
type Verification struct {
	Level              string       `json:"level"` // listing, sample or content; "none" if there was none
	At                 *time.Time   `json:"at,omitempty"`
	Wave               string       `json:"wave,omitempty"`       // that it covered; empty if it covered all assets
	Compared           int64        `json:"compared"`             // assets compared with the listing of the destination
	ComparedByChecksum int64        `json:"compared_by_checksum"` // of these, by checksum
	Differences        int64        `json:"differences"`
	First              []Difference `json:"first_differences"`
	// Verified counts the assets whose present content the last verification found in place.
	// ByChecksum counts those of them whose content any verification compared.
	Verified    int64 `json:"verified"`
	ByChecksum  int64 `json:"verified_by_checksum"`
	NotVerified int64 `json:"not_verified"` // uploaded or replaced since
	// LastArrival is when the last asset was created or replaced; nil if there is none.
	LastArrival *time.Time `json:"last_upload,omitempty"`
	// Covers reports whether every asset is verified.
	Covers bool `json:"complete"`
}

// A Difference is one that a verification found.
type Difference struct {
	Key     string `json:"key"`
	AssetID string `json:"asset_id"`
	Field   string `json:"field"`
	Message string `json:"message"`
}

// An Alteration counts assets that existed before the run and were changed in one way.
type Alteration struct {
	State string `json:"state"` // replaced, metadata_updated, moved or trashed
	Amount
	Examples []string `json:"examples"`        // keys
	Moves    []Move   `json:"moves,omitempty"` // the previous keys of the examples, if they were moved
}

// A Move is an object whose key changed.
type Move struct {
	From string `json:"previous_key"`
	To   string `json:"key"`
}

// Undo counts what an undo of the run would change, and lists the undos that there were.
type Undo struct {
	Created Amount `json:"created"`           // would be trashed
	Changed Amount `json:"changed"`           // would be restored to their previous state
	Command string `json:"command,omitempty"` // that undoes the run; empty if nothing can be undone
	// Undoes is the run that this one undoes; empty if it is no undo.
	Undoes string `json:"undoes,omitempty"`
	// By are the runs that undid this one, in their order.
	By []UndoneBy `json:"undone_by"`
}

// left counts the objects that can still be undone.
func (u Undo) left() int64 { return u.Created.Objects + u.Changed.Objects }

// An UndoneBy is a run that undid another one.
type UndoneBy struct {
	Run      string    `json:"run"`
	State    string    `json:"state"`
	At       time.Time `json:"at"`
	Trashed  Amount    `json:"trashed"`
	Restored Amount    `json:"restored"` // to their previous state
}

// Names lists the assets whose names differ from those of their objects.
type Names struct {
	Count int64  `json:"count"`
	First []Name `json:"first"` // by key, at most 20
}

// A Name is an object and the name of its asset.
type Name struct {
	Key       string `json:"key"`
	AssetName string `json:"asset_name"`
	AssetID   string `json:"asset_id"`
}

// Privacy counts what the run created and adopted by who can see it.
type Privacy struct {
	Public  Amount `json:"public"`
	Private Amount `json:"private"`
	Unknown Amount `json:"unknown"` // handled as private wherever URLs are written
	// Categories are those with assets of the run, most objects first.
	Categories []Category `json:"categories"`
}

// A Category counts the assets of the run in one category.
type Category struct {
	ID      string `json:"id"`
	Name    string `json:"name"`    // the ID if the name is unknown
	Privacy string `json:"privacy"` // public, private or unknown
	Amount
}

// Metadata counts the objects with storage metadata, and results of updating the metadata of
// assets.
type Metadata struct {
	Objects      int64 `json:"objects"`       // with any storage metadata
	ContentTypes int64 `json:"content_types"` // with a content type
	Fields       int64 `json:"metadata"`      // with metadata fields
	Tags         int64 `json:"tags"`          // with tags
	NotKept      int64 `json:"not_stored"`    // with metadata that the state database could not store
	Pending      int64 `json:"pending"`       // assets whose metadata is still to be updated
	EditsKept    int64 `json:"edits_kept"`    // assets whose metadata was edited at the destination, and kept
}

// URLs counts the assets of the run whose URL is known.
type URLs struct {
	Mapped  int64  `json:"mapped"`
	Public  int64  `json:"public"`
	Command string `json:"command,omitempty"` // that lists them
}

// A Slice is one bar of a chart.
type Slice struct {
	Name string `json:"name"`
	Amount
}

// A Point counts the items finished from a time until the next point.
type Point struct {
	At      time.Time `json:"at"`
	Minutes int       `json:"minutes"` // at least 1
	Items   int64     `json:"items"`
	Bytes   int64     `json:"bytes"`
}

// A Line is one object in the long lists.
type Line struct {
	Key      string
	Action   string // a state.Action
	State    string // created, adopted, …, failed, unconfirmed: see States
	Undone   bool   // it was created, and the run was undone
	Reason   string // a code
	Message  string // the reason in words
	Size     int64
	Category string // its name, or its ID if the name is unknown
	Folder   string // path within the category; unknown for unchanged objects
	Name     string // with extension
	AssetID  string
	URL      string
	Class    string // of Error
	Error    string
	Attempts int
	// PreviousKey is the key of the object before it was moved, or replaced under another key.
	PreviousKey string
	// AssetName is the name of its asset, if that differs from the name of the object.
	AssetName string
}

// A Folder counts the objects in a top-level folder of the source by state.
type Folder struct {
	// Name is empty for objects outside of folders. It comes from keys: escape it.
	Name string `json:"name"`
	// Counted marks the row of the unchanged objects of all folders, where the state database
	// has only their number. It comes last.
	Counted bool   `json:"only_counted,omitempty"`
	Listed  Amount `json:"listed"`
	States  []Part `json:"states"`
}
