package faults

import (
	"context"
	"encoding/json"
	"fmt"
	"iter"
	"time"

	"assetferry/migrate"
	"assetferry/sources"
	"assetferry/state"
)

// A Journal passes calls on to the journal that it wraps and has one of them go
// wrong. Each row of a listing is a call of its own.
type Journal struct {
	migrate.Journal
	*Moment
	Kind JournalKind
}

// A JournalKind is a way for a journal to fail.
type JournalKind struct {
	Name string
	done bool
}

// JournalKinds gives all ways for a journal to fail: before anything is done, and
// done although it says that it is not.
func JournalKinds() []JournalKind { return []JournalKind{{"undone", false}, {"done", true}} }

// do carries a call out, or fails it.
func (j *Journal) do(call func() error) error {
	if !j.comes() {
		return call()
	}
	if j.Kind.done {
		_ = call() // whatever came of it, nobody hears
	}
	return fmt.Errorf("journal: %w: the disk is full", Err)
}

// value carries out a call that gives something.
func value[T any](j *Journal, call func() (T, error)) (v T, err error) {
	err = j.do(func() (err error) { v, err = call(); return err })
	if err != nil {
		var none T
		v = none
	}
	return v, err
}

// rows may fail before or after each row. Who stops listening to a listing does not hear of a
// failure after the row, so that one does not come.
func rows[T any](j *Journal, all iter.Seq2[T, error]) iter.Seq2[T, error] {
	return func(yield func(T, error) bool) {
		fails := func() bool {
			err := j.do(func() error { return nil })
			if err != nil {
				var none T
				yield(none, err)
			}
			return err != nil
		}
		for row, err := range all {
			if !j.Kind.done && fails() || !yield(row, err) || j.Kind.done && fails() {
				return
			}
		}
	}
}

// Begin implements migrate.Journal.
func (j *Journal) Begin(ctx context.Context, pair state.Pair, command string, rules json.RawMessage) (state.Run, error) {
	return value(j, func() (state.Run, error) { return j.Journal.Begin(ctx, pair, command, rules) })
}

// Run implements migrate.Journal.
func (j *Journal) Run(ctx context.Context, id string) (state.Run, error) {
	return value(j, func() (state.Run, error) { return j.Journal.Run(ctx, id) })
}

// SetRunState implements migrate.Journal.
func (j *Journal) SetRunState(ctx context.Context, run int64, from, to state.RunState) error {
	return j.do(func() error { return j.Journal.SetRunState(ctx, run, from, to) })
}

// Relist implements migrate.Journal.
func (j *Journal) Relist(ctx context.Context, run int64) error {
	return j.do(func() error { return j.Journal.Relist(ctx, run) })
}

// FinishPlan implements migrate.Journal.
func (j *Journal) FinishPlan(ctx context.Context, run int64, hash string, categories json.RawMessage) error {
	return j.do(func() error { return j.Journal.FinishPlan(ctx, run, hash, categories) })
}

// FinishRun implements migrate.Journal.
func (j *Journal) FinishRun(ctx context.Context, run int64) error {
	return j.do(func() error { return j.Journal.FinishRun(ctx, run) })
}

// OutdateOthers implements migrate.Journal.
func (j *Journal) OutdateOthers(ctx context.Context, pair state.Pair) error {
	return j.do(func() error { return j.Journal.OutdateOthers(ctx, pair) })
}

// Stage implements migrate.Journal.
func (j *Journal) Stage(ctx context.Context, run int64, p state.Page) error {
	return j.do(func() error { return j.Journal.Stage(ctx, run, p) })
}

// Decided implements migrate.Journal.
func (j *Journal) Decided(ctx context.Context, run int64, items []state.Item) error {
	return j.do(func() error { return j.Journal.Decided(ctx, run, items) })
}

