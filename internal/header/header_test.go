package header

import (
	"bytes"
	"compress/gzip"
	"encoding/binary"
	"errors"
	"image"
	"image/color"
	"image/gif"
	"image/jpeg"
	"image/png"
	"io"
	"strings"
	"testing"

	"golang.org/x/image/bmp"
	"golang.org/x/image/tiff"
)

func must(tb testing.TB, err error) {
	tb.Helper()
	if err != nil {
		tb.Fatal(err)
	}
}

// pictures are images of 30 x 20 in each kind that can be made here.
func pictures(tb testing.TB) map[Kind][]byte {
	tb.Helper()
	picture := image.NewPaletted(image.Rect(0, 0, 30, 20), color.Palette{color.Black, color.White})
	all := map[Kind][]byte{
		// The header of a lossless WebP, which contains only its size.
		WebP: []byte("RIFF\x1e\x00\x00\x00WEBPVP8L\x11\x00\x00\x00\x2f\x1d\xc0\x04\x00" + strings.Repeat("\x00", 16)),
	}
	for kind, encode := range map[Kind]func(io.Writer) error{
		JPEG: func(w io.Writer) error { return jpeg.Encode(w, picture, nil) },
		PNG:  func(w io.Writer) error { return png.Encode(w, picture) },
		GIF:  func(w io.Writer) error { return gif.Encode(w, picture, nil) },
		TIFF: func(w io.Writer) error { return tiff.Encode(w, picture, nil) },
		BMP:  func(w io.Writer) error { return bmp.Encode(w, picture) },
	} {
		var b bytes.Buffer
		must(tb, encode(&b))
		all[kind] = b.Bytes()
	}
	return all
}

func TestKindOf(t *testing.T) {
	for kind, content := range pictures(t) {
		if got := KindOf(content); got != kind {
			t.Errorf("%s: got %q", kind, got)
		}
	}
	windows := make([]byte, 200)
	copy(windows, "MZ")
	binary.LittleEndian.PutUint32(windows[60:], 128)
	copy(windows[128:], "PE\x00\x00")
	for content, want := range map[string]Kind{
		"":           "",
		"plain text": "",
		"MZ is how this text begins, and it goes on for more than the 64 bytes of a header": "",
		string(windows):   Program,
		"\x7fELF\x02\x01": Program,
		"BM is no bitmap, whatever it looks like": "",
		"II+\x00\x08\x00":                         BigTIFF,
		"\x00\x00\x00\x18ftypmp42\x00":            Video,
		"\x00\x00\x00\x18ftypheic\x00":            HEIF,
		"\x00\x00\x00\x18ftypavif\x00":            HEIF,
		"RIFF\x00\x00\x00\x00WAVEfmt":             RIFF,
		"%PDF-1.7":                                PDF,
		"\n\njunk %PDF-1.4":                       PDF,
		"PK\x03\x04\x14":                          ZIP,
		"\x1f\x8b\x08\x00":                        GZIP,
		"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1":        OLE,
		"<svg>":                                   SVG,
		"\xef\xbb\xbf <?xml version='1.0'?>\n<!-- drawn by hand -->\n<SVG width='1'>": SVG,
		"<?xml version='1.0'?><x:svg xmlns:x='http://www.w3.org/2000/svg'/>":          SVG,
		"<!DOCTYPE svg PUBLIC '-//W3C//DTD SVG 1.1//EN' ''><svg/>":                    SVG,
		"<svgs>":                      "",
		"<?xml version='1.0'?><rss/>": XML,
		"<!doctype html><p>":          HTML,
		"\r\n<HTML lang=en>":          HTML,
		"<!-- first --><html>":        HTML,
		"<p>a part of a page</p>":     "",
	} {
		if got := KindOf([]byte(content)); got != want {
			t.Errorf("%.40q: got %q, want %q", content, got, want)
		}
	}
}

