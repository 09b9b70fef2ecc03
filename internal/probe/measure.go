package probe

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"image"
	"image/png"
	"math"
	"mime/multipart"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"time"

	"assetferry/internal/assets"
)

// Limits of the measurements.
const (
	largestPage  = 10_000
	longestName  = 4096
	longestText  = 64 << 10
	mostTags     = 1024
	smallCalls   = 20
	smallUploads = 20
	maxLooks     = 20 // requests for an image in processing
	firstLook    = 50 * time.Millisecond
	longestLook  = time.Second
)

// upload creates an asset in the folder.
func (p *prober) upload(ctx context.Context, name string, content []byte) (assets.Asset, error) {
	return p.uploadTo(ctx, p.folder, name, content)
}

func (p *prober) limits(ctx context.Context) error {
	l, err := p.Client.Limits(ctx)
	p.profile.Plan, p.profile.MaxFileSize, p.profile.MaxMegapixels = l.Plan, l.MaxFileSize, int(l.MaxMegapixels)
	return err
}

func (p *prober) equalAssets(ctx context.Context) error {
	second, err := p.upload(ctx, p.subject.Filename(), []byte("another one"))
	ok, err := accepted(err)
	switch {
	case err != nil:
		return err
	case !ok:
		p.profile.EqualAssets = "refuse"
	case second.Name != p.subject.Name:
		p.profile.EqualAssets = "rename"
	default:
		p.profile.EqualAssets = "accept"
	}
	return nil
}

func (p *prober) equalFolders(ctx context.Context) (err error) {
	_, err = p.Client.CreateFolder(ctx, assets.NewFolder{Name: "probe", CategoryID: p.in})
	p.profile.EqualFolders, err = accepts(err)
	return err
}

func (p *prober) equalCategories(ctx context.Context) (err error) {
	_, err = p.makeCategory(ctx, "txt")
	p.profile.EqualCategories, err = accepts(err)
	return err
}

func accepts(err error) (string, error) {
	switch ok, err := accepted(err); {
	case err != nil:
		return "", err
	case ok:
		return "accept", nil
	}
	return "refuse", nil
}

// pages reads the limit in the response of a list, which may be empty.
func (p *prober) pages(ctx context.Context) (err error) {
	if p.profile.DefaultPage, _, err = p.page(ctx, 0); err != nil {
		return err
	}
	shortened := 0
	p.profile.LargestPage, err = most(500, largestPage, func(n int) (bool, error) {
		limit, ok, err := p.page(ctx, n)
		if ok && limit < n {
			shortened = limit
		}
		return ok && limit >= n, err
	})
	switch {
	case err != nil || p.profile.LargestPage < 0:
		return err
	case shortened > 0:
		p.profile.LargestPage, p.profile.TooLargePages = shortened, "shorten"
	default:
		p.profile.TooLargePages = "refuse"
	}
	return nil
}

// page requests a page and returns its limit, and whether the requested limit is allowed.
func (p *prober) page(ctx context.Context, limit int) (got int, ok bool, err error) {
	pairs := []string{"folderId", p.folder}
	if limit > 0 {
		pairs = append(pairs, "limit", strconv.Itoa(limit))
	}
	r, err := p.ask(ctx, assets.Question{Op: "request a page", Method: http.MethodGet, URL: p.Client.InWorkspace("/assets", pairs...)})
	if err != nil {
		return 0, false, err
	}
	if r.Status == http.StatusBadRequest || r.Status == http.StatusUnprocessableEntity {
		return 0, false, nil
	}
	var page struct{ Limit int }
	if r.Status != http.StatusOK {
		return 0, false, answered(r)
	}
	if err := json.Unmarshal(r.Body, &page); err != nil || page.Limit < 1 {
		return 0, false, errors.New("the response of a list contains no limit")
	}
	return page.Limit, true, nil
}

// update changes the subject and reports whether the change is stored unaltered.
func (p *prober) update(ctx context.Context, ch assets.Changes, kept func(assets.Asset) bool) (bool, error) {
	a, err := p.Client.Update(ctx, p.subject.ID, ch)
	ok, err := accepted(err)
	return ok && kept(a), err
}

func (p *prober) names(ctx context.Context) (err error) {
	p.profile.MaxName, err = most(256, longestName, func(n int) (bool, error) {
		name := long(n)
		return p.update(ctx, assets.Changes{Name: &name}, func(a assets.Asset) bool { return a.Name == name })
	})
	return err
}

func (p *prober) descriptions(ctx context.Context) (err error) {
	p.profile.MaxDescription, err = most(1024, longestText, func(n int) (bool, error) {
		text := long(n)
		return p.update(ctx, assets.Changes{Description: &text}, func(a assets.Asset) bool { return a.Metadata.Description == text })
	})
	return err
}

func (p *prober) tagLengths(ctx context.Context) (err error) {
	p.profile.MaxTag, err = most(256, longestName, func(n int) (bool, error) { return p.tags(ctx, []string{long(n)}) })
	return err
}

