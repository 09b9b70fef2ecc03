package apply

import (
	"context"
	"errors"
	"io"
	"runtime"

	"assetferry/internal/faultpoint"
	"assetferry/internal/metadata"
	"assetferry/internal/retry"
	"assetferry/migrate"
	"assetferry/migrate/collect"
	"assetferry/migrate/inventory"
	"assetferry/sources"
	"assetferry/state"
)

// uploadSlots limit the concurrent uploads. There are more workers than slots: waiting workers have
// created the folder and opened the object already, so the service is always busy. With one slot
// there is one worker, and the items are processed one after the other.
type uploadSlots chan struct{}

// begin waits for a turn, which must be ended.
func (t uploadSlots) begin(ctx context.Context) error {
	select {
	case t <- struct{}{}:
		return nil
	default:
	}
	select {
	case t <- struct{}{}:
		return nil
	case <-retry.Draining(ctx):
		return retry.ErrDraining
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

// end ends a turn, and lets the worker of the next one run before this goroutine: recording the
// result can wait, but the service is idle until the next upload.
func (t uploadSlots) end() {
	<-t
	runtime.Gosched()
}

// A prepared item contains the data that can be read before a worker is free.
type prepared struct {
	container migrate.Container
	err       error // of making the container
	content   *content
}

// prepare finds or creates the place of an item to upload and opens its object.
func (a *Applier) prepare(ctx context.Context, s *structure, i state.Item) prepared {
	p := prepared{content: &content{Applier: a, ctx: ctx, item: i}}
	if wasSent(i) || i.Action == state.Adopt {
		return p
	}
	if i.Action == state.Replace { // the asset keeps its place
		p.content.openAhead()
		return p
	}
	if p.container, p.err = s.container(ctx, i.Category, i.Folder); p.err == nil {
		p.content.openAhead()
	}
	return p
}

// A content is the content of an item's object, hashed while it is sent. It is opened in advance,
// and again for each retry.
type content struct {
	*Applier
	ctx  context.Context // ends when the item is through
	item state.Item

	ahead   io.ReadCloser // opened, and not used yet
	failure error         // of opening ahead, not reported yet
	scanned *scanned      // what the scanner accepted; nil if it was not asked
	kept    *sources.Description
	hashing *inventory.HashingReader // of the last try; nil if there was none
	capture *metadata.Capture        // of the same; nil if no user looks at the content
}

// openAhead opens the content. That it cannot be is reported when it is wanted.
func (c *content) openAhead() { c.ahead, c.failure = c.start(c.ctx) }

// drop closes a reader that was not used.
func (c *content) drop() {
	if c.ahead != nil {
		_ = c.ahead.Close()
	}
}

// start returns the content from its beginning, scanned if the run scans. All content that is
// uploaded comes from here.
func (c *content) start(ctx context.Context) (io.ReadCloser, error) {
	if c.Scan == nil {
		return c.read(ctx)
	}
	return c.startScanned(ctx)
}

// read opens the object and requests its metadata from the source.
func (c *content) read(ctx context.Context) (io.ReadCloser, error) {
	r, err := c.Source.Open(ctx, c.item.Object, 0)
	if err != nil {
		return nil, err
	}
	if c.kept, err = collect.DescriptionFrom(ctx, r); err != nil {
		return nil, errors.Join(err, r.Close())
	}
	faultpoint.Hit(faultpoint.Opened)
	return r, nil
}

// open returns the content from its beginning, for one attempt.
func (c *content) open(ctx context.Context) (io.ReadCloser, error) {
	r, err := c.ahead, c.failure
	c.ahead, c.failure = nil, nil
	if r == nil && err == nil {
		r, err = c.start(ctx)
	}
	if err != nil {
		return nil, err
	}
	if c.hashing != nil {
		_, n := c.hashing.Sum()
		c.Watch.Progress(0, -n) // the previous attempt failed
	}
	if c.UsesContent() {
		c.capture = &metadata.Capture{}
	}
	c.hashing = inventory.NewHashingReader(r, c.capture, func(n int64) { c.Watch.Progress(0, n) })
	if c.scanned != nil {
		return &scannedReader{HashingReader: c.hashing, scanned: c.scanned}, nil
	}
	return c.hashing, nil
}

// whole returns c if all of it was sent, else nil.
func (c *content) whole() *content {
	if c.hashing == nil {
		return nil
	}
	return c
}

// sent returns the facts about the content of the last attempt, and the number of bytes sent.
func (c *content) sent() (sending, int64) {
	if c.hashing == nil {
		return sending{kept: c.kept}, 0
	}
	checksum, n := c.hashing.Sum()
	if n != c.item.Size {
		checksum = nil
	}
	return sending{checksum, c.kept}, n
}
