package state

import (
	"slices"
	"strings"
	"testing"
	"time"

	"assetferry/sources"
)

// A verifiedCase follows assets through verifications and syncs, on a clock of its own.
type verifiedCase struct {
	*journey
	clock time.Time
}

func verifiedLibrary(t *testing.T) *verifiedCase {
	c := &verifiedCase{libraryOf(t), time.Now()}
	c.now = func() time.Time { return c.clock }
	return c
}

// verify lets an hour pass, and saves a verification.
func (c *verifiedCase) verify(level string, sampled []string, found ...Difference) time.Time {
	c.Helper()
	c.clock = c.clock.Add(time.Hour)
	must(c, c.SaveVerification(c.Context(), Verification{Pair: c.pair.ID, Level: level, Differences: int64(len(found)), Sampled: sampled}, found))
	return c.clock.UTC().Truncate(time.Millisecond)
}

// expect checks the sums, and that they match the individual assets.
func (c *verifiedCase) expect(what string, listed, contents, differ, unverified int64) {
	c.Helper()
	sum, err := c.SumVerified(c.Context(), c.pair.ID)
	must(c, err)
	if sum.Listed != listed || sum.Contents != contents || sum.Differ != differ || sum.Unverified() != unverified {
		c.Errorf("%s: listed %d, by checksum %d, differing %d, not verified %d; want %d, %d, %d, %d", what,
			sum.Listed, sum.Contents, sum.Differ, sum.Unverified(), listed, contents, differ, unverified)
	}
	var n, read int64
	for r, err := range c.Receipts(c.Context(), c.pair.ID, "") {
		must(c, err)
		a, err := c.ArrivalOf(c.Context(), c.pair.ID, r.Key)
		must(c, err)
		differs := false
		if a.Listed.ID != 0 {
			found, err := c.DifferencesOf(c.Context(), a.Listed.ID, r.Asset)
			must(c, err)
			differs = len(found) > 0
		}
		if a.Listed.ID != 0 && !differs {
			n++
			if !a.Content.IsZero() {
				read++
			}
		}
	}
	if n != sum.Listed || read != sum.Contents {
		c.Errorf("%s: of single assets, %d are verified by listing and %d by checksum, but they sum up to %d and %d", what, n, read, sum.Listed, sum.Contents)
	}
	all, err := c.SumVerifiedOf(c.Context(), c.pair.ID, func(sources.Object) bool { return true })
	must(c, err)
	if all != sum {
		c.Errorf("%s: object by object it is %+v, and at once %+v", what, all, sum)
	}
	verified := int64(0)
	for a, err := range c.AssetURLs(c.Context(), c.pair.ID, 0) {
		must(c, err)
		if a.Verified && a.Known == ByKey {
			verified++
		}
	}
	if verified != listed {
		c.Errorf("%s: %d URLs are verified, want %d", what, verified, listed)
	}
}

// TestVerificationBelongsToAssets verifies that assets which a sync moves or updates stay verified,
// that replaced and new ones are not verified yet, and that a later listing confirms verified
// contents.
func TestVerificationBelongsToAssets(t *testing.T) {
	c := verifiedLibrary(t)
	c.expect("never verified", 0, 0, 0, 5)
	at := c.verify("checksum", nil)
	c.expect("all read back", 5, 5, 0, 0)

	c.clock = c.clock.Add(time.Hour)
	first, sync := c.run.ID, c.everyAction()
	// a/described has new content in this test, because its outcome has a receipt.
	c.expect("after a sync", 2, 2, 0, 3)
	moved, err := c.ArrivalOf(t.Context(), c.pair.ID, "a/new name")
	must(t, err)
	if moved.Run != first || !moved.Content.Equal(at) || !moved.At.Before(at) {
		t.Errorf("a moved asset was uploaded by %s at %v and read back at %v; want %s, before %v", moved.Run, moved.At, moved.Content, first, at)
	}
	if replacedSince, err := c.ArrivalOf(t.Context(), c.pair.ID, "a/replaced"); err != nil || replacedSince.Run != sync.ID || !replacedSince.Content.IsZero() || replacedSince.Listed.ID != 0 {
		t.Errorf("a replaced asset: %+v (%v)", replacedSince, err)
	}

	c.verify("listing", nil)
	c.expect("listed again", 5, 2, 0, 0)
	c.verify("sample", []string{"asset of a/replaced", "asset of untouched"})
	c.expect("a sample", 5, 3, 0, 0)
	c.verify("listing", nil, Difference{Key: "untouched", Asset: "asset of untouched", Field: "size", What: "is larger"})
	c.expect("one differs", 4, 2, 1, 0)
	c.verify("listing", nil)
	c.expect("it is as before", 5, 2, 0, 0)
	c.verify("sample", []string{"asset of untouched"})
	c.expect("and was read back", 5, 3, 0, 0)
	c.verify("checksum", nil, Difference{Key: "b/created", Asset: "asset of b/created", Field: "content", What: "differs"})
	c.expect("one content differs", 4, 4, 1, 0)
	c.verify("listing", nil)
	c.expect("which no listing settles", 5, 4, 0, 0)
}

