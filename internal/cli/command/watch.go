package command

import (
	"context"
	"fmt"
	"log/slog"
	"time"

	"assetferry/internal/clock"
	"assetferry/internal/event"
	"assetferry/internal/ui"
	"assetferry/migrate"
	"assetferry/sources"
	"assetferry/state"
)

// shownFindings is the number of differences, and of notes, that are shown; --json and --verbose
// have all.
const shownFindings = 5

// A watch shows the progress of the engine.
type watch struct {
	out                *ui.Out
	differences, notes int
	Further            int64 // differences that are extra assets
	found              []string

	Source sources.Source               // that is listed; may be nil
	before struct{ items, bytes int64 } // see Resume
}

// Watch returns an observer that shows the progress of the engine.
func (f *Factory) Watch() *watch { return &watch{out: f.Out} }

// Phase implements migrate.Observer. The progress of a resumed run covers all of the run.
func (w *watch) Phase(p migrate.Phase, items, bytes int64) {
	if p == migrate.PhaseApply {
		w.out.Progress().JoinPhase(string(p), w.before.items, w.before.bytes, w.before.items+items, w.before.bytes+bytes)
		return
	}
	w.out.Progress().StartPhase(string(p), items, bytes)
	if s, ok := w.Source.(sources.Measured); ok && p == migrate.PhaseScan {
		w.out.Progress().CountFolders(s.ListedFolders)
	}
}

// Resume sets what earlier invocations of the run have finished.
func (w *watch) Resume(items, bytes int64) { w.before.items, w.before.bytes = items, bytes }

// Progress implements migrate.Observer.
func (w *watch) Progress(items, bytes int64) { w.out.Progress().Add(items, bytes) }

// Item implements migrate.Observer.
func (w *watch) Item(i state.Item, o state.Outcome) {
	line := event.Item{Key: string(i.Key), PreviousKey: PreviousKey(i), Action: string(i.Action), State: string(o.State), Error: o.Error}
	if o.Undone {
		line.AssetID = i.Asset
	}
	if o.Receipt != nil {
		line.AssetID, line.URL = o.Receipt.Asset, o.Receipt.URL
		line.SourceMetadata = (*event.SourceMetadata)(o.Receipt.Description)
	}
	w.out.Event("item", line)
	level := slog.LevelDebug
	if o.State != state.ItemDone {
		level = slog.LevelInfo
	}
	w.out.Log().Log(context.Background(), level, "item", "key", i.Key, "action", i.Action, "state", o.State, "asset", line.AssetID, "error", o.Error)
}

// Found implements migrate.Observer. The engine calls it one at a time.
func (w *watch) Found(d migrate.Difference) {
	result, mark, seen := "difference", "!", &w.differences
	if d.Note {
		result, mark, seen = "note", " ", &w.notes
	} else if d.Field == migrate.FieldFurther {
		w.Further++
	}
	w.out.Event("check", event.Check{
		Key: d.Key, AssetID: d.Asset, Result: result, Field: d.Field, Want: d.Want, Got: d.Got, Message: d.What,
	})
	line := fmt.Sprintf("%s %s: %s (asset %s)", mark, ui.Sanitize(d.Key), ui.Sanitize(d.What), ui.Sanitize(d.Asset))
	switch *seen++; {
	case w.out.Verbose():
		w.out.Printf("%s", line)
	case *seen <= shownFindings:
		w.found = append(w.found, line)
	}
}

// WaitingForRetries implements migrate.Observer.
func (w *watch) WaitingForRetries(until time.Time, stays bool) {
	at := ui.TimeAndWait(until, clock.Now())
	if stays {
		w.out.Notef("Only objects that failed are left. The first retry is at %s.", at)
	} else {
		w.out.Notef("Only objects that failed are left. The first can be retried at %s; --wait retries them in this run.", at)
	}
}

// Probing implements migrate.Observer.
func (w *watch) Probing(items int, why string, until time.Time) {
	w.out.Notef("%s in a row failed. The last error: %s", ui.Counted(int64(items), "object"), ui.Sanitize(why))
	w.out.Notef("Trying one object at a time. The first failure after %s stops the run.", ui.TimeAndWait(until, clock.Now()))
}

// Paused implements migrate.Observer.
func (w *watch) Paused(why string, until time.Time) {
	w.out.Notef("No asset can be changed at the moment: %s", ui.Sanitize(why))
	w.out.Notef("Retrying until %s; then the run stops.", ui.TimeAndWait(until, clock.Now()))
}

// AwaitingConfirmation implements migrate.Observer.
func (w *watch) AwaitingConfirmation(items int, why string, until time.Time) {
	w.out.Notef("Waiting until %s to confirm %s; missing ones are sent again then. The last error: %s",
		ui.TimeAndWait(until, clock.Now()), ui.Counted(int64(items), "upload"), ui.Sanitize(why))
}

// AwaitingOtherSources implements migrate.Observer.
func (w *watch) AwaitingOtherSources(others int64, until time.Time) {
	w.out.Notef("Waiting until %s: an interrupted run of another source sent or moved %s here that may still appear.",
		ui.TimeAndWait(until, clock.Now()), ui.Counted(others, "asset"))
}

// Comparing implements migrate.Observer.
func (w *watch) Comparing(objects, fromSource, fromDestination int64) {
	w.out.Notef("Comparing %s with assets of the same name and size: reading at most %s from the source and %s from the destination.",
		ui.Counted(objects, "object"), ui.Bytes(fromSource), ui.Bytes(fromDestination))
}

// ShowFound shows the first findings, and how many more there are.
func (w *watch) ShowFound() {
	for _, line := range w.found {
		w.out.Printf("%s", line)
	}
	for _, n := range []struct {
		seen int
		word string
	}{{w.differences, "difference"}, {w.notes, "note"}} {
		if more := n.seen - shownFindings; more > 0 && !w.out.Verbose() {
			w.out.Printf("… and %s: --verbose", ui.Counted(int64(more), "more "+n.word))
		}
	}
}

// PreviousKey returns the former key of an object that is moved or replaced; "" for all others.
func PreviousKey(i state.Item) string {
	if i.Action != state.Move && i.Action != state.Replace || i.PreviousKey == i.Key {
		return ""
	}
	return string(i.PreviousKey)
}