func (p *prober) tagCounts(ctx context.Context) (err error) {
	p.profile.MaxTags, err = most(100, mostTags, func(n int) (bool, error) {
		tags := make([]string, n)
		for i := range tags {
			tags[i] = fmt.Sprintf("tag%d", i)
		}
		return p.tags(ctx, tags)
	})
	return err
}

func (p *prober) tags(ctx context.Context, tags []string) (bool, error) {
	return p.update(ctx, assets.Changes{Tags: &tags}, func(a assets.Asset) bool { return len(a.Tags) == len(tags) && slices.Contains(a.Tags, tags[0]) })
}

// attributeCounts always sends earlier attributes again, so that merging makes no difference.
func (p *prober) attributeCounts(ctx context.Context) (err error) {
	p.profile.MaxAttributes, err = most(100, mostTags, func(n int) (bool, error) {
		all := map[string]any{}
		for i := range n {
			all[fmt.Sprintf("a%d", i)] = "x"
		}
		return p.update(ctx, assets.Changes{CustomAttributes: all}, func(a assets.Asset) bool { return len(a.Metadata.CustomAttributes) >= n })
	})
	return err
}

func (p *prober) attributeLengths(ctx context.Context) (err error) {
	p.profile.MaxAttribute, err = most(1024, longestText, func(n int) (bool, error) {
		text := long(n)
		return p.update(ctx, assets.Changes{CustomAttributes: map[string]any{"a0": text}}, func(a assets.Asset) bool { return a.Metadata.CustomAttributes["a0"] == text })
	})
	return err
}

func (p *prober) merging(ctx context.Context) error {
	if _, err := p.Client.Update(ctx, p.subject.ID, assets.Changes{CustomAttributes: map[string]any{"a0": "old"}}); err != nil {
		return err
	}
	a, err := p.Client.Update(ctx, p.subject.ID, assets.Changes{CustomAttributes: map[string]any{"a1": "new"}})
	if err != nil {
		return err
	}
	p.profile.Attributes = "replace"
	if _, there := a.Metadata.CustomAttributes["a0"]; there {
		p.profile.Attributes = "merge"
	}
	return nil
}

// extensions uploads a file whose extension is allowed in lower case only.
func (p *prober) extensions(ctx context.Context) error {
	_, err := p.upload(ctx, "case.TXT", []byte("in capitals"))
	ok, err := accepted(err)
	switch {
	case err != nil:
		return err
	case ok:
		p.profile.Extensions = "folded"
	default:
		p.profile.Extensions = "exact"
	}
	return nil
}

func (p *prober) replacing(ctx context.Context) error {
	var body bytes.Buffer
	form := multipart.NewWriter(&body)
	part, err := form.CreateFormFile("file", "subject.txt")
	if err != nil {
		return err
	}
	if _, err := part.Write([]byte("replaced in place")); err != nil {
		return err
	}
	if err := form.Close(); err != nil {
		return err
	}
	r, err := p.ask(ctx, assets.Question{
		Op: "replace in place", Method: http.MethodPost, URL: p.Client.InWorkspace("/assets/" + url.PathEscape(p.subject.ID)),
		Header: http.Header{"Content-Type": {form.FormDataContentType()}}, Body: body.Bytes(),
	})
	if err != nil || p.lacks(r.Status, "replace") || r.Status < 300 {
		return err
	}
	return answered(r)
}

// delivery requests the headers of a file and two of its bytes.
func (p *prober) delivery(ctx context.Context) error {
	head, err := p.ask(ctx, assets.Question{Op: "request headers", Method: http.MethodHead, URL: p.subject.URL})
	if err != nil {
		return err
	}
	part, err := p.ask(ctx, assets.Question{Op: "request a range", Method: http.MethodGet, URL: p.subject.URL, Header: http.Header{"Range": {"bytes=1-2"}}})
	switch {
	case err != nil:
		return err
	case part.Status != http.StatusOK && part.Status != http.StatusPartialContent:
		return answered(part)
	}
	for _, f := range []struct {
		what string
		has  bool
	}{{"head", head.Status == http.StatusOK}, {"ranges", part.Status == http.StatusPartialContent}, {"etag", part.Header.Get("ETag") != ""}} {
		if !f.has {
			p.profile.Lacks = append(p.profile.Lacks, f.what)
		}
	}
	return nil
}

func (p *prober) small() assets.Question {
	return assets.Question{Op: "send a small request", Method: http.MethodGet, URL: p.Client.InWorkspace("/categories", "limit", "1")}
}

func (p *prober) latency(ctx context.Context) error {
	var took []time.Duration
	for range smallCalls {
		r, err := p.ask(ctx, p.small())
		switch {
		case err != nil:
			return err
		case r.Status != http.StatusOK:
			return answered(r)
		}
		took = append(took, r.Took)
	}
	p.profile.Latency, p.profile.LatencyP95 = quantiles(took)
	return nil
}

