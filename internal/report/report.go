// Package report says what became of a run, from the journal alone: as text, JSON,
// CSV, a list of keys, or a page of HTML.
//
// Read makes a Report, a value of bounded size however many objects there are: sums,
// and the first few of every list. What is long is an iterator over the journal. All
// forms are made from that one value, so that they cannot disagree.
package report

import (
	"time"

	"assetferry/state"
)

// schema is the version of the JSON document. Fields may be added under the same
// version; a changed meaning needs the next one.
const schema = 1

// A Report is what the journal says of one run. Its JSON form is a promise.
type Report struct {
	Version int       `json:"version"`
	MadeAt  time.Time `json:"made_at"`      // UTC; the journal is reported as it was then
	Tool    string    `json:"tool_version"` // of assetferry that made the report; the caller sets it

	Verdict Verdict `json:"verdict"`
	Run     Run     `json:"run"`
	// Destination is what the journal has receipts of, by whichever runs: all that is
	// at the destination from this source.
	Destination Amount `json:"at_destination"`
	Sum         Sum    `json:"sum"`
	// Night is what changed since the sync before; nil of what is no sync.
	Night *Night `json:"night,omitempty"`

	LeftOut    []LeftOut `json:"left_out"`           // what was skipped, most objects first
	Troubles   []Trouble `json:"troubles"`           // what did not arrive, by what to do about it, most objects first
	Unlistable int64     `json:"unlistable_folders"` // folders that could not be read: there may be more objects
	// LeftBehind counts, for a narrow run, what did not come through in runs that looked
	// at more and that nothing has brought since.
	LeftBehind  int64        `json:"left_behind"`
	Proof       Proof        `json:"proof"`
	Alterations []Alteration `json:"alterations"` // what was overwritten, described, moved or trashed; none if only new assets were made
	Undo        Undo         `json:"undo"`

	// Names is of all that is at the destination, by whichever runs.
	Names     Names     `json:"names_differ"`
	Privacy   Privacy   `json:"privacy"`
	Metadata  Metadata  `json:"metadata"`
	Found     Found     `json:"found"`
	Addresses Addresses `json:"addresses"`

	// For charts. Types and Sizes are of the objects in Charted, by extension and by
	// size; see Charted.
	Types []Slice `json:"types"`
	Sizes []Slice `json:"sizes"`
	// Charted is what Types, Sizes and folders are of: all that was listed, or all but
	// the unchanged objects where the journal does not tell which ones these are.
	Charted    Amount  `json:"charted"`
	Throughput []Point `json:"throughput"` // in order of time, at most 120

	stopsAtUnsupported bool // its rules stop at extensions that no category allows

	lists *lists
}

// An Amount is a number of objects and their bytes.
type Amount struct {
	Objects int64 `json:"objects"`
	Bytes   int64 `json:"bytes"`
}

func (a *Amount) add(size int64) { a.Objects++; a.Bytes += size }

func (a Amount) plus(b Amount) Amount { return Amount{a.Objects + b.Objects, a.Bytes + b.Bytes} }

// less is at least nothing.
func (a Amount) less(b Amount) Amount {
	return Amount{max(0, a.Objects-b.Objects), max(0, a.Bytes-b.Bytes)}
}

// A Kind is what a verdict comes down to.
type Kind string

// The kinds of verdicts. Only Proved and Complete are good news; Complete still lacks
// a proof.
const (
	Proved     Kind = "proved"     // all is there, and a verification after it found no difference
	Complete   Kind = "complete"   // all is there by its receipts, and nobody has looked since
	Partial    Kind = "partial"    // all that was to be taken is there, but rules kept back objects that a person may miss
	Incomplete Kind = "incomplete" // objects failed, changed, are in conflict, parked or could not be listed
	Different  Kind = "different"  // a verification found differences
	Unfinished Kind = "unfinished" // there is something left to do, or the run was given up
	PlanOnly   Kind = "plan"       // nothing was to be sent
	Undone     Kind = "undone"     // the run was taken back
	Stopped    Kind = "stopped"    // a guard kept it, or a part of it, from being carried out
)

// A Verdict is the report in a sentence.
type Verdict struct {
	Kind     Kind   `json:"kind"`
	Sentence string `json:"sentence"`
	Next     string `json:"next,omitempty"` // the next step; empty if there is none
}

