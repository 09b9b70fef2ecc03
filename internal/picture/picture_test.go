package picture

import (
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"hash/crc32"
	"image"
	"image/color"
	"image/gif"
	"image/jpeg"
	"image/png"
	"io"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/HugoSmits86/nativewebp"
	"github.com/deepteams/webp"
	"golang.org/x/image/bmp"
	"golang.org/x/image/tiff"

	"assetferry/internal/metadata/imagetest"
)

// corners returns an image whose quarters are red, green (right), blue (below) and white.
func corners(width, height int) *image.NRGBA {
	m := image.NewNRGBA(image.Rect(0, 0, width, height))
	for y := range height {
		for x := range width {
			c := color.NRGBA{255, 0, 0, 255}
			switch right, low := x >= width/2, y >= height/2; {
			case right && low:
				c = color.NRGBA{255, 255, 255, 255}
			case right:
				c = color.NRGBA{0, 255, 0, 255}
			case low:
				c = color.NRGBA{0, 0, 255, 255}
			}
			m.SetNRGBA(x, y, c)
		}
	}
	return m
}

// seen returns the colours of the quarters of an image: top left, top right, below.
func seen(m image.Image) string {
	b := m.Bounds()
	name := func(x, y int) string {
		r, g, blue, a := m.At(b.Min.X+x*b.Dx()/4, b.Min.Y+y*b.Dy()/4).RGBA()
		switch r, g, blue := r > 0x8000, g > 0x8000, blue > 0x8000; {
		case a < 0x8000:
			return "-"
		case r && g && blue:
			return "W"
		case r:
			return "R"
		case g:
			return "G"
		case blue:
			return "B"
		}
		return "0"
	}
	return name(1, 1) + name(3, 1) + name(1, 3) + name(3, 3)
}

func paletted(m image.Image) *image.Paletted {
	p := image.NewPaletted(m.Bounds(), color.Palette{color.White, color.NRGBA{255, 0, 0, 255}, color.NRGBA{0, 255, 0, 255}, color.NRGBA{0, 0, 255, 255}})
	for y := range p.Rect.Dy() {
		for x := range p.Rect.Dx() {
			p.Set(x, y, m.At(x, y))
		}
	}
	return p
}

