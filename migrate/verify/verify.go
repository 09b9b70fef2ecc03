// Package verify compares the destination with the receipts in the state database, at the requested
// level, and reports the differences.
package verify

import (
	"bytes"
	"cmp"
	"context"
	"encoding/hex"
	"errors"
	"fmt"
	"iter"
	"math/rand/v2"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"golang.org/x/sync/errgroup"
	"golang.org/x/text/unicode/norm"

	"assetferry/internal/assets"
	"assetferry/internal/retry"
	"assetferry/migrate"
	"assetferry/migrate/inventory"
	"assetferry/sources"
	"assetferry/state"
)

// The levels of verification.
const (
	LevelListing  = "listing"  // every asset is listed with the expected name and size
	LevelSample   = "sample"   // and the content of some was downloaded
	LevelChecksum = "checksum" // and the content of all assets was downloaded
)

// A Verifier compares a destination with the state database.
type Verifier struct {
	migrate.Deps
	Level       string
	Sample      int // how many contents LevelSample reads
	Concurrency int
	Unlisted    time.Duration // see DefaultUnlisted
	Wave        *migrate.Wave // compares only its assets; nil: all
	Revisions   bool          // the revisions of assets are compared, too
	Since       time.Time     // notes of assets that were changed since, see FieldModified; zero: none
	Undated     int64         // assets without a time for Since; only read

	pair      state.Pair
	expected  *expectations
	wave      scope
	others    atomic.Bool             // assets were met that are not ours
	missing   atomic.Int64            // missing assets in a row
	reported  map[string]bool         // those that were reported
	elsewhere map[string]misplacement // folders by ID
	refused   *refusedURLs            // of contents
	noting    sync.Mutex              // during the inventory
}

// New returns a verifier. sample is the number of contents to download, for LevelSample only.
func New(d migrate.Deps, level string, sample int) *Verifier {
	return &Verifier{Deps: d.WithDefaults(), Level: level, Sample: sample, Concurrency: migrate.DefaultConcurrency, Unlisted: DefaultUnlisted}
}

// Verify checks every asset with a receipt, reports the differences to the observer, and stores the
// result. A difference is no error; contents whose URLs were refused are a [RefusedURLError].
func (v *Verifier) Verify(ctx context.Context, pair state.Pair) (state.Verification, error) {
	result := state.Verification{Pair: pair.ID, Source: pair.Source, Wave: v.Wave.Label(), Level: v.Level}
	scope := state.PairScope(pair.ID)
	if err := v.State.DropInventory(ctx, scope); err != nil {
		return result, err
	}
	if err := v.noteCategories(ctx, pair); err != nil {
		return result, err
	}
	v.pair, v.reported, v.refused = pair, map[string]bool{}, &refusedURLs{}
	v.others.Store(false)
	v.missing.Store(0)
	containers, err := v.State.Containers(ctx, pair.ID)
	if err != nil {
		return result, err
	}
	if v.expected, err = v.expect(ctx); err != nil {
		return result, err
	}
	containers = v.wave.containersOf(containers)
	if err := v.inventory(ctx, pair.ID, scope, containers); err != nil {
		return result, err
	}
	if v.elsewhere, err = v.misplaced(ctx, pair.Destination, containers); err != nil {
		return result, err
	}
	differences, err := v.compare(ctx, &result)
	if err != nil {
		return result, err
	}
	if err := v.State.DropInventory(ctx, scope); err != nil {
		return result, err
	}
	return result, v.State.SaveVerification(ctx, result, differences)
}

// noteCategories stores which categories are private now.
func (v *Verifier) noteCategories(ctx context.Context, pair state.Pair) error {
	there, err := migrate.Categories(ctx, v.Dest)
	if err != nil {
		return err
	}
	return migrate.SaveCategories(ctx, v.State, pair.Destination, there)
}

func (v *Verifier) inventory(ctx context.Context, pair int64, scope state.Scope, containers []state.Container) error {
	v.Watch.Phase(migrate.PhaseInventory, -1, -1)
	g, ctx := errgroup.WithContext(ctx)
	g.SetLimit(v.Concurrency)
	for _, c := range containers {
		g.Go(func() error {
			for page, err := range migrate.Pages(inventory.List(ctx, v.Dest, c), migrate.PageSize) {
				if err == nil {
					err = v.meet(ctx, pair, scope, page)
				}
				if err != nil {
					return err
				}
			}
			return nil
		})
	}
	return g.Wait()
}

