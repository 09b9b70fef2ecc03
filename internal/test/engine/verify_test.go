package engine

import (
	"context"
	"errors"
	"fmt"
	"io"
	"iter"
	"strings"
	"testing"
	"time"

	gocmp "github.com/google/go-cmp/cmp"

	"assetferry/internal/assets"
	"assetferry/internal/retry"
	"assetferry/internal/sandbox"
	"assetferry/migrate"
	"assetferry/migrate/verify"
	"assetferry/sources"
	"assetferry/state"
)

// verify runs a verification, and returns it with its differences. (The images of these tests are
// not valid images, about which there are notes.)
func (w *world) verify(d migrate.Deps, level string, sample int) (state.Verification, []string) {
	w.Helper()
	v, err := verify.New(d, level, sample).Verify(w.Context(), w.pair)
	must(w, err)
	return v, w.watch.found(false)
}

func TestVerifyClean(t *testing.T) {
	w := newWorld(t)
	w.small()
	w.migrate(migrate.DefaultRules())
	for _, tc := range []struct {
		level        string
		sample, want int64
	}{{verify.LevelListing, 0, 0}, {verify.LevelSample, 4, 4}, {verify.LevelSample, 100, 6}, {verify.LevelChecksum, 0, 6}} {
		var v state.Verification
		var found []string
		asked := w.during(func() { v, found = w.verify(w.deps(), tc.level, int(tc.sample)) })
		if len(found) > 0 || v.Differences != 0 || v.Receipts != 6 || v.Contents != tc.want {
			t.Errorf("%s: got %+v, %q", tc.level, v, found)
		}
		if sent := writes(asked); len(sent) > 0 {
			t.Errorf("%s: sent %v", tc.level, sent)
		}
		if last, err := w.store.LastVerification(t.Context(), w.pair.ID); err != nil || last.Contents != tc.want || last.Level != tc.level {
			t.Errorf("%s: remembered %+v (%v)", tc.level, last, err)
		}
	}
}

func TestVerifyFindsDifferences(t *testing.T) {
	w := newWorld(t)
	w.put("gone.jpg", "1", "renamed.jpg", "2", "dir/moved.jpg", "3", "replaced.jpg", "4", "ok.jpg", "5", "dir/stays.jpg", "6")
	w.migrate(migrate.DefaultRules())
	id := func(key string) string {
		r, err := w.store.Receipt(t.Context(), w.pair.ID, sources.Key(key))
		must(t, err)
		return r.Asset
	}
	must(t, w.other.Trash(t.Context(), id("gone.jpg")))
	name := "other"
	if _, err := w.other.Update(t.Context(), id("renamed.jpg"), assets.Changes{Name: &name}); err != nil {
		t.Fatal(err)
	}
	r, err := w.store.Receipt(t.Context(), w.pair.ID, "dir/moved.jpg")
	must(t, err)
	w.delete("/folders/" + r.Folder) // its assets move to the parent
	d := w.deps()
	d.Dest = corrupting{w.client, id("replaced.jpg")}
	v, found := w.verify(d, verify.LevelChecksum, 0)
	want := []string{
		"dir/moved.jpg was moved",
		"dir/stays.jpg was moved",
		"gone.jpg is missing",
		`renamed.jpg is named "other.jpg" instead of "renamed.jpg"`,
		"replaced.jpg its content differs from the upload (1 bytes)",
	}
	if diff := gocmp.Diff(want, found); diff != "" {
		t.Errorf("found (-want +got):\n%s", diff)
	}
	if v.Differences != int64(len(want)) || v.Receipts != 6 {
		t.Errorf("got %+v", v)
	}
}

// A corrupting destination returns other bytes for one asset.
type corrupting struct {
	migrate.Reader
	asset string
}

func (c corrupting) Download(ctx context.Context, url string, offset int64) (io.ReadCloser, int64, error) {
	if strings.Contains(url, c.asset) {
		return io.NopCloser(strings.NewReader("!")), 1, nil
	}
	return c.Reader.Download(ctx, url, offset)
}

func TestVerifyUnreadableContentIsADifference(t *testing.T) {
	w := newWorld(t, faults(t, "GET /{workspaceId}/assets/{id}/file status=500"))
	w.put("a.jpg", "a")
	w.migrate(migrate.DefaultRules())
	v, found := w.verify(w.deps(), verify.LevelChecksum, 0)
	if v.Differences != 1 || len(found) != 1 || !strings.Contains(found[0], "cannot be read") {
		t.Errorf("got %+v, %q", v, found)
	}
}

// TestVerifyOfARefusedURLIsAFailure verifies that an asset whose URL must not be requested is a
// failure and no difference, and that all other contents are verified.
func TestVerifyOfARefusedURLIsAFailure(t *testing.T) {
	w := newWorld(t)
	w.put("a.jpg", "a", "b.jpg", "b", "c.jpg", "c")
	w.migrate(migrate.DefaultRules())
	d := w.deps()
	d.Dest = elsewhere{w.client, w.receipt("b.jpg").Asset}
	v, err := verify.New(d, verify.LevelChecksum, 0).Verify(t.Context(), w.pair)
	refused, ok := errors.AsType[*verify.RefusedURLError](err)
	if !ok || !errors.Is(err, assets.ErrRefused) || refused.Count != 1 || refused.Key != "b.jpg" {
		t.Errorf("got %v", err)
	}
	if class, _ := retry.Classify(err); class != retry.Permanent || v.Differences != 0 || v.Contents != 3 {
		t.Errorf("got %+v, class %s", v, class)
	}
	if found := w.watch.found(false); len(found) > 0 {
		t.Errorf("found %q", found)
	}
}

