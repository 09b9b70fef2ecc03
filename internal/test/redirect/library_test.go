//go:build webserver

package redirect

import (
	"bytes"
	"fmt"
	"image"
	"image/color"
	"image/jpeg"
	"image/png"
	"os"
	"path/filepath"
	"testing"
)

// A library maps the keys of all valid files to their contents.
type library struct {
	dir   string
	files map[string][]byte
}

// newLibrary returns a library of n valid files, most of them pictures, and a few others as every
// real library has.
func newLibrary(t *testing.T, dir string, n int) *library {
	t.Helper()
	l := &library{dir, map[string][]byte{}}
	for i := range n {
		l.add(t, i)
	}
	for name, content := range map[string]string{
		"2024/01/.DS_Store":       "junk",
		"2024/01/drawing.sketchy": "of no category",
		"notes.unknownext":        "neither",
	} {
		l.write(t, name, []byte(content))
	}
	return l
}

// add writes the file with a number.
func (l *library) add(t *testing.T, i int) (key string) {
	t.Helper()
	folder := fmt.Sprintf("%d/%02d", 2019+i%6, 1+i/6%12)
	var content []byte
	switch i % 20 {
	case 0, 1, 2, 3:
		key = fmt.Sprintf("%s/Grafik %05d.png", folder, i)
		content = picture(t, i, func(b *bytes.Buffer, m image.Image) error { return png.Encode(b, m) })
	case 4:
		key, content = fmt.Sprintf("%s/papers/offer %05d (final) 100%%.pdf", folder, i), fmt.Appendf(nil, "%%PDF-1.4\n%% number %d\n", i)
	case 5:
		key, content = fmt.Sprintf("%s/Übersicht #%05d & 'more'.txt", folder, i), fmt.Appendf(nil, "text %d\n", i)
	default:
		key = fmt.Sprintf("%s/img_%05d.jpg", folder, i)
		content = picture(t, i, func(b *bytes.Buffer, m image.Image) error { return jpeg.Encode(b, m, nil) })
	}
	l.write(t, key, content)
	l.files[key] = content
	return key
}

func (l *library) write(t *testing.T, key string, content []byte) {
	t.Helper()
	path := filepath.Join(l.dir, filepath.FromSlash(key))
	must(t, os.MkdirAll(filepath.Dir(path), 0o755))
	must(t, os.WriteFile(path, content, 0o644))
}

// picture returns a small picture that is unique for its number.
func picture(t *testing.T, i int, encode func(*bytes.Buffer, image.Image) error) []byte {
	t.Helper()
	m := image.NewNRGBA(image.Rect(0, 0, 64, 48))
	for y := range 48 {
		for x := range 64 {
			m.SetNRGBA(x, y, color.NRGBA{R: uint8(i), G: uint8(i >> 8), B: uint8(x * y), A: 255})
		}
	}
	var b bytes.Buffer
	must(t, encode(&b, m))
	return b.Bytes()
}

func must(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}