// A Run says which run it is, and of what.
type Run struct {
	ID          string `json:"id"`
	Command     string `json:"command"`
	State       string `json:"state"` // of state.RunState
	Source      string `json:"source"`
	Destination string `json:"destination"` // environment and workspace
	Address     string `json:"address"`     // where the destination was last reached
	// Purpose is "rehearsal" if the destination is a sandbox, "production" if not, and
	// empty where that is not known.
	Purpose    state.Purpose `json:"purpose"`
	PlanHash   string        `json:"plan_hash,omitempty"`
	AtWork     bool          `json:"at_work"`  // it is not finished, and a process has the journal now
	GivenUp    bool          `json:"given_up"` // it gave way to another run before it was finished
	BeganAt    time.Time     `json:"began_at"`
	ListedAt   time.Time     `json:"listed_at"` // when its listing began
	FinishedAt *time.Time    `json:"finished_at,omitempty"`
	Seconds    float64       `json:"seconds,omitempty"` // from beginning to end, with all pauses; 0 until finished
	ListedAll  bool          `json:"listed_to_its_end"`
	StartedBy  string        `json:"started_by,omitempty"` // the account that began it
	Approval   *Approval     `json:"approval,omitempty"`   // nil if no approver is recorded
	// Narrow says that the run was asked for a part of the source only, by --include,
	// --files-from or --limit, or to send nothing.
	Narrow bool `json:"narrow"`
	// PrunedAt is when its items were pruned; nil if they are
	// there. Then there are sums only.
	PrunedAt *time.Time `json:"pruned_at,omitempty"`
}

// An Approval says who approved what a run does. Key is the fingerprint of the key that
// signed the approval; without one, By is what the account in StatedBy stated.
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

// A Sum says what became of everything that was listed.
type Sum struct {
	Of     string `json:"of"`     // what Listed is, for people
	Listed Amount `json:"listed"` // counted object by object
	Parts  []Part `json:"parts"`  // none of them empty, what arrived first
	Total  Amount `json:"total"`  // of the parts
	Shared Amount `json:"shared"` // of what was adopted: copies that share the asset of another object
	Closes bool   `json:"closes"` // Total is Listed
	Said   string `json:"said"`   // the same for people
}

// A Part is what one thing became of.
type Part struct {
	// Name is a word of State.Told: created, adopted, …, unchanged, skipped, failed.
	Name string `json:"name"`
	// Good says that these objects are at the destination as they should be, or rightly
	// not there.
	Good bool `json:"good"`
	Amount
}

// A LeftOut is what was skipped for one reason, which is not a failure.
type LeftOut struct {
	Reason string `json:"reason"`
	Amount
	// Missed says that a person may miss these at the destination.
	Missed bool `json:"missed"`
	// ByRule says that a rule of the user's own skips them, and New counts, of these, the
	// objects that no earlier run skipped for the same reason: the rest is no news.
	ByRule   bool     `json:"by_rule"`
	New      int64    `json:"new"`
	Decides  string   `json:"decides"`  // the switch or the person that decides about it
	Examples []string `json:"examples"` // keys, the first few, new ones if there are any
}

// ToLookAt counts the objects that nobody has seen skipped yet, or that no rule decides.
func (o LeftOut) ToLookAt() int64 {
	if o.ByRule {
		return o.New
	}
	return o.Objects
}

// A Trouble is what did not arrive and can be helped in one way.
type Trouble struct {
	What   string `json:"what"`   // what it is, for people
	Remedy string `json:"remedy"` // what to do about it
	Parts  []Part `json:"parts"`  // by what became of them: failed, parked, changed, conflict, waiting, in doubt
	Amount
	Examples []Example `json:"examples"`

	byPart parts
}

// An Example is one object of many.
type Example struct {
	Key   string `json:"key"`
	Error string `json:"error,omitempty"` // empty where Trouble.What says it all
}

// A Proof is what the last verification of source and destination found, and how the
// assets are verified that are there now. It is about all that is at the destination from
// the source, and not about a run: what no run replaced since stays verified.
type Proof struct {
	Level       string       `json:"level"` // listing, sample or content; "none" if there was none
	At          *time.Time   `json:"at,omitempty"`
	Receipts    int64        `json:"receipts"`  // compared with the listing of the destination
	ReadBack    int64        `json:"read_back"` // of these, compared by content
	Differences int64        `json:"differences"`
	First       []Difference `json:"first_differences"`
	// Verified counts the assets of whose content, since it arrived, the last verification
	// found no difference; ByContent of these those that were read back, by any verification.
	Verified    int64 `json:"verified"`
	ByContent   int64 `json:"verified_by_content"`
	NotVerified int64 `json:"not_verified"` // their content arrived after it
	// LastArrival is when the last asset arrived, nil if none has.
	LastArrival *time.Time `json:"last_arrival,omitempty"`
	// Covers says that it came after the content of every asset.
	Covers bool `json:"covers_all"`
}

// A Difference is one thing that a verification found.
type Difference struct {
	Key     string `json:"key"`
	AssetID string `json:"asset_id"`
	Field   string `json:"field"`
	What    string `json:"what"`
}

