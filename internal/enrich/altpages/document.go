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

// An image is an <img> element.
type image struct {
	start, end int // of its tag
	line       int // from 1
	tag        markup.Token
	lacksAlt   bool
}

// An Alt is a new alternative text.
type Alt struct {
	Image  int    `json:"image"` // index of the <img> in the page, from 0
	Line   int    `json:"line"`
	Source string `json:"source"` // URL of the image
	Text   string `json:"alt"`    // "": the image is decorative
}

// Problems of a page.
var (
	errNotUTF8 = errors.New("the page is not in UTF-8: save it as UTF-8 first")
	errCut     = errors.New("the page ends within a tag")
)

// parse finds the images of a page. Content of scripts, comments and noscript counts as text.
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

// A piece of HTML is a token with its source text.
type piece struct {
	raw string
	img *markup.Token
}

// pieces splits HTML into tokens that contain all of the text. The last one may be an error.
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

// lacksAlt reports whether an image has no alternative text and no mark that it is decorative.
// An empty alt attribute is such a mark, as are some other attributes.
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

// lacking counts the images without alternative text.
func (d document) lacking() (n int) {
	for _, img := range d.images {
		if img.lacksAlt {
			n++
		}
	}
	return n
}

// byteOrderMark may begin a file. It is not part of the document.
const byteOrderMark = "\ufeff"

// with returns the document with other image sources.
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

// added returns the new alternative texts in an answer, if everything else in it is as sent.
func (d document) added(sent, answer string) ([]Alt, error) {
	before, err := apart(sent)
	if err != nil {
		return nil, err
	}
	after, err := apart(answer)
	if err != nil {
		return nil, fmt.Errorf("the answer cannot be parsed: %w", err)
	}
	var all []Alt
	images, line := 0, 1
	for n, p := range before {
		if n == len(after) {
			return nil, fmt.Errorf("line %d: the rest of the page is missing in the answer: %.60q", line, p.raw)
		}
		if !isSame(p, after[n]) {
			return nil, fmt.Errorf("line %d: the answer changes more than alternative texts: %.60q became %.60q", line, p.raw, after[n].raw)
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
		return nil, fmt.Errorf("the answer has additional content at the end: %.60q", after[len(before)].raw)
	}
	return all, nil
}

// apart splits a document into tokens, without surrounding white space and differences in line
// endings.
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

// isSame compares the source text of tokens, but of images only their attributes without alt,
// because the service may write the tags differently.
func isSame(a, b piece) bool {
	if a.img == nil || b.img == nil {
		return a.raw == b.raw
	}
	others := func(p piece) []markup.Attribute {
		return slices.DeleteFunc(slices.Clone(p.img.Attr), func(a markup.Attribute) bool { return a.Key == "alt" })
	}
	return slices.Equal(others(a), others(b))
}

// tidy returns alternative text that is valid in an attribute.
func tidy(alt string) (string, error) {
	alt = strings.Map(func(r rune) rune {
		if unicode.IsControl(r) && !unicode.IsSpace(r) || r == utf8.RuneError {
			return -1
		}
		return r
	}, alt)
	alt = strings.Join(strings.Fields(alt), " ")
	if n := utf8.RuneCountInString(alt); n > mostAlt {
		return "", fmt.Errorf("the answer has an alternative text of %d characters", n)
	}
	return alt, nil
}

// fill inserts alternative texts into the page and changes nothing else.
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