// Items implements migrate.Journal.
func (j *Journal) Items(ctx context.Context, run int64, states ...state.ItemState) iter.Seq2[state.Item, error] {
	return rows(j, j.Journal.Items(ctx, run, states...))
}

// Item implements migrate.Journal.
func (j *Journal) Item(ctx context.Context, run int64, key sources.Key) (state.Item, error) {
	return value(j, func() (state.Item, error) { return j.Journal.Item(ctx, run, key) })
}

// Collisions implements migrate.Journal.
func (j *Journal) Collisions(ctx context.Context, run, pair int64) ([]state.Collision, error) {
	return value(j, func() ([]state.Collision, error) { return j.Journal.Collisions(ctx, run, pair) })
}

// Tallies implements migrate.Journal.
func (j *Journal) Tallies(ctx context.Context, run int64) ([]state.Tally, error) {
	return value(j, func() ([]state.Tally, error) { return j.Journal.Tallies(ctx, run) })
}

// Take implements migrate.Journal.
func (j *Journal) Take(ctx context.Context, run int64, next state.Next) ([]state.Item, error) {
	return value(j, func() ([]state.Item, error) { return j.Journal.Take(ctx, run, next) })
}

// TakeDue implements migrate.Journal.
func (j *Journal) TakeDue(ctx context.Context, run int64, now time.Time, n int, serverTime time.Time) ([]state.Item, error) {
	return value(j, func() ([]state.Item, error) { return j.Journal.TakeDue(ctx, run, now, n, serverTime) })
}

// NextDue implements migrate.Journal.
func (j *Journal) NextDue(ctx context.Context, run int64) (at time.Time, n int64, err error) {
	err = j.do(func() (err error) { at, n, err = j.Journal.NextDue(ctx, run); return err })
	return at, n, err
}

// OthersInDoubt implements migrate.Journal.
func (j *Journal) OthersInDoubt(ctx context.Context, pair state.Pair, after time.Time) (n, largest int64, err error) {
	err = j.do(func() (err error) { n, largest, err = j.Journal.OthersInDoubt(ctx, pair, after); return err })
	return n, largest, err
}

// Resend implements migrate.Journal.
func (j *Journal) Resend(ctx context.Context, run int64, keys []sources.Key, serverTime time.Time) error {
	return j.do(func() error { return j.Journal.Resend(ctx, run, keys, serverTime) })
}

// Release implements migrate.Journal.
func (j *Journal) Release(ctx context.Context, run int64, keys []sources.Key) error {
	return j.do(func() error { return j.Journal.Release(ctx, run, keys) })
}

// Interrupted implements migrate.Journal.
func (j *Journal) Interrupted(ctx context.Context, run int64) ([]state.Item, error) {
	return value(j, func() ([]state.Item, error) { return j.Journal.Interrupted(ctx, run) })
}

// Record implements migrate.Journal.
func (j *Journal) Record(ctx context.Context, run, pair int64, outcomes []state.Outcome) error {
	return j.do(func() error { return j.Journal.Record(ctx, run, pair, outcomes) })
}

// Advance implements migrate.Journal.
func (j *Journal) Advance(ctx context.Context, run, pair int64, outcomes []state.Outcome, next state.Next) ([]state.Item, error) {
	return value(j, func() ([]state.Item, error) { return j.Journal.Advance(ctx, run, pair, outcomes, next) })
}

// Failures implements migrate.Journal.
func (j *Journal) Failures(ctx context.Context, pair int64, after sources.Key) iter.Seq2[state.Failure, error] {
	return rows(j, j.Journal.Failures(ctx, pair, after))
}

// Receipts implements migrate.Journal.
func (j *Journal) Receipts(ctx context.Context, pair int64, after sources.Key) iter.Seq2[state.Receipt, error] {
	return rows(j, j.Journal.Receipts(ctx, pair, after))
}

// Fingerprints implements migrate.Journal.
func (j *Journal) Fingerprints(ctx context.Context, pair int64, after sources.Key) iter.Seq2[state.Receipt, error] {
	return rows(j, j.Journal.Fingerprints(ctx, pair, after))
}

