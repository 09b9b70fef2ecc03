package altpages

import (
	"errors"
	"fmt"
	"html"
	"io"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	markup "golang.org/x/net/html"
)

// A document is a page with its images.
type document struct {
	text   string
	images []image
}

// An image is an <img>.
type image struct {
	start, end int // of its tag
	line       int // from 1
	tag        markup.Token
	lacksAlt   bool
}

// An Alt is an alternative text that was added.
type Alt struct {
	Image  int    `json:"image"` // which <img> of the page it is, from 0
	Line   int    `json:"line"`
	Source string `json:"source"` // where the picture is
	Text   string `json:"alt"`    // empty: the picture is there for decoration
}

// What is wrong with a page.
var (
	errNotUTF8 = errors.New("it is not in UTF-8: save it as UTF-8 first")
	errCut     = errors.New("it ends within a tag")
)

// parse finds the images of a page. What is within scripts, comments and noscript is text.
func parse(text string) (document, error) {
	if !utf8.ValidString(text) {
		return document{}, errNotUTF8
	}
	d := document{text: text}
	at, line := 0, 1
	for p, err := range pieces(text) {
		if err != nil {
			return document{}, err
		}
		if p.img != nil {
			d.images = append(d.images, image{start: at, end: at + len(p.raw), line: line, tag: *p.img, lacksAlt: lacksAlt(*p.img)})
		}
		at += len(p.raw)
		line += strings.Count(p.raw, "\n")
	}
	return d, nil
}

// A piece of HTML is a token as it is written.
type piece struct {
	raw string
	img *markup.Token
}

// pieces takes HTML apart. All that is written is in one of them, or the last is an error.
func pieces(text string) func(yield func(piece, error) bool) {
	return func(yield func(piece, error) bool) {
		z := markup.NewTokenizer(strings.NewReader(text))
		for at := 0; ; {
			kind := z.Next()
			if kind == markup.ErrorToken {
				switch err := z.Err(); {
				case !errors.Is(err, io.EOF):
					yield(piece{}, err)
				case at < len(text):
					yield(piece{}, errCut)
				}
				return
			}
			p := piece{raw: string(z.Raw())}
			at += len(p.raw)
			if kind == markup.StartTagToken || kind == markup.SelfClosingTagToken {
				if t := z.Token(); t.Data == "img" {
					p.img = &t
				}
			}
			if !yield(p, nil) {
				return
			}
		}
	}
}

// lacksAlt reports whether nobody has said yet what a picture shows: an alt that is empty
// says that it shows nothing, and so do some other attributes.
func lacksAlt(img markup.Token) bool {
	return !slices.ContainsFunc(img.Attr, func(a markup.Attribute) bool {
		value := strings.ToLower(strings.TrimSpace(a.Val))
		return a.Key == "alt" || a.Key == "role" && (value == "presentation" || value == "none") || a.Key == "aria-hidden" && value == "true"
	})
}

func attribute(img markup.Token, name string) (value string, ok bool) {
	for _, a := range img.Attr {
		if a.Key == name {
			return a.Val, true
		}
	}
	return "", false
}

// lacking counts the images without an alternative text.
func (d document) lacking() (n int) {
	for _, img := range d.images {
		if img.lacksAlt {
			n++
		}
	}
	return n
}

// byteOrderMark may be at the beginning of a file, and means nothing in a document.
const byteOrderMark = "\ufeff"

// with gives the document with other sources of pictures, by image.
func (d document) with(sources map[int]string) string {
	var b strings.Builder
	at := 0
	for n, img := range d.images {
		source, ok := sources[n]
		if !ok {
			continue
		}
		tag := img.tag
		tag.Attr = slices.Clone(tag.Attr)
		for i := range tag.Attr {
			if tag.Attr[i].Key == "src" {
				tag.Attr[i].Val = source
			}
		}
		b.WriteString(d.text[at:img.start] + tag.String())
		at = img.end
	}
	b.WriteString(d.text[at:])
	return strings.TrimPrefix(b.String(), byteOrderMark)
}

// added takes the alternative texts from an answer to what was sent, if all else in it is
// as it was.
func (d document) added(sent, answer string) ([]Alt, error) {
	before, err := apart(sent)
	if err != nil {
		return nil, err
	}
	after, err := apart(answer)
	if err != nil {
		return nil, fmt.Errorf("what came back cannot be read: %w", err)
	}
	var all []Alt
	images, line := 0, 1
	for n, p := range before {
		if n == len(after) {
			return nil, fmt.Errorf("line %d: what follows did not come back: %.60q", line, p.raw)
		}
		if !isSame(p, after[n]) {
			return nil, fmt.Errorf("line %d: not only alternative texts changed: %.60q became %.60q", line, p.raw, after[n].raw)
		}
		if p.img != nil {
			if alt, ok := attribute(*after[n].img, "alt"); ok && d.images[images].lacksAlt {
				text, err := tidy(alt)
				if err != nil {
					return nil, fmt.Errorf("line %d: %w", line, err)
				}
				source, _ := attribute(d.images[images].tag, "src")
				all = append(all, Alt{Image: images, Line: d.images[images].line, Source: source, Text: text})
			}
			images++
		}
		line += strings.Count(p.raw, "\n")
	}
	if len(after) > len(before) {
		return nil, fmt.Errorf("something was added at the end: %.60q", after[len(before)].raw)
	}
	return all, nil
}

// apart takes a document apart, without what does not count: blanks around it, and how its
// lines end.
func apart(text string) (all []piece, err error) {
	text = strings.TrimSpace(strings.ReplaceAll(text, "\r\n", "\n"))
	for p, err := range pieces(text) {
		if err != nil {
			return nil, err
		}
		all = append(all, p)
	}
	return all, nil
}

// isSame compares what is written, but of images what is meant: how their tags are written
// is not taken over, and neither is any alt that was there.
func isSame(a, b piece) bool {
	if a.img == nil || b.img == nil {
		return a.raw == b.raw
	}
	others := func(p piece) []markup.Attribute {
		return slices.DeleteFunc(slices.Clone(p.img.Attr), func(a markup.Attribute) bool { return a.Key == "alt" })
	}
	return slices.Equal(others(a), others(b))
}

// tidy makes an alternative text fit for an attribute.
func tidy(alt string) (string, error) {
	alt = strings.Map(func(r rune) rune {
		if unicode.IsControl(r) && !unicode.IsSpace(r) || r == utf8.RuneError {
			return -1
		}
		return r
	}, alt)
	alt = strings.Join(strings.Fields(alt), " ")
	if n := utf8.RuneCountInString(alt); n > mostAlt {
		return "", fmt.Errorf("an alternative text of %d characters came back", n)
	}
	return alt, nil
}

// fill puts alternative texts into the page. Nothing else of it changes.
func (d document) fill(alts []Alt) string {
	const name = len("<img")
	var b strings.Builder
	at := 0
	for _, a := range alts {
		to := d.images[a.Image].start + name
		b.WriteString(d.text[at:to] + ` alt="` + html.EscapeString(a.Text) + `"`)
		at = to
	}
	return b.String() + d.text[at:]
}
