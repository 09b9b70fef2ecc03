package state

import (
	"errors"
	"fmt"
	"slices"
	"sync"
	"testing"

	"assetferry/sources"

	"github.com/google/go-cmp/cmp"
)

// give stores old URLs of objects.
func (j *journey) give(key, url, comparable string) {
	j.exec(`INSERT INTO old_urls (pair, key, url, comparable) VALUES (?, ?, ?, ?)`, j.pair.ID, key, url, comparable)
}

func (j *journey) alias(key, owner string) {
	j.exec(`INSERT INTO aliases (pair, key, size, time, version_tag, owner, run, checksum)
		SELECT pair, ?, 10, 0, '', key, ?, checksum FROM receipts WHERE pair = ? AND key = ?`, key, j.run.Num, j.pair.ID, owner)
}

func shown(a AssetURL) string {
	return fmt.Sprintf("%s %d %s %s", a.As, a.Known, a.Key, a.TakenBy)
}

// TestURLsOfAllKinds verifies that keys, former keys, aliases and old URLs are listed in the order
// of keys, and which object an ambiguous one leads to.
func TestURLsOfAllKinds(t *testing.T) {
	j := begin(t)
	j.apply("b", "d", "f")
	j.take(3)
	must(t, j.record(done("b"), done("d"), done("f")))
	must(t, j.FinishRun(t.Context(), j.run.Num))
	for key, owner := range map[string]string{"a": "b", "c": "b", "d": "f", "x": "trashed"} {
		j.exec(`INSERT INTO former_keys (pair, key, owner) VALUES (?, ?, ?)`, j.pair.ID, key, owner)
	}
	j.alias("b", "d")
	j.alias("c", "d")
	j.alias("e", "d")
	j.give("d", "https://old/2", "//old/2")
	j.give("d", "https://old/1", "//old/1")
	j.give("b", "https://old/1", "//old/1")
	var got []string
	for _, a := range collect(t, j.AssetURLs(t.Context(), j.pair.ID, 0)) {
		got = append(got, shown(a))
	}
	want := []string{"a 1 b ", "b 0 b ", "b 2 d b", "https://old/1 3 b ", "c 1 b ", "c 2 d b", "d 0 d ", "d 1 f d", "https://old/1 3 d ", "https://old/2 3 d ", "e 2 d ", "f 0 f "}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	if other := collect(t, j.AssetURLs(t.Context(), j.pair.ID, j.run.Num+1)); len(other) > 0 {
		t.Errorf("of another run: %v", other)
	}
	for key, want := range map[sources.Key]string{"a": "a 1 b ", "b": "b 0 b ", "c": "c 1 b ", "d": "d 0 d ", "e": "e 2 d "} {
		if a, err := j.AssetURLByKey(t.Context(), j.pair.ID, key); err != nil || shown(a) != want || a.URL == "" {
			t.Errorf("%s: got %+v (%v), want %s", key, a, err, want)
		}
	}
	if _, err := j.AssetURLByKey(t.Context(), j.pair.ID, "x"); !errors.Is(err, ErrNotFound) {
		t.Errorf("what is trashed: %v", err)
	}
	if a, err := j.AssetURLByOldURL(t.Context(), j.pair.ID, "//old/1"); err != nil || a.Key != "b" {
		t.Errorf("what two objects had: %+v (%v)", a, err)
	}
	if a, err := j.AssetURLByOldURL(t.Context(), j.pair.ID, "//old/3", "//old/2", "//old/1"); err != nil || a.Key != "b" {
		t.Errorf("the first object that had one of several: %+v (%v)", a, err)
	}
	if a, err := j.AssetURLByOldURL(t.Context(), j.pair.ID, "//old/3", "//old/2"); err != nil || a.Key != "d" {
		t.Errorf("the only object that had one of several: %+v (%v)", a, err)
	}
	if _, err := j.AssetURLByOldURL(t.Context(), j.pair.ID, "//old/3"); !errors.Is(err, ErrNotFound) {
		t.Errorf("what none had: %v", err)
	}
}