// Receipt implements migrate.Journal.
func (j *Journal) Receipt(ctx context.Context, pair int64, key sources.Key) (state.Receipt, error) {
	return value(j, func() (state.Receipt, error) { return j.Journal.Receipt(ctx, pair, key) })
}

// ReceiptsOf implements migrate.Journal.
func (j *Journal) ReceiptsOf(ctx context.Context, pair int64, assets []string) (map[string]state.Receipt, error) {
	return value(j, func() (map[string]state.Receipt, error) { return j.Journal.ReceiptsOf(ctx, pair, assets) })
}

// HoldsAsset implements migrate.Journal.
func (j *Journal) HoldsAsset(ctx context.Context, pair int64, asset string) (bool, error) {
	return value(j, func() (bool, error) { return j.Journal.HoldsAsset(ctx, pair, asset) })
}

// OwnsAsset implements migrate.Journal.
func (j *Journal) OwnsAsset(ctx context.Context, destination, asset string) (bool, error) {
	return value(j, func() (bool, error) { return j.Journal.OwnsAsset(ctx, destination, asset) })
}

// SumReceipts implements migrate.Journal.
func (j *Journal) SumReceipts(ctx context.Context, pair int64) (state.ReceiptSum, error) {
	return value(j, func() (state.ReceiptSum, error) { return j.Journal.SumReceipts(ctx, pair) })
}

// Choices implements migrate.Journal.
func (j *Journal) Choices(ctx context.Context, destination string) (map[string]string, error) {
	return value(j, func() (map[string]string, error) { return j.Journal.Choices(ctx, destination) })
}

// SaveChoices implements migrate.Journal.
func (j *Journal) SaveChoices(ctx context.Context, destination string, choices map[string]string) error {
	return j.do(func() error { return j.Journal.SaveChoices(ctx, destination, choices) })
}

// Folders implements migrate.Journal.
func (j *Journal) Folders(ctx context.Context, destination, category string) (map[string]string, error) {
	return value(j, func() (map[string]string, error) { return j.Journal.Folders(ctx, destination, category) })
}

// SaveFolder implements migrate.Journal.
func (j *Journal) SaveFolder(ctx context.Context, destination, category, path, id string) error {
	return j.do(func() error { return j.Journal.SaveFolder(ctx, destination, category, path, id) })
}

// SaveNewFolder implements migrate.Journal.
func (j *Journal) SaveNewFolder(ctx context.Context, pair state.Pair, category, path, id string) error {
	return j.do(func() error { return j.Journal.SaveNewFolder(ctx, pair, category, path, id) })
}

// SaveOurs implements migrate.Journal.
func (j *Journal) SaveOurs(ctx context.Context, pair int64, category, path string) error {
	return j.do(func() error { return j.Journal.SaveOurs(ctx, pair, category, path) })
}

// IsOurs implements migrate.Journal.
func (j *Journal) IsOurs(ctx context.Context, pair int64, category, path string) (bool, error) {
	return value(j, func() (bool, error) { return j.Journal.IsOurs(ctx, pair, category, path) })
}

// ForgetOursOfOthers implements migrate.Journal.
func (j *Journal) ForgetOursOfOthers(ctx context.Context, pair state.Pair, places []state.PlaceKey) error {
	return j.do(func() error { return j.Journal.ForgetOursOfOthers(ctx, pair, places) })
}

// ForgetOurs implements migrate.Journal.
func (j *Journal) ForgetOurs(ctx context.Context, pair int64, category, path string) error {
	return j.do(func() error { return j.Journal.ForgetOurs(ctx, pair, category, path) })
}

// Intend implements migrate.Journal.
func (j *Journal) Intend(ctx context.Context, destination string, p state.PlaceKey, at time.Time) error {
	return j.do(func() error { return j.Journal.Intend(ctx, destination, p, at) })
}

