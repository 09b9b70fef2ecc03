package command

import (
	"context"
	"log/slog"
	"time"

	"assetferry/internal/event"
	"assetferry/internal/ui"
	"assetferry/migrate"
	"assetferry/state"
)

// shownFindings is the number of differences, and of notes, that are shown without --verbose. JSON
// has all.
const shownFindings = 20

// A watch shows the progress of the engine.
type watch struct {
	out                *ui.Out
	differences, notes int
	Further            int64 // differences that are additional assets
}

// Watch returns an observer that shows the progress of the engine.
func (f *Factory) Watch() *watch { return &watch{out: f.Out} }

// Phase implements migrate.Observer.
func (w *watch) Phase(p migrate.Phase, items, bytes int64) {
	w.out.Progress().StartPhase(string(p), items, bytes)
}

// Progress implements migrate.Observer.
func (w *watch) Progress(items, bytes int64) { w.out.Progress().Add(items, bytes) }

// Item implements migrate.Observer.
func (w *watch) Item(i state.Item, o state.Outcome) {
	line := event.Item{Key: string(i.Key), PreviousKey: PreviousKey(i), Action: string(i.Action), State: string(o.State), Error: o.Error}
	if o.TakenBack {
		line.AssetID = i.Asset
	}
	if o.Receipt != nil {
		line.AssetID, line.URL = o.Receipt.Asset, o.Receipt.URL
		line.SourceMetadata = (*event.SourceMetadata)(o.Receipt.Description)
	}
	w.out.Event("item", line)
	if o.State == state.ItemDone && o.Error != "" {
		w.out.Notef("%s: %s", ui.Sanitize(string(i.Key)), ui.Sanitize(o.Error))
	}
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
	if *seen++; *seen <= shownFindings || w.out.Verbose() {
		w.out.Printf("%s %s: %s (asset %s)", mark, ui.Sanitize(d.Key), ui.Sanitize(d.What), ui.Sanitize(d.Asset))
	}
}

// Waits implements migrate.Observer.
func (w *watch) Waits(until time.Time, stays bool) {
	at := until.Local().Format(time.TimeOnly)
	if stays {
		w.out.Notef("Only failed items are left. The next retry is at %s.", at)
	} else {
		w.out.Notef("Only failed items are left. The next retry is due at %s: run the same command again then, or use a longer --wait.", until.Local().Format(time.DateTime))
	}
}

// Tries implements migrate.Observer.
func (w *watch) Tries(items int, why string, until time.Time) {
	w.out.Notef("%s in a row failed. Last error: %s", ui.Counted(int64(items), "item"), ui.Sanitize(why))
	w.out.Notef("Trying one item at a time until %s; then the next failure ends the run.", until.Local().Format(time.TimeOnly))
}

// Halts implements migrate.Observer.
func (w *watch) Halts(why string, until time.Time) {
	w.out.Notef("The service refuses all changes: %s", ui.Sanitize(why))
	w.out.Notef("Retrying until %s; then the run ends.", until.Local().Format(time.TimeOnly))
}

// Unconfirmed implements migrate.Observer.
func (w *watch) Unconfirmed(items int, why string, until time.Time) {
	w.out.Notef("%s unconfirmed. The destination is checked at %s; missing uploads are sent again. Last error: %s",
		ui.Counted(int64(items), "upload"), until.Local().Format(time.TimeOnly), ui.Sanitize(why))
}

// Others implements migrate.Observer.
func (w *watch) Others(others int64, until time.Time) {
	w.out.Notef("A run of another source stopped while it uploaded or moved %s. Waiting until %s before the destination is read.",
		ui.Counted(others, "asset"), until.Local().Format(time.TimeOnly))
}

// SayHidden shows the number of hidden findings.
func (w *watch) SayHidden() {
	for _, n := range []struct {
		seen int
		word string
	}{{w.differences, "difference"}, {w.notes, "note"}} {
		if more := n.seen - shownFindings; more > 0 && !w.out.Verbose() {
			w.out.Printf("… and %s more, see --verbose", ui.Counted(int64(more), n.word))
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
