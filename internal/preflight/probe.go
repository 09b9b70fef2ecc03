package preflight

import (
	"context"
	"iter"
	"strconv"

	"golang.org/x/sync/errgroup"

	"assetferry/internal/header"
	"assetferry/internal/ui"
	"assetferry/sources"
	"assetferry/state"
)

const (
	// headLength is the number of bytes that are compared first in objects of equal size.
	headLength = 64 << 10
	// probePage is the number of objects that are read before their findings are noted.
	probePage = 1000
)

// A Probe reads the header of each object that would be uploaded, and compares objects of equal
// size. An object that cannot be read is a finding, not an error.
type Probe struct {
	Source        sources.Source
	Store         *state.Store
	MaxMegapixels float64 // 0 if unknown
	Concurrency   int
	Progress      func(objects, bytes int64)

	tooBig  sum
	damaged sum
	differs sum
	active  sum
	failed  sum
}

func newSum(id string, s Severity, title, remedy string) sum {
	return sum{definition: definition{id: id, severity: s, title: title, remedy: remedy}}
}

// NewProbe returns a probe.
func NewProbe(source sources.Source, store *state.Store, maxMegapixels float64) *Probe {
	limit := strconv.FormatFloat(maxMegapixels, 'f', -1, 64)
	return &Probe{
		Source: source, Store: store, MaxMegapixels: maxMegapixels, Concurrency: 1, Progress: func(int64, int64) {},
		tooBig: newSum("image_too_large", Loss, "image with more than "+limit+" megapixels, the limit of the service",
			"reduce the image, raise the limit at the service, or use --exclude"),
		damaged: newSum("image_damaged", Warning, "image with a damaged or incomplete header",
			"replace the file at the source, or use --exclude"),
		differs: newSum("type_differs", Warning, "content that does not match the extension",
			"rename the file at the source, or use --exclude"),
		active: newSum(activeSVG, Warning, "SVG with scripts, event handlers or external references", decidesActive),
		failed: newSum("probe_failed", Loss, "unreadable",
			"make the source readable, or use --exclude"),
	}
}

// Begin returns how many objects are read, and how many bytes at least. Images may need more, and
// objects that begin like another one are read to the end.
func (p *Probe) Begin(ctx context.Context, run int64) (objects, bytes int64, err error) {
	if _, err := p.Store.StageContents(ctx, run); err != nil {
		return 0, 0, err
	}
	for i, err := range p.Store.Items(ctx, run, state.ItemPlanned) {
		if err != nil {
			return 0, 0, err
		}
		if Sends(&i) {
			objects++
			bytes += min(i.Size, header.Enough)
		}
	}
	for c, err := range p.Store.Contents(ctx, run) {
		if err != nil {
			return 0, 0, err
		}
		bytes += min(c.Size, headLength) - min(c.Size, header.Enough)
	}
	return objects, bytes, nil
}

// Run reads the objects of a run and returns the findings.
func (p *Probe) Run(ctx context.Context, run int64) ([]Finding, error) {
	if err := p.heads(ctx, run); err != nil {
		return nil, err
	}
	if err := p.wholes(ctx, run); err != nil {
		return nil, err
	}
	equals, err := p.Store.IdenticalContents(ctx, run, shown)
	if err != nil {
		return nil, err
	}
	if err := p.Store.DropContents(ctx); err != nil {
		return nil, err
	}
	var found []Finding
	for _, s := range []*sum{&p.tooBig, &p.damaged, &p.differs, &p.active, &p.failed} {
		if s.objects > 0 {
			found = append(found, s.finding())
		}
	}
	return append(found, equal(equals)...), nil
}

// heads reads the beginning of all objects that would be uploaded.
func (p *Probe) heads(ctx context.Context, run int64) error {
	sharesSize, stop := inOrder(p.Store.Contents(ctx, run))
	defer stop()
	var page []glance
	for i, err := range p.Store.Items(ctx, run, state.ItemPlanned) {
		if err != nil {
			return err
		}
		if !Sends(&i) || i.Size == 0 {
			continue
		}
		g := glance{item: i}
		if g.alike, err = sharesSize(i.Key); err != nil {
			return err
		}
		if page = append(page, g); len(page) < probePage {
			continue
		}
		if err := p.headPage(ctx, run, page); err != nil {
			return err
		}
		page = page[:0]
	}
	return p.headPage(ctx, run, page)
}

