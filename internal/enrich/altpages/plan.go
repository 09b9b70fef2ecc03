package altpages

import (
	"context"
	"fmt"
	"io/fs"
	"path/filepath"
	"slices"
)

// A Plan says what would be sent and written. It was made without either.
type Plan struct {
	Pages    []Page    // to be sent, or made from what was sent before
	Ready    []string  // pages whose result is there
	Other    int       // pages that are not sent again, although they were sent with other contexts
	Complete int       // pages of which no image lacks an alternative text
	Skipped  []Skipped // and why
	Images   int       // without an alternative text, of the pages to be sent
	Bytes    int64     // that are sent
	Calls    int       // of the service
}

// A Page is one that lacks alternative texts.
type Page struct {
	Path     string
	Result   string     // where the result is written
	Images   int        // without an alternative text
	Bytes    int64      // that are sent; none if the answer is known already
	Embedded []Embedded // pictures in what is sent

	checksum string    // of the page
	replaces string    // digest of the result that is there; empty if there is none
	known    *manifest // what was said of the page as it is now; nil: it is to be sent
}

// Look makes a plan for the pages that paths name: files, or folders with all in them. An
// error is of a path that was named; all else that is wrong is told in the plan.
func Look(ctx context.Context, paths []string, o Options) (Plan, error) {
	o = o.orDefault()
	files, skipped, err := find(paths, o.Suffix)
	if err != nil {
		return Plan{}, err
	}
	p := Plan{Skipped: skipped}
	for _, path := range files {
		if err := p.look(ctx, path, o); err != nil {
			return Plan{}, err
		}
	}
	p.Calls = len(p.batches(o))
	return p, nil
}

// look takes a page into the plan. An error is only that of the context.
func (p *Plan) look(ctx context.Context, path string, o Options) error {
	page, ready, err := looked(path, o)
	var sent prepared
	if err == nil && !ready && page.Images > 0 && page.known == nil {
		sent, err = prepare(ctx, path, o)
	}
	if page.known != nil && !slices.Equal(page.known.Contexts, o.Contexts) {
		p.Other++
	}
	switch {
	case ctx.Err() != nil:
		return context.Cause(ctx)
	case err != nil:
		p.Skipped = append(p.Skipped, Skipped{path, err.Error()})
	case page.Images == 0:
		p.Complete++
	case ready:
		p.Ready = append(p.Ready, path)
	default:
		if page.known == nil {
			page.Bytes, page.Embedded = int64(len(sent.sent)), sent.embedded
			p.Images += page.Images
			p.Bytes += page.Bytes
		}
		p.Pages = append(p.Pages, page)
	}
	return nil
}

// looked tells by what is beside a page what is to be done with it.
func looked(path string, o Options) (page Page, ready bool, err error) {
	content, _, err := read(path, o.Most)
	if err != nil {
		return Page{}, false, err
	}
	d, err := parse(string(content))
	page = Page{Path: path, Result: resultOf(path, o.Suffix), Images: d.lacking(), checksum: checksum(content)}
	if err != nil || page.Images == 0 {
		return page, false, err
	}
	m, err := readManifest(path, o.Suffix)
	if err != nil {
		return page, false, err
	}
	if page.replaces, err = checksumOf(page.Result, 2*o.Most); err != nil { // texts make it longer
		return page, false, err
	}
	switch isThere := page.replaces != ""; {
	case m == nil && isThere:
		return page, false, fmt.Errorf("%s is there and is not known to be a result: move it away", page.Result)
	case m == nil:
		return page, false, nil
	case m.OriginalSHA256 == page.checksum && !o.Again:
		isOld := !isThere || page.replaces == m.ReplacesSHA256 && page.replaces != m.ResultSHA256 // a crash came between manifest and result
		page.known = m
		return page, !isOld, nil
	case isThere && page.replaces != m.ResultSHA256 && page.replaces != m.ReplacesSHA256:
		return page, false, fmt.Errorf("somebody edited %s, and the page has changed since: move the result away", page.Result)
	}
	return page, false, nil
}

// A prepared page is one that is ready to be sent.
type prepared struct {
	document
	sent     string
	checksum string
	mode     fs.FileMode
	embedded []Embedded
}

func prepare(ctx context.Context, path string, o Options) (prepared, error) {
	content, mode, err := read(path, o.Most)
	if err != nil {
		return prepared{}, err
	}
	d, err := parse(string(content))
	if err != nil {
		return prepared{}, err
	}
	p := prepared{document: d, checksum: checksum(content), mode: mode}
	var sources map[int]string
	if o.Embed {
		sources, p.embedded, err = embed(ctx, filepath.Dir(path), d, o.Most-int64(len(content)))
	}
	p.sent = d.with(sources)
	return p, err
}

// batches are the pages of each call, in order.
func (p Plan) batches(o Options) (all [][]Page) {
	var room int64
	for _, page := range p.Pages {
		if page.known != nil {
			continue
		}
		if last := len(all) - 1; last < 0 || len(all[last]) == o.Batch || page.Bytes > room {
			all, room = append(all, nil), o.Most
		}
		room -= page.Bytes
		all[len(all)-1] = append(all[len(all)-1], page)
	}
	return all
}
