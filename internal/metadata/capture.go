package metadata

// A Capture extracts embedded metadata from the content of an image while the content is being
// copied, so that no object is read twice. The zero value is ready to use. For content that is no
// image it costs little, because the first bytes show that.
//
// JPEG, PNG and WebP have separate segments for metadata, and only these are kept. In other formats
// the metadata may be anywhere, see [Capture.Elsewhere].
type Capture struct {
	begun     bool
	elsewhere bool
	pieces    pieces
	next      step
	got       []byte // bytes so far of those that next needs
}

// Write reads the next part of the content. It never fails.
func (c *Capture) Write(p []byte) (int, error) {
	if !c.begun {
		c.begun, c.next = true, step{want: magicLength, then: c.begin}
	}
	for rest := p; c.next.then != nil && len(rest) > 0; {
		rest = c.take(rest)
	}
	return len(p), nil
}

// take passes a part of the content to the next step, and returns the rest.
func (c *Capture) take(content []byte) []byte {
	if skip := min(c.next.skip, int64(len(content))); skip > 0 {
		c.next.skip -= skip
		return content[skip:]
	}
	missing := c.next.want - len(c.got)
	if len(c.got) == 0 && len(content) >= missing { // content contains all of it
		c.next = c.next.then(content[:missing])
		return content[missing:]
	}
	part := content[:min(missing, len(content))]
	if c.got = append(c.got, part...); len(part) == missing {
		c.next, c.got = c.next.then(c.got), c.got[:0]
	}
	return content[len(part):]
}

// begin returns the first step for the first bytes of the content.
func (c *Capture) begin(magic []byte) step {
	first, elsewhere := c.pieces.begin(magic)
	c.elsewhere = elsewhere
	return first
}

// Elsewhere reports whether the content may have metadata that only [Embedded] finds, because it can be
// anywhere: TIFF and the raw formats of cameras, HEIC, AVIF.
func (c *Capture) Elsewhere() bool { return c.elsewhere }

// Found returns the embedded metadata, and remarks about parts that could not be read.
func (c *Capture) Found() (Found, []string) { return c.pieces.found() }