// meet compares listed assets with their receipts. Matching assets are only marked in memory; all
// others are written to the inventory, because writing takes longer than the listing. Foreign
// assets are written with a hash of place, name and size.
func (v *Verifier) meet(ctx context.Context, pair int64, scope state.Scope, page []assets.Asset) error {
	if err := v.noteModified(ctx, pair, page); err != nil {
		return err
	}
	rest := slices.DeleteFunc(page, v.expected.met)
	v.Watch.Progress(int64(len(page)), 0)
	if len(rest) == 0 {
		return nil
	}
	receipts, err := v.State.ReceiptsOf(ctx, pair, inventory.IDsOf(rest))
	if err != nil {
		return err
	}
	var others []state.Entry
	for _, a := range rest {
		e := inventory.EntryOf(a, 0)
		if r, ours := receipts[a.ID]; ours && !v.Wave.HasKey(r.Key) {
			continue
		} else if ours {
			v.expected.differs(a.ID)
		} else {
			e.Slot = inventory.LikenessOf(e)
			v.others.Store(true)
		}
		others = append(others, e)
	}
	return v.State.StageInventory(ctx, scope, others)
}

// sightings returns the receipts with their listed assets.
func (v *Verifier) sightings(ctx context.Context) iter.Seq2[state.Sighting, error] {
	return func(yield func(state.Sighting, error) bool) {
		for s, err := range v.State.Sightings(ctx, v.pair.ID) {
			if err == nil && !v.Wave.HasKey(s.Receipt.Key) {
				continue
			}
			if !yield(v.sighting(s), err) {
				return
			}
		}
	}
}

// sighting returns a receipt with its listed asset, from memory or from the inventory.
func (v *Verifier) sighting(s state.Sighting) state.Sighting {
	if !s.Seen && v.expected.isMet(s.Receipt) {
		s.Seen = true
		s.Entry = inventory.EntryOfReceipt(s.Receipt)
	}
	return s
}

// A comparison collects the results of comparing receipts with the destination.
type comparison struct {
	*Verifier
	wanted func(int64) bool // positions of the receipts whose content is downloaded
	group  *errgroup.Group  // of the contents that are being downloaded

	mu          sync.Mutex
	result      *state.Verification
	differences []state.Difference
}

// found notes a difference and reports it.
func (c *comparison) found(d migrate.Difference) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if !d.Note {
		c.result.Differences++
		c.differences = append(c.differences, state.Difference{Key: sources.Key(d.Key), Asset: d.Asset, Field: d.Field, What: d.What})
	}
	c.Watch.Found(d)
}

// compare compares the receipts with the inventory and downloads contents. It returns the
// differences in no particular order.
func (v *Verifier) compare(ctx context.Context, result *state.Verification) ([]state.Difference, error) {
	total := int64(len(v.expected.sums))
	v.Watch.Phase(migrate.PhaseVerify, total, -1)
	background := ctx // that of a group ends with it
	g, ctx := errgroup.WithContext(ctx)
	g.SetLimit(v.Concurrency)
	c := &comparison{Verifier: v, wanted: v.choose(total), group: g, result: result}
	result.Covered = v.wave.covered
	if v.isAsExpected() {
		result.Receipts = total
		v.Watch.Progress(total, 0)
		err := c.verifyRevisions(ctx) // it adds differences
		return c.differences, err
	}
	for page, err := range migrate.Pages(v.sightings(ctx), migrate.PageSize) {
		if err == nil {
			err = c.page(ctx, page)
		}
		if err != nil {
			return nil, endGroup(g, err)
		}
	}
	err := g.Wait()
	if err == nil {
		err = c.verifyRevisions(background)
	}
	return c.differences, cmp.Or(err, v.refused.err())
}

// isAsExpected reports whether the listings have shown that nothing differs, and no content has to
// be read.
func (v *Verifier) isAsExpected() bool {
	return v.Level == LevelListing && len(v.elsewhere) == 0 && !v.others.Load() && v.expected.isComplete()
}

// page compares a page of receipts, and starts the downloads of their contents.
func (c *comparison) page(ctx context.Context, page []state.Sighting) error {
	if err := c.askForUnlisted(ctx, page); err != nil {
		return err
	}
	if err := c.reportExtra(ctx, page, c.found); err != nil {
		return err
	}
	for _, s := range page {
		if ctx.Err() != nil {
			return context.Cause(ctx)
		}
		n := c.result.Receipts
		c.result.Receipts++
		if ok := c.look(s, c.found); !ok || !c.wanted(n) {
			c.Watch.Progress(1, 0)
			continue
		}
		c.result.Contents++
		c.group.Go(func() error { return c.content(ctx, s) })
	}
	return nil
}

