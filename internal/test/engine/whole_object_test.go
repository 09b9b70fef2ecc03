package engine

import (
	"context"
	"io"
	"iter"
	"path"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"assetferry/internal/mapping"
	"assetferry/migrate"
	"assetferry/migrate/collect"
	"assetferry/sources"
	"assetferry/state"
)

// listedOnly is a source that lists given objects as they are; the content of each is its key.
type listedOnly []sources.Object

func (listedOnly) Traits() sources.Traits { return sources.Traits{Precision: time.Nanosecond} }

func (l listedOnly) Objects(_ context.Context, after sources.Key) iter.Seq2[sources.Object, error] {
	return func(yield func(sources.Object, error) bool) {
		for _, o := range l {
			if o.Key > after && !yield(o, nil) {
				return
			}
		}
	}
}

func (l listedOnly) Open(_ context.Context, o sources.Object, offset int64) (io.ReadCloser, error) {
	if !slices.Contains(l, o) {
		return nil, sources.ErrChanged
	}
	return io.NopCloser(strings.NewReader(string(o.Key)[offset:])), nil
}

// wholeObject returns an object with a value in each field except Obstacle, since only readable
// objects are mapped, and Version, since only current versions are listed. A new field needs a value here, and a column in the state database.
func wholeObject(t *testing.T, key sources.Key) sources.Object {
	t.Helper()
	o := sources.Object{Key: key, Size: int64(len(key)), Time: time.Date(2026, 3, 4, 5, 6, 7, 890_123_456, time.UTC), VersionTag: "tag of " + string(key), ContentType: "image/x-told"}
	for n, f := range fieldsOf(o) {
		if n != "Obstacle" && n != "Version" && f.IsZero() {
			t.Fatalf("field %s of an object has no value here", n)
		}
	}
	return o
}

func fieldsOf(o sources.Object) map[string]reflect.Value {
	fields := map[string]reflect.Value{}
	for n := range reflect.TypeFor[sources.Object]().NumField() {
		fields[reflect.TypeFor[sources.Object]().Field(n).Name] = reflect.ValueOf(o).Field(n)
	}
	return fields
}

// TestNothingOfAnObjectIsLostInThePlan verifies that the state database keeps every field of an
// object while it is planned and applied: the rules see the copy, and explain uses the object as it
// was listed.
func TestNothingOfAnObjectIsLostInThePlan(t *testing.T) {
	inTheWay := wholeObject(t, "b.jpg")
	inTheWay.Obstacle = sources.Unreadable
	bare := sources.Object{Key: "c.jpg", Size: 5}
	l := listedOnly{wholeObject(t, "a.jpg"), inTheWay, bare}
	for name, rules := range map[string]string{"decided in the listing": "[]", "decided later": `[{when: 'has("secret")', folder: x}]`} {
		w := newWorld(t)
		d := w.by(rules)
		d.Source = l
		plan, err := w.tryWith(t.Context(), d, migrate.DefaultRules())
		must(t, err)
		for _, o := range l {
			if got := w.item(plan, string(o.Key)).Object; got != o {
				t.Errorf("%s: the plan has %+v, want %+v", name, got, o)
			}
		}
	}
}

// explained returns where the rules put an object, and the metadata of its asset, as explain shows
// them.
func (w *world) explained(d migrate.Deps, key sources.Key) mapping.Explanation {
	w.Helper()
	e, err := collect.New(d).ExplainMapping(w.Context(), key)
	must(w, err)
	must(w, e.Err)
	return e
}

// everything is a rule that uses each listed field of an object, in its folder and in an attribute.
const everything = `[{folder: '${ type }-${ size }-${ time }', attributes: {listed: '${ key } ${ type } ${ size } ${ time }'}}]`

