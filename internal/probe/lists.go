package probe

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"slices"
	"time"

	"assetferry/internal/assets"
)

const (
	// maxListings is how often a new asset is looked for in the list of its folder: for half a
	// minute or so.
	maxListings = 36
	// apart is how long two uploads are apart for their times to differ, which may be whole
	// seconds.
	apart = time.Second
)

// listingDelay measures how long it takes until a new asset is listed, as finely as it is
// looked for.
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
			if n > 0 && took > 2*firstLook { // else it may have been listed at once
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

// untilListed waits until everything that was made is listed.
func (p *prober) untilListed(ctx context.Context) error {
	if why, unknown := p.profile.Unknown["listing_delay"]; unknown {
		return errors.New(why)
	}
	return sleep(ctx, p.profile.ListingDelay*3/2)
}

// list gives the IDs of a list as the service gives it.
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

// folders makes a folder in the folder, and looks whether it is listed beside that one.
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
		return errors.New("the list of folders does not hold a new one")
	}
	return nil
}

// categoryListing looks for what is in the folder in the list of its category.
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

// listOrder makes two assets, one after the other by what the service says of their age, and
// asks for them in either order.
func (p *prober) listOrder(ctx context.Context) error {
	if p.inner == "" {
		return errors.New("there is no folder to try it in")
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
		return fmt.Errorf("what was uploaded %v later has no later time", apart)
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

// dateFilter searches for what was uploaded since a time to come, and since one before all of
// it, which tells that the dates are understood.
func (p *prober) dateFilter(ctx context.Context) error {
	if p.profile.ListOrder == "" {
		return errors.New("there is nothing to search for that is known to be listed")
	}
	all, err := p.search(ctx, nil)
	if err != nil {
		return err
	}
	if all == 0 {
		return errors.New("a search does not find what is listed")
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
		return errors.New("with dates, a search finds nothing at all")
	default:
		p.profile.DateFilter = "honoured"
	}
	return nil
}

// stamp is the form in which the client sends times, which is a guess.
func stamp(t time.Time) string { return t.UTC().Format("2006-01-02T15:04:05.000Z") }

// search counts what is found in the category. The client may leave out itself what the service
// should have left out, so it is not asked.
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
		Op: "search", Method: http.MethodPost, Address: p.Client.InWorkspace("/search"), Header: http.Header{"Content-Type": {"application/json"}}, Body: body,
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

// uploadTo makes an asset in a folder.
func (p *prober) uploadTo(ctx context.Context, folder, name string, content []byte) (assets.Asset, error) {
	return p.Client.Upload(ctx, assets.Upload{
		FolderID: folder, Filename: name, Size: int64(len(content)),
		Open: func(context.Context) (io.ReadCloser, error) { return io.NopCloser(bytes.NewReader(content)), nil },
	})
}
