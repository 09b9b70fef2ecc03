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
	// headLength is how much of contents of equal size is compared first.
	headLength = 64 << 10
	// probePage is how many objects are looked into before their findings are noted.
	probePage = 1000
)

// A Probe looks into the objects that would be sent: it reads the header of each, and
// compares those of equal size. What it cannot read is a finding and no error.
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

// NewProbe makes a probe.
func NewProbe(source sources.Source, store *state.Store, maxMegapixels float64) *Probe {
	limit := strconv.FormatFloat(maxMegapixels, 'f', -1, 64)
	return &Probe{
		Source: source, Store: store, MaxMegapixels: maxMegapixels, Concurrency: 1, Progress: func(int64, int64) {},
		tooBig: newSum("image-too-large", Loss, "more than the "+limit+" megapixels that the service allows",
			"who can make it smaller; who manages the plan at the service; or --exclude"),
		damaged: newSum("image-damaged", Warning, "the header of the image is damaged or cut off",
			"who has a better copy; or --exclude"),
		differs: newSum("type-differs", Warning, "the content is not what the extension says",
			"who can rename it at the source; or --exclude"),
		active: newSum(activeSVG, Warning, "SVG with script, event handlers or references to elsewhere", decidesActive),
		failed: newSum("probe-failed", Loss, "could not be read",
			"who may grant access to the source; or --exclude"),
	}
}

// Begin finds out how much there is to read: so many objects, and of those the bytes at
// the least. Images may have more before their size, and what begins like another
// object is read as a whole.
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

// Run looks into the objects of a run and gives what it found.
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

// heads looks into all objects that would be sent.
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

// inOrder gives a function that tells of keys in order whether they are among contents.
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

// headPage looks into several objects at once, and then takes note in their order.
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

// each calls a function for each of n things, several at once. Only the end of the
// context is an error.
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

// note takes note of what a glance saw.
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

// wholes reads the contents that begin alike and are longer than what was compared.
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

// wholePage reads several contents at once.
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

var equalContent = definition{id: "equal-content", severity: Note, unit: "group",
	title:  "equal content, of which one object would do",
	remedy: "--exclude; or who can tell which are needed"}

// EqualTags tells from the listing alone which contents are equal. It is for sources whose
// version tags say so.
func EqualTags(ctx context.Context, j *state.Store, run int64) ([]Finding, error) {
	equals, err := j.IdenticalTags(ctx, run, shown)
	return equal(equals), err
}

// equal is the finding of equal contents, if there are any.
func equal(e state.IdenticalSum) []Finding {
	if e.Groups == 0 {
		return nil
	}
	f := (&sum{definition: equalContent, objects: e.Groups, bytes: e.Spare}).finding()
	for _, g := range e.Some {
		f.Examples = append(f.Examples, ui.Count(g.Objects)+" times "+ui.Bytes(g.Size)+": "+string(g.First)+" = "+string(g.Last))
	}
	return []Finding{f}
}
