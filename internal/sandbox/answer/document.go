package answer

import (
	"archive/zip"
	"bytes"
	"encoding/xml"
	"errors"
	"io"
	"path"
	"strings"
	"unicode/utf8"

	"golang.org/x/net/html"
)

// mostText limits the bytes of text that are read, after decompression.
const mostText = 4 << 20

// A kind is the kind of an attachment, detected from its content or else its type and name.
type kind string

const (
	pdfKind     kind = "PDF"
	wordKind    kind = "Word document"
	pageKind    kind = "HTML page"
	textKind    kind = "text"
	pictureKind kind = "picture"
)

func (a Attachment) kind() kind {
	contentType, _, _ := strings.Cut(strings.ToLower(a.Type), ";")
	extension := strings.ToLower(path.Ext(a.Name))
	switch {
	case bytes.HasPrefix(a.Data, []byte("%PDF-")):
		return pdfKind
	case bytes.HasPrefix(a.Data, []byte("PK\x03\x04")):
		return wordKind
	case strings.HasPrefix(contentType, "image/"):
		return pictureKind
	case contentType == "text/html", contentType == "" && (extension == ".html" || extension == ".htm"):
		return pageKind
	case contentType == "" && (extension == ".png" || extension == ".jpg" || extension == ".jpeg"):
		return pictureKind
	}
	return textKind
}

// TextOf returns the text of an attachment: simple fonts of a PDF, paragraphs of a DOCX,
// visible text of HTML, and other text unchanged. For images and unreadable files it returns
// "". It reads up to 4 MiB, also after decompression.
func TextOf(a Attachment) string {
	switch a.kind() {
	case pdfKind:
		return pdfText(a.Data)
	case wordKind:
		text, _ := docxText(a.Data) // the text before any damage
		return text
	case pageKind:
		return pageText(string(a.Data[:min(len(a.Data), mostText)]))
	case pictureKind:
		return ""
	}
	text := a.Data[:min(len(a.Data), mostText)]
	if bytes.IndexByte(text, 0) >= 0 {
		return ""
	}
	return strings.ToValidUTF8(string(text), "\uFFFD")
}

// docxText returns the paragraphs of a DOCX, which is a ZIP file with XML.
func docxText(data []byte) (string, error) {
	archive, err := zip.NewReader(bytes.NewReader(data), int64(len(data)))
	if err != nil {
		return "", err
	}
	file, err := archive.Open("word/document.xml")
	if err != nil {
		return "", err
	}
	defer func() { _ = file.Close() }()
	return paragraphs(io.LimitReader(file, mostText))
}

// paragraphs returns the content of "t" elements, one paragraph per line.
func paragraphs(r io.Reader) (string, error) {
	var b strings.Builder
	d, inText := xml.NewDecoder(r), false
	for {
		token, err := d.RawToken() // it keeps no stack of open elements
		if errors.Is(err, io.EOF) {
			return strings.TrimSpace(b.String()), nil
		}
		if err != nil {
			return strings.TrimSpace(b.String()), err
		}
		switch t := token.(type) {
		case xml.StartElement:
			inText = t.Name.Local == "t"
			if t.Name.Local == "tab" || t.Name.Local == "br" {
				b.WriteByte(' ')
			}
		case xml.EndElement:
			inText = false
			if t.Name.Local == "p" {
				b.WriteByte('\n')
			}
		case xml.CharData:
			if inText {
				b.Write(t)
			}
		}
	}
}

// pageText returns the visible text of HTML, one block per line.
func pageText(page string) string {
	var lines []string
	var b strings.Builder
	for _, p := range pieces(page) {
		switch {
		case p.text:
			b.WriteString(html.UnescapeString(p.raw))
		case p.block:
			lines = append(lines, line(b.String()))
			b.Reset()
		}
	}
	lines = append(lines, line(b.String()))
	return strings.ToValidUTF8(strings.Join(nonEmpty(lines), "\n"), "\uFFFD")
}

func nonEmpty(lines []string) []string {
	var some []string
	for _, l := range lines {
		if l != "" {
			some = append(some, l)
		}
	}
	return some
}

// Tokens returns the tokens of text and attachments for the limits: one for four characters,
// and one for 750 pixels. These are guesses.
func Tokens(text string, with []Attachment) int {
	tokens := (utf8.RuneCountInString(text) + 3) / 4
	for _, a := range with {
		if a.kind() == pictureKind {
			size, _ := measure(a.Data)
			tokens += (size.X*size.Y + 749) / 750
			continue
		}
		tokens += (utf8.RuneCountInString(TextOf(a)) + 3) / 4
	}
	return tokens
}
