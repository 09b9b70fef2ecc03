package migrate

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"strings"
	"time"

	"golang.org/x/text/unicode/norm"

	"assetferry/internal/assets"
	"assetferry/state"
)

// clockSlack is how much earlier than an intent its effect may seem to be: the
// server's clock is known to a second and may have been set meanwhile.
const clockSlack = 5 * time.Minute

// A finding is what looking at the destination says about an item in doubt.
type finding struct {
	item    state.Item
	receipt *state.Receipt // the asset that was made, if it is there
	extra   []string       // further assets that look the same
	err     error          // it could not be found out
}

// settleAll finds out about items in doubt by looking. Each container is listed
// once, newest first, back to shortly before the oldest intent.
func (a *Applier) settleAll(ctx context.Context, s *structure, items []state.Item) []finding {
	type key struct{ category, folder string }
	groups := map[key][]state.Item{}
	for _, i := range items {
		k := key{i.Category, i.Folder}
		groups[k] = append(groups[k], i)
	}
	var findings []finding
	for k, group := range groups {
		findings = append(findings, a.settleGroup(ctx, s, k.category, k.folder, group)...)
	}
	return findings
}

func (a *Applier) settleGroup(ctx context.Context, s *structure, category, folder string, items []state.Item) []finding {
	findings := make([]finding, len(items))
	fail := func(err error) []finding {
		for n, i := range items {
			findings[n] = finding{item: i, err: err}
		}
		return findings
	}
	c, err := s.container(ctx, category, folder)
	if err != nil {
		return fail(err)
	}
	candidates, err := a.recent(ctx, c, items)
	if err != nil {
		return fail(err)
	}
	claimed := map[string]bool{}
	for n, i := range items {
		findings[n] = a.match(ctx, c, i, candidates, claimed)
	}
	return findings
}

// recent lists what a container got since the items were sent, that is not ours
// by the journal, newest first.
func (a *Applier) recent(ctx context.Context, c container, items []state.Item) ([]assets.Asset, error) {
	since := items[0].IntentAt
	names := map[string]bool{}
	for _, i := range items {
		names[foldName(i.Name)] = true
		if i.IntentAt.Before(since) {
			since = i.IntentAt
		}
	}
	o := assets.ListOptions{CategoryID: c.category, SortBy: "uploadedAt", Order: "desc"}
	if c.folder != "" {
		o.CategoryID, o.FolderID = "", c.folder
	}
	var found []assets.Asset
	for asset, err := range a.Dest.List(ctx, o) {
		switch {
		case errors.Is(err, fs.ErrNotExist):
			return nil, nil
		case err != nil:
			return nil, err
		}
		if asset.UploadedAt.Before(since.Add(-clockSlack)) {
			break
		}
		if names[foldName(asset.Filename())] {
			found = append(found, asset)
		}
	}
	return found, nil
}

// match finds the asset that an item in doubt became. Of several equal ones the
// oldest is taken and the others are told.
func (a *Applier) match(ctx context.Context, c container, i state.Item, candidates []assets.Asset, claimed map[string]bool) finding {
	f := finding{item: i}
	var digest []byte
	for n := len(candidates) - 1; n >= 0; n-- { // oldest first
		asset := candidates[n]
		if claimed[asset.ID] || asset.Size != i.Size || !sameName(asset, i.Name) || asset.UploadedAt.Before(i.IntentAt.Add(-clockSlack)) {
			continue
		}
		owned, err := a.Journal.OwnsAsset(ctx, a.run.Pair.Destination, asset.ID)
		if err == nil && !owned && digest == nil {
			digest, err = digestOfObject(ctx, a.Source, object(i))
		}
		if err != nil {
			f.err = err
			return f
		}
		if owned {
			continue
		}
		theirs, _, err := digestOfAsset(ctx, a.Dest, asset.URL)
		switch {
		case err != nil:
			f.err = err
			return f
		case !bytes.Equal(theirs, digest):
		case f.receipt != nil:
			f.extra = append(f.extra, asset.ID)
		default:
			claimed[asset.ID] = true
			f.receipt = receiptOf(i, asset, c, digest)
		}
	}
	return f
}

// sameName compares as the service may have stored it: names in Unicode form C,
// extensions regardless of case.
func sameName(a assets.Asset, name string) bool {
	base, extension := splitName(name)
	return norm.NFC.String(a.Name) == norm.NFC.String(base) && strings.EqualFold(a.Extension, extension)
}

// due is when an item in doubt may be looked at: by then everything that could
// have arrived is visible.
func (a *Applier) due(i state.Item) time.Time { return i.IntentAt.Add(a.Settle) }

// outcome is what the journal is told of a finding; an item that the destination
// does not have is sent again instead.
func (f finding) outcome() (o state.Outcome, again bool) {
	switch {
	case f.err != nil:
		return state.Outcome{Key: f.item.Key, State: state.ItemInDoubt, Class: "transient",
			Error: "cannot find out whether it arrived: " + f.err.Error()}, false
	case f.receipt == nil:
		return state.Outcome{}, true
	}
	o = state.Outcome{Key: f.item.Key, State: state.ItemDone, Receipt: f.receipt}
	if len(f.extra) > 0 {
		o.Error = fmt.Sprintf("found more than once at the destination; also as %s", strings.Join(f.extra, ", "))
	}
	return o, false
}
