package state

import (
	"errors"
	"fmt"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"assetferry/sources"
)

// TestBases verifies that rows are read as they were written, although they store text that they
// share with other rows only once.
func TestBases(t *testing.T) {
	keys := []string{
		"a.jpg", "b", "d/", "d/.jpg", "d/a.", "d/a.b.jpg", "d/e/f.JPG", "d/e/ü.jpg", "d/no\x00text.jpg", "d/no\xfftext.jpg", "ü/ö.jpg",
	}
	type answer struct{ name, extension, url string }
	for n, answers := range []func(key string) answer{
		func(key string) answer {
			name, extension := splitName(baseName(key))
			return answer{name, extension, "https://example.com/assets/" + key + "!/file"}
		},
		func(key string) answer {
			return answer{baseName(key), "", "https://example.com/" + key + "!/" + key + "!"}
		},
		func(key string) answer { return answer{"another", "txt", "https://example.com/" + key + "!"} },
		func(string) answer { return answer{} },
		func(key string) answer {
			name, extension := splitName(baseName(key))
			return answer{name, extension, "https://example.com/elsewhere"}
		},
	} {
		t.Run(fmt.Sprint(n), func(t *testing.T) {
			j := begin(t)
			j.stage(keys...)
			var items []Item
			for _, key := range keys {
				a := answers(key)
				i := decided(key, Create, ItemPlanned)
				i.Name = filename(a.name, a.extension)
				items = append(items, i)
			}
			must(t, j.Decided(t.Context(), j.run.Num, items))
			if diff := cmp.Diff(items, collect(t, j.Items(t.Context(), j.run.Num))); diff != "" {
				t.Errorf("items (-written +read):\n%s", diff)
			}
			must(t, j.FinishPlan(t.Context(), j.run.Num, "hash", []byte("[]")))
			must(t, j.SetRunState(t.Context(), j.run.Num, Planned, Applying))
			j.take(len(keys))
			var receipts []Receipt
			for _, key := range keys {
				a := answers(key)
				r := receipt(key, key+"!")
				r.Name, r.Extension, r.URL, r.Run = a.name, a.extension, a.url, j.run.Num
				r.Description = []*Description{nil, {ContentType: "image/jpeg"}, &typical}[len(receipts)%3]
				must(t, j.record(Outcome{Key: sources.Key(key), State: ItemDone, Receipt: r}))
				receipts = append(receipts, *r)
			}
			j.wantWritten(receipts)
		})
	}
}

// wantWritten checks that every way to read receipts returns these.
func (j *journey) wantWritten(receipts []Receipt) {
	j.Helper()
	j.wantKept(receipts)
	for n := range receipts {
		receipts[n].Description = nil // only written
	}
	if diff := cmp.Diff(receipts, collect(j, j.Receipts(j.Context(), j.pair.ID, ""))); diff != "" {
		j.Errorf("receipts (-written +read):\n%s", diff)
	}
	sightings := collect(j, j.Sightings(j.Context(), j.pair.ID))
	urls := collect(j, j.AssetURLs(j.Context(), j.pair.ID, 0))
	must(j, j.FinishRun(j.Context(), j.run.Num))
	undo, err := j.PlanUndo(j.Context(), j.run)
	must(j, err)
	must(j, j.stageUndo(undo))
	undone := collect(j, j.Items(j.Context(), undo.Num))
	for n, r := range receipts {
		if s := sightings[n].Receipt; s.Filename() != r.Filename() || s.Name != r.Name || s.URL != r.URL || s.Category != r.Category {
			j.Errorf("%q: got %+v in a sighting, want %+v", r.Key, s, r)
		}
		if a := urls[n]; a.URL != r.URL || a.Category != r.Category {
			j.Errorf("%q: got URL %+v, want %+v", r.Key, a, r)
		}
		if i := undone[n]; i.Name != r.Filename() || i.Category != r.Category {
			j.Errorf("%q: got %+v to undo, want %+v", r.Key, i, r)
		}
	}
	if all, err := j.Containers(j.Context(), j.pair.ID); err != nil || len(all) != 1 || all[0] != (Container{"category", "folder-id"}) {
		j.Errorf("got containers %v (%v)", all, err)
	}
}

// wantKept checks the stored metadata of objects, and its sums.
func (j *journey) wantKept(receipts []Receipt) {
	j.Helper()
	var want DescriptionSum
	for _, r := range receipts {
		d, err := j.Description(j.Context(), j.pair.ID, r.Key)
		if r.Description == nil {
			if !errors.Is(err, ErrNotFound) {
				j.Errorf("%q: got %+v (%v), want nothing", r.Key, d, err)
			}
			continue
		}
		want.Objects++
		want.ContentTypes++
		if len(r.Description.Metadata) > 0 {
			want.Metadata++
		}
		if len(r.Description.Tags) > 0 {
			want.Tags++
		}
		if diff := cmp.Diff(*r.Description, d, cmpopts.EquateEmpty()); err != nil || diff != "" {
			j.Errorf("%q: %v (-written +read):\n%s", r.Key, err, diff)
		}
	}
	if got, err := j.SumDescriptions(j.Context(), j.run); err != nil || got != want {
		j.Errorf("got %+v (%v), want %+v", got, err, want)
	}
}

// TestBasesAreFew verifies that URLs with nothing in common do not create a base each.
func TestBasesAreFew(t *testing.T) {
	j := begin(t)
	keys := numbered(maxBases + 10)
	j.apply(keys...)
	j.take(len(keys))
	var outcomes []Outcome
	var receipts []Receipt
	for _, key := range keys {
		r := receipt(key, "asset of "+key)
		r.Name, r.Extension, r.Run = key[:6], "jpg", j.run.Num
		r.URL = "https://" + key + ".example.com/" + r.Asset
		receipts = append(receipts, *r)
		outcomes = append(outcomes, Outcome{Key: sources.Key(key), State: ItemDone, Receipt: r})
	}
	must(t, j.record(outcomes...))
	j.wantWritten(receipts)
	var n int
	must(t, j.r.QueryRowContext(t.Context(), `SELECT count(*) FROM bases`).Scan(&n))
	if n != maxBases {
		t.Errorf("%d bases, want %d", n, maxBases)
	}
}