// TestUndoneIsNotVerified verifies that an asset which an undo restores is not verified, although
// it was before, and that the run that uploaded it still lists it. An asset that the undo moves
// stays verified.
func TestUndoneIsNotVerified(t *testing.T) {
	c := verifiedLibrary(t)
	c.verify("checksum", nil)
	c.clock = c.clock.Add(time.Hour)
	first, run := c.run.ID, c.everyAction()
	c.verify("checksum", nil)
	c.clock = c.clock.Add(time.Hour)
	c.undone(run)
	c.expect("after the undo", 3, 3, 0, 2)
	for _, key := range []string{"a/moved", "a/replaced", "a/trashed"} {
		if a, err := c.ArrivalOf(t.Context(), c.pair.ID, sources.Key(key)); err != nil || a.Run != first || key != "a/moved" && a.Listed.ID != 0 {
			t.Errorf("%s: uploaded by %s, verified %v (%v)", key, a.Run, a.Listed.At, err)
		}
	}
}

// TestClockSetBackVerifiesNothing verifies that an asset which is uploaded after a verification
// does not count as verified, even if the clock was set back in between.
func TestClockSetBackVerifiesNothing(t *testing.T) {
	c := verifiedLibrary(t)
	c.verify("checksum", nil)
	c.clock = c.clock.Add(-48 * time.Hour)
	c.everyAction()
	c.expect("after a sync", 2, 2, 0, 3)
}

// verifyWave saves a verification of the objects with keys from first to last.
func (c *verifiedCase) verifyWave(level string, first, last sources.Key, found ...Difference) {
	c.Helper()
	c.clock = c.clock.Add(time.Hour)
	must(c, c.SaveVerification(c.Context(), Verification{Pair: c.pair.ID, Wave: "a", Level: level, Differences: int64(len(found)),
		Covered: []KeyRange{{first, last}}}, found))
}

// TestVerificationOfWave verifies that a verification of a wave counts for its assets and no others,
// until the next one of all assets, and that the differences of other assets stay.
func TestVerificationOfWave(t *testing.T) {
	c := verifiedLibrary(t)
	c.verifyWave("listing", "a/", "a/~")
	c.expect("only a wave was ever verified", 4, 0, 0, 1)
	c.verifyWave("checksum", "a/", "a/~", Difference{Key: "a/moved", Asset: "asset of a/moved", Field: "content", What: "differs"})
	c.expect("contents of a wave", 3, 3, 1, 1)
	c.verify("listing", nil, Difference{Key: "untouched", Asset: "asset of untouched", Field: "size", What: "is larger"})
	c.expect("all listed", 4, 3, 1, 0)
	c.verifyWave("listing", "a/", "a/~", Difference{Key: "a/replaced", Asset: "asset of a/replaced", Field: "name", What: "is named otherwise"})
	c.expect("each difference counts until its asset is verified again", 3, 2, 2, 0)
	var keys []sources.Key
	for d, err := range c.CurrentDifferences(t.Context(), c.pair.ID) {
		must(t, err)
		keys = append(keys, d.Key)
	}
	if !slices.Equal(keys, []sources.Key{"a/replaced", "untouched"}) {
		t.Errorf("current differences: %q", keys)
	}

	c.clock = c.clock.Add(time.Hour)
	c.everyAction()
	c.verifyWave("listing", "a/", "a/~")
	c.expect("a wave after a sync", 3, 0, 1, 1)
	sum, err := c.SumVerifiedOf(t.Context(), c.pair.ID, func(o sources.Object) bool { return o.Key < "b" })
	must(t, err)
	if want := (VerifiedSum{Assets: 3, Listed: 3, LastArrival: sum.LastArrival}); sum != want {
		t.Errorf("the wave has %+v, want %+v", sum, want)
	}
	if n, err := c.Prune(t.Context(), c.clock.Add(time.Hour)); err != nil || n.Verifications != 2 {
		t.Errorf("pruned %+v (%v), want 2 verifications", n, err)
	}
	c.expect("after old ones were pruned", 3, 0, 1, 1)
	c.verify("listing", nil)
	c.expect("all listed again", 5, 0, 0, 0)
}

// TestFewDifferencesComeFirst verifies that no join of sumVerified reads all receipts to find those
// with a difference.
func TestFewDifferencesComeFirst(t *testing.T) {
	c := verifiedLibrary(t)
	steps := explained(t, c.path, sumVerified, c.pair.ID)
	lookups := 0
	for _, step := range steps {
		switch {
		case strings.HasSuffix(step, "receipts_asset (pair=?)"):
			t.Errorf("reads all receipts: %s", strings.Join(steps, "\n"))
		case strings.HasSuffix(step, "receipts_asset (pair=? AND asset=?)"):
			lookups++
		}
	}
	if lookups == 0 {
		t.Errorf("looks up no receipt: %s", strings.Join(steps, "\n"))
	}
}
