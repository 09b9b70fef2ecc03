package answer

import (
	"encoding/base64"
	"fmt"
	"html"
	"net/url"
	"path"
	"strings"

	"assetferry/internal/pattern"
)

// A Processed is a changed document with a summary of the changes.
type Processed struct {
	Document string
	Summary  string
}

var (
	asksToFix     = pattern.Lazy(`(?i)\bgrammar\b|\bspelling\b|\btypos?\b|\bcorrect\b|\bproofread`)
	asksForNone   = pattern.Lazy(`(?i)\bno alt\b|\bwithout (?:an )?alt|\black|\bmissing\b`)
	asksForEmpty  = pattern.Lazy(`(?i)\bdecorat`)
	asksToReplace = pattern.Lazy(`(?i)\b(?:re-?write|re-?place|improve|over-?write|re-?do)`)
)

// Process applies a prompt to HTML documents. A prompt for alternative texts changes the images
// without one, with an empty one too unless it asks for missing ones only, or all images if it
// asks to replace or improve texts. The image comes from a data: URL or from fetch, which may
// be nil; otherwise the file name is used. If the prompt mentions decoration, decorative images
// get an empty alt. Corrections and translations are those of [Style.Act]. All other bytes stay
// the same. The style applies to new texts: alternative texts, and translations if the prompt
// names no language.
func (s Style) Process(prompt string, documents []string, fetch func(url string) ([]byte, error)) []Processed {
	all := make([]Processed, len(documents))
	for i, document := range documents {
		all[i] = s.process(prompt, document, fetch)
	}
	return all
}

func (s Style) process(prompt, document string, fetch func(url string) ([]byte, error)) Processed {
	in, named := asked(prompt)
	if !named && s.in != "" {
		in = s.in
	}
	switch {
	case wantsAlt().MatchString(prompt):
		return alts{prompt, in, fetch, s}.set(document)
	case asksTo().MatchString(prompt):
		return changed(document, in.translate(document), "the text was marked as "+string(in))
	case asksToFix().MatchString(prompt):
		return changed(document, Style{}.Act("fix-grammar", nil, document), "spelling and grammar were corrected with a short list")
	}
	return Processed{document, marked("nothing was changed, because no rule matches the prompt")}
}

func changed(before, after, what string) Processed {
	if before == after {
		what = "no change was needed"
	}
	return Processed{after, marked(what)}
}

// alts are the requested alternative texts.
type alts struct {
	prompt string
	in     tongue
	fetch  func(url string) ([]byte, error)
	style  Style
}

// set writes the alternative texts into a document.
func (a alts) set(document string) Processed {
	var b strings.Builder
	images, set := 0, 0
	for _, p := range pieces(document) {
		if p.name != "img" || p.end {
			b.WriteString(p.raw)
			continue
		}
		images++
		if !a.isAbout(p) {
			b.WriteString(p.raw)
			continue
		}
		set++
		b.WriteString(withAlt(p.raw, a.style.text(a.of(attribute(p, "src")))))
	}
	if images == 0 {
		return Processed{document, marked("nothing was changed, because the document has no image")}
	}
	return Processed{b.String(), marked(fmt.Sprintf("alternative texts were set for %d of %d images", set, images))}
}

// isAbout reports whether the prompt covers an image.
func (a alts) isAbout(img piece) bool {
	switch {
	case asksToReplace().MatchString(a.prompt):
		return true
	case asksForNone().MatchString(a.prompt):
		_, _, has := findAttribute(img.raw, "alt")
		return !has
	}
	return strings.TrimSpace(attribute(img, "alt")) == ""
}

// of describes the image at a URL, or the URL if the image is not available.
func (a alts) of(src string) string {
	name := fileName(src)
	data, ok := pictureAt(src, a.fetch)
	s := newSubject([]Attachment{{Name: name, Type: "image/*", Data: data}}, a.in)
	switch {
	case asksForEmpty().MatchString(a.prompt) && s.decorative():
		return ""
	case ok:
		return s.alt()
	}
	about := "a picture that could not be fetched"
	if name := words(name); name != "" {
		about = "a picture in a file called “" + short(name, 60) + "”"
	}
	return a.in.alt(about)
}

func attribute(p piece, name string) string {
	for _, a := range p.attr {
		if a.Key == name {
			return a.Val
		}
	}
	return ""
}

// fileName returns the last part of a URL; "" for a data: URL.
func fileName(src string) string {
	u, err := url.Parse(src)
	if err != nil || u.Scheme == "data" {
		return ""
	}
	return path.Base(u.Path)
}

func pictureAt(src string, fetch func(url string) ([]byte, error)) ([]byte, bool) {
	head, body, ok := strings.Cut(src, ",")
	if ok && strings.HasPrefix(strings.ToLower(head), "data:") {
		return dataOf(head, body)
	}
	if fetch == nil || !strings.HasPrefix(src, "http://") && !strings.HasPrefix(src, "https://") {
		return nil, false
	}
	data, err := fetch(src)
	return data, err == nil
}

// dataOf decodes a data: URL that was split at its comma.
func dataOf(head, body string) ([]byte, bool) {
	text, err := url.PathUnescape(body)
	if err != nil {
		return nil, false
	}
	if !strings.HasSuffix(strings.ToLower(head), ";base64") {
		return []byte(text), true
	}
	data, err := base64.StdEncoding.DecodeString(strings.Join(strings.Fields(text), ""))
	return data, err == nil
}

// withAlt sets the alt attribute of an img tag and changes nothing else.
func withAlt(tag, alt string) string {
	set := `alt="` + html.EscapeString(alt) + `"`
	if start, end, ok := findAttribute(tag, "alt"); ok {
		return tag[:start] + set + tag[end:]
	}
	const name = len("<img")
	return tag[:name] + " " + set + tag[name:]
}

// findAttribute finds an attribute with its value in a tag.
func findAttribute(tag, name string) (start, end int, ok bool) {
	for i := len("<img"); i < len(tag); {
		if strings.IndexByte(" \t\r\n\f/>", tag[i]) >= 0 {
			i++
			continue
		}
		start, end = i, i+1 // the first character may be "="
		for end < len(tag) && strings.IndexByte(" \t\r\n\f/>=", tag[end]) < 0 {
			end++
		}
		found := strings.EqualFold(tag[start:end], name)
		end = afterValue(tag, end)
		if found {
			return start, end, true
		}
		i = end
	}
	return 0, 0, false
}

// afterValue returns the end of the value of an attribute whose name ends at i. The value is
// optional.
func afterValue(tag string, i int) int {
	j := skip(tag, i)
	if j >= len(tag) || tag[j] != '=' {
		return i
	}
	j = skip(tag, j+1)
	if j >= len(tag) {
		return j
	}
	if quote := tag[j]; quote == '"' || quote == '\'' {
		if end := strings.IndexByte(tag[j+1:], quote); end >= 0 {
			return j + 1 + end + 1
		}
		return len(tag)
	}
	for j < len(tag) && strings.IndexByte(" \t\r\n\f>", tag[j]) < 0 {
		j++
	}
	return j
}

// skip returns the index after white space.
func skip(tag string, i int) int {
	for i < len(tag) && strings.IndexByte(" \t\r\n\f", tag[i]) >= 0 {
		i++
	}
	return i
}