// inOrder returns a function that reports whether a key is among contents. Its calls must be in
// key order.
func inOrder(all iter.Seq2[state.Content, error]) (has func(key sources.Key) (bool, error), stop func()) {
	next, stop := iter.Pull2(all)
	c, err, more := next()
	return func(key sources.Key) (bool, error) {
		for more && err == nil && c.Key < key {
			c, err, more = next()
		}
		return more && c.Key == key, err
	}, stop
}

// headPage reads several objects at once, and notes the findings in their order.
func (p *Probe) headPage(ctx context.Context, run int64, page []glance) error {
	err := p.each(ctx, len(page), func(ctx context.Context, n int) {
		page[n].look(ctx, p.Source, p.MaxMegapixels)
		p.Progress(1, page[n].read)
	})
	if err != nil {
		return err
	}
	var checksums []state.Content
	for n := range page {
		g := &page[n]
		p.note(g)
		if g.alike {
			checksums = append(checksums, state.Content{Key: g.item.Key, Size: g.item.Size, Checksum: g.checksum})
		}
	}
	if len(checksums) == 0 {
		return nil
	}
	return p.Store.SaveChecksums(ctx, run, checksums)
}

// each calls a function for each of n items, several at once. Its only error is that of the
// context.
func (p *Probe) each(ctx context.Context, n int, f func(ctx context.Context, n int)) error {
	var g errgroup.Group
	g.SetLimit(max(1, p.Concurrency))
	for n := range n {
		if ctx.Err() != nil {
			break
		}
		g.Go(func() error { f(ctx, n); return nil })
	}
	_ = g.Wait() // there are no errors
	return context.Cause(ctx)
}

// note adds the findings about an object.
func (p *Probe) note(g *glance) {
	for _, seen := range []struct {
		sum  *sum
		what string
	}{{&p.failed, g.failed}, {&p.differs, g.differs}, {&p.damaged, g.damaged}, {&p.tooBig, g.tooBig}, {&p.active, g.active}} {
		if seen.what != "" {
			seen.sum.add(&g.item)
			if n := len(seen.sum.examples) - 1; seen.sum.objects <= shown {
				seen.sum.examples[n] += ": " + seen.what
			}
		}
	}
}

// wholes reads objects completely if their beginnings are equal.
func (p *Probe) wholes(ctx context.Context, run int64) error {
	if err := p.Store.KeepIdentical(ctx, run); err != nil {
		return err
	}
	var page []state.Content
	for c, err := range p.Store.Contents(ctx, run) {
		if err != nil {
			return err
		}
		if c.Size <= headLength {
			continue
		}
		if page = append(page, c); len(page) < probePage {
			continue
		}
		if err := p.wholePage(ctx, run, page); err != nil {
			return err
		}
		page = page[:0]
	}
	if err := p.wholePage(ctx, run, page); err != nil {
		return err
	}
	return p.Store.KeepIdentical(ctx, run)
}

// wholePage reads several objects at once.
func (p *Probe) wholePage(ctx context.Context, run int64, page []state.Content) error {
	if len(page) == 0 {
		return nil
	}
	items := make([]state.Item, len(page))
	for n, c := range page {
		var err error
		if items[n], err = p.Store.Item(ctx, run, c.Key); err != nil {
			return err
		}
	}
	failed := make([]error, len(page))
	err := p.each(ctx, len(page), func(ctx context.Context, n int) {
		page[n].Checksum, failed[n] = checksum(ctx, p.Source, object(&items[n]))
		p.Progress(0, page[n].Size)
	})
	if err != nil {
		return err
	}
	for n, err := range failed {
		if err != nil {
			p.note(&glance{item: items[n], failed: reason(err)})
		}
	}
	return p.Store.SaveChecksums(ctx, run, page)
}

var identicalContent = definition{id: "identical_content", severity: Note, unit: "group",
	title:  "objects with identical content",
	remedy: "use --duplicates one-asset to create one asset for each group, or --exclude"}

// EqualTags finds identical content by the listing alone, for sources whose version tags are
// checksums.
func EqualTags(ctx context.Context, j *state.Store, run int64) ([]Finding, error) {
	equals, err := j.IdenticalTags(ctx, run, shown)
	return equal(equals), err
}

// equal returns the finding about identical content, if there is any.
func equal(e state.IdenticalSum) []Finding {
	if e.Groups == 0 {
		return nil
	}
	f := (&sum{definition: identicalContent, objects: e.Groups, bytes: e.Spare}).finding()
	for _, g := range e.Some {
		f.Examples = append(f.Examples, ui.Count(g.Objects)+" times "+ui.Bytes(g.Size)+": "+string(g.First)+" = "+string(g.Last))
	}
	return []Finding{f}
}
