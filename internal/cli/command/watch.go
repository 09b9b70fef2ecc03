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

// shownFindings is how many differences, and how many notes, a person is shown;
// JSON has them all, and so has --verbose.
const shownFindings = 20

// A watch shows what the engine does.
type watch struct {
	out                *ui.Out
	differences, notes int
	Further            int64 // of the differences, those that further assets are
}

// Watch shows what the engine does.
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
	if o.Undone {
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

// WaitingForRetries implements migrate.Observer.
func (w *watch) WaitingForRetries(until time.Time, stays bool) {
	at := until.Local().Format(time.TimeOnly)
	if stays {
		w.out.Notef("Nothing is left but items that failed and wait for another attempt, the first at %s.", at)
	} else {
		w.out.Notef("What is left waits for another attempt, the first at %s: run the same command again then, or let it stay with --wait.", until.Local().Format(time.DateTime))
	}
}

// Probing implements migrate.Observer.
func (w *watch) Probing(items int, why string, until time.Time) {
	w.out.Notef("%s in a row failed, the last with: %s", ui.Counted(int64(items), "item"), ui.Sanitize(why))
	w.out.Notef("From now on one at a time is tried; the first failure after %s ends the run.", until.Local().Format(time.TimeOnly))
}

// Paused implements migrate.Observer.
func (w *watch) Paused(why string, until time.Time) {
	w.out.Notef("No asset can be changed at the moment: %s", ui.Sanitize(why))
	w.out.Notef("It is tried again until %s, and then the run ends.", until.Local().Format(time.TimeOnly))
}

// AwaitingConfirmation implements migrate.Observer.
func (w *watch) AwaitingConfirmation(items int, why string, until time.Time) {
	w.out.Notef("Not known yet what became of %s: looked for once more at %s, and sent again if not there. The last: %s",
		ui.Counted(int64(items), "upload"), until.Local().Format(time.TimeOnly), ui.Sanitize(why))
}

// AwaitingOtherSources implements migrate.Observer.
func (w *watch) AwaitingOtherSources(others int64, until time.Time) {
	w.out.Notef("Another source of this destination was stopped while it sent or moved %s, which may still show up. The destination is looked at after that, at %s.",
		ui.Counted(others, "asset"), until.Local().Format(time.TimeOnly))
}

// SayHidden tells how many findings were not shown.
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

// PreviousKey is the key that an object had before, of one that is moved or replaced; "" for all
// others.
func PreviousKey(i state.Item) string {
	if i.Action != state.Move && i.Action != state.Replace || i.PreviousKey == i.Key {
		return ""
	}
	return string(i.PreviousKey)
}