// ForgetIntent implements migrate.Journal.
func (j *Journal) ForgetIntent(ctx context.Context, destination string, p state.PlaceKey) error {
	return j.do(func() error { return j.Journal.ForgetIntent(ctx, destination, p) })
}

// Intents implements migrate.Journal.
func (j *Journal) Intents(ctx context.Context, destination string) (map[state.PlaceKey]time.Time, error) {
	return value(j, func() (map[state.PlaceKey]time.Time, error) { return j.Journal.Intents(ctx, destination) })
}

// StageInventory implements migrate.Journal.
func (j *Journal) StageInventory(ctx context.Context, scope state.Scope, entries []state.Entry) error {
	return j.do(func() error { return j.Journal.StageInventory(ctx, scope, entries) })
}

// DropInventory implements migrate.Journal.
func (j *Journal) DropInventory(ctx context.Context, scope state.Scope) error {
	return j.do(func() error { return j.Journal.DropInventory(ctx, scope) })
}

// EntriesAt implements migrate.Journal.
func (j *Journal) EntriesAt(ctx context.Context, scope state.Scope, slots []int64) ([]state.Entry, error) {
	return value(j, func() ([]state.Entry, error) { return j.Journal.EntriesAt(ctx, scope, slots) })
}

// Containers implements migrate.Journal.
func (j *Journal) Containers(ctx context.Context, pair int64) ([]state.Container, error) {
	return value(j, func() ([]state.Container, error) { return j.Journal.Containers(ctx, pair) })
}

// Sightings implements migrate.Journal.
func (j *Journal) Sightings(ctx context.Context, pair int64) iter.Seq2[state.Sighting, error] {
	return rows(j, j.Journal.Sightings(ctx, pair))
}

// SaveVerification implements migrate.Journal.
func (j *Journal) SaveVerification(ctx context.Context, v state.Verification, found []state.Difference) error {
	return j.do(func() error { return j.Journal.SaveVerification(ctx, v, found) })
}

// StageUndo implements migrate.Journal.
func (j *Journal) StageUndo(ctx context.Context, undo state.Run, later, shared string) error {
	return j.do(func() error { return j.Journal.StageUndo(ctx, undo, later, shared) })
}

// Undoings implements migrate.Journal.
func (j *Journal) Undoings(ctx context.Context, undo state.Run, keys []sources.Key) (map[sources.Key]state.Undoing, error) {
	return value(j, func() (map[sources.Key]state.Undoing, error) { return j.Journal.Undoings(ctx, undo, keys) })
}

// DecideUndo implements migrate.Journal.
func (j *Journal) DecideUndo(ctx context.Context, undo int64, items []state.Item) error {
	return j.do(func() error { return j.Journal.DecideUndo(ctx, undo, items) })
}

// UndoContainers implements migrate.Journal.
func (j *Journal) UndoContainers(ctx context.Context, undo state.Run) ([]state.Container, error) {
	return value(j, func() ([]state.Container, error) { return j.Journal.UndoContainers(ctx, undo) })
}

// Namesakes implements migrate.Journal.
func (j *Journal) Namesakes(ctx context.Context, pair int64, assets []string) (map[string]bool, error) {
	return value(j, func() (map[string]bool, error) { return j.Journal.Namesakes(ctx, pair, assets) })
}

// SharedAssets implements migrate.Journal.
func (j *Journal) SharedAssets(ctx context.Context, pair state.Pair, assets []string) (map[string]bool, error) {
	return value(j, func() (map[string]bool, error) { return j.Journal.SharedAssets(ctx, pair, assets) })
}

// FinishUndo implements migrate.Journal.
func (j *Journal) FinishUndo(ctx context.Context, undo state.Run) error {
	return j.do(func() error { return j.Journal.FinishUndo(ctx, undo) })
}