func TestAgrees(t *testing.T) {
	for _, test := range []struct {
		extension string
		kind      Kind
		want      bool
	}{
		{"jpg", JPEG, true}, {"jpg", PNG, false}, {"jpg", "", false}, {"jpeg", HTML, false},
		{"mp4", Video, true}, {"mp4", HTML, false}, {"mov", "", true}, {"heic", Video, true},
		{"docx", ZIP, true}, {"docx", OLE, true}, {"docx", "", false}, {"zip", "", true}, {"zip", Program, true},
		{"txt", "", true}, {"txt", HTML, true}, {"txt", Program, false}, {"pdf", Program, false},
		{"exe", Program, true}, {"", Program, true}, {"unheard-of", PNG, true}, {"xml", SVG, true}, {"svg", HTML, false}, {"svg", "", true},
		{"tif", BigTIFF, true},
	} {
		if got := Agrees(test.extension, test.kind); got != test.want {
			t.Errorf("%s, %s: got %v", test.extension, test.kind, got)
		}
	}
	if !IsImage("jpg") || !IsImage("tiff") || IsImage("svg") || IsImage("heic") || IsImage("txt") || IsImage("") {
		t.Error("not every image is known for one")
	}
}

func TestSize(t *testing.T) {
	for kind, content := range pictures(t) {
		width, height, err := Size(kind, bytes.NewReader(content), int64(len(content)))
		if err != nil || width != 30 || height != 20 {
			t.Errorf("%s: %d x %d (%v)", kind, width, height, err)
		}
		for _, n := range []int{len(KindOf(content)), 9, 16} {
			if _, _, err := Size(kind, bytes.NewReader(content[:n]), int64(n)); err == nil || errors.Is(err, ErrUnknown) {
				t.Errorf("%s, cut off after %d bytes: %v", kind, n, err)
			}
		}
	}
	for _, kind := range []Kind{HEIF, PDF, BigTIFF, ""} {
		if _, _, err := Size(kind, strings.NewReader("x"), 1); !errors.Is(err, ErrUnknown) {
			t.Errorf("%s: %v", kind, err)
		}
	}
}

// TestSizeFarBehind verifies that data before the size of an image is read up to a limit. An image
// whose size is beyond the limit has an unknown size.
func TestSizeFarBehind(t *testing.T) {
	content := pictures(t)[JPEG]
	profile := append([]byte{0xff, 0xe2, 0xff, 0xff}, make([]byte, 0xfffd)...)
	for _, test := range []struct {
		profiles int
		want     error
	}{{10, nil}, {MostRead/0xffff + 1, ErrUnknown}} {
		long := append(append([]byte{0xff, 0xd8}, bytes.Repeat(profile, test.profiles)...), content[2:]...)
		r := &counting{ReaderAt: bytes.NewReader(long)}
		if width, _, err := Size(JPEG, r, int64(len(long))); !errors.Is(err, test.want) || err == nil && width != 30 {
			t.Errorf("behind %d profiles: %v", test.profiles, err)
		}
		if r.n > MostRead {
			t.Errorf("%d bytes were read", r.n)
		}
	}
}

type counting struct {
	io.ReaderAt
	n int64
}

func (c *counting) ReadAt(p []byte, at int64) (int, error) {
	n, err := c.ReaderAt.ReadAt(p, at)
	c.n += int64(n)
	return n, err
}

// TestSizeUnreadable verifies that a read error is not reported as a damaged image.
func TestSizeUnreadable(t *testing.T) {
	broken := errors.New("the disk is broken")
	for kind := range pictures(t) {
		if _, _, err := Size(kind, failing{broken}, 1000); err != broken {
			t.Errorf("%s: %v", kind, err)
		}
	}
	if _, err := Active(io.MultiReader(strings.NewReader("<svg>"), failing{broken})); err != broken {
		t.Errorf("drawing: %v", err)
	}
}

type failing struct{ err error }

func (f failing) Read([]byte) (int, error)          { return 0, f.err }
func (f failing) ReadAt([]byte, int64) (int, error) { return 0, f.err }

func zipped(tb testing.TB, text string) string {
	tb.Helper()
	var b bytes.Buffer
	w := gzip.NewWriter(&b)
	_, err := w.Write([]byte(text))
	must(tb, errors.Join(err, w.Close()))
	return b.String()
}

