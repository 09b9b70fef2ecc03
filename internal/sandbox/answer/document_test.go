package answer

import (
	"archive/zip"
	"bytes"
	"compress/zlib"
	"fmt"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"
)

const wordType = "application/vnd.openxmlformats-officedocument.wordprocessingml.document"

// docx returns a DOCX with several copies of a paragraph.
func docx(t testing.TB, paragraph string, copies int) []byte {
	t.Helper()
	var b bytes.Buffer
	z := zip.NewWriter(&b)
	w, err := z.Create("word/document.xml")
	if err != nil {
		t.Fatal(err)
	}
	text := `<?xml version="1.0"?><w:document xmlns:w="w"><w:body>` + strings.Repeat(paragraph, copies) + `</w:body></w:document>`
	if _, err := w.Write([]byte(text)); err != nil {
		t.Fatal(err)
	}
	if err := z.Close(); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

// deflated returns a compressed stream of a PDF.
func deflated(t testing.TB, dictionary, content string) string {
	t.Helper()
	var b bytes.Buffer
	z := zlib.NewWriter(&b)
	if _, err := z.Write([]byte(content)); err != nil {
		t.Fatal(err)
	}
	if err := z.Close(); err != nil {
		t.Fatal(err)
	}
	return fmt.Sprintf("9 0 obj\n<<%s /Filter /FlateDecode /Length %d>>\nstream\r\n%s\nendstream\nendobj\n", dictionary, b.Len(), b.Bytes())
}

const plainPDF = "%PDF-1.4\n1 0 obj <</Type /Pages /Count 2>> endobj\n2 0 obj <</Type /Page/Parent 1 0 R>> endobj\n3 0 obj <</Type/Page >> endobj\n" +
	"4 0 obj <</Length 60>>\nstream\nBT /F1 12 Tf 72 712 Td (Annual \\(first\\)) Tj [(re) -20 (port)] TJ 0 -14 Td <416C6C> Tj ET\nendstream endobj\n"

func compressedPDF(t testing.TB) string {
	return "%PDF-1.7\n" + deflated(t, "/Type /ObjStm", "1 0 2 30 <</Type /Page >> <</Type /Page>> <</Type /Pages>>") +
		deflated(t, "", "BT (Hello) Tj ET") + deflated(t, "/Subtype /Image", "BT (no text) Tj ET")
}

func TestTextOf(t *testing.T) {
	for name, tt := range map[string]struct {
		a    Attachment
		want string
	}{
		"text":           {Attachment{Type: "text/plain; charset=utf-8", Data: []byte("a\nb")}, "a\nb"},
		"Markdown":       {Attachment{Name: "a.md", Type: "text/markdown", Data: []byte("# A <b>")}, "# A <b>"},
		"not UTF-8":      {Attachment{Data: []byte("a\xffb")}, "a\uFFFDb"},
		"no text":        {Attachment{Data: []byte("a\x00b")}, ""},
		"HTML":           {Attachment{Type: "text/html", Data: []byte("<title>T</title><script>x()</script><h1>A &amp;  B</h1><p>c <b>d</b><!-- e -->")}, "A & B\nc d"},
		"HTML by name":   {Attachment{Name: "a.HTM", Data: []byte("<p>a")}, "a"},
		"picture":        {Attachment{Type: "image/png", Data: []byte("text")}, ""},
		"DOCX":           {Attachment{Type: wordType, Data: docx(t, "<w:p><w:r><w:t>One</w:t><w:tab/><w:t>two &amp; three</w:t></w:r></w:p><w:p><w:t>Four</w:t></w:p>", 1)}, "One two & three\nFour"},
		"another ZIP":    {Attachment{Data: []byte("PK\x03\x04rest")}, ""},
		"damaged XML":    {Attachment{Data: docx(t, "<w:p><w:t>One</w:t></w:p><&", 1)}, "One"},
		"PDF":            {Attachment{Data: []byte(plainPDF)}, "Annual (first)report\nAll"},
		"compressed PDF": {Attachment{Type: "application/pdf", Data: []byte(compressedPDF(t))}, "Hello"},
		"UTF-16 in PDF":  {Attachment{Data: []byte("%PDF-1.4\nobj<<>>stream\n<FEFF00C4> Tj (a\\n\\101b) Tj\nendstream")}, "Äa Ab"},
		"damaged PDF":    {Attachment{Data: []byte("%PDF-1.4\nobj<</FlateDecode>>stream\nno zlib endstream obj stream (never closed")}, ""},
	} {
		t.Run(name, func(t *testing.T) {
			if diff := cmp.Diff(tt.want, TextOf(tt.a)); diff != "" {
				t.Error(diff)
			}
		})
	}
}

// TestBombs verifies that decompression is limited.
func TestBombs(t *testing.T) {
	const paragraph = "<w:p><w:t>more and more</w:t></w:p>"
	bomb := docx(t, paragraph, 2*mostText/len(paragraph))
	if got := TextOf(Attachment{Data: bomb}); len(got) == 0 || len(got) > mostText {
		t.Errorf("a DOCX of %d bytes has %d bytes of text", len(bomb), len(got))
	}
	pdf := "%PDF-1.4\n" + strings.Repeat(deflated(t, "", strings.Repeat("(more)Tj ", mostText/16)), 4)
	if got := TextOf(Attachment{Data: []byte(pdf)}); len(got) == 0 || len(got) > mostText {
		t.Errorf("a PDF of %d bytes has %d bytes of text", len(pdf), len(got))
	}
}

func TestPDFPages(t *testing.T) {
	for name, tt := range map[string]struct {
		data string
		want int
	}{"plain": {plainPDF, 2}, "compressed": {compressedPDF(t), 2}, "no PDF": {"/Type /Page ", 0}} {
		if got := PDFPages([]byte(tt.data)); got != tt.want {
			t.Errorf("%s: got %d, want %d", name, got, tt.want)
		}
	}
}

func FuzzTextOf(f *testing.F) {
	f.Add("", "", []byte(plainPDF))
	f.Add("", "", []byte(compressedPDF(f)))
	f.Add("a.docx", wordType, docx(f, "<w:p><w:t>One</w:t></w:p>", 1))
	f.Add("a.html", "text/html", []byte("<p>a<script>b</p>"))
	f.Add("a.png", "image/png", slateAndSand(f).Data)
	f.Fuzz(func(t *testing.T, name, contentType string, data []byte) {
		a := Attachment{Name: name, Type: contentType, Data: data}
		if text := TextOf(a); !utf8.ValidString(text) || text != TextOf(a) {
			t.Errorf("%q", text)
		}
		if alt := plain.Reply("alt text in German (de)", []Attachment{a}, nil); utf8.RuneCountInString(alt) > mostAlt {
			t.Errorf("%d characters: %s", utf8.RuneCountInString(alt), alt)
		}
		PDFPages(data)
		Tokens("", []Attachment{a})
	})
}