// An Alteration is what was done to assets that were there before.
type Alteration struct {
	Action string `json:"action"` // replaced, described, moved or trashed
	Amount
	Examples []string `json:"examples"`        // keys
	Moves    []Move   `json:"moves,omitempty"` // where the examples came from, if they were moved
}

// A Move is one object that goes by another key.
type Move struct {
	From string `json:"from"`
	To   string `json:"to"`
}

// An Undo says how to take the run back, and whether that was done.
type Undo struct {
	Created Amount `json:"created"`           // what it would trash
	Changed Amount `json:"changed"`           // what it would put back as it was, of what was there before
	Command string `json:"command,omitempty"` // that takes it back; empty if there is nothing to take back, or nobody knows how
	// Undoes is the run that this one takes back, empty if it does not.
	Undoes string `json:"undoes,omitempty"`
	// By are the runs that took it back, in their order.
	By []UndoneBy `json:"undone_by"`
}

// left counts what there still is to take back.
func (u Undo) left() int64 { return u.Created.Objects + u.Changed.Objects }

// An UndoneBy is a run that took another one back.
type UndoneBy struct {
	Run     string    `json:"run"`
	State   string    `json:"state"`
	At      time.Time `json:"at"`
	Trashed Amount    `json:"trashed"`
	PutBack Amount    `json:"put_back"` // as they were before
}

// Names are the assets that are called otherwise than their objects: since the name was taken,
// since a rule says so, or since the service or people call them so.
type Names struct {
	Count int64  `json:"count"`
	First []Name `json:"first"` // in key order, at most 20
}

// A Name is an object, and what its asset is called.
type Name struct {
	Key       string `json:"key"`
	AssetName string `json:"asset_name"`
	AssetID   string `json:"asset_id"`
}

// Privacy says who can see what the run made and adopted.
type Privacy struct {
	Public  Amount `json:"public"`
	Private Amount `json:"private"`
	Unknown Amount `json:"unknown"` // taken for private wherever addresses are published
	// Categories are those with anything in them, most objects first.
	Categories []Category `json:"categories"`
}

// A Category is what the run has in a category at the destination.
type Category struct {
	ID      string `json:"id"`
	Name    string `json:"name"`    // the id where the name is not known
	Privacy string `json:"privacy"` // public, private or unknown
	Amount
}

// Metadata counts what the source itself tells of objects that the run took over, besides
// what is in them, beside them and in tables, and what came of describing assets.
type Metadata struct {
	Objects         int64 `json:"objects"`       // of which it tells anything at all
	ContentTypes    int64 `json:"content_types"` // with a content type
	Fields          int64 `json:"metadata"`      // with metadata
	Tags            int64 `json:"tags"`          // with tags
	NotKept         int64 `json:"not_kept"`      // with something that is not even in the journal
	MetadataPending int64 `json:"undescribed"`   // assets that lack a description which they should have
	EditsKept       int64 `json:"edits_kept"`    // assets that people described otherwise, and that stay so
}

// Addresses counts the assets of the run whose address the journal has.
type Addresses struct {
	Mapped  int64  `json:"mapped"`
	Public  int64  `json:"public"`
	Command string `json:"command,omitempty"` // that lists them
}

// A Slice is a part of a chart.
type Slice struct {
	Name string `json:"name"`
	Amount
}

// A Point is what was done from a time on, until the next point.
type Point struct {
	At      time.Time `json:"at"`
	Minutes int       `json:"minutes"` // that it sums up, at least 1
	Items   int64     `json:"items"`
	Bytes   int64     `json:"bytes"`
}

// A Line is one object in the long lists.
type Line struct {
	Key         string
	Action      string // of state.Action
	State       string // as told to people: created, adopted, …, failed, in doubt
	Undone      bool   // it was created, and taken back since
	Reason      string
	Size        int64
	Category    string // its name, or its id where that is not known
	Folder      string // path within the category; not known of unchanged objects
	Name        string // with extension
	AssetID     string
	URL         string
	Class       string // of Error
	Error       string
	Attempts    int
	PreviousKey string // the key it went by before, if it is moved or was replaced under another one
	// AssetName is what its asset is called, if that is not the name of the object.
	AssetName string
}

// A Folder is a top-level folder of the source, and what became of what it holds.
type Folder struct {
	// Name is empty for objects that are in none. Whatever the key holds is in it:
	// escape it.
	Name string `json:"name"`
	// Counted says that this stands for the unchanged objects of all folders, of which
	// the journal does not tell which ones they are. It comes last.
	Counted bool   `json:"only_counted,omitempty"`
	Listed  Amount `json:"listed"`
	Parts   []Part `json:"parts"`
}