func TestActive(t *testing.T) {
	const script, handler, foreign, elsewhere = "a script", "an event handler", "foreign content", "an external reference"
	for text, want := range map[string]string{
		`<svg><path d="M0 0"/></svg>`: "",
		`<?xml version="1.0" encoding="ISO-8859-1"?><svg><text>` + "caf\xe9" + `</text></svg>`:                     "",
		`<svg xmlns:xlink="http://www.w3.org/1999/xlink"><use xlink:href="#a" fill="url( '#b' )"/></svg>`:          "",
		`<svg><image href="data:image/png;base64,AAAA"/><a href=""/></svg>`:                                        "",
		`<svg><style>.a { fill: url(#b) }</style></svg>`:                                                           "",
		`<!DOCTYPE svg PUBLIC "-//W3C//DTD SVG 1.1//EN" "http://www.w3.org/Graphics/SVG/1.1/DTD/svg11.dtd"><svg/>`: "",
		`<svg/>` + "\n": "",
		"":              "",

		`<svg><script>alert(1)</script></svg>`:                                      script,
		`<s:svg xmlns:s="http://www.w3.org/2000/svg"><s:SCRIPT href="#x"/></s:svg>`: script,
		`<svg onload="x()"/>`:                                                            handler,
		`<svg><g ONCLICK = 'x()'/></svg>`:                                                handler,
		`<svg><handler type="text/x"/></svg>`:                                            handler,
		`<svg><foreignObject><p/></foreignObject></svg>`:                                 foreign,
		`<svg><iframe src="#"/></svg>`:                                                   foreign,
		`<svg><use href="data:text/html,x"/></svg>`:                                      foreign,
		`<svg><use href="data:image/svg+xml,x"/></svg>`:                                  foreign,
		`<svg><a xlink:href="https://example.com"/></svg>`:                               elsewhere,
		`<svg><a href="//example.com/x"/></svg>`:                                         elsewhere,
		`<svg><image href="other.png"/></svg>`:                                           elsewhere,
		`<svg><a href=" java&#10;script:alert(1)"/></svg>`:                               script,
		`<svg><animate attributeName="href" to="javascript:alert(1)"/></svg>`:            script,
		`<svg><style>@import "x.css";</style></svg>`:                                     elsewhere,
		`<svg><style><![CDATA[ .a { fill: URL("http://example.com") } ]]></style></svg>`: elsewhere,
		`<svg style="fill: url(#a) url(http://x)"/>`:                                     elsewhere,
		`<?xml-stylesheet href="x.css"?><svg/>`:                                          "a style sheet of its own",
		`<!DOCTYPE svg [<!ENTITY a "b">]><svg/>`:                                         "entities",
		`<svg><`:                                                                         unclear,
		"<\x00svg>":                                                                      unclear,
		"\xff\xfe<\x00s\x00v\x00g\x00":                                                   unclear,
		zipped(t, `<svg><script/></svg>`):                                                script,
		zipped(t, `<svg/>`):                                                              "",
		"\x1f\x8b\x08 not gzip":                                                          unclear,
		zipped(t, `<svg>`+strings.Repeat(" ", MostDrawn)):                                "too large to check",
		`<svg>` + strings.Repeat(" ", MostDrawn):                                         "too large to check",
	} {
		got, err := Active(strings.NewReader(text))
		if err != nil || got != want {
			t.Errorf("%.80q: got %q (%v), want %q", text, got, err, want)
		}
	}
}

// FuzzSize verifies that any content causes no panic, reads at most MostRead bytes, and never gives
// a size that is not positive.
func FuzzSize(f *testing.F) {
	for _, content := range pictures(f) {
		f.Add(content)
	}
	f.Add([]byte("MM\x00*\x7f\xff\xff\xff"))
	f.Fuzz(func(t *testing.T, content []byte) {
		kind := KindOf(content)
		r := &counting{ReaderAt: bytes.NewReader(content)}
		width, height, err := Size(kind, r, int64(len(content)))
		if err == nil && (width <= 0 || height <= 0) {
			t.Errorf("%d x %d", width, height)
		}
		if r.n > MostRead {
			t.Errorf("%d bytes were read", r.n)
		}
		for _, extension := range []string{"jpg", "svg", "docx", ""} {
			Agrees(extension, kind)
		}
	})
}

// FuzzActive verifies that any drawing is read without an error, and that a drawing which ends
// within a script is always reported.
func FuzzActive(f *testing.F) {
	f.Add(`<svg><path d="M0 0"/></svg>`)
	f.Add(`<?xml version="1.0" encoding="latin1"?><svg style="fill: url(#a"><a href=x:y/></svg>`)
	f.Add(zipped(f, "<svg/>"))
	f.Fuzz(func(t *testing.T, text string) {
		if _, err := Active(strings.NewReader(text)); err != nil {
			t.Error(err)
		}
		if what, err := Active(strings.NewReader("<svg><script>" + text)); err != nil || what == "" {
			t.Errorf("a script passes: %q (%v)", what, err)
		}
	})
}
