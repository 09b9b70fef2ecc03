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

// A Describer returns the metadata that the user wrote in a table, without reading contents. It is
// safe for concurrent use.
type Describer interface {
	// Describe returns the metadata of an object; ok is false if there is none.
	Describe(o metadata.Identity) (f metadata.Fields, ok bool, err error)
	// AsksForChecksums reports whether it identifies objects by checksum.
	AsksForChecksums() bool
}

// A Reader is the part of the destination that planning and verification need.
type Reader interface {
	Categories(ctx context.Context) iter.Seq2[assets.Category, error]
	Folders(ctx context.Context) ([]assets.Folder, error)
	Folder(ctx context.Context, id string, depth int) (assets.Folder, error)
	Asset(ctx context.Context, id string) (assets.Asset, error)
	List(ctx context.Context, o assets.ListOptions) iter.Seq2[assets.Asset, error]
	ListPage(ctx context.Context, o assets.ListOptions, offset int, wanted func(id []byte) bool) (assets.ListPage, error)
	Download(ctx context.Context, url string, offset int64) (io.ReadCloser, int64, error)
	NamesTaken(ctx context.Context, in assets.Target, names ...string) ([]string, error)
	Limits(ctx context.Context) (assets.Limits, error)
	Revisions(ctx context.Context, id string) ([]assets.Revision, error)
	DownloadRevision(ctx context.Context, a assets.Asset, revisionID string, offset int64) (io.ReadCloser, int64, error)
}

// A Writer is the part of the destination that only package apply needs.
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
	PhaseVersions  Phase = "list older versions"
	PhaseApply     Phase = "upload"
	PhaseTrash     Phase = "trash"
	PhaseUndo      Phase = "undo"
	PhaseVerify    Phase = "verify"
)

// An Observer is informed about the progress of a run. Its methods must not block and may be called
// from several goroutines. The engine has no other output for people.
type Observer interface {
	// Phase begins a phase; totals are -1 if unknown.
	Phase(p Phase, items, bytes int64)
	// Progress adds completed items and bytes to the phase.
	Progress(items, bytes int64)
	// Item reports the outcome of an item after it was stored.
	Item(i state.Item, o state.Outcome)
	// Found reports a difference that verification found.
	Found(d Difference)
	// WaitingForRetries reports that only items scheduled for retry are left, the time of the first
	// retry, and whether the run waits for it.
	WaitingForRetries(until time.Time, stays bool)
	// Probing reports that items in a row failed, why the last one did, and that only one item at a
	// time is tried from now on. The run ends at until if all fail.
	Probing(items int, why string, until time.Time)
	// Paused reports that no asset can be moved or trashed, and why. The request is repeated until
	// until; then the run ends.
	Paused(why string, until time.Time)
	// AwaitingConfirmation reports that the run waits for unconfirmed items, why the last one is
	// unconfirmed, and when the next check is.
	AwaitingConfirmation(items int, why string, until time.Time)
	// AwaitingOtherSources reports that a plan waits until a time for unconfirmed assets of another
	// source of the destination.
	AwaitingOtherSources(others int64, until time.Time)
	// Comparing reports, before a plan compares objects with existing assets of the same name and
	// size, how many they are and how many bytes it reads at most from the source and the destination.
	Comparing(objects, fromSource, fromDestination int64)
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

// Comparing does nothing.
func (Silent) Comparing(int64, int64, int64) {}

// Deps are the dependencies of every part of the engine.
type Deps struct {
	Source sources.Source
	Dest   Reader
	State  *state.Store
	Watch  Observer
	Log    *slog.Logger
	Now    func() time.Time // an estimate of the server's clock
	// Describer returns metadata of the user's table; nil if there is none.
	Describer Describer
	// Mapping maps the found metadata of objects to metadata of assets.
	Mapping *mapping.Mapping
}

// WithDefaults returns d with defaults for a missing observer, log and clock: the first two discard
// everything, the clock is that of this machine.
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

// ErrStopped means that the run was asked to stop: work in progress was finished and recorded.
var ErrStopped = errors.New("stopped on request")

// Categories returns the categories in the order of the service, in which they are chosen.
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

// SaveCategories stores the names of categories, and whether they are private, in the state
// database.
func SaveCategories(ctx context.Context, j *state.Store, destination string, all []assets.Category) error {
	seen := make([]state.Category, len(all))
	for n, c := range all {
		seen[n] = state.Category{ID: c.ID, Name: c.Name, Private: c.Private}
	}
	return j.SaveCategories(ctx, destination, seen)
}
