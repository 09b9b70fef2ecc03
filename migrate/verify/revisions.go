package verify

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"slices"
	"time"

	"golang.org/x/sync/errgroup"

	"assetferry/internal/assets"
	"assetferry/internal/retry"
	"assetferry/migrate"
	"assetferry/migrate/inventory"
	"assetferry/state"
)

// verifyRevisions compares the revisions of assets with those that runs with older versions uploaded.
// It makes one request for each such asset, and with LevelChecksum one for each revision.
func (c *comparison) verifyRevisions(ctx context.Context) error {
	if !c.Revisions {
		return nil
	}
	g, ctx := errgroup.WithContext(ctx)
	g.SetLimit(c.Concurrency)
	for after := ""; ; {
		page, err := c.State.RevisedAssets(ctx, c.pair.ID, after, migrate.PageSize)
		if err != nil || len(page) == 0 {
			return endGroup(g, err)
		}
		for _, r := range page {
			if c.Wave.HasKey(r.Key) {
				g.Go(func() error { return c.revisionsOf(ctx, r) })
			}
		}
		after = page[len(page)-1].Asset
	}
}

// revisionsOf compares the revisions of one asset. They must contain all recorded ones, in their order.
// Further ones are a note: users edit assets, and runs without older versions replace contents.
func (c *comparison) revisionsOf(ctx context.Context, r state.Receipt) error {
	want, err := c.State.Revisions(ctx, c.pair.ID, r)
	if err != nil {
		return err
	}
	got, err := c.Dest.Revisions(ctx, r.Asset)
	class, _ := retry.Classify(err)
	switch {
	case ctx.Err() != nil:
		return context.Cause(ctx)
	case err != nil && class == retry.Fatal:
		return err
	case errors.Is(err, fs.ErrNotExist) && !c.exists(ctx, r): // reported as missing
		return nil
	case err != nil:
		c.differs(r, false, "its revisions cannot be listed: "+err.Error())
		return nil
	}
	got = slices.DeleteFunc(got, func(v assets.Revision) bool { return v.Current })
	slices.SortStableFunc(got, func(a, b assets.Revision) int { return b.CreatedAt.Compare(a.CreatedAt) })
	slices.Reverse(got) // the oldest first
	c.count(len(want))
	return c.compareRevisions(ctx, r, want, got)
}

// exists reports whether the service has the asset, or may have it.
func (c *comparison) exists(ctx context.Context, r state.Receipt) bool {
	_, err := c.Dest.Asset(ctx, r.Asset)
	return !errors.Is(err, fs.ErrNotExist)
}

func (c *comparison) count(revisions int) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.result.Revisions += int64(revisions)
}

func (c *comparison) compareRevisions(ctx context.Context, r state.Receipt, want []state.Revision, got []assets.Revision) error {
	next := 0
	for _, w := range want {
		at, err := c.findRevision(ctx, r, w, got[next:])
		class, _ := retry.Classify(err)
		switch {
		case ctx.Err() != nil:
			return context.Cause(ctx)
		case err != nil && class == retry.Fatal:
			return err
		case err != nil:
			c.differs(r, false, fmt.Sprintf("revision %d of %d cannot be read: %v", w.Num, len(want), err))
			continue
		case at < 0:
			text := fmt.Sprintf("revision %d of %d", w.Num, len(want))
			if !w.Time.IsZero() {
				text += ", the version changed " + w.Time.Format(time.DateTime)
			}
			c.differs(r, false, fmt.Sprintf("lacks %s (%d bytes), or has it in another order", text, w.Size))
			continue
		}
		next += at + 1
	}
	if more := len(got) - len(want); more > 0 {
		c.differs(r, true, fmt.Sprintf("has %d revisions besides the current one, %d more than were uploaded", len(got), more))
	}
	return nil
}

// findRevision returns the position of a recorded revision, -1 if it is not there. Only with
// LevelChecksum, contents are compared.
func (c *comparison) findRevision(ctx context.Context, r state.Receipt, want state.Revision, got []assets.Revision) (int, error) {
	for n, v := range got {
		if v.Size != want.Size {
			continue
		}
		if c.Level != LevelChecksum {
			return n, nil
		}
		body, _, err := c.Dest.DownloadRevision(ctx, assets.Asset{ID: r.Asset, URL: r.URL}, v.ID, 0)
		var checksum []byte
		if err == nil {
			checksum, _, err = inventory.ChecksumOf(body)
		}
		switch {
		case errors.Is(err, assets.ErrRefused): // this says nothing about the content
			c.refused.add(r.Key, err)
			return n, nil
		case err != nil:
			return -1, err
		case bytes.Equal(checksum, want.Checksum):
			return n, nil
		}
	}
	return -1, nil
}

func (c *comparison) differs(r state.Receipt, note bool, what string) {
	c.found(migrate.Difference{Key: string(r.Key), Asset: r.Asset, Field: "revisions", What: what, Note: note})
}