func written(t testing.TB, encode func(io.Writer) error) []byte {
	t.Helper()
	var b bytes.Buffer
	if err := encode(&b); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

// files are a picture in every format that is read.
func files(t testing.TB, m image.Image) map[string][]byte {
	return map[string][]byte{
		"jpeg":          written(t, func(w io.Writer) error { return jpeg.Encode(w, m, &jpeg.Options{Quality: 95}) }),
		"png":           written(t, func(w io.Writer) error { return png.Encode(w, m) }),
		"gif":           written(t, func(w io.Writer) error { return gif.Encode(w, paletted(m), nil) }),
		"webp":          written(t, func(w io.Writer) error { return nativewebp.Encode(w, m, nil) }),
		"animated webp": animated(t, m),
		"bmp":           written(t, func(w io.Writer) error { return bmp.Encode(w, m) }),
		"tiff":          written(t, func(w io.Writer) error { return tiff.Encode(w, m, nil) }),
		"deflated tiff": written(t, func(w io.Writer) error { return tiff.Encode(w, m, &tiff.Options{Compression: tiff.Deflate}) }),
	}
}

// animated returns an animated WebP that repeats an image.
func animated(t testing.TB, m image.Image) []byte {
	still := written(t, func(w io.Writer) error { return nativewebp.Encode(w, m, nil) })
	return animation(m.Bounds().Size(), chunk(still, "VP8L"))
}

// animation returns an animated WebP that repeats a frame.
func animation(size image.Point, frame []byte) []byte {
	const animated = 0x02
	place := slices.Concat(make([]byte, 6), int24(size.X-1), int24(size.Y-1), int24(100), []byte{0})
	frame = imagetest.RIFF("ANMF", slices.Concat(place, frame))
	return webpOf(size.Mul(2), animated, imagetest.RIFF("ANIM", make([]byte, 6)), frame, frame)
}

// webpOf returns an extended WebP.
func webpOf(size image.Point, flags byte, chunks ...[]byte) []byte {
	head := slices.Concat([]byte{flags, 0, 0, 0}, int24(size.X-1), int24(size.Y-1))
	return imagetest.RIFF("RIFF", slices.Concat([]byte("WEBP"), imagetest.RIFF("VP8X", head), slices.Concat(chunks...)))
}

func int24(n int) []byte { return []byte{byte(n), byte(n >> 8), byte(n >> 16)} }

// chunk returns the last chunk of a simple WebP.
func chunk(webp []byte, name string) []byte { return webp[bytes.Index(webp, []byte(name)):] }

func decoded(t testing.TB, p Picture) image.Image {
	t.Helper()
	m, format, err := image.Decode(bytes.NewReader(p.Data))
	if err != nil || "image/"+format != p.Type || m.Bounds() != image.Rect(0, 0, p.Width, p.Height) {
		t.Fatalf("%s of %d × %d is %s of %v: %v", p.Type, p.Width, p.Height, format, m.Bounds(), err)
	}
	return m
}

func TestFitReadsEveryFormat(t *testing.T) {
	for name, file := range files(t, corners(300, 200)) {
		p, err := Fit(t.Context(), file, Limits{Side: 100})
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		wantType := JPEG
		if name == "gif" {
			wantType = PNG
		}
		if got := seen(decoded(t, p)); got != "RGBW" || p.Type != wantType || p.Width != 100 || p.Height != 67 {
			t.Errorf("%s: %s of %d × %d shows %s", name, p.Type, p.Width, p.Height, got)
		}
	}
}

func TestFitReadsAnimationsWithOpacity(t *testing.T) {
	m := corners(60, 40)
	lossy := written(t, func(w io.Writer) error { return webp.Encode(w, m, webp.DefaultOptions()) })
	opacity := bytes.Repeat([]byte{255}, 1+60*40)
	clear(opacity[:1+60*20]) // uncompressed, the upper half transparent
	p, err := Fit(t.Context(), animation(m.Rect.Size(), slices.Concat(imagetest.RIFF("ALPH", opacity), chunk(lossy, "VP8 "))), Limits{})
	if err != nil {
		t.Fatal(err)
	}
	if got := seen(decoded(t, p)); got != "--BW" || p.Type != PNG {
		t.Errorf("%s that shows %s", p.Type, got)
	}
}

// orientated returns a file with an orientation in its EXIF. The image comes from an encoder, and
// the EXIF is inserted where the format expects it.
func orientated(t testing.TB, format string, m image.Image, orientation byte) []byte {
	exif := imagetest.TIFF(binary.BigEndian, false, []imagetest.Entry{{Tag: 0x0112, Kind: 3, Value: []byte{0, orientation}}})
	binary.BigEndian.PutUint32(exif[8+2+4:], 1) // the count: one value of two bytes
	file := files(t, m)[format]
	switch format {
	case "jpeg":
		return slices.Concat(file[:2], imagetest.Segment(0xe1, "Exif\x00\x00", string(exif)), file[2:])
	case "png": // a chunk with the right sum, before the end
		const end = 12
		return slices.Concat(file[:len(file)-end], pngChunk("eXIf", exif), file[len(file)-end:])
	case "webp":
		const hasEXIF = 0x08
		return webpOf(m.Bounds().Size(), hasEXIF, chunk(file, "VP8L"), imagetest.RIFF("EXIF", exif))
	}
	t.Fatalf("no orientation in %s", format)
	return nil
}

func TestFitRotatesAsEXIFSays(t *testing.T) {
	for orientation, want := range map[byte]string{
		0: "RGBW", 1: "RGBW", 2: "GRWB", 3: "WBGR", 4: "BWRG", 5: "RBGW", 6: "BRWG", 7: "WGBR", 8: "GWRB", 9: "RGBW",
	} {
		for _, format := range []string{"jpeg", "png", "webp"} {
			for _, side := range []int{1000, 30} { // original size, and reduced
				p, err := Fit(t.Context(), orientated(t, format, corners(60, 40), orientation), Limits{Side: side})
				if err != nil {
					t.Errorf("%d in %s: %v", orientation, format, err)
					continue
				}
				isTall := p.Height > p.Width
				if got := seen(decoded(t, p)); got != want || isTall != (orientation >= 5 && orientation <= 8) {
					t.Errorf("%d in %s, side %d: %d × %d shows %s, want %s", orientation, format, side, p.Width, p.Height, got, want)
				}
			}
		}
	}
}

func TestFitRotatesExactly(t *testing.T) {
	m := image.NewNRGBA(image.Rect(3, 5, 6, 7)) // 3 × 2, not at the origin
	for i := range m.Pix {
		m.Pix[i] = byte(i | 0xc0)
	}
	for orientation := 1; orientation <= 8; orientation++ {
		once := rotate(m, orientation)
		if back := rotate(once, [...]int{1: 1, 2, 3, 4, 5, 8, 7, 6}[orientation]); !equal(back, m) {
			t.Errorf("%d and back is another picture: %v", orientation, back)
		}
	}
}

func equal(a, b image.Image) bool {
	if a.Bounds().Size() != b.Bounds().Size() {
		return false
	}
	for y := range a.Bounds().Dy() {
		for x := range a.Bounds().Dx() {
			ar, ag, ab, aa := a.At(a.Bounds().Min.X+x, a.Bounds().Min.Y+y).RGBA()
			br, bg, bb, ba := b.At(b.Bounds().Min.X+x, b.Bounds().Min.Y+y).RGBA()
			if ar>>8 != br>>8 || ag>>8 != bg>>8 || ab>>8 != bb>>8 || aa>>8 != ba>>8 {
				return false
			}
		}
	}
	return true
}

func TestFitLeavesNothingOfTheOriginalBehind(t *testing.T) {
	const secret = "52 Wren Street"
	text := imagetest.Embedded{EXIF: []imagetest.Entry{imagetest.ASCII(0x010e, secret)}, XMP: "<x:xmpmeta>" + secret + "</x:xmpmeta>", IPTC: imagetest.DataSet(2, 120, secret)}
	jpegFile, small := files(t, corners(60, 40))["jpeg"], text.JPEG()
	withText := slices.Concat(small[:bytes.LastIndex(small, []byte("\xff\xda"))], jpegFile[2:], []byte(secret))
	hidden := corners(60, 40)
	for i := range hidden.Pix[:4*len(secret)] {
		if hidden.Pix[i] = secret[i/4]; i%4 == 3 {
			hidden.Pix[i] = 0 // fully transparent
		}
	}
	for name, file := range map[string][]byte{
		"jpeg": withText, "png": slices.Concat(files(t, corners(60, 40))["png"][:33], pngChunk("tEXt", []byte("Comment\x00"+secret)), files(t, corners(60, 40))["png"][33:]),
		"colours": written(t, func(w io.Writer) error { return png.Encode(w, hidden) }),
	} {
		if name != "colours" && !bytes.Contains(file, []byte(secret)) {
			t.Fatalf("%s: nothing to find", name)
		}
		p, err := Fit(t.Context(), file, Limits{})
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		if bytes.Contains(p.Data, []byte(secret)) || bytes.Contains(p.Data, []byte("Exif")) {
			t.Errorf("%s: the text is in what is made", name)
		}
		if name == "colours" {
			if r, g, b, a := decoded(t, p).At(0, 0).RGBA(); r|g|b|a != 0 {
				t.Errorf("the colour of what is transparent is kept: %x %x %x %x", r, g, b, a)
			}
		}
	}
}

// noise returns an image that no format compresses well.
func noise(width, height int, opaque bool) *image.NRGBA {
	m := image.NewNRGBA(image.Rect(0, 0, width, height))
	random := rand.New(rand.NewPCG(1, 2))
	for i := range m.Pix {
		m.Pix[i] = byte(random.Uint32())
		if opaque && i%4 == 3 {
			m.Pix[i] = 255
		}
	}
	return m
}

func TestFitChoosesTheFormat(t *testing.T) {
	drawing := corners(60, 40)
	drawing.SetNRGBA(0, 0, color.NRGBA{})
	for name, test := range map[string]struct {
		m     image.Image
		types []string
		want  string
		shows string // the colour at the top left
	}{
		"photo":                  {corners(60, 40), nil, JPEG, "R"},
		"photo, only PNG":        {corners(60, 40), []string{PNG}, PNG, "R"},
		"transparent":            {drawing, nil, PNG, "R"},
		"transparent, only JPEG": {drawing, []string{"image/webp", JPEG}, JPEG, "R"},
		"palette":                {paletted(corners(60, 40)), nil, PNG, "R"},
		"nothing, only JPEG":     {image.NewNRGBA(image.Rect(0, 0, 60, 40)), []string{JPEG}, JPEG, "W"},
		"nothing":                {image.NewNRGBA(image.Rect(0, 0, 60, 40)), nil, PNG, "-"},
		"too much for a drawing": {noise(530, 530, false), nil, JPEG, ""},
	} {
		file := written(t, func(w io.Writer) error { return png.Encode(w, test.m) })
		p, err := Fit(t.Context(), file, Limits{Types: test.types})
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		if got := seen(decoded(t, p)); p.Type != test.want || !strings.HasPrefix(got, test.shows) {
			t.Errorf("%s: %s that shows %s, want %s, %s", name, p.Type, got, test.want, test.shows)
		}
	}
	if _, err := Fit(t.Context(), files(t, drawing)["png"], Limits{Types: []string{"image/webp"}}); !errors.Is(err, ErrType) {
		t.Errorf("a model that takes WebP only: %v", err)
	}
}

func TestFitKeepsToTheBytes(t *testing.T) {
	file := written(t, func(w io.Writer) error { return png.Encode(w, noise(200, 150, true)) })
	var before Picture
	for _, most := range []int64{1_000_000, 22_000, 12_000, 8000, 3000, 1500} {
		p, err := Fit(t.Context(), file, Limits{Bytes: most})
		if err != nil {
			t.Fatalf("%d bytes: %v", most, err)
		}
		if decoded(t, p); int64(len(p.Data)) > most || before.Data != nil && (len(p.Data) >= len(before.Data) || p.Width > before.Width) {
			t.Errorf("at most %d bytes: %d of %d × %d, before that %d", most, len(p.Data), p.Width, p.Height, len(before.Data))
		}
		if most > 15_000 && p.Width != 200 {
			t.Errorf("at most %d bytes: %d pixels wide, before all quality is given up", most, p.Width)
		}
		before = p
	}
	if _, err := Fit(t.Context(), file, Limits{Bytes: 300}); !errors.Is(err, ErrTooLarge) || !strings.Contains(err.Error(), "300 bytes") {
		t.Errorf("300 bytes: %v", err)
	}
}

func TestFitRefusesManyPixelsBeforeDecoding(t *testing.T) {
	large := files(t, corners(60, 40))["png"]
	binary.BigEndian.PutUint32(large[16:], 1<<15)
	binary.BigEndian.PutUint32(large[20:], 1<<15)
	copy(large[8:], pngChunk("IHDR", large[16:29]))
	bitmap := files(t, corners(60, 40))["bmp"]
	binary.LittleEndian.PutUint32(bitmap[18:], 30_000)
	binary.LittleEndian.PutUint32(bitmap[22:], 30_000)
	for name, file := range map[string][]byte{"png": large, "bmp": bitmap} {
		if _, err := Fit(t.Context(), file, Limits{}); !errors.Is(err, ErrTooLarge) {
			t.Errorf("%s: %v", name, err)
		}
	}
	for _, format := range []string{"jpeg", "gif", "webp", "animated webp", "tiff"} {
		if _, err := Fit(t.Context(), files(t, corners(60, 40))[format], Limits{Pixels: 60*40 - 1}); !errors.Is(err, ErrTooLarge) {
			t.Errorf("%s: %v", format, err)
		}
		if _, err := Fit(t.Context(), files(t, corners(60, 40))[format], Limits{Pixels: 60 * 40}); err != nil {
			t.Errorf("%s: %v", format, err)
		}
	}
}

func TestFitReportsDamage(t *testing.T) {
	for name, file := range files(t, corners(60, 40)) {
		for _, at := range []int{len(file) / 2, 20} {
			_, err := Fit(t.Context(), file[:at], Limits{})
			if err == nil && name == "animated webp" && at > 20 { // the first frame is there
				continue
			}
			if !errors.Is(err, ErrBroken) && !errors.Is(err, ErrType) {
				t.Errorf("%s cut off at %d of %d: %v", name, at, len(file), err)
			}
		}
	}
}

func TestFitReportsUnsupportedFormats(t *testing.T) {
	for file, want := range map[string]string{
		"": "not supported", "Dear reader": "not supported", "\x00\x00\x00\x18ftypheic\x00\x00\x00\x00mif1heic": "not supported: HEIF",
		"<svg xmlns='http://www.w3.org/2000/svg'/>": "not supported: SVG", "%PDF-1.7": "not supported: PDF",
	} {
		if _, err := Fit(t.Context(), []byte(file), Limits{}); !errors.Is(err, ErrType) || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: %v", file, err)
		}
	}
}

