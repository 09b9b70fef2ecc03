package inventory

import (
	"context"
	"errors"
	"io/fs"
	"slices"

	"golang.org/x/sync/errgroup"

	"assetferry/internal/assets"
	"assetferry/internal/retry"
	"assetferry/migrate"
	"assetferry/state"
)

// listedAtOnce is the length of pages to ask for: the longest that clients of the vendor ask for.
// The client shortens pages that the service refuses.
const listedAtOnce = 500

// minHits is the number of wanted assets on a page from which on the pages around it are read: with
// fewer, a request for each asset takes no more requests.
const minHits = 2

// A placeSearch finds wanted assets in the listing of one place. Neighbours at the source, which
// were uploaded one after the other, are often neighbours in the listing, too. So it first reads
// pages at regular distances, then the pages around those with wanted assets, and then the other
// pages, unless requests for the assets that are left are fewer. It does not depend on the order of
// the listing; a bad one only takes more requests.
type placeSearch struct {
	*lookup
	options assets.ListOptions
	wanted  []*state.Receipt
	byID    map[string]int // positions in wanted

	// The listing, by its first page.
	total  int
	length int   // of a page
	hits   []int // wanted assets by page; -1 before it was read

	seen    []bool // of wanted
	left    int    // wanted assets that were not seen
	refused bool   // the service refused a page, so the assets that are left are requested one by one
}

func newPlaceSearch(l *lookup, c state.Container, wanted []*state.Receipt) *placeSearch {
	s := &placeSearch{lookup: l, options: optionsFor(c), wanted: wanted, byID: make(map[string]int, len(wanted)), seen: make([]bool, len(wanted))}
	s.options.PageSize = listedAtOnce
	for n, r := range wanted {
		s.byID[r.Asset] = n
	}
	s.left = len(s.byID)
	return s
}

func (s *placeSearch) run(ctx context.Context) error {
	first, err := s.page(ctx, 0)
	switch {
	case err != nil || s.missing() == 0:
		return err
	case first.Total < 0:
		return s.readInOrder(ctx, first)
	case first.Items == 0 || first.Items >= first.Total:
		return nil
	}
	s.total, s.length = first.Total, first.Items
	s.hits = slices.Repeat([]int{-1}, pagesFor(s.total, s.length))
	s.hits[0] = len(first.Assets)
	span := pagesFor(s.left, s.length) // if the assets are neighbours
	if pages := len(s.hits); pages > s.left && pages/span+2*span > s.left {
		return nil
	}
	return s.readInSteps(ctx, span)
}

func pagesFor(items, length int) int { return (items + length - 1) / length }

// readInSteps reads pages at a distance, then those around them, and then all others.
func (s *placeSearch) readInSteps(ctx context.Context, span int) error {
	if err := s.readUnread(ctx, func(page int) bool { return page%span == 0 }); err != nil {
		return err
	}
	near := make([]bool, len(s.hits))
	for page, hits := range s.hits {
		if hits >= minHits {
			for n := max(0, page-span+1); n < min(page+span, len(near)); n++ {
				near[n] = true
			}
		}
	}
	if err := s.readUnread(ctx, func(page int) bool { return near[page] }); err != nil {
		return err
	}
	return s.readUnread(ctx, func(int) bool { return true })
}

// readUnread reads certain pages that were not read, as long as requests for the assets that are
// left would not be fewer.
func (s *placeSearch) readUnread(ctx context.Context, are func(page int) bool) error {
	var pages []int
	for page, hits := range s.hits {
		if hits < 0 && are(page) {
			pages = append(pages, page)
		}
	}
	g, ctx := errgroup.WithContext(ctx)
	g.SetLimit(cap(s.slots))
	for n, page := range pages {
		if s.missing() <= len(pages)-n {
			break
		}
		g.Go(func() (err error) {
			s.hits[page], err = s.readTo(ctx, page*s.length, min((page+1)*s.length, s.total))
			return err
		})
	}
	return g.Wait()
}

// readTo reads the listing between two offsets, and returns the number of wanted assets there. The
// service may shorten pages.
func (s *placeSearch) readTo(ctx context.Context, from, to int) (hits int, err error) {
	for from < to {
		got, err := s.page(ctx, from)
		if err != nil || got.Items == 0 {
			return hits, err
		}
		from, hits = from+got.Items, hits+len(got.Assets)
	}
	return hits, nil
}

// readInOrder reads the pages after the first one of a listing whose length is unknown, but no more
// than there are wanted assets.
func (s *placeSearch) readInOrder(ctx context.Context, page assets.ListPage) (err error) {
	offset := 0
	for n := 1; page.Full && s.missing() > 0 && n < len(s.wanted); n++ {
		offset += page.Items
		if page, err = s.page(ctx, offset); err != nil {
			return err
		}
	}
	return nil
}

// page reads the page at an offset, and reports the wanted assets on it. A page that the service
// refuses is empty.
func (s *placeSearch) page(ctx context.Context, offset int) (got assets.ListPage, err error) {
	err = s.request(ctx, func() error {
		got, err = s.from.ListPage(ctx, s.options, offset, func(id []byte) bool { _, is := s.byID[string(id)]; return is })
		return err
	})
	s.mu.Lock()
	defer s.mu.Unlock()
	if errors.Is(err, fs.ErrNotExist) || ctx.Err() == nil && migrate.HasClass(err, retry.Permanent) {
		s.refused = true
		return assets.ListPage{}, nil
	} else if err != nil {
		return got, err
	}
	for _, a := range got.Assets {
		n := s.byID[a.ID]
		if s.seen[n] {
			continue
		}
		s.seen[n] = true
		s.left--
		if err := s.found(*s.wanted[n], AssetStatus{Asset: a, There: true}); err != nil {
			return got, err
		}
	}
	return got, nil
}

// missing returns the number of assets that more pages may show.
func (s *placeSearch) missing() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.refused {
		return 0
	}
	return s.left
}
