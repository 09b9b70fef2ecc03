package engine

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync/atomic"
	"testing"

	"assetferry/internal/mapping"
	"assetferry/internal/metadata"
	"assetferry/internal/strictyaml"
	"assetferry/migrate"
	"assetferry/migrate/collect"
	"assetferry/migrate/plan"
	"assetferry/sources"
	"assetferry/sources/memory"
	"assetferry/state"
)

func saying(description string) string { return `{"description": "` + description + `"}` }

// descriptions returns the descriptions of all assets at the destination by the keys of their
// objects.
func (w *world) descriptions() map[string]string {
	w.Helper()
	all := map[string]string{}
	for r, err := range w.store.Receipts(w.Context(), w.pair.ID, "") {
		must(w, err)
		a, err := w.other.Asset(w.Context(), r.Asset)
		must(w, err)
		all[string(r.Key)] = a.Metadata.Description
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
	tallies, err := w.store.Tallies(w.Context(), p.Run.Num)
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

	// A run without changes stages nothing and sends no request about assets.
	asked := w.during(func() { plan = w.sync(nil, syncRules("keep")) })
	w.wantStates(plan, map[string]int64{"unchanged skipped": 6})
	if asked["PATCH /assets/{id}"]+asked["GET /assets/{id}"] > 0 {
		t.Errorf("asked %v", asked)
	}

	// A new sidecar and a changed one each update an existing asset once.
	w.put("a.jpg.json", saying("again of a"), "c.jpg.json", saying("of c"))
	plan = w.sync(nil, syncRules("keep"))
	w.wantStates(plan, map[string]int64{"unchanged skipped": 3, "update_metadata done": 2, "skip skipped": 2})
	w.wantDescriptions(map[string]string{"a.jpg": "again of a", "b.jpg": "of b", "b.jpg-1.jpg": "", "c.jpg": "of c"})
	w.wantStates(w.sync(nil, syncRules("keep")), map[string]int64{"unchanged skipped": 7})

	// A deleted sidecar removes no metadata.
	w.source.Delete("a.jpg.json")
	w.wantStates(w.sync(nil, syncRules("keep")), map[string]int64{"unchanged skipped": 6})
	w.wantDescriptions(map[string]string{"a.jpg": "again of a", "b.jpg": "of b", "b.jpg-1.jpg": "", "c.jpg": "of c"})
}

// TestNoSidecars verifies that a file that only looks like a sidecar is an object like any other.
func TestNoSidecars(t *testing.T) {
	w := newWorld(t)
	w.put("a.jpg", "a", "data.json", saying("of nothing"), "dir/a.json", saying("of another folder"))
	r := migrate.DefaultRules()
	r.Unsupported = "skip"
	plan := w.sync(nil, r)
	if n := w.reasons(plan); n[string(migrate.ReasonUnsupportedType)] != 2 || n[string(migrate.ReasonSidecar)] != 0 {
		t.Errorf("got %v", n)
	}
	w.put("a.jpg.json", saying("of a"))
	off := w.deps()
	off.Mapping = mapping.New(nil, mapping.Options{Precedence: slices.DeleteFunc(off.Mapping.Sources(), func(o metadata.Source) bool { return o == "sidecar" })})
	if n := w.reasons(w.syncWith(off, r)); n[string(migrate.ReasonUnsupportedType)] != 3 {
		t.Errorf("without sidecars: %v", n)
	}
}

// TestSidecarsOfTakeout verifies that sidecars of Google Takeout are found although it truncates
// long names and puts its numbers in unexpected places.
func TestSidecarsOfTakeout(t *testing.T) {
	w := newWorld(t)
	const shot = "Screenshot_20220207_102421_com.snapchat.androi"
	taken := func(of string) string {
		return `{"title": "x", "description": "` + of + `", "photoTakenTime": {"timestamp": "1563710602"}}`
	}
	w.put("IMG_1(1).jpg", "a", "IMG_1.jpg", "b", "IMG_1.jpg(1).json", taken("one"), "IMG_1.jpg.json", taken("none"),
		"PXL_20230922_190227567.jpg", "c", "PXL_20230922_190227567.jpg.supplemental-metada.json", taken("pixel"),
		shot+"d.jpg", "d", shot+"d(1).jpg", "e", shot+".json", taken("shot"), shot+"(1).json", taken("shot one"))
	want := map[string]string{"IMG_1.jpg": "none", "IMG_1(1).jpg": "one", "PXL_20230922_190227567.jpg": "pixel", shot + "d.jpg": "shot", shot + "d(1).jpg": "shot one"}
	plan := w.sync(nil, syncRules("keep"))
	w.wantDescriptions(want)
	if n := w.reasons(plan)[string(migrate.ReasonSidecar)]; n != 5 {
		t.Errorf("%d sidecars were told, want 5", n)
	}
	for key, description := range want {
		found, err := collect.New(w.deps()).ExplainMapping(t.Context(), sources.Key(key))
		must(t, err)
		if !strings.Contains(found.Text(true), description) {
			t.Errorf("%s is explained as %v", key, found)
		}
	}
	w.wantStates(w.sync(nil, syncRules("keep")), map[string]int64{"unchanged skipped": 10})

	w.put(shot+"(1).json", taken("shot again"))
	want[shot+"d(1).jpg"] = "shot again"
	w.sync(nil, syncRules("keep"))
	w.wantDescriptions(want)
}

// asked returns a function that counts the calls of an operation of the state database from now on.
func (w *world) asked(op string) func() int64 {
	var n atomic.Int64
	w.before(func() error { n.Add(1); return nil }, op)
	return n.Load
}

// TestManySidecars verifies that one call looks up the objects of many sidecars.
func TestManySidecars(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	for n := range 300 {
		w.put(fmt.Sprintf("%03d.jpg", n), "a", fmt.Sprintf("%03d.jpg.json", n), saying("x"), fmt.Sprintf("%03d.XMP", n), xmp("y"))
	}
	asked := w.asked("find objects of sidecars")
	w.syncs(syncRules("keep"))
	if n := asked(); n == 0 || n > 5 {
		t.Errorf("asked %d times", n)
	}
}

// TestSidecarsListedFirst verifies that a sidecar may be listed before its object.
func TestSidecarsListedFirst(t *testing.T) {
	w := newWorld(t)
	w.put("a.XMP", xmp("of both"), "a.png", "a", "a.jpg", "b", "b.XMP", xmp("of nothing"))
	r := syncRules("keep")
	r.Unsupported = "skip"
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

// TestBrokenSidecar verifies that an unreadable sidecar is reported and gives no metadata, and that
// all other objects are uploaded.
func TestBrokenSidecar(t *testing.T) {
	w := newWorld(t)
	w.put("a.jpg", "a", "a.jpg.json", `{"description": `, "b.jpg", "b", "b.jpg.json", saying("of b"))
	plan := w.sync(nil, syncRules("keep"))
	w.wantDescriptions(map[string]string{"a.jpg": "", "b.jpg": "of b"})
	if i := w.item(plan, "a.jpg"); i.State != state.ItemDone || i.Error == "" {
		t.Errorf("the item is %+v", i)
	}
}

// TestSidecarsOfAFormerProcess verifies that a process that resumes a listing finds the sidecars of
// objects that a previous process listed.
func TestSidecarsOfAFormerProcess(t *testing.T) {
	w := newWorld(t)
	w.put("a.jpg", "a", "a.jpg.json", saying("of a"))
	run, err := w.store.Begin(t.Context(), w.pair, "migrate", marshal(w, migrate.DefaultRules()))
	must(t, err)
	must(t, w.store.Stage(t.Context(), run.Num, state.Page{Cursor: "a.jpg", Items: []state.Item{w.asListed("a.jpg")}}))
	w.migrate(migrate.DefaultRules())
	w.wantDescriptions(map[string]string{"a.jpg": "of a"})
}

// asListed returns an object as an item without a decision.
func (w *world) asListed(key sources.Key) state.Item {
	w.Helper()
	for o, err := range w.source.Objects(w.Context(), "") {
		must(w, err)
		if o.Key == key {
			return state.Item{Object: o}
		}
	}
	w.Fatalf("%s is not there", key)
	return state.Item{}
}

// jpegWith returns the beginning of a JPEG file with an embedded XMP packet.
func jpegWith(packet string) string {
	segment := "http://ns.adobe.com/xap/1.0/\x00" + packet
	n := len(segment) + 2
	return "\xff\xd8\xff\xe1" + string([]byte{byte(n >> 8), byte(n)}) + segment + "\xff\xda\x00\x02 pixels \xff\xd9"
}

// TestEmbeddedMetadata verifies that embedded metadata is read during the upload, without another
// request to the source, and read later if the upload did not read it.
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
	again.Sync.RefreshMetadata = true
	var plan migrate.Plan
	asked := w.during(func() { plan = w.sync(nil, again) })
	w.wantStates(plan, map[string]int64{"update_metadata done": 2})
	if a := w.assetOf("b.jpg"); a.Metadata.CustomAttributes["caption"] != "of b" || asked["PATCH /assets/{id}"] != 1 {
		t.Errorf("described as %+v by %v", a.Metadata, asked)
	}
}

// by returns dependencies with a mapping rule of the user.
func (w *world) by(rules string) migrate.Deps {
	w.Helper()
	return w.mapped("mapping:\n  rules:\n    " + rules + "\n")
}

// mapped returns dependencies with any settings of a settings file.
func (w *world) mapped(settings string) migrate.Deps {
	w.Helper()
	f, err := strictyaml.Parse("assetferry.yaml", []byte(settings))
	must(w, err)
	entries, err := f.Entries(f.Root)
	must(w, err)
	parsed, err := mapping.Parse(f, entries[0].Value)
	must(w, err)
	d := w.deps()
	d.Mapping = mapping.New(parsed, mapping.Options{})
	return d
}

// TestRepairsGoWhereMetadataSays verifies that an asset that is created again goes where the rules
// put it by its metadata, and not where objects without metadata go: a private object would become
// public.
func TestRepairsGoWhereMetadataSays(t *testing.T) {
	w := newWorld(t)
	vault := w.category("Vault", "jpg")
	w.put("a.jpg", "a", "a.jpg.json", `{"secret": "yes"}`, "b.jpg", "b")
	d := w.by(`- {when: 'has("secret")', category: Vault}`)
	w.syncWith(d, syncRules("keep"))
	for _, changed := range []bool{false, true} {
		if a := w.assetOf("a.jpg"); a.CategoryID != vault {
			t.Fatalf("a.jpg is in %s, want %s", a.CategoryID, vault)
		}
		must(t, w.other.Trash(t.Context(), w.receipt("a.jpg").Asset))
		if changed {
			w.put("a.jpg.json", `{"secret": "still"}`)
		}
		repair := syncRules("overwrite")
		repair.Sync.Repair = true
		w.syncWith(d, repair)
	}
	if a := w.assetOf("a.jpg"); a.CategoryID != vault {
		t.Errorf("a.jpg is in %s, want %s", a.CategoryID, vault)
	}
}

// TestRulesDoNotGuess verifies that an object with unreadable metadata is not uploaded if rules
// need the metadata, since the object may be private. The plan gives the reason, and all other
// objects are uploaded.
func TestRulesDoNotGuess(t *testing.T) {
	w := newWorld(t)
	w.put("a.jpg", "a", "a.jpg.json", `{"secret": `, "b.jpg", "b")
	d, r := w.by(`- {when: 'has("secret")', category: Vault}`), migrate.DefaultRules()
	run, err := w.store.Begin(t.Context(), w.pair, "plan", marshal(w, r))
	must(t, err)
	plan, err := plan.New(d, r).Plan(t.Context(), run)
	must(t, err)
	if i := w.item(plan, "a.jpg"); i.State != state.ItemFailed || !strings.Contains(i.Error, "sidecar a.jpg.json was not read") {
		t.Errorf("got %+v", i)
	}
	if i := w.item(plan, "b.jpg"); i.Action != state.Create {
		t.Errorf("got %+v", i)
	}
}

// TestSidecarsOfAnEmptySource verifies that an unavailable source changes no sidecar: once the
// source is available again, there is nothing to do.
func TestSidecarsOfAnEmptySource(t *testing.T) {
	w := newWorld(t)
	w.put("a.jpg", "a", "a.jpg.json", saying("of a"))
	w.sync(nil, syncRules("keep"))
	deleted := w.deps()
	deleted.Source = &memory.Source{}
	_, err := w.tryWith(t.Context(), deleted, syncRules("keep"))
	if _, ok := errors.AsType[*migrate.EmptySourceError](err); !ok {
		t.Fatalf("got %v", err)
	}
	w.wantStates(w.sync(nil, syncRules("keep")), map[string]int64{"unchanged skipped": 2})
}

// TestSidecarsRecordedBeforeACrash verifies that a run that ends right after it recognizes sidecars
// knows them when it is resumed.
func TestSidecarsRecordedBeforeACrash(t *testing.T) {
	w := newWorld(t)
	w.put("a.XMP", xmp("of a"), "a.jpg", "a")
	w.before(nth(0, failing(errBroken)), "save sidecars")
	if _, err := w.try(t.Context(), migrate.DefaultRules()); !errors.Is(err, errBroken) {
		t.Fatalf("got %v", err)
	}
	w.migrate(migrate.DefaultRules())
	if a := w.assetOf("a.jpg"); a.Metadata.CustomAttributes["caption"] != "of a" {
		t.Errorf("got %+v", a.Metadata)
	}
}

// TestNoSidecarOfASidecarsKind verifies that a file with the name of another object, which it does
// not describe, is no sidecar.
func TestNoSidecarOfASidecarsKind(t *testing.T) {
	w := newWorld(t)
	w.category("Data", "json", "xmp")
	w.put("a.json", "{}")
	w.sync(nil, syncRules("keep"))
	w.put("a.xmp", xmp("of nothing"))
	w.wantStates(w.sync(nil, syncRules("keep")), map[string]int64{"unchanged skipped": 1, "create done": 1})
}

// TestSidecarsThatFallSilent verifies that a sidecar without a description for a while does not
// change the record of what was written: its next description counts as new, not as an edit by
// users.
func TestSidecarsThatFallSilent(t *testing.T) {
	w := newWorld(t)
	w.put("a.jpg", "a", "a.jpg.json", `{"description": "A", "old_url": "https://old.example/a"}`)
	for _, says := range []string{`{"description": "A", "old_url": "https://old.example/a"}`, `{"old_url": "https://old.example/a"}`, saying("C")} {
		w.put("a.jpg.json", says)
		w.sync(nil, syncRules("keep"))
	}
	w.wantDescriptions(map[string]string{"a.jpg": "C"})
}

// TestSidecarsThatMoveAndChange verifies that the metadata of a sidecar is kept if the sidecar is
// renamed with its object and changes its content.
func TestSidecarsThatMoveAndChange(t *testing.T) {
	w := newWorld(t)
	w.put("a.txt", "a", "a.txt.json", saying("of a"), "b.txt", "b", "b.txt.json", saying("of b"))
	w.syncs(syncing())
	for _, key := range []sources.Key{"a.txt", "a.txt.json", "b.txt", "b.txt.json"} {
		w.source.Delete(key)
	}
	w.put("dir/a.txt", "a", "dir/a.txt.json", saying("otherwise"), "dir/b.txt", "b", "dir/b.txt.json", saying("of b"))
	asked := w.during(func() { w.wantStates(w.syncs(syncing()), map[string]int64{"move done": 2, "skip skipped": 2}) })
	if asked["PATCH /assets/{id}"] != 1 {
		t.Errorf("asked %v", asked)
	}
	w.wantDescriptions(map[string]string{"dir/a.txt": "otherwise", "dir/b.txt": "of b"})
	w.wantStates(w.syncs(syncing()), map[string]int64{"unchanged skipped": 4})
}

// TestNoSidecarIsRetriesExhausted verifies that the retries of an object that is only named like a
// sidecar are exhausted like those of others: an object that may be uploaded must not be sent
// again.
func TestNoSidecarIsRetriesExhausted(t *testing.T) {
	w := newWorld(t, faults(t, "POST /assets drop=after once=1"))
	w.category("Data", "json")
	w.put("data.json", "{}")
	r, d := migrate.DefaultRules(), w.deps()
	r.OnExisting, d.Dest = "create", secretive{d.Dest}
	for n, want := range []string{"create failed", "create retries_exhausted", "create retries_exhausted"} {
		if n > 0 {
			w.put(fmt.Sprintf("later %d.jpg", n), "new")
		}
		plan, err := w.tryWith(t.Context(), d, r)
		must(t, err)
		if i := w.item(plan, "data.json"); string(i.Action)+" "+string(i.State) != want {
			t.Fatalf("got %s %s (%s), want %s", i.Action, i.State, i.Reason, want)
		}
	}
	if n := len(w.assetsAt()); n != 3 {
		t.Errorf("got %d assets, want 3", n)
	}
}
