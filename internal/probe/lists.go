package probe

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"time"

	"assetferry/internal/assets"
)

const (
	// maxListings is how often the list of a folder is searched for a new asset: for about half a
	// minute.
	maxListings = 36
	// apart is the time between two uploads whose timestamps must differ. They may be whole seconds.
	apart = time.Second
)

// listingDelay measures the time until a new asset is listed, with the resolution of the interval between
// two requests.
func (p *prober) listingDelay(ctx context.Context) error {
	began := p.Now()
	made, err := p.upload(ctx, "listed.txt", []byte("is it listed?"))
	if err != nil {
		return err
	}
	wait := firstLook
	for n := range maxListings {
		listed, err := p.list(ctx, assets.ListOptions{FolderID: p.folder})
		if err != nil {
			return err
		}
		took := p.Now().Sub(began)
		if slices.Contains(listed, made.ID) {
			if n > 0 && took > 2*firstLook { // otherwise it may have been listed at once
				p.profile.ListingDelay = took.Round(firstLook)
			}
			return nil
		}
		if err := sleep(ctx, wait); err != nil {
			return err
		}
		wait = min(wait*3/2, longestLook)
	}
	return fmt.Errorf("a new asset was not listed after %v", p.Now().Sub(began).Round(time.Second))
}

// untilListed waits until all assets of the probe are listed.
func (p *prober) untilListed(ctx context.Context) error {
	if why, unknown := p.profile.Unknown["listing_delay"]; unknown {
		return errors.New(why)
	}
	return sleep(ctx, p.profile.ListingDelay*3/2)
}

// list returns the IDs of a list in the order of the service.
func (p *prober) list(ctx context.Context, o assets.ListOptions) (ids []string, err error) {
	o.AsListed = true
	for a, err := range p.Client.List(ctx, o) {
		if err != nil {
			return nil, err
		}
		ids = append(ids, a.ID)
	}
	return ids, nil
}

// folders creates a nested folder and checks whether it is listed with its parent.
func (p *prober) folders(ctx context.Context) (err error) {
	if p.inner, err = p.Client.CreateFolder(ctx, assets.NewFolder{Name: "inner", ParentID: p.folder}); err != nil {
		return err
	}
	all, err := p.Client.FoldersAsListed(ctx)
	if err != nil {
		return err
	}
	listed := func(id string) bool {
		return slices.ContainsFunc(all, func(f assets.Folder) bool { return f.ID == id })
	}
	switch {
	case listed(p.inner):
		p.profile.Folders = "flat"
	case listed(p.folder):
		p.profile.Folders = "top"
	default:
		return errors.New("the list of folders lacks a new one")
	}
	return nil
}

// categoryListing checks whether the list of a category contains the assets in its folders.
func (p *prober) categoryListing(ctx context.Context) error {
	if err := p.untilListed(ctx); err != nil {
		return err
	}
	listed, err := p.list(ctx, assets.ListOptions{CategoryID: p.in})
	if err != nil {
		return err
	}
	p.profile.CategoryListing = "direct"
	if slices.Contains(listed, p.subject.ID) {
		p.profile.CategoryListing = "deep"
	}
	return nil
}

// listOrder creates two assets with different timestamps and lists them in both orders.
func (p *prober) listOrder(ctx context.Context) error {
	if p.inner == "" {
		return errors.New("there is no folder for the test")
	}
	older, err := p.uploadTo(ctx, p.inner, "order a.txt", []byte("the older one"))
	if err != nil {
		return err
	}
	if err := sleep(ctx, apart); err != nil {
		return err
	}
	newer, err := p.uploadTo(ctx, p.inner, "order b.txt", []byte("the newer one"))
	if err != nil {
		return err
	}
	if !newer.UploadedAt.After(older.UploadedAt) {
		return fmt.Errorf("an asset uploaded %v later has no later timestamp", apart)
	}
	if err := p.untilListed(ctx); err != nil {
		return err
	}
	p.profile.ListOrder = "honoured"
	for _, by := range []string{assets.ByUploadedAt, assets.ByLastModifiedAt} {
		for order, want := range map[string][]string{assets.Ascending: {older.ID, newer.ID}, assets.Descending: {newer.ID, older.ID}} {
			listed, err := p.list(ctx, assets.ListOptions{FolderID: p.inner, SortBy: by, Order: order})
			if err != nil {
				p.profile.ListOrder = ""
				return err
			}
			if !slices.Equal(listed, want) {
				p.profile.ListOrder = "ignored"
			}
		}
	}
	return nil
}

// dateFilter searches for assets uploaded after a future time, and after an earlier time, which shows
// that the service understands dates.
func (p *prober) dateFilter(ctx context.Context) error {
	if p.profile.ListOrder == "" {
		return errors.New("no listed asset is available for a search")
	}
	all, err := p.search(ctx, nil)
	if err != nil {
		return err
	}
	if all == 0 {
		return errors.New("a search does not find listed assets")
	}
	const day = 24 * time.Hour
	future, err := p.search(ctx, map[string]any{"gte": stamp(p.Now().Add(2 * day))})
	if ok, err := accepted(err); err != nil {
		return err
	} else if !ok {
		p.profile.DateFilter = "refused"
		return nil
	}
	past, err := p.search(ctx, map[string]any{"gte": stamp(p.Now().Add(-2 * day))})
	switch {
	case err != nil:
		return err
	case future > 0:
		p.profile.DateFilter = "ignored"
	case past == 0:
		return errors.New("a search with dates finds nothing")
	default:
		p.profile.DateFilter = "honoured"
	}
	return nil
}

// stamp returns a time in the format of the client, which is an assumption.
func stamp(t time.Time) string { return t.UTC().Format("2006-01-02T15:04:05.000Z") }

// search counts the results in the category. It does not use the search of the client, which may filter
// results itself.
func (p *prober) search(ctx context.Context, uploaded map[string]any) (int, error) {
	filters := map[string]any{"categories": map[string]any{"in": []string{p.in}}}
	if uploaded != nil {
		filters["uploadedAt"] = uploaded
	}
	body, err := json.Marshal(map[string]any{"searchPhrase": "order", "aiSearch": false, "filters": filters, "pagination": map[string]int{"limit": 10, "offset": 0}})
	if err != nil {
		return 0, err
	}
	r, err := p.ask(ctx, assets.Question{
		Op: "search", Method: http.MethodPost, URL: p.Client.InWorkspace("/search"), Header: http.Header{"Content-Type": {"application/json"}}, Body: body,
	})
	switch {
	case err != nil:
		return 0, err
	case r.Status != http.StatusOK:
		return 0, &assets.Error{Op: "search", Status: r.Status}
	}
	var found struct{ Items []json.RawMessage }
	if err := json.Unmarshal(r.Body, &found); err != nil {
		return 0, fmt.Errorf("search: %w", err)
	}
	return len(found.Items), nil
}

// uploadTo creates an asset in a folder.
func (p *prober) uploadTo(ctx context.Context, folder, name string, content []byte) (assets.Asset, error) {
	a, _, err := p.timed(ctx, folder, name, content)
	return a, err
}