// TestURLsInPages verifies that a page may end between the URLs of one object.
func TestURLsInPages(t *testing.T) {
	j := begin(t)
	const n = 2*PageSize + 3
	j.apply("a", "b")
	j.take(2)
	must(t, j.record(done("a"), done("b")))
	j.exec(`INSERT INTO old_urls (pair, key, url, comparable) WITH RECURSIVE n (n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM n WHERE n < ?2)
		SELECT ?1, 'a', printf('/%06d', n), printf('/%06d', n) FROM n`, j.pair.ID, n)
	j.exec(`INSERT INTO former_keys (pair, key, owner) SELECT pair, 'f' || url, 'b' FROM old_urls`)
	all := collect(t, j.AssetURLs(t.Context(), j.pair.ID, 0))
	if len(all) != 2*n+2 || !slices.IsSortedFunc(all, AssetURL.compare) {
		t.Errorf("%d URLs", len(all))
	}
}

func TestGivenBeginnings(t *testing.T) {
	j := begin(t)
	j.apply("a")
	j.take(1)
	must(t, j.record(done("a")))
	if got, err := j.OldURLPrefixes(t.Context(), j.pair.ID); err != nil || got != nil {
		t.Errorf("of none: %q (%v)", got, err)
	}
	for _, url := range []string{"//b/1", "//b/2", "//b-c/1", "//b:80/x/y", "//c/"} {
		j.give("a", url, url)
	}
	want := []string{"//b-c/", "//b/", "//b:80/", "//c/"}
	for _, path := range []string{"", "/-", "/x"} {
		if path != "" {
			j.give("a", path, path)
			want = append(want[:4], "/")
		}
		got, err := j.OldURLPrefixes(t.Context(), j.pair.ID)
		must(t, err)
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("with %q (-want +got):\n%s", path, diff)
		}
	}
}

// TestOldURLs verifies that the stored metadata of an object reports its old URLs. They are kept
// when the metadata no longer has them, and move with the object.
func TestOldURLs(t *testing.T) {
	j := begin(t)
	j.apply("a")
	j.take(1)
	o := done("a")
	o.AssetURLs = []string{"https://anna:secret@CMS.example/7#x", "n/a", "/old/7"}
	must(t, j.record(o))
	must(t, j.FinishRun(t.Context(), j.run.Num))
	again := Outcome{Key: "b", State: ItemDone, InsteadOf: "a", Found: `{"table":{"title":["x"]}}`}
	item, _ := changed("b", Move, "a")
	again.Receipt = receipt("b", item.Asset)
	run := j.sync([]Item{item}, []Outcome{again})
	want := []string{"/old/7", "https://CMS.example/7"}
	if got, err := j.OldURLs(t.Context(), j.pair.ID, "b"); err != nil || !cmp.Equal(got, want) {
		t.Errorf("got %q (%v), want %q", got, err, want)
	}
	if a, err := j.AssetURLByOldURL(t.Context(), j.pair.ID, "//cms.example/7"); err != nil || a.Key != "b" {
		t.Errorf("got %+v (%v)", a, err)
	}
	j.undone(run)
	if got, err := j.OldURLs(t.Context(), j.pair.ID, "a"); err != nil || !cmp.Equal(got, want) {
		t.Errorf("after the undo: got %q (%v), want %q", got, err, want)
	}
}

// TestURLsSideBySide verifies that callers can share the prepared statement, and that it sees new rows.
func TestURLsSideBySide(t *testing.T) {
	j := begin(t)
	j.apply("a", "b")
	j.take(2)
	for n, key := range []sources.Key{"a", "b"} {
		if _, err := j.AssetURLByKey(t.Context(), j.pair.ID, key); !errors.Is(err, ErrNotFound) {
			t.Errorf("before the upload of %s: %v", key, err)
		}
		must(t, j.record(done(string(key))))
		var all sync.WaitGroup
		for range 4 {
			all.Go(func() {
				for _, key := range []sources.Key{"a", "b"}[:n+1] {
					if a, err := j.AssetURLByKey(t.Context(), j.pair.ID, key); err != nil || a.Key != key {
						t.Errorf("%s: got %+v (%v)", key, a, err)
					}
				}
			})
		}
		all.Wait()
	}
}

// BenchmarkAssetURLByKey measures the lookups of a rewrite that the map of all URLs does not answer. Half
// of the keys are unknown.
func BenchmarkAssetURLByKey(b *testing.B) {
	j := begin(b)
	j.apply("a", "b")
	j.take(2)
	must(b, j.record(done("a"), done("b")))
	must(b, j.FinishRun(b.Context(), j.run.Num))
	b.ReportAllocs()
	for b.Loop() {
		for _, key := range [...]sources.Key{"a", "x"} {
			if _, err := j.AssetURLByKey(b.Context(), j.pair.ID, key); (err != nil) != (key == "x") {
				b.Fatal(err)
			}
		}
	}
}
