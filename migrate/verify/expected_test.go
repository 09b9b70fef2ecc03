package verify

import (
	"hash/maphash"
	"testing"

	"assetferry/internal/assets"
	"assetferry/state"
)

// expecting returns the expectations of two receipts.
func expecting(urls bool) (*expectations, []state.Receipt) {
	receipts := []state.Receipt{
		{Asset: "a", Name: "photo", Extension: "jpg", Category: "images", Folder: "f", URL: "https://example.com/a"},
		{Asset: "b", Name: "photo", Extension: "jpg", Category: "images", Folder: "f", URL: "https://example.com/b"},
	}
	x := &expectations{seed: maphash.MakeSeed(), urls: urls, others: map[string]bool{}}
	for _, r := range receipts {
		x.add(appearance{r.Asset, r.Name, r.Extension, r.Category, r.Folder, r.URL, r.Size})
	}
	x.begin()
	return x, receipts
}

func listed(r state.Receipt) assets.Asset {
	return assets.Asset{ID: r.Asset, Name: r.Name, Extension: r.Extension, CategoryID: r.Category, FolderID: r.Folder, Size: r.Size, URL: r.URL}
}

// TestMet verifies that an asset which a listing shows as expected is marked, and that one which it
// shows otherwise is left to the inventory, even if a later page shows it again.
func TestMet(t *testing.T) {
	x, receipts := expecting(false)
	a, b := listed(receipts[0]), listed(receipts[1])
	moved := b
	moved.FolderID = "another"
	for n, step := range []struct {
		asset assets.Asset
		met   bool
	}{{a, true}, {moved, false}, {a, true}, {b, false}} {
		if met := x.met(step.asset); met != step.met {
			t.Errorf("step %d: met %s: %v", n, step.asset.ID, met)
		}
		if !step.met {
			x.differs(step.asset.ID)
		}
	}
	if !x.isMet(receipts[0]) || x.isMet(receipts[1]) || x.isComplete() {
		t.Errorf("met: %v and %v, complete: %v", x.isMet(receipts[0]), x.isMet(receipts[1]), x.isComplete())
	}
}

// TestComplete verifies that the expectations are complete once each asset was listed as expected,
// and no more if one of them is listed otherwise later.
func TestComplete(t *testing.T) {
	x, receipts := expecting(false)
	for n, r := range receipts {
		if x.isComplete() {
			t.Errorf("complete after %d assets", n)
		}
		x.met(listed(r))
	}
	if !x.isComplete() {
		t.Error("not complete")
	}
	x.differs("a")
	if x.isComplete() {
		t.Error("complete, although an asset was listed otherwise")
	}
}

// TestAppearance verifies that each difference counts.
func TestAppearance(t *testing.T) {
	for name, change := range map[string]func(*assets.Asset){
		"ID":        func(a *assets.Asset) { a.ID = "b" },
		"name":      func(a *assets.Asset) { a.Name = "Photo" },
		"extension": func(a *assets.Asset) { a.Extension = "png" },
		"category":  func(a *assets.Asset) { a.CategoryID = "files" },
		"folder":    func(a *assets.Asset) { a.FolderID = "" },
		"size":      func(a *assets.Asset) { a.Size++ },
		"URL":       func(a *assets.Asset) { a.URL += "?" },
		"status":    func(a *assets.Asset) { a.Metadata.Status = assets.Failed },
		"two as one": func(a *assets.Asset) {
			a.Name, a.Extension = "photoj", "pg"
		},
	} {
		x, receipts := expecting(true)
		a := listed(receipts[0])
		change(&a)
		if x.met(a) {
			t.Errorf("with another %s, the asset counts as expected", name)
		}
	}
	x, receipts := expecting(false)
	a := listed(receipts[0])
	if a.URL = "https://example.com/other"; !x.met(a) {
		t.Error("the URL counts, although nothing is downloaded")
	}
}