// An elsewhere destination returns a link-local URL for one asset, that of the metadata service of
// a cloud.
type elsewhere struct {
	migrate.Reader
	asset string
}

func (e elsewhere) Download(ctx context.Context, url string, offset int64) (io.ReadCloser, int64, error) {
	if strings.Contains(url, e.asset) {
		url = "http://169.254.169.254/latest/meta-data"
	}
	return e.Reader.Download(ctx, url, offset)
}

func TestVerifyWithoutPermissionIsAnError(t *testing.T) {
	w := newWorld(t, faults(t, "GET /{workspaceId}/assets/{id}/file status=401"))
	w.put("a.jpg", "a")
	w.migrate(migrate.DefaultRules())
	if _, err := verify.New(w.deps(), verify.LevelChecksum, 0).Verify(t.Context(), w.pair); !assets.IsAuth(err) {
		t.Errorf("got %v, want an error of authentication", err)
	}
	if n := w.watch.found(false); len(n) > 0 {
		t.Errorf("found %q", n)
	}
}

func TestCorruptImageIsANote(t *testing.T) {
	w := newWorld(t)
	png := "\x89PNG\r\n\x1a\n" + strings.Repeat("broken", 20)
	w.put("broken.png", png)
	w.migrate(migrate.DefaultRules())
	v, found := w.verify(w.deps(), verify.LevelChecksum, 0)
	if v.Differences != 0 || v.Contents != 1 || len(found) > 0 {
		t.Errorf("got %+v, %q", v, found)
	}
	if diff := gocmp.Diff([]string{"broken.png the service could not process the image"}, w.watch.found(true)); diff != "" {
		t.Error(diff)
	}
}

func TestVerifyManyContainers(t *testing.T) {
	w := newWorld(t)
	for n := range 150 {
		w.put(fmt.Sprintf("%02d/%03d.jpg", n%30, n), "x")
	}
	w.migrate(migrate.DefaultRules())
	if v, found := w.verify(w.deps(), verify.LevelListing, 0); v.Receipts != 150 || len(found) > 0 {
		t.Errorf("got %+v, %q", v, found)
	}
}

// TestVerifyOfWhatIsNotListedYet verifies that assets that are not listed yet are requested by ID.
// An asset that no list has long after its upload is a difference, even if its ID still works: it
// may be in the trash.
func TestVerifyOfWhatIsNotListedYet(t *testing.T) {
	w := newWorld(t, func(o *sandbox.Options) { o.Profile.ListingDelay = time.Hour })
	w.put("a.jpg", "1", "dir/b.jpg", "2", "gone.jpg", "3", "moved.jpg", "4")
	w.migrate(migrate.DefaultRules())
	must(t, w.other.Trash(t.Context(), w.receipt("gone.jpg").Asset))
	must(t, w.other.Move(t.Context(), assets.Target{FolderID: w.receipt("dir/b.jpg").Folder}, assets.Transfer{AssetID: w.receipt("moved.jpg").Asset}))
	v, found := w.verify(w.deps(), verify.LevelChecksum, 0)
	if diff := gocmp.Diff([]string{"gone.jpg is missing", "moved.jpg was moved"}, found); diff != "" || v.Contents != 3 {
		t.Errorf("got %+v, found (-want +got):\n%s", v, diff)
	}
	later := w.deps()
	later.Now = func() time.Time { return time.Now().Add(2 * time.Minute) }
	if v, _ := w.verify(later, verify.LevelListing, 0); v.Differences != 4 {
		t.Errorf("got %+v, want all four", v)
	}
}

// TestVerifyOfManyMissing verifies that, if many assets are missing, only some of them are
// requested.
func TestVerifyOfManyMissing(t *testing.T) {
	t.Parallel()
	const n = 300
	w := newWorld(t)
	for i := range n {
		w.put(fmt.Sprintf("%03d.jpg", i), fmt.Sprint(i))
	}
	w.migrate(migrate.DefaultRules())
	for i := range n {
		must(t, w.other.Trash(t.Context(), w.receipt(fmt.Sprintf("%03d.jpg", i)).Asset))
	}
	var v state.Verification
	asked := w.during(func() { v, _ = w.verify(w.deps(), verify.LevelListing, 0) })
	if v.Differences != n || len(asked) > n/2 {
		t.Errorf("%d differences with %d requests", v.Differences, len(asked))
	}
}

// undated is a destination that reports no times of changes.
type undated struct{ migrate.Reader }

func (u undated) List(ctx context.Context, o assets.ListOptions) iter.Seq2[assets.Asset, error] {
	return func(yield func(assets.Asset, error) bool) {
		for a, err := range u.Reader.List(ctx, o) {
			a.LastModifiedAt = time.Time{}
			if !yield(a, err) {
				return
			}
		}
	}
}

// TestUndatedAssets verifies that a comparison with a time counts assets without one: it finds no
// change of them.
func TestUndatedAssets(t *testing.T) {
	w := newWorld(t)
	w.put("a.txt", "a", "b.txt", "b")
	w.migrate(migrate.DefaultRules())
	d := w.deps()
	for _, test := range []struct {
		dest migrate.Reader
		want int64
	}{{d.Dest, 0}, {undated{d.Dest}, 2}} {
		d.Dest = test.dest
		v := verify.New(d, verify.LevelListing, 0)
		v.Since = time.Now()
		if _, err := v.Verify(t.Context(), w.pair); err != nil || v.Undated != test.want {
			t.Errorf("%d assets without a time (%v), want %d", v.Undated, err, test.want)
		}
	}
}
