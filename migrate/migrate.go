// Package migrate is the core of the engine. It lists a source, decides for every object which
// action is necessary and why, stores the plan, applies it, and verifies the result. It contains no
// SQL, no HTTP and no terminal output.
//
// Eight types and six files lead from a listed object to its receipt:
//
//  1. A Planner of package plan lists the source and gets each [sources.Object] (migrate/plan/scan.go).
//  2. The facts about an object are a [Situation]; [Decide] returns an action and a [Reason] for it
//     (migrate/decide.go, migrate/reasons.go).
//  3. Object and decision are a [state.Item] of the plan in the state database (state/items.go).
//  4. An Applier of package apply takes the item, whose intent is stored by then, uploads the content
//     and gets the asset (migrate/apply/send.go).
//  5. The result is a [state.Outcome] with the [state.Receipt] of the asset; both are stored in one
//     transaction (state/receipts.go).
//
// The packages below are split by access: packages plan and verify only read the destination;
// packages apply and undo write to it. Package inventory reads the destination for all of them.
// Package collect reads the metadata of objects for all but verify.
package migrate

import (
	"context"
	"errors"
	"io"
	"iter"
	"log/slog"
	"time"

	"assetferry/internal/assets"
	"assetferry/internal/clock"
	"assetferry/internal/mapping"
	"assetferry/internal/metadata"
	"assetferry/sources"
	"assetferry/state"
)

// A Describer says what the user wrote down of objects, and reads no content for that. It
// may be asked from several goroutines.
type Describer interface {
	// Describe gives the metadata of an object; ok is false if there is nothing.
	Describe(o metadata.Identity) (f metadata.Fields, ok bool, err error)
	// AsksForChecksums reports whether it knows objects by the checksums of their contents.
	AsksForChecksums() bool
}

// A Reader is the part of the destination that planning and verifying need.
type Reader interface {
	Categories(ctx context.Context) iter.Seq2[assets.Category, error]
	Folders(ctx context.Context) ([]assets.Folder, error)
	Folder(ctx context.Context, id string, depth int) (assets.Folder, error)
	Asset(ctx context.Context, id string) (assets.Asset, error)
	List(ctx context.Context, o assets.ListOptions) iter.Seq2[assets.Asset, error]
	Download(ctx context.Context, url string, offset int64) (io.ReadCloser, int64, error)
	NamesTaken(ctx context.Context, in assets.Target, names ...string) ([]string, error)
	Limits(ctx context.Context) (assets.Limits, error)
	Revisions(ctx context.Context, id string) ([]assets.Revision, error)
	DownloadRevision(ctx context.Context, a assets.Asset, revisionID string, offset int64) (io.ReadCloser, int64, error)
}

// A Writer is the part of the destination that only applying needs.
type Writer interface {
	CreateCategory(ctx context.Context, c assets.NewCategory) (string, error)
	CreateFolder(ctx context.Context, f assets.NewFolder) (string, error)
	Upload(ctx context.Context, u assets.Upload) (assets.Asset, error)
	Update(ctx context.Context, id string, changes assets.Changes) (assets.Asset, error)
	Replace(ctx context.Context, id string, r assets.Replacement) (assets.Asset, error)
	UseRevision(ctx context.Context, id, revisionID string) error
	Move(ctx context.Context, to assets.Target, transfers ...assets.Transfer) error
	Trasher
}

// A Trasher is the part of the destination that trashing needs.
type Trasher interface {
	Trash(ctx context.Context, ids ...string) error
}

// A Phase is a part of a run that people watch.
type Phase string

// The phases.
const (
	PhaseScan      Phase = "list the source"
	PhaseInventory Phase = "list the destination"
	PhaseCompare   Phase = "compare"
	PhasePlan      Phase = "plan"
	PhaseApply     Phase = "upload"
	PhaseTrash     Phase = "trash"
	PhaseUndo      Phase = "undo"
	PhaseVerify    Phase = "verify"
)