// TestRulesSeeWhatIsExplained verifies that rules have the result that explain shows, wherever the
// object is read from.
func TestRulesSeeWhatIsExplained(t *testing.T) {
	l := listedOnly{wholeObject(t, "a.jpg"), wholeObject(t, "dir/b.jpg")}
	for name, rules := range map[string]string{"decided in the listing": everything, "decided later": everything[:len(everything)-1] + `, {when: 'has("secret")', folder: x}]`} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t)
			d := w.by(rules)
			d.Source = l
			plan, err := w.tryWith(t.Context(), d, migrate.DefaultRules())
			must(t, err)
			w.wantFinished(plan)
			for _, o := range l {
				want := w.explained(d, o.Key)
				if i := w.item(plan, string(o.Key)); i.Folder != want.Goes.Folder || i.Name != want.Goes.Name {
					t.Errorf("%s goes to %q as %q, and it was said %+v", o.Key, i.Folder, i.Name, want.Goes)
				}
				a, err := w.other.Asset(t.Context(), w.receipt(string(o.Key)).Asset)
				must(t, err)
				if got := a.Metadata.CustomAttributes["listed"]; got != want.Said.Attributes["listed"] || got == "" {
					t.Errorf("%s: its asset says %q, and it was said %q", o.Key, got, want.Said.Attributes["listed"])
				}
			}
		})
	}
}

// typed stores objects with a content type; its arguments are pairs of a key and a content.
func (w *world) typed(keysAndContents ...string) {
	for n := 0; n < len(keysAndContents); n += 2 {
		w.source.PutObject(sources.Object{Key: sources.Key(keysAndContents[n]), ContentType: "image/x-told"}, []byte(keysAndContents[n+1]))
	}
}

// wantAsExplained compares the place and the metadata of an asset with those that explain shows.
func (w *world) wantAsExplained(d migrate.Deps, key sources.Key) {
	w.Helper()
	e, a := w.explained(d, key), w.assetOf(string(key))
	folder, err := w.other.Folder(w.Context(), a.FolderID, 1)
	must(w, err)
	if got := a.Metadata.CustomAttributes["listed"]; got == "" || got != e.Said.Attributes["listed"] || folder.Name != path.Base(e.Goes.Folder) {
		w.Errorf("%s: its asset is in %q and says %q, and it was said %q and %q", key, folder.Name, got, e.Goes.Folder, e.Said.Attributes["listed"])
	}
}

// TestRulesSeeAllOfAnAliasThatParts verifies that the rules see all fields of an object that shared
// another one's asset and gets its own, although it is not listed as changed.
func TestRulesSeeAllOfAnAliasThatParts(t *testing.T) {
	w := newWorld(t)
	w.typed("a.jpg", "same", "c.jpg", "same")
	d := w.by(everything)
	w.syncWith(d, joining())
	w.wantLeadTo(map[string]string{"a.jpg": "a.jpg", "c.jpg": "a.jpg"})
	w.typed("a.jpg", "else")
	w.syncWith(d, joining())
	w.wantLeadTo(map[string]string{"a.jpg": "a.jpg", "c.jpg": "c.jpg"})
	w.wantAsExplained(d, "c.jpg")
}

// TestRulesSeeAllOfWhatIsRepaired verifies the same for an object whose asset a user has trashed,
// and which is created again.
func TestRulesSeeAllOfWhatIsRepaired(t *testing.T) {
	w := newWorld(t)
	w.typed("a.jpg", "a", "b.jpg", "b")
	d := w.by(everything)
	w.syncWith(d, syncRules("keep"))
	must(t, w.other.Trash(t.Context(), w.receipt("a.jpg").Asset))
	repair := syncRules("overwrite")
	repair.Sync.Repair = true
	w.syncWith(d, repair)
	w.wantAsExplained(d, "a.jpg")
}

// TestRulesSeeAllOfWhatIsDescribedLater verifies the same for an unchanged object with a new
// sidecar, and for an object with a new key.
func TestRulesSeeAllOfWhatIsDescribedLater(t *testing.T) {
	w := newWorld(t)
	w.typed("a.jpg", "a", "b.jpg", "b")
	d := w.by(`[{folder: '${ type }-${ size }', attributes: {listed: '${ key } ${ type } ${ size } ${ time }'}}]`)
	w.syncWith(d, syncRules("keep"))
	w.put("a.jpg.json", `{"title": "late"}`)
	w.typed("dir/b.jpg", "b")
	w.source.Delete("b.jpg")
	plan := w.syncWith(d, syncRules("keep"))
	if i := w.item(plan, "dir/b.jpg"); i.Action != state.Move {
		t.Errorf("got %s, want a move", i.Action)
	}
	w.wantAsExplained(d, "a.jpg")
	if got := w.receipt("dir/b.jpg").ContentType; got != "image/x-told" {
		t.Errorf("after the move, the type is %q", got)
	}
	w.undo(plan)
	if got := w.receipt("b.jpg").ContentType; got != "image/x-told" {
		t.Errorf("after the undo, the type is %q", got)
	}
}