func TestFitEndsWithItsContext(t *testing.T) {
	ctx, cancel := context.WithCancelCause(t.Context())
	why := errors.New("enough")
	cancel(why)
	if _, err := Fit(ctx, files(t, corners(60, 40))["png"], Limits{}); !errors.Is(err, why) {
		t.Errorf("got %v", err)
	}
}

func TestFitOfSlivers(t *testing.T) {
	for _, size := range []image.Point{{1, 1}, {3000, 1}, {1, 3000}, {1569, 2}} {
		p, err := Fit(t.Context(), files(t, corners(size.X, size.Y))["png"], Limits{})
		if err != nil || p.Width > 1568 || p.Height > 1568 {
			t.Errorf("%v: %d × %d, %v", size, p.Width, p.Height, err)
		}
	}
}

func FuzzFit(f *testing.F) {
	for _, file := range files(f, corners(30, 20)) {
		f.Add(file)
	}
	f.Add(orientated(f, "jpeg", corners(30, 20), 6))
	f.Fuzz(func(t *testing.T, file []byte) {
		limits := Limits{Side: 16, Pixels: 1 << 16, Bytes: 4000}
		p, err := Fit(t.Context(), file, limits)
		switch {
		case err == nil:
			if decoded(t, p); max(p.Width, p.Height) > limits.Side || int64(len(p.Data)) > limits.Bytes {
				t.Errorf("%d × %d in %d bytes", p.Width, p.Height, len(p.Data))
			}
		case !errors.Is(err, ErrType) && !errors.Is(err, ErrTooLarge) && !errors.Is(err, ErrBroken):
			t.Error(err)
		}
	})
}

// pngChunk writes a chunk with the right sum, which the decoder looks at.
func pngChunk(kind string, data []byte) []byte {
	b := append(binary.BigEndian.AppendUint32(nil, uint32(len(data))), kind...)
	b = append(b, data...)
	return binary.BigEndian.AppendUint32(b, crc32.ChecksumIEEE(b[4:]))
}