// SaveCategories implements migrate.Journal.
func (j *Journal) SaveCategories(ctx context.Context, destination string, all []state.Category) error {
	return j.do(func() error { return j.Journal.SaveCategories(ctx, destination, all) })
}

// LastFinished implements migrate.Journal.
func (j *Journal) LastFinished(ctx context.Context, pair int64, command string) (state.Run, error) {
	return value(j, func() (state.Run, error) { return j.Journal.LastFinished(ctx, pair, command) })
}

// Orphans implements migrate.Journal.
func (j *Journal) Orphans(ctx context.Context, pair int64, after sources.Key) iter.Seq2[state.Orphan, error] {
	return rows(j, j.Journal.Orphans(ctx, pair, after))
}

// MoveCandidates implements migrate.Journal.
func (j *Journal) MoveCandidates(ctx context.Context, run, pair int64, absent string) iter.Seq2[state.Candidate, error] {
	return rows(j, j.Journal.MoveCandidates(ctx, run, pair, absent))
}

// Recased implements migrate.Journal.
func (j *Journal) Recased(ctx context.Context, run, pair int64, absent string) ([]state.Item, error) {
	return value(j, func() ([]state.Item, error) { return j.Journal.Recased(ctx, run, pair, absent) })
}

// CalledOtherwise implements migrate.Journal.
func (j *Journal) CalledOtherwise(ctx context.Context, pair int64) iter.Seq2[state.Receipt, error] {
	return rows(j, j.Journal.CalledOtherwise(ctx, pair))
}

// TakenPlaces implements migrate.Journal.
func (j *Journal) TakenPlaces(ctx context.Context, run, pair int64, slots []int64) (map[int64]bool, error) {
	return value(j, func() (map[int64]bool, error) { return j.Journal.TakenPlaces(ctx, run, pair, slots) })
}

// RunsOf implements migrate.Journal.
func (j *Journal) RunsOf(ctx context.Context, pair int64, limit int) ([]state.Run, error) {
	return value(j, func() ([]state.Run, error) { return j.Journal.RunsOf(ctx, pair, limit) })
}

// FormerAsset implements migrate.Journal.
func (j *Journal) FormerAsset(ctx context.Context, run int64, key sources.Key) (json.RawMessage, error) {
	return value(j, func() (json.RawMessage, error) { return j.Journal.FormerAsset(ctx, run, key) })
}

// SaveFormer implements migrate.Journal.
func (j *Journal) SaveFormer(ctx context.Context, run, pair int64, all []state.Former) error {
	return j.do(func() error { return j.Journal.SaveFormer(ctx, run, pair, all) })
}

// DriftCursor implements migrate.Journal.
func (j *Journal) DriftCursor(ctx context.Context, pair int64) (sources.Key, error) {
	return value(j, func() (sources.Key, error) { return j.Journal.DriftCursor(ctx, pair) })
}

// AddDrift implements migrate.Journal.
func (j *Journal) AddDrift(ctx context.Context, run int64, items []state.Item) error {
	return j.do(func() error { return j.Journal.AddDrift(ctx, run, items) })
}

// NoteSync implements migrate.Journal.
func (j *Journal) NoteSync(ctx context.Context, run int64, stopped string, driftCursor sources.Key) error {
	return j.do(func() error { return j.Journal.NoteSync(ctx, run, stopped, driftCursor) })
}

// FinishSync implements migrate.Journal.
func (j *Journal) FinishSync(ctx context.Context, run state.Run, e state.Ending) error {
	return j.do(func() error { return j.Journal.FinishSync(ctx, run, e) })
}

// Described implements migrate.Journal.
func (j *Journal) Described(ctx context.Context, pair int64, after sources.Key) iter.Seq2[state.Described, error] {
	return rows(j, j.Journal.Described(ctx, pair, after))
}

