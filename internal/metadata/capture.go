package metadata

// A Capture takes what is embedded in an image out of its content while that passes by, so
// that no object is read twice. Zero is ready. It costs next to nothing where the content
// is no image: the first bytes tell.
//
// In JPEG, PNG and WebP what describes an image is in pieces of their own, which are all
// that is kept. In other formats it may be anywhere, see [Capture.Elsewhere].
type Capture struct {
	begun     bool
	elsewhere bool
	pieces    pieces
	next      step
	got       []byte // of the bytes that next wants
}

// Write takes the next content. It never fails.
func (c *Capture) Write(p []byte) (int, error) {
	if !c.begun {
		c.begun, c.next = true, step{want: magicLength, then: c.begin}
	}
	for rest := p; c.next.then != nil && len(rest) > 0; {
		rest = c.take(rest)
	}
	return len(p), nil
}

// take brings the next step forward by a part of the content, and gives the rest.
func (c *Capture) take(content []byte) []byte {
	if skip := min(c.next.skip, int64(len(content))); skip > 0 {
		c.next.skip -= skip
		return content[skip:]
	}
	missing := c.next.want - len(c.got)
	if len(c.got) == 0 && len(content) >= missing { // it need not be put together
		c.next = c.next.then(content[:missing])
		return content[missing:]
	}
	part := content[:min(missing, len(content))]
	if c.got = append(c.got, part...); len(part) == missing {
		c.next, c.got = c.next.then(c.got), c.got[:0]
	}
	return content[len(part):]
}

// begin tells by the first bytes how content is to be read.
func (c *Capture) begin(magic []byte) step {
	first, elsewhere := c.pieces.begin(magic)
	c.elsewhere = elsewhere
	return first
}

// Elsewhere reports whether the content may have something embedded that only [Embedded]
// finds, because it is nowhere in particular: TIFF, and so the raw formats of cameras, HEIC
// and AVIF.
func (c *Capture) Elsewhere() bool { return c.elsewhere }

// Found returns what was embedded in the content that passed by, and remarks about what
// could not be read of it.
func (c *Capture) Found() (Found, []string) { return c.pieces.found() }
