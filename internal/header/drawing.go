package header

import (
	"bufio"
	"bytes"
	"compress/gzip"
	"encoding/xml"
	"io"
	"strings"
)

// MostDrawn is how many bytes of a drawing are looked through.
const MostDrawn = 8 << 20

// Active tells what an SVG holds that may run script or leads elsewhere, such as "a
// script", or why that cannot be told; empty if there is nothing of that. It reads no
// more than MostDrawn bytes, of a compressed one also after decompression. Errors of
// reading come as they are.
func Active(r io.Reader) (what string, err error) {
	in := &faithful{Reader: r}
	text := bufio.NewReader(&io.LimitedReader{R: in, N: MostDrawn})
	limited := &io.LimitedReader{R: text, N: MostDrawn}
	if magic, _ := text.Peek(2); bytes.Equal(magic, []byte{0x1f, 0x8b}) {
		unzipped, err := gzip.NewReader(text)
		if in.err != nil || err != nil {
			return unclear, in.err
		}
		limited.R = unzipped
	}
	what = lookThrough(limited)
	if in.err != nil {
		return "", in.err
	}
	if what == "" && limited.N <= 0 {
		return "too large to be looked through", nil
	}
	return what, nil
}

// unclear is what is said of a drawing that cannot be read: browsers may read more into
// it than we do.
const unclear = "cannot be looked through"

// faithful keeps an error of reading.
type faithful struct {
	io.Reader
	err error
}

func (f *faithful) Read(p []byte) (int, error) {
	n, err := f.Reader.Read(p)
	if err != nil && err != io.EOF {
		f.err = err
	}
	return n, err
}

func lookThrough(r io.Reader) string {
	d := xml.NewDecoder(r)
	d.Strict = false
	d.Entity = xml.HTMLEntity
	d.CharsetReader = func(_ string, in io.Reader) (io.Reader, error) { return &latin{bufio.NewReader(in)}, nil }
	for {
		token, err := d.RawToken() // which keeps no stack of what is open
		if err == io.EOF {
			return ""
		}
		if err != nil {
			return unclear
		}
		if what := activity(token); what != "" {
			return what
		}
	}
}

// activity tells what a part of a drawing may do.
func activity(token xml.Token) string {
	switch t := token.(type) {
	case xml.StartElement:
		return elementActivity(t)
	case xml.ProcInst:
		if strings.EqualFold(t.Target, "xml-stylesheet") {
			return "a style sheet of its own"
		}
	case xml.Directive:
		if strings.Contains(strings.ToLower(string(t)), "entity") {
			return "entities"
		}
	case xml.CharData:
		return styleActivity(string(t))
	}
	return ""
}

func elementActivity(e xml.StartElement) string {
	switch strings.ToLower(e.Name.Local) {
	case "script":
		return "a script"
	case "foreignobject", "iframe", "embed", "object":
		return "foreign content"
	case "handler", "listener":
		return "an event handler"
	}
	for _, a := range e.Attr {
		name, value := strings.ToLower(a.Name.Local), squeeze(a.Value)
		switch {
		case strings.HasPrefix(name, "on") && len(name) > 2:
			return "an event handler"
		case name == "href" || name == "src":
			if what := linkActivity(value); what != "" {
				return what
			}
		case strings.Contains(value, "javascript:"): // as animations set them
			return "a script"
		default:
			if what := styleActivity(a.Value); what != "" {
				return what
			}
		}
	}
	return ""
}

// squeeze makes comparable what browsers take for the same address.
func squeeze(s string) string {
	return strings.ToLower(strings.Map(func(r rune) rune {
		if r <= ' ' {
			return -1
		}
		return r
	}, s))
}

// linkActivity judges an address; only what is in the drawing itself, and images that
// are, are harmless.
func linkActivity(address string) string {
	scheme, _, hasScheme := strings.Cut(address, ":")
	switch {
	case address == "" || strings.HasPrefix(address, "#"):
		return ""
	case hasScheme && (scheme == "javascript" || scheme == "vbscript"):
		return "a script"
	case hasScheme && scheme == "data" && strings.HasPrefix(address, "data:image/") && !strings.HasPrefix(address, "data:image/svg"):
		return ""
	case hasScheme && scheme == "data":
		return "foreign content"
	}
	return "a reference to elsewhere"
}

// styleActivity finds what a style loads.
func styleActivity(style string) string {
	text := squeeze(style)
	if strings.Contains(text, "@import") {
		return "a reference to elsewhere"
	}
	for {
		_, rest, found := strings.Cut(text, "url(")
		if !found {
			return ""
		}
		if what := linkActivity(strings.Trim(before(rest, ")"), `"'`)); what != "" {
			return what
		}
		text = rest
	}
}

func before(s, end string) string {
	s, _, _ = strings.Cut(s, end)
	return s
}

// latin takes every byte for a character: whatever the encoding is, markup is in ASCII.
type latin struct{ in *bufio.Reader }

func (l *latin) Read(p []byte) (n int, err error) {
	for n+1 < len(p) {
		b, err := l.in.ReadByte()
		if err != nil {
			if n > 0 {
				return n, nil
			}
			return 0, err
		}
		if b < 0x80 {
			p[n] = b
			n++
			continue
		}
		p[n], p[n+1] = 0xc0|b>>6, 0x80|b&0x3f
		n += 2
	}
	return n, nil
}