// An Observer watches a run. Its methods must not block and may be called from
// several goroutines. The engine has no other way to talk to people.
type Observer interface {
	// Phase begins a phase; totals are -1 where they are unknown.
	Phase(p Phase, items, bytes int64)
	// Progress says that so much more is done in the phase.
	Progress(items, bytes int64)
	// Item shows the outcome of an item, after the state database has it.
	Item(i state.Item, o state.Outcome)
	// Found shows a difference that verifying found.
	Found(d Difference)
	// WaitingForRetries shows that nothing is left to do but to try items again, the first of
	// them at a time, and whether the run stays for it.
	WaitingForRetries(until time.Time, stays bool)
	// Probing shows that so many items in a row failed, for reasons that may
	// pass, and that only one at a time is tried from now on; should it not pass
	// until a time, the run ends.
	Probing(items int, why string, until time.Time)
	// Paused shows that no asset can be moved or trashed for a reason that may pass; should
	// it not pass until a time, the run ends.
	Paused(why string, until time.Time)
	// AwaitingConfirmation shows that nothing moves until it is known what became of so many items
	// unconfirmed, why the last of them is, and when that is known.
	AwaitingConfirmation(items int, why string, until time.Time)
	// AwaitingOtherSources shows that a plan waits until a time by which so many assets that another
	// source sent or moved, and whose answers no user got, must have shown up.
	AwaitingOtherSources(others int64, until time.Time)
}

// Silent is an Observer that keeps quiet.
type Silent struct{}

// Phase does nothing.
func (Silent) Phase(Phase, int64, int64) {}

// Progress does nothing.
func (Silent) Progress(int64, int64) {}

// Item does nothing.
func (Silent) Item(state.Item, state.Outcome) {}

// Found does nothing.
func (Silent) Found(Difference) {}

// WaitingForRetries does nothing.
func (Silent) WaitingForRetries(time.Time, bool) {}

// Probing does nothing.
func (Silent) Probing(int, string, time.Time) {}

// Paused does nothing.
func (Silent) Paused(string, time.Time) {}

// AwaitingConfirmation does nothing.
func (Silent) AwaitingConfirmation(int, string, time.Time) {}

// AwaitingOtherSources does nothing.
func (Silent) AwaitingOtherSources(int64, time.Time) {}

// Deps are what every part of the engine works with.
type Deps struct {
	Source sources.Source
	Dest   Reader
	State  *state.Store
	Watch  Observer
	Log    *slog.Logger
	Now    func() time.Time // the server's clock, as well as it is known
	// Describer says what the user wrote down of objects; nil if that is nothing.
	Describer Describer
	// Mapping makes of what was found of an object what its asset is described with.
	Mapping *mapping.Mapping
}

// WithDefaults returns d with an observer, a log and a clock where it has none: the first two
// discard what they get, the clock is the one of this machine.
func (d Deps) WithDefaults() Deps {
	if d.Watch == nil {
		d.Watch = Silent{}
	}
	if d.Log == nil {
		d.Log = slog.New(slog.DiscardHandler)
	}
	if d.Now == nil {
		d.Now = clock.Now
	}
	return d
}

// ErrStopped says that the run was asked to stop and did so in good order: what
// had begun was finished and recorded.
var ErrStopped = errors.New("stopped on request")

// Categories collects the categories in the service's order, which is the order
// in which they are chosen.
func Categories(ctx context.Context, r Reader) ([]assets.Category, error) {
	var all []assets.Category
	for c, err := range r.Categories(ctx) {
		if err != nil {
			return nil, err
		}
		all = append(all, c)
	}
	return all, nil
}

// SaveCategories stores the names of categories, and which are private, in the state database.
func SaveCategories(ctx context.Context, j *state.Store, destination string, all []assets.Category) error {
	seen := make([]state.Category, len(all))
	for n, c := range all {
		seen[n] = state.Category{ID: c.ID, Name: c.Name, Private: c.Private}
	}
	return j.SaveCategories(ctx, destination, seen)
}