// DescribedAs implements migrate.Journal.
func (j *Journal) DescribedAs(ctx context.Context, pair int64, key sources.Key) (state.Described, error) {
	return value(j, func() (state.Described, error) { return j.Journal.DescribedAs(ctx, pair, key) })
}

// Sidecars implements migrate.Journal.
func (j *Journal) Sidecars(ctx context.Context, pair int64, after sources.Key) iter.Seq2[state.Sidecar, error] {
	return rows(j, j.Journal.Sidecars(ctx, pair, after))
}

// PendingSidecars implements migrate.Journal.
func (j *Journal) PendingSidecars(ctx context.Context, pair int64) iter.Seq2[state.Sidecar, error] {
	return rows(j, j.Journal.PendingSidecars(ctx, pair))
}

// SidecarsAmong implements migrate.Journal.
func (j *Journal) SidecarsAmong(ctx context.Context, pair int64, folded []string) ([]state.Sidecar, error) {
	return value(j, func() ([]state.Sidecar, error) { return j.Journal.SidecarsAmong(ctx, pair, folded) })
}

// SidecarOwners implements migrate.Journal.
func (j *Journal) SidecarOwners(ctx context.Context, run, pair int64, keys, begins []string) ([]state.SidecarOwner, error) {
	return value(j, func() ([]state.SidecarOwner, error) { return j.Journal.SidecarOwners(ctx, run, pair, keys, begins) })
}

// SaveSidecars implements migrate.Journal.
func (j *Journal) SaveSidecars(ctx context.Context, run int64, all []state.Sidecar) error {
	return j.do(func() error { return j.Journal.SaveSidecars(ctx, run, all) })
}

// ClaimSidecars implements migrate.Journal.
func (j *Journal) ClaimSidecars(ctx context.Context, pair, run int64, keys []sources.Key) error {
	return j.do(func() error { return j.Journal.ClaimSidecars(ctx, pair, run, keys) })
}

// UnreadSidecar implements migrate.Journal.
func (j *Journal) UnreadSidecar(ctx context.Context, pair int64, key sources.Key) error {
	return j.do(func() error { return j.Journal.UnreadSidecar(ctx, pair, key) })
}

// ForgetSidecar implements migrate.Journal.
func (j *Journal) ForgetSidecar(ctx context.Context, pair int64, key sources.Key) error {
	return j.do(func() error { return j.Journal.ForgetSidecar(ctx, pair, key) })
}

// AllAliases implements migrate.Journal.
func (j *Journal) AllAliases(ctx context.Context, pair int64, after sources.Key) iter.Seq2[state.Alias, error] {
	return rows(j, j.Journal.AllAliases(ctx, pair, after))
}

// AliasesOf implements migrate.Journal.
func (j *Journal) AliasesOf(ctx context.Context, pair int64, owner sources.Key) iter.Seq2[state.Alias, error] {
	return rows(j, j.Journal.AliasesOf(ctx, pair, owner))
}

// AliasOwner implements migrate.Journal.
func (j *Journal) AliasOwner(ctx context.Context, pair int64, key sources.Key) (sources.Key, error) {
	return value(j, func() (sources.Key, error) { return j.Journal.AliasOwner(ctx, pair, key) })
}

// JoinedReceipts implements migrate.Journal.
func (j *Journal) JoinedReceipts(ctx context.Context, run, pair int64) iter.Seq2[state.Receipt, error] {
	return rows(j, j.Journal.JoinedReceipts(ctx, run, pair))
}

// ForgetAliasesOf implements migrate.Journal.
func (j *Journal) ForgetAliasesOf(ctx context.Context, pair int64, owner sources.Key) error {
	return j.do(func() error { return j.Journal.ForgetAliasesOf(ctx, pair, owner) })
}

// Sharers implements migrate.Journal.
func (j *Journal) Sharers(ctx context.Context, run, pair int64) iter.Seq2[state.Sharer, error] {
	return rows(j, j.Journal.Sharers(ctx, run, pair))
}
