package altpages

import (
	"context"
	"fmt"
	"io/fs"
	"path/filepath"
	"slices"
)

// A Plan lists the pages to send and the results to write.
type Plan struct {
	Pages    []Page    // to send, or to make from a stored answer
	Ready    []string  // pages that have a result
	Other    int       // pages that are not sent again, although their contexts were different
	Complete int       // pages whose images all have alternative text
	Skipped  []Skipped // and why
	Images   int       // without alternative text, in pages to send
	Bytes    int64     // to send
	Calls    int       // requests
}

// A Page is a page with missing alternative texts.
type Page struct {
	Path     string
	Result   string     // path of the result
	Images   int        // without alternative text
	Bytes    int64      // to send; 0 if the answer is stored
	Embedded []Embedded // images sent within the page

	checksum string    // of the page
	replaces string    // checksum of the existing result; "" if there is none
	known    *manifest // stored answer for this version of the page; nil: the page is sent
}

// Look makes a plan for pages and folders of pages. It returns an error for a path that cannot
// be read; other problems are listed in the plan.
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

// look adds a page to the plan. Its only error is that of the context.
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

// looked decides from the files beside a page how to process it.
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
	if page.replaces, err = checksumOf(page.Result, 2*o.Most); err != nil { // a result is longer than its page
		return page, false, err
	}
	switch isThere := page.replaces != ""; {
	case m == nil && isThere:
		return page, false, fmt.Errorf("%s exists and is not a result: move the file to another place", page.Result)
	case m == nil:
		return page, false, nil
	case m.OriginalSHA256 == page.checksum && !o.Again:
		isOld := !isThere || page.replaces == m.ReplacesSHA256 && page.replaces != m.ResultSHA256 // a crash happened between manifest and result
		page.known = m
		return page, !isOld, nil
	case isThere && page.replaces != m.ResultSHA256 && page.replaces != m.ReplacesSHA256:
		return page, false, fmt.Errorf("%s was edited, and the page has changed since: move the result to another place", page.Result)
	}
	return page, false, nil
}

// A prepared page is ready to send.
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

// batches returns the pages of each request, in order.
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
