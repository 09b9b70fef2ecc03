package migrate_test

import (
	"maps"
	"slices"
	"testing"

	"assetferry/internal/mapping"
	"assetferry/internal/metadata"
	"assetferry/migrate"
	"assetferry/sources"
	"assetferry/state"
)

func saying(description string) string { return `{"description": "` + description + `"}` }

// descriptions are those of all assets at the destination, by the keys of their objects.
func (w *world) descriptions() map[string]string {
	w.Helper()
	all := map[string]string{}
	for r, err := range w.journal.Receipts(w.Context(), w.pair.ID, "") {
		must(w, err)
		a, err := w.other.Asset(w.Context(), r.Asset)
		must(w, err)
		all[r.Key] = a.Metadata.Description
	}
	return all
}

func (w *world) wantDescriptions(want map[string]string) {
	w.Helper()
	if got := w.descriptions(); !maps.Equal(got, want) {
		w.Errorf("described as %v, want %v", got, want)
	}
}

// reasons counts the items of a plan by reason.
func (w *world) reasons(p migrate.Plan) map[string]int64 {
	n := map[string]int64{}
	tallies, err := w.journal.Tallies(w.Context(), p.Run.Num)
	must(w, err)
	for _, t := range tallies {
		n[t.Reason] += t.Objects
	}
	return n
}

func TestSidecarsDescribeObjects(t *testing.T) {
	w := newWorld(t)
	w.put("a.jpg", "a", "a.jpg.json", saying("of a"), "b.jpg", "b", "b.jpg-1.jpg", "between", "b.jpg.JSON", saying("of b"), "c.jpg", "c")
	plan := w.sync(nil, syncRules("keep"))
	w.wantDescriptions(map[string]string{"a.jpg": "of a", "b.jpg": "of b", "b.jpg-1.jpg": "", "c.jpg": ""})
	if n := w.reasons(plan)[string(migrate.ReasonSidecar)]; n != 2 {
		t.Errorf("%d sidecars were told, want 2", n)
	}

	// A night in which nothing happens stages and asks nothing.
	asked := w.during(func() { plan = w.sync(nil, syncRules("keep")) })
	w.wantStates(plan, map[string]int64{"unchanged skipped": 6})
	if asked["PATCH /assets/{id}"]+asked["GET /assets/{id}"] > 0 {
		t.Errorf("asked %v", asked)
	}

	// One that is new, and one that changed, describe what is there already; once.
	w.put("a.jpg.json", saying("again of a"), "c.jpg.json", saying("of c"))
	plan = w.sync(nil, syncRules("keep"))
	w.wantStates(plan, map[string]int64{"unchanged skipped": 3, "describe done": 2, "skip skipped": 2})
	w.wantDescriptions(map[string]string{"a.jpg": "again of a", "b.jpg": "of b", "b.jpg-1.jpg": "", "c.jpg": "of c"})
	w.wantStates(w.sync(nil, syncRules("keep")), map[string]int64{"unchanged skipped": 7})

	// One that is gone takes nothing away.
	w.source.Delete("a.jpg.json")
	w.wantStates(w.sync(nil, syncRules("keep")), map[string]int64{"unchanged skipped": 6})
	w.wantDescriptions(map[string]string{"a.jpg": "again of a", "b.jpg": "of b", "b.jpg-1.jpg": "", "c.jpg": "of c"})
}

// What only looks like a sidecar is an object like others.
func TestNoSidecars(t *testing.T) {
	w := newWorld(t)
	w.put("a.jpg", "a", "data.json", saying("of nothing"), "dir/a.json", saying("of another folder"))
	r := migrate.DefaultRules()
	r.Unmatched = "skip"
	plan := w.sync(nil, r)
	if n := w.reasons(plan); n[string(migrate.ReasonUnmatched)] != 2 || n[string(migrate.ReasonSidecar)] != 0 {
		t.Errorf("got %v", n)
	}
	w.put("a.jpg.json", saying("of a"))
	off := w.deps()
	off.Mapping = mapping.New(nil, mapping.Options{Precedence: slices.DeleteFunc(off.Mapping.Origins(), func(o metadata.Origin) bool { return o == "sidecar" })})
	if n := w.reasons(w.syncWith(off, r)); n[string(migrate.ReasonUnmatched)] != 3 {
		t.Errorf("without sidecars: %v", n)
	}
}