// content downloads one content, and notes intact ones of a sample.
func (c *comparison) content(ctx context.Context, s state.Sighting) error {
	intact, err := c.verifyContent(ctx, s, c.found)
	if err == nil {
		c.Watch.Progress(1, s.Receipt.Size)
	}
	if intact && c.Level == LevelSample {
		c.mu.Lock()
		defer c.mu.Unlock()
		c.result.Sampled = append(c.result.Sampled, s.Receipt.Asset)
	}
	return err
}

// endGroup waits for a group whose loop ended with an error, and returns that with the error of the
// group, unless the group caused it.
func endGroup(g *errgroup.Group, err error) error {
	rest := g.Wait()
	switch {
	case rest == nil:
		return err
	case errors.Is(rest, err), errors.Is(err, context.Canceled):
		return rest
	}
	return errors.Join(err, rest)
}

// choose returns which receipts, by position, have their content downloaded.
func (v *Verifier) choose(total int64) func(int64) bool {
	switch v.Level {
	case LevelChecksum:
		return func(int64) bool { return true }
	case LevelSample:
		return Sample(int64(v.Sample), total)
	}
	return func(int64) bool { return false }
}

// Sample returns a function that picks n of total positions at random, each set equally likely.
// Positions must be asked for in ascending order, so that nothing is stored.
func Sample(n, total int64) func(int64) bool {
	return func(at int64) bool {
		if left := total - at; left > 0 && n > 0 && rand.Int64N(left) < n {
			n--
			return true
		}
		return false
	}
}

// look compares a receipt with its listed asset, and reports whether its content is worth
// downloading.
func (v *Verifier) look(s state.Sighting, found func(migrate.Difference)) bool {
	r, e := s.Receipt, s.Entry
	report := func(field, want, got, what string) {
		found(migrate.Difference{Key: string(r.Key), Asset: r.Asset, Field: field, Want: want, Got: got, What: what})
	}
	if !s.Seen {
		report("presence", "", "", "is missing")
		return false
	}
	if e.Category != r.Category || e.Folder != r.Folder {
		report("place", cmp.Or(r.Folder, r.Category), cmp.Or(e.Folder, e.Category), "was moved")
	} else if m, is := v.elsewhere[r.Folder]; is {
		report("place", m.want, m.got, fmt.Sprintf("is in the folder %q instead of %q", m.got, m.want))
	}
	if e.Size != r.Size {
		report("size", fmt.Sprint(r.Size), fmt.Sprint(e.Size), fmt.Sprintf("has %d bytes instead of %d", e.Size, r.Size))
	}
	if isRenamed(r, e) {
		report("name", r.Filename(), e.Filename(), fmt.Sprintf("is named %q instead of %q", e.Filename(), r.Filename()))
	}
	if e.Status == string(assets.Failed) {
		found(migrate.Difference{Key: string(r.Key), Asset: r.Asset, Field: "processing", Got: e.Status, What: "the service could not process the image", Note: true})
	}
	return e.Size == r.Size
}

func isRenamed(r state.Receipt, e state.Entry) bool {
	return e.Name != r.Name && norm.NFC.String(e.Name) != norm.NFC.String(r.Name) || e.Extension != r.Extension
}

// verifyContent compares the content of an asset with the upload, and reports whether it is intact.
// An error that concerns more than this asset, such as bad credentials, ends the verification.
func (v *Verifier) verifyContent(ctx context.Context, s state.Sighting, found func(migrate.Difference)) (intact bool, _ error) {
	checksum, n, err := inventory.ChecksumOfAsset(ctx, v.Dest, s.Entry.URL)
	class, _ := retry.Classify(err)
	switch {
	case ctx.Err() != nil:
		return false, context.Cause(ctx)
	case err != nil && class == retry.Fatal:
		return false, err
	case errors.Is(err, assets.ErrRefused): // this says nothing about the content
		v.refused.add(s.Receipt.Key, err)
	case err != nil:
		found(migrate.Difference{Key: string(s.Receipt.Key), Asset: s.Receipt.Asset, Field: "content", What: "its content cannot be read: " + err.Error()})
	case n != s.Receipt.Size || !bytes.Equal(checksum, s.Receipt.Checksum):
		found(migrate.Difference{
			Key: string(s.Receipt.Key), Asset: s.Receipt.Asset, Field: "content", Want: hex.EncodeToString(s.Receipt.Checksum), Got: hex.EncodeToString(checksum),
			What: fmt.Sprintf("its content differs from the upload (%d bytes)", n),
		})
	default:
		return true, nil
	}
	return false, nil
}