// uploads measures the duration of small uploads and the resolution of timestamps.
func (p *prober) uploads(ctx context.Context) error {
	var took []time.Duration
	finest := time.Second
	for i := range smallUploads {
		a, s, err := p.timed(ctx, p.folder, fmt.Sprintf("small %d.txt", i), []byte("small"))
		if err != nil {
			return err
		}
		took = append(took, s.ended.Sub(s.began))
		finest = min(finest, resolution(a.UploadedAt))
	}
	p.profile.UploadLatency, p.profile.UploadLatencyP95 = quantiles(took)
	p.profile.TimeResolution = finest
	return nil
}

// resolution returns the largest unit of which a time is a multiple.
func resolution(t time.Time) time.Duration {
	for _, unit := range []time.Duration{time.Second, 100 * time.Millisecond, 10 * time.Millisecond, time.Millisecond, time.Microsecond} {
		if t.Nanosecond()%int(unit) == 0 {
			return unit
		}
	}
	return time.Nanosecond
}

// quantiles returns the median and the 95th percentile, rounded to 0.1 ms.
func quantiles(all []time.Duration) (median, p95 time.Duration) {
	slices.Sort(all)
	at := func(share float64) time.Duration {
		i := int(math.Ceil(share*float64(len(all)))) - 1
		return max(all[i].Round(100*time.Microsecond), 100*time.Microsecond)
	}
	return at(0.5), at(0.95)
}

// processing measures the time in which a small image is processed, with the resolution of the interval
// between two requests.
func (p *prober) processing(ctx context.Context) error {
	var picture bytes.Buffer
	if err := png.Encode(&picture, image.NewGray(image.Rect(0, 0, 8, 8))); err != nil {
		return err
	}
	a, err := p.upload(ctx, "small.png", picture.Bytes())
	if err != nil {
		return err
	}
	began, queued := p.Now(), time.Duration(0) // last time at which it was queued
	wait := firstLook
	for range maxLooks {
		if a, err = p.Client.Asset(ctx, a.ID); err != nil {
			return err
		}
		took := p.Now().Sub(began)
		switch a.Metadata.Status {
		case assets.Success:
			if queued >= firstLook { // otherwise it may have been processed at once, and a request had to wait
				p.profile.Processing = took.Round(firstLook)
			}
			return nil
		case assets.Failed:
			return errors.New("the service could not process a small image")
		}
		queued = took
		if err := sleep(ctx, wait); err != nil {
			return err
		}
		wait = min(wait*3/2, longestLook)
	}
	return fmt.Errorf("an image was still queued after %v", p.Now().Sub(began).Round(time.Second))
}

// trash trashes the subject, checks whether it is still served, and restores it.
func (p *prober) trash(ctx context.Context) error {
	if err := p.Client.Trash(ctx, p.subject.ID); err != nil {
		return err
	}
	r, err := p.ask(ctx, assets.Question{Op: "read from the trash", Method: http.MethodGet, URL: p.subject.URL})
	if err != nil {
		return err
	}
	p.profile.TrashServed = r.Status == http.StatusOK
	body, err := json.Marshal(map[string]any{"assetsActions": []map[string]string{{"assetId": p.subject.ID}}})
	if err != nil {
		return err
	}
	r, err = p.ask(ctx, assets.Question{
		Op: "restore from the trash", Method: http.MethodPost, URL: p.Client.InWorkspace("/assets/restore"),
		Header: http.Header{"Content-Type": {"application/json"}}, Body: body,
	})
	if err != nil || p.lacks(r.Status, "restore") || r.Status == http.StatusOK || r.Status == http.StatusNoContent {
		return err
	}
	return answered(r)
}

func (p *prober) bearer(ctx context.Context) (err error) {
	q := p.small()
	q.Scheme = "Bearer "
	p.profile.Bearer, err = letsIn(ctx, p.Client, q)
	return err
}

// letsIn reports whether the service accepts the token of a request.
func letsIn(ctx context.Context, c *assets.Client, q assets.Question) (bool, error) {
	r, err := askAs(ctx, c, q)
	switch {
	case err != nil:
		return false, err
	case r.Status != http.StatusOK && r.Status != http.StatusUnauthorized:
		return false, answered(r)
	}
	return r.Status == http.StatusOK, nil
}

// tokenAge tests tokens of several ages.
func (p *prober) tokenAge(ctx context.Context) error {
	if p.Aged == nil {
		return errors.New("a command signs the tokens")
	}
	const day = 24 * time.Hour
	ages := []time.Duration{10 * time.Minute, time.Hour, 6 * time.Hour, 12 * time.Hour, day, 2 * day, 7 * day, 30 * day, 365 * day}
	n, err := most(0, len(ages)+1, func(n int) (bool, error) {
		if n > len(ages) {
			return false, nil
		}
		client, err := p.Aged(ages[n-1] - time.Minute)
		if err != nil {
			return false, err
		}
		defer client.CloseIdleConnections()
		return letsIn(ctx, client, p.small())
	})
	if err == nil {
		p.profile.TokenAge = ages[n-1]
	}
	return err
}