// A sidecar may be listed before what it describes.
func TestSidecarsListedFirst(t *testing.T) {
	w := newWorld(t)
	w.put("a.XMP", xmp("of both"), "a.png", "a", "a.jpg", "b", "b.XMP", xmp("of nothing"))
	r := syncRules("keep")
	r.Unmatched = "skip"
	for range 2 {
		w.sync(nil, r)
		w.wantDescriptions(map[string]string{"a.png": "", "a.jpg": ""})
	}
	if a := w.assetOf("a.png"); a.Metadata.CustomAttributes["caption"] != "of both" {
		t.Errorf("got %+v", a.Metadata)
	}
}

func xmp(caption string) string {
	return `<x:xmpmeta xmlns:x="adobe:ns:meta/"><rdf:RDF xmlns:rdf="http://www.w3.org/1999/02/22-rdf-syntax-ns#"><rdf:Description xmlns:dc="http://purl.org/dc/elements/1.1/">
<dc:description><rdf:Alt><rdf:li xml:lang="x-default">` + caption + `</rdf:li></rdf:Alt></dc:description></rdf:Description></rdf:RDF></x:xmpmeta>`
}

// One that cannot be read says nothing, and people hear of it; the rest arrives.
func TestBrokenSidecar(t *testing.T) {
	w := newWorld(t)
	w.put("a.jpg", "a", "a.jpg.json", `{"description": `, "b.jpg", "b", "b.jpg.json", saying("of b"))
	plan := w.sync(nil, syncRules("keep"))
	w.wantDescriptions(map[string]string{"a.jpg": "", "b.jpg": "of b"})
	if i := w.item(plan, "a.jpg"); i.State != state.ItemDone || i.Error == "" {
		t.Errorf("the item is %+v", i)
	}
}

// Whoever goes on with a listing knows nothing of what was listed before.
func TestSidecarsOfAFormerProcess(t *testing.T) {
	w := newWorld(t)
	w.put("a.jpg", "a", "a.jpg.json", saying("of a"))
	run, err := w.journal.Begin(t.Context(), w.pair, "migrate", marshal(w, migrate.DefaultRules()))
	must(t, err)
	must(t, w.journal.Stage(t.Context(), run.Num, state.Page{Cursor: "a.jpg", Items: []state.Item{w.asListed("a.jpg")}}))
	w.migrate(migrate.DefaultRules())
	w.wantDescriptions(map[string]string{"a.jpg": "of a"})
}

// asListed is an object as an item that nothing is decided about.
func (w *world) asListed(key sources.Key) state.Item {
	w.Helper()
	for o, err := range w.source.Objects(w.Context(), "") {
		must(w, err)
		if o.Key == key {
			return state.Item{Key: string(o.Key), Size: o.Size, Time: o.Time, VersionTag: o.VersionTag}
		}
	}
	w.Fatalf("%s is not there", key)
	return state.Item{}
}

// jpegWith is what begins like a picture that has something embedded.
func jpegWith(packet string) string {
	segment := "http://ns.adobe.com/xap/1.0/\x00" + packet
	n := len(segment) + 2
	return "\xff\xd8\xff\xe1" + string([]byte{byte(n >> 8), byte(n)}) + segment + "\xff\xda\x00\x02 pixels \xff\xd9"
}

// What is embedded arrives with the content, without another request to the source; and
// later where nobody looked at it then.
func TestEmbeddedMetadata(t *testing.T) {
	w := newWorld(t)
	w.put("a.jpg", jpegWith(xmp("of a")))
	w.sync(nil, syncRules("keep"))
	if a := w.assetOf("a.jpg"); a.Metadata.CustomAttributes["caption"] != "of a" || a.Metadata.Description != "" {
		t.Errorf("described as %+v", a.Metadata)
	}
	w.put("b.jpg", jpegWith(xmp("of b")))
	w.syncWith(w.silent(), syncRules("keep"))
	if a := w.assetOf("b.jpg"); a.Metadata.CustomAttributes["caption"] != nil {
		t.Errorf("described as %+v", a.Metadata)
	}
	w.wantStates(w.sync(nil, syncRules("keep")), map[string]int64{"unchanged skipped": 2})

	again := syncRules("keep")
	again.Sync.DescribeAgain = true
	var plan migrate.Plan
	asked := w.during(func() { plan = w.sync(nil, again) })
	w.wantStates(plan, map[string]int64{"describe done": 2})
	if a := w.assetOf("b.jpg"); a.Metadata.CustomAttributes["caption"] != "of b" || asked["PATCH /assets/{id}"] != 1 {
		t.Errorf("described as %+v by %v", a.Metadata, asked)
	}
}
