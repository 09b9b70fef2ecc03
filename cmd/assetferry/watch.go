package main

import (
	"assetferry/internal/ui"
	"assetferry/migrate"
	"assetferry/state"
)

// A watch shows what the engine does.
type watch struct{ out *ui.Out }

// Phase implements migrate.Observer.
func (w watch) Phase(p migrate.Phase, items, bytes int64) {
	w.out.Progress().StartPhase(string(p), items, bytes)
}

// Progress implements migrate.Observer.
func (w watch) Progress(items, bytes int64) { w.out.Progress().Add(items, bytes) }

// Item implements migrate.Observer.
func (w watch) Item(i state.Item, o state.Outcome) {
	line := ui.ItemLine{Key: i.Key, Action: string(i.Action), State: string(o.State), Error: o.Error}
	if o.Receipt != nil {
		line.AssetID, line.URL = o.Receipt.Asset, o.Receipt.URL
	}
	w.out.Event("item", line)
}

// Found implements migrate.Observer.
func (w watch) Found(d migrate.Difference) {
	result, mark := "difference", "!"
	if d.Note {
		result, mark = "note", " "
	}
	w.out.Event("check", ui.CheckLine{Key: d.Key, AssetID: d.Asset, Result: result, Field: d.What})
	w.out.Printf("%s %s: %s (asset %s)", mark, ui.Sanitize(d.Key), ui.Sanitize(d.What), d.Asset)
}
