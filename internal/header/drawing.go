package header

import (
	"bufio"
	"bytes"
	"compress/gzip"
	"encoding/xml"
	"io"
	"strings"
)

// MostDrawn is the maximum number of bytes of a drawing that are read.
const MostDrawn = 8 << 20

// Active returns the content of an SVG that may run scripts or refer to other places, such as "a
// script", or the reason why the SVG cannot be checked. It returns "" for a safe SVG. It reads at most
// MostDrawn bytes, before and after decompression. It returns read errors unchanged.
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
		return "too large to check", nil
	}
	return what, nil
}

// unclear is the result for a drawing with invalid syntax, which browsers may read in another way.
const unclear = "cannot be checked"

// faithful keeps a read error.
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
		token, err := d.RawToken() // it keeps no stack of open elements
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

// activity returns the active content of a token, or "".
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
		case strings.Contains(value, "javascript:"): // set by animations
			return "a script"
		default:
			if what := styleActivity(a.Value); what != "" {
				return what
			}
		}
	}
	return ""
}

// squeeze returns the same text for URLs that browsers treat as the same.
func squeeze(s string) string {
	return strings.ToLower(strings.Map(func(r rune) rune {
		if r <= ' ' {
			return -1
		}
		return r
	}, s))
}

// linkActivity returns the active content of a URL. Only references within the drawing and embedded
// images are safe.
func linkActivity(url string) string {
	scheme, _, hasScheme := strings.Cut(url, ":")
	switch {
	case url == "" || strings.HasPrefix(url, "#"):
		return ""
	case hasScheme && (scheme == "javascript" || scheme == "vbscript"):
		return "a script"
	case hasScheme && scheme == "data" && strings.HasPrefix(url, "data:image/") && !strings.HasPrefix(url, "data:image/svg"):
		return ""
	case hasScheme && scheme == "data":
		return "foreign content"
	}
	return "an external reference"
}

// styleActivity returns the external references of a style.
func styleActivity(style string) string {
	text := squeeze(style)
	if strings.Contains(text, "@import") {
		return "an external reference"
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

// latin reads each byte as a character: markup is ASCII in all encodings.
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
