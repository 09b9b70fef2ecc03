package preflight

import (
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"io"

	"assetferry/internal/header"
	"assetferry/sources"
	"assetferry/state"
)

// A glance is the result of reading the beginning of one object. Texts are empty if all is well.
type glance struct {
	item  state.Item
	alike bool // other objects have the same size

	read     int64
	checksum []byte // of its beginning, if other objects have the same size
	failed   string // the error of reading it
	differs  string // its type, if that does not match the extension
	damaged  string
	tooBig   string // the size of the image
	active   string
}

// look reads as much of the object as the checks need.
func (g *glance) look(ctx context.Context, source sources.Source, maxMegapixels float64) {
	length := int64(header.Enough)
	if g.alike {
		length = headLength
	}
	c := &content{ctx: ctx, source: source, object: object(&g.item)}
	err := c.begin(length)
	if err == nil && g.alike {
		sum := sha256.Sum256(c.head)
		g.checksum = sum[:]
	}
	if err == nil {
		err = g.judge(c, maxMegapixels)
	}
	if err = errors.Join(err, c.close()); err != nil {
		g.failed, g.checksum = reason(err), nil
	}
	g.read = c.read
}

// judge checks the beginning of the object, and reads on if that is needed.
func (g *glance) judge(c *content, maxMegapixels float64) error {
	ext, kind := extension(string(g.item.Key)), header.KindOf(c.head[:min(len(c.head), header.Enough)])
	switch {
	case kind == "" && header.IsImage(ext):
		g.damaged = "not an image"
	case !header.Agrees(ext, kind):
		g.differs = string(kind)
		if kind == "" {
			g.differs = "unknown type"
		}
	}
	if kind == header.SVG || activityOf(ext) == drawing {
		what, err := header.Active(io.NewSectionReader(c, 0, g.item.Size))
		g.active = what
		return err
	}
	return g.measure(c, kind, maxMegapixels)
}

// measure reads the size of an image.
func (g *glance) measure(c *content, kind header.Kind, maxMegapixels float64) error {
	width, height, err := header.Size(kind, c, g.item.Size)
	switch {
	case c.err != nil:
		return c.err
	case errors.Is(err, header.ErrUnknown):
	case err != nil:
		g.damaged = err.Error()
	case maxMegapixels > 0 && float64(width)*float64(height) > maxMegapixels*1e6:
		g.tooBig = fmt.Sprintf("%d x %d", width, height)
	}
	return nil
}

// reason returns the error of reading an object, without its key.
func reason(err error) string {
	if e, ok := errors.AsType[*sources.Error](err); ok {
		return e.Err.Error()
	}
	return err.Error()
}

// object returns the object that the source listed.
func object(i *state.Item) sources.Object {
	return i.Object
}

// checksum reads an object completely and returns its SHA-256.
func checksum(ctx context.Context, source sources.Source, o sources.Object) ([]byte, error) {
	r, err := source.Open(ctx, o, 0)
	if err != nil {
		return nil, err
	}
	h := sha256.New()
	_, err = io.Copy(h, r)
	if err := errors.Join(err, r.Close()); err != nil {
		return nil, err
	}
	return h.Sum(nil), nil
}

// nearby is the distance up to which reading on is faster than opening the object again.
const nearby = 256 << 10

// A content reads parts of an object. It keeps the beginning in memory, and reads on from its
// position to parts that are nearby.
type content struct {
	ctx    context.Context
	source sources.Source
	object sources.Object

	head []byte
	in   io.ReadCloser
	at   int64 // position of in
	read int64
	err  error // the last error of reading
}

// begin reads the first bytes.
func (c *content) begin(length int64) error {
	head := make([]byte, min(length, c.object.Size))
	n, err := c.later(head, 0)
	c.head = head[:n]
	if err == io.EOF {
		err = io.ErrUnexpectedEOF
	}
	return err
}

// ReadAt implements io.ReaderAt.
func (c *content) ReadAt(p []byte, at int64) (n int, err error) {
	if at < int64(len(c.head)) {
		n = copy(p, c.head[at:])
	}
	if n == len(p) {
		return n, nil
	}
	more, err := c.later(p[n:], at+int64(n))
	return n + more, err
}

// later reads after the head.
func (c *content) later(p []byte, at int64) (int, error) {
	left := c.object.Size - at
	if left <= 0 {
		return 0, io.EOF
	}
	if err := c.seek(at); err != nil {
		c.err = err
		return 0, err
	}
	n, err := io.ReadFull(c.in, p[:min(int64(len(p)), left)])
	c.at += int64(n)
	c.read += int64(n)
	switch {
	case err != nil:
		c.err = err
	case n < len(p):
		err = io.EOF
	}
	return n, err
}

func (c *content) seek(at int64) error {
	if c.in != nil && at >= c.at && at <= c.at+nearby {
		n, err := io.CopyN(io.Discard, c.in, at-c.at)
		c.at += n
		c.read += n
		return err
	}
	if err := c.close(); err != nil {
		return err
	}
	in, err := c.source.Open(c.ctx, c.object, at)
	c.in, c.at = in, at
	return err
}

func (c *content) close() error {
	if c.in == nil {
		return nil
	}
	in := c.in
	c.in = nil
	return in.Close()
}
