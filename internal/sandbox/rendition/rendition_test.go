package rendition

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"hash/crc32"
	"image"
	"image/color"
	"image/gif"
	"image/jpeg"
	"image/png"
	"io"
	"math"
	"strings"
	"testing"

	"assetferry/internal/test/longtest"

	"golang.org/x/image/bmp"
	"golang.org/x/image/draw"
	"golang.org/x/image/tiff"

	blur "github.com/bbrks/go-blurhash"
)

// scene returns an image similar to a photo: gradients, discs with sharp edges, and sensor noise.
func scene(width, height int) *image.RGBA {
	m := image.NewRGBA(image.Rect(0, 0, width, height))
	grain := uint32(1)
	for y := range height {
		for x := range width {
			u, v := float64(x)/float64(width), float64(y)/float64(height)
			r, g, b := 60+150*u, 90+90*v, 200-120*u*v
			if math.Hypot(u-0.3, v-0.4) < 0.2 {
				r, g, b = 230, 180-200*(v-0.4), 40
			}
			if math.Hypot(u-0.7, v-0.7) < 0.15 {
				r, g, b = 20, 60+100*(u-0.5), 30
			}
			grain = grain*1664525 + 1013904223
			n := float64(grain>>24)/64 - 2
			m.SetRGBA(x, y, color.RGBA{channel(r + n), channel(g + n), channel(b + n), 255})
		}
	}
	return m
}

func channel(v float64) uint8 { return uint8(min(255, max(0, v))) }

// psnr returns the similarity of two images on white in decibels; it is infinite for equal ones.
func psnr(t testing.TB, a, b image.Image) float64 {
	t.Helper()
	if a.Bounds().Size() != b.Bounds().Size() {
		t.Fatalf("sizes %v and %v", a.Bounds(), b.Bounds())
	}
	x, y := toRGBA(onWhite(a)), toRGBA(onWhite(b))
	sum := 0.0
	for i := range x.Pix {
		d := float64(x.Pix[i]) - float64(y.Pix[i])
		sum += d * d
	}
	return 10 * math.Log10(255*255*float64(len(x.Pix))/sum)
}

func encode(t testing.TB, m image.Image, f Format, quality int) []byte {
	t.Helper()
	var b bytes.Buffer
	if err := Encode(&b, m, f, quality); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

// decodeElsewhere decodes with another library than the one that encoded, if there are two.
func decodeElsewhere(t testing.TB, b []byte, f Format) image.Image {
	t.Helper()
	r := bytes.NewReader(b)
	var m image.Image
	var err error
	switch f {
	case WebP:
		m, err = decodeWebP(io.NewSectionReader(r, 0, int64(len(b)))) // decoder of golang.org/x/image, with corrected colour levels
	case JPEG:
		m, err = jpeg.Decode(r)
	case PNG:
		m, err = png.Decode(r)
	case GIF:
		m, err = gif.Decode(r)
	case TIFF:
		m, err = tiff.Decode(r)
	}
	if err != nil {
		t.Fatalf("%s: %v", f, err)
	}
	return m
}

func mustDecode(t testing.TB, b []byte) Picture {
	t.Helper()
	p, err := Decode(bytes.NewReader(b), int64(len(b)), 1<<26)
	if err != nil {
		t.Fatal(err)
	}
	return p
}

func TestEncode(t *testing.T) {
	m := scene(317, 211)
	sizes := map[Format]int{}
	for _, test := range []struct {
		format  Format
		quality int
		least   float64 // decibels
	}{
		{WebP, 30, 30}, {WebP, 80, 33}, {WebP, 100, 35},
		{JPEG, 30, 28}, {JPEG, 80, 33}, {JPEG, 100, 35},
		{PNG, 10, 20}, {PNG, 50, 27}, {PNG, 100, math.Inf(1)},
		{GIF, 10, 20}, {GIF, 50, 27}, {GIF, 100, 29},
		{TIFF, 1, math.Inf(1)}, {TIFF, 100, math.Inf(1)},
	} {
		b := encode(t, m, test.format, test.quality)
		got := decodeElsewhere(t, b, test.format)
		if likeness := psnr(t, m, got); likeness < test.least {
			t.Errorf("%s %d: %.1f dB, want %.1f", test.format, test.quality, likeness, test.least)
		}
		if test.format != TIFF && len(b) <= sizes[test.format] {
			t.Errorf("%s %d: %d bytes, no more than with less quality", test.format, test.quality, len(b))
		}
		sizes[test.format] = len(b)
		if p, ok := got.(*image.Paletted); ok && distinct(p) > colours(test.quality) {
			t.Errorf("%s %d: %d colours", test.format, test.quality, distinct(p))
		}
	}
	if err := Encode(&bytes.Buffer{}, m, "bmp", 100); err == nil {
		t.Error("encoded to a format that is none")
	}
}

func distinct(p *image.Paletted) int {
	seen := map[uint8]bool{}
	for _, entry := range p.Pix {
		seen[entry] = true
	}
	return len(seen)
}

// TestEncodeEveryModel encodes images in all colour models of decoders.
func TestEncodeEveryModel(t *testing.T) {
	m := scene(90, 61)
	grey, deep := image.NewGray(m.Rect), image.NewNRGBA64(m.Rect)
	draw.Draw(grey, m.Rect, m, image.Point{}, draw.Src)
	draw.Draw(deep, m.Rect, m, image.Point{}, draw.Src)
	cmyk := image.NewCMYK(m.Rect)
	draw.Draw(cmyk, m.Rect, m, image.Point{}, draw.Src)
	part := m.SubImage(image.Rect(7, 5, 70, 50))
	models := []image.Image{grey, deep, cmyk, part, toYCbCr(m, image.YCbCrSubsampleRatio420), quantise(toNRGBA(m), 64)}
	for _, source := range models {
		for _, f := range Formats() {
			got := decodeElsewhere(t, encode(t, source, f, 100), f)
			if likeness := psnr(t, source, got); likeness < 28 {
				t.Errorf("%T as %s: %.1f dB", source, f, likeness)
			}
		}
	}
}

// TestTransparency encodes a disc with a transparent border.
func TestTransparency(t *testing.T) {
	m := image.NewNRGBA(image.Rect(0, 0, 96, 64))
	for y := range 64 {
		for x := range 96 {
			a := channel(255 * 1.5 * (1 - math.Hypot(float64(x)-48, float64(y)-32)/30))
			m.SetNRGBA(x, y, color.NRGBA{200, 30, uint8(2 * x), a})
		}
	}
	for _, test := range []struct {
		format   Format
		quality  int
		corner   uint32 // opacity of a corner, of 255
		halfway  [2]uint32
		likeness float64
	}{
		{WebP, 90, 0, [2]uint32{120, 136}, 30},
		{JPEG, 90, 255, [2]uint32{255, 255}, 30},
		{PNG, 100, 0, [2]uint32{120, 136}, 60},
		{PNG, 60, 0, [2]uint32{100, 150}, 24},
		{GIF, 100, 0, [2]uint32{0, 255}, 15},
		{TIFF, 100, 0, [2]uint32{120, 136}, 60},
	} {
		got := decodeElsewhere(t, encode(t, m, test.format, test.quality), test.format)
		if _, _, _, a := got.At(0, 0).RGBA(); a>>8 != test.corner {
			t.Errorf("%s %d: the corner's opacity is %d", test.format, test.quality, a>>8)
		}
		_, _, _, want := m.At(48+20, 32).RGBA()
		_, _, _, a := got.At(48+20, 32).RGBA()
		if want>>8 < 120 || want>>8 > 136 || a>>8 < test.halfway[0] || a>>8 > test.halfway[1] {
			t.Errorf("%s %d: the opacity halfway is %d, was %d", test.format, test.quality, a>>8, want>>8)
		}
		if likeness := psnr(t, m, got); likeness < test.likeness {
			t.Errorf("%s %d: %.1f dB", test.format, test.quality, likeness)
		}
	}
	for _, quality := range []int{1, 100} { // a palette of one entry has no alternatives
		empty := image.NewNRGBA(image.Rect(0, 0, 3, 2))
		for _, f := range []Format{PNG, GIF} {
			if _, _, _, a := decodeElsewhere(t, encode(t, empty, f, quality), f).At(1, 1).RGBA(); a != 0 {
				t.Errorf("%s %d: nothing became something", f, quality)
			}
		}
	}
}

func TestFit(t *testing.T) {
	for _, test := range []struct{ size, box, want image.Point }{
		{image.Pt(400, 300), image.Pt(100, 0), image.Pt(100, 75)},
		{image.Pt(400, 300), image.Pt(0, 100), image.Pt(133, 100)},
		{image.Pt(400, 300), image.Pt(100, 100), image.Pt(100, 75)},
		{image.Pt(300, 400), image.Pt(100, 100), image.Pt(75, 100)},
		{image.Pt(400, 300), image.Pt(1000, 1000), image.Pt(400, 300)},
		{image.Pt(400, 300), image.Pt(401, 0), image.Pt(400, 300)},
		{image.Pt(400, 300), image.Pt(0, 0), image.Pt(400, 300)},
		{image.Pt(1000, 1), image.Pt(10, 0), image.Pt(10, 1)},
		{image.Pt(1, 1000), image.Pt(0, 10), image.Pt(1, 10)},
		{image.Pt(101, 67), image.Pt(13, 0), image.Pt(13, 9)},
	} {
		p := Picture{stored: image.NewGray(image.Rectangle{Max: test.size}), turned: upright}
		if got := p.Fit(test.box.X, test.box.Y).Bounds(); got != (image.Rectangle{Max: test.want}) {
			t.Errorf("%v in %v: %v, want %v", test.size, test.box, got, test.want)
		}
	}
}

// TestShrink compares the fast scaler with an exact one, for the colour models with their own code
// and for odd sizes.
func TestShrink(t *testing.T) {
	for _, size := range []image.Point{{640, 480}, {641, 479}, {333, 901}} {
		m := scene(size.X, size.Y)
		sources := map[string]image.Image{"RGBA": m, "NRGBA": toNRGBA(m)}
		for _, ratio := range []image.YCbCrSubsampleRatio{image.YCbCrSubsampleRatio444, image.YCbCrSubsampleRatio422, image.YCbCrSubsampleRatio420} {
			sources[ratio.String()] = toYCbCr(m, ratio)
		}
		for name, source := range sources {
			for _, width := range longtest.Fewer([]int{500, 300, 160, 97, 31}, []int{160}) {
				want := image.NewRGBA(image.Rectangle{Max: fit(size, width, 0)})
				draw.CatmullRom.Scale(want, want.Rect, source, source.Bounds(), draw.Src, nil)
				got := shrink(source, want.Rect.Size())
				if likeness := psnr(t, want, got); likeness < 28 {
					t.Errorf("%s %v to %d: %.1f dB", name, size, width, likeness)
				}
			}
		}
	}
}

func toYCbCr(m *image.RGBA, ratio image.YCbCrSubsampleRatio) *image.YCbCr {
	out := image.NewYCbCr(m.Rect, ratio)
	for y := range m.Rect.Dy() {
		for x := range m.Rect.Dx() {
			c := m.RGBAAt(x, y)
			out.Y[out.YOffset(x, y)], out.Cb[out.COffset(x, y)], out.Cr[out.COffset(x, y)] = color.RGBToYCbCr(c.R, c.G, c.B)
		}
	}
	return out
}

// exifWith returns an EXIF structure with an orientation, in either byte order.
func exifWith(o orientation, order binary.AppendByteOrder, mark string) []byte {
	b := order.AppendUint16([]byte(mark), 42)
	b = order.AppendUint32(b, 8)
	b = order.AppendUint16(b, 2)
	for _, entry := range [][2]uint16{{0x0100, 1}, {0x0112, uint16(o)}} {
		b = order.AppendUint16(b, entry[0])
		b = order.AppendUint16(b, 3)
		b = order.AppendUint32(b, 1)
		b = order.AppendUint16(b, entry[1])
		b = order.AppendUint16(b, 0)
	}
	return order.AppendUint32(b, 0)
}

// withEXIF adds EXIF to a file at the place of its format.
func withEXIF(t *testing.T, file []byte, f Format, exif []byte) []byte {
	t.Helper()
	switch f {
	case JPEG:
		app0 := []byte{0xff, 0xe0, 0, 4, 'x', 'y'} // a segment to skip
		app1 := binary.BigEndian.AppendUint16([]byte{0xff, 0xe1}, uint16(len(exif)+8))
		return bytes.Join([][]byte{file[:2], app0, app1, []byte("Exif\x00\x00"), exif, file[2:]}, nil)
	case PNG:
		c := append([]byte("eXIf"), exif...)
		c = binary.BigEndian.AppendUint32(c, crc32.ChecksumIEEE(c))
		c = append(binary.BigEndian.AppendUint32(nil, uint32(len(exif))), c...)
		head := 8 + 25 // signature and IHDR
		return bytes.Join([][]byte{file[:head], c, file[head:]}, nil)
	case WebP:
		size := mustDecode(t, file).Size()
		x := []byte{'V', 'P', '8', 'X', 10, 0, 0, 0, 0x08, 0, 0, 0, byte(size.X - 1), 0, 0, byte(size.Y - 1), 0, 0}
		c := append(binary.LittleEndian.AppendUint32([]byte("EXIF"), uint32(len(exif))), exif...)
		all := bytes.Join([][]byte{file[:12], x, file[12:], c}, nil)
		binary.LittleEndian.PutUint32(all[4:], uint32(len(all)-8))
		return all
	}
	t.Fatalf("no EXIF in %s", f)
	return nil
}

// TestOrientation verifies that an image is upright after decoding, for all eight orientations.
func TestOrientation(t *testing.T) {
	want := image.NewRGBA(image.Rect(0, 0, 48, 32))
	corners := [4]color.RGBA{{220, 20, 20, 255}, {20, 200, 20, 255}, {20, 20, 220, 255}, {230, 230, 20, 255}}
	for y := range 32 {
		for x := range 48 {
			want.SetRGBA(x, y, corners[y/16*2+x/24])
		}
	}
	for o := orientation(1); o <= 8; o++ {
		stored := image.NewRGBA(image.Rectangle{Max: o.seen(want.Rect.Size())})
		for y := range 32 {
			for x := range 48 {
				sx, sy := o.source(x, y, stored.Rect.Dx()-1, stored.Rect.Dy()-1)
				stored.SetRGBA(sx, sy, want.RGBAAt(x, y))
			}
		}
		for _, f := range []Format{JPEG, PNG, WebP} {
			for name, exif := range map[string][]byte{"little": exifWith(o, binary.LittleEndian, "II"), "big": exifWith(o, binary.BigEndian, "MM")} {
				file := withEXIF(t, encode(t, stored, f, 100), f, exif)
				size, err := Measure(bytes.NewReader(file), int64(len(file)))
				if err != nil || size != want.Rect.Size() {
					t.Errorf("%s %s %d: measured %v, %v", f, name, o, size, err)
				}
				p := mustDecode(t, file)
				if p.Size() != want.Rect.Size() {
					t.Errorf("%s %s %d: size %v", f, name, o, p.Size())
				}
				if likeness := psnr(t, want, p.Fit(0, 0)); likeness < 25 {
					t.Errorf("%s %s %d: %.1f dB", f, name, o, likeness)
				}
				small := shrink(want, image.Pt(24, 16))
				if likeness := psnr(t, small, p.Fit(24, 24)); likeness < 25 {
					t.Errorf("%s %s %d, smaller: %.1f dB", f, name, o, likeness)
				}
			}
		}
	}
}

// The test verifies the eight orientations of the EXIF standard, which defines the visible position
// of row 0 and column 0.
func TestOrientationsAreThoseOfEXIF(t *testing.T) {
	for o, want := range map[orientation]image.Point{ // visible position of the stored top left pixel, for 3 × 2 stored pixels
		1: {0, 0}, 2: {2, 0}, 3: {2, 1}, 4: {0, 1}, 5: {0, 0}, 6: {1, 0}, 7: {1, 2}, 8: {0, 2},
	} {
		m := image.NewRGBA(image.Rect(0, 0, 3, 2))
		m.SetRGBA(0, 0, color.RGBA{255, 255, 255, 255})
		if got := o.rotate(m).RGBAAt(want.X, want.Y); got.R != 255 {
			t.Errorf("orientation %d: the top left is not at %v", o, want)
		}
	}
}

// file encodes an image, also in formats that the package only decodes.
func file(t testing.TB, m image.Image, kind string) []byte {
	t.Helper()
	if kind != "bmp" {
		return encode(t, m, Format(kind), 100)
	}
	var b bytes.Buffer
	if err := bmp.Encode(&b, m); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

func kinds() []string { return []string{"webp", "jpeg", "png", "gif", "tiff", "bmp"} }

func TestDecode(t *testing.T) {
	m := scene(60, 40)
	for _, kind := range kinds() {
		b := file(t, m, kind)
		if size, err := Measure(bytes.NewReader(b), int64(len(b))); err != nil || size != image.Pt(60, 40) {
			t.Errorf("%s: measured %v, %v", kind, size, err)
		}
		if likeness := psnr(t, m, mustDecode(t, b).Fit(0, 0)); likeness < 28 {
			t.Errorf("%s: %.1f dB", kind, likeness)
		}
		if _, err := Decode(bytes.NewReader(b), int64(len(b)), 60*40-1); !errors.Is(err, ErrTooLarge) {
			t.Errorf("%s: too large: %v", kind, err)
		}
	}
}

// TestDamage verifies that truncated images are refused, even if their header can be read.
func TestDamage(t *testing.T) {
	m := scene(60, 40)
	for _, kind := range kinds() {
		b := file(t, m, kind)
		for _, left := range []int{0, 1, 4, 20, len(b) / 2, len(b) * 9 / 10} {
			if _, err := Decode(bytes.NewReader(b[:left]), int64(left), 1<<20); err == nil {
				t.Errorf("%s: decoded %d of %d bytes", kind, left, len(b))
			}
		}
	}
	for name, content := range map[string]string{
		"text": "no picture", "empty": "", "script": "<svg/>", "PDF": "%PDF-1.7",
		"no size": "GIF89a\x00\x00\x00\x00\x00\x00\x00",
	} {
		_, err := Decode(strings.NewReader(content), int64(len(content)), 1<<20)
		_, measureErr := Measure(strings.NewReader(content), int64(len(content)))
		if err == nil || measureErr == nil {
			t.Errorf("%s: %v and %v", name, err, measureErr)
		}
	}
}

// TestBombs verifies that the size in a header is checked before memory is allocated.
func TestBombs(t *testing.T) {
	head := func(kind string) []byte { return file(t, image.NewGray(image.Rect(0, 0, 1, 1)), kind) }
	pngHead := head("png")
	copy(pngHead[16:24], []byte{0, 0, 0xff, 0xff, 0, 0, 0xff, 0xff})
	binary.BigEndian.PutUint32(pngHead[29:], crc32.ChecksumIEEE(pngHead[12:29]))
	gifHead := head("gif")
	copy(gifHead[6:10], "\xff\xff\xff\xff")
	bmpHead := head("bmp")
	copy(bmpHead[18:26], "\xff\xff\x00\x00\xff\xff\x00\x00")
	for name, b := range map[string][]byte{"png": pngHead, "gif": gifHead, "bmp": bmpHead} {
		if _, err := Decode(bytes.NewReader(b), int64(len(b)), 50_000_000); !errors.Is(err, ErrTooLarge) {
			t.Errorf("%s: %v", name, err)
		}
	}
	liar := withEXIF(t, encode(t, scene(200, 200), WebP, 50), WebP, exifWith(1, binary.LittleEndian, "II"))
	liar[24] = 10 // width of the file, not of its frame
	_, err := Decode(bytes.NewReader(liar), int64(len(liar)), 50_000_000)
	if err == nil || !strings.Contains(err.Error(), "the header says (11,200), but a frame has (200,200)") {
		t.Errorf("webp: %v", err)
	}
}

func TestDecoderThatPanics(t *testing.T) {
	c := codec{decode: nil}
	if _, err := c.whole(nil, image.Pt(1, 1)); err == nil {
		t.Error("no error")
	}
}

// TestFirstFrame decodes an animation whose first frame is smaller than the canvas.
func TestFirstFrame(t *testing.T) {
	palette := color.Palette{color.RGBA{}, color.RGBA{255, 0, 0, 255}, color.RGBA{0, 0, 255, 255}}
	frame := func(r image.Rectangle, entry uint8) *image.Paletted {
		p := image.NewPaletted(r, palette)
		for i := range p.Pix {
			p.Pix[i] = entry
		}
		return p
	}
	var b bytes.Buffer
	err := gif.EncodeAll(&b, &gif.GIF{
		Image:  []*image.Paletted{frame(image.Rect(2, 3, 6, 7), 1), frame(image.Rect(0, 0, 10, 10), 2)},
		Delay:  []int{1, 1},
		Config: image.Config{ColorModel: palette, Width: 10, Height: 10},
	})
	if err != nil {
		t.Fatal(err)
	}
	p := mustDecode(t, b.Bytes())
	m := p.Fit(0, 0)
	if p.Size() != image.Pt(10, 10) {
		t.Errorf("size %v", p.Size())
	}
	for at, want := range map[image.Point]color.RGBA{{0, 0}: {}, {2, 3}: {255, 0, 0, 255}, {5, 6}: {255, 0, 0, 255}, {6, 7}: {}} {
		if got := color.RGBAModel.Convert(m.At(at.X, at.Y)); got != want {
			t.Errorf("at %v: %v", at, got)
		}
	}
}

func TestBlurHash(t *testing.T) {
	for _, size := range []image.Point{{600, 400}, {1, 1}, {3, 200}} {
		m := scene(size.X, size.Y)
		hash, err := Picture{stored: m, turned: upright}.BlurHash()
		if err != nil {
			t.Fatal(err)
		}
		x, y, err := blur.Components(hash)
		if err != nil || x != 4 || y != 3 {
			t.Errorf("%v: %q has %d × %d components, %v", size, hash, x, y, err)
		}
		painted, err := blur.Decode(hash, 24, 16, 1)
		if err != nil {
			t.Fatal(err)
		}
		if likeness := psnr(t, painted, shrink(m, image.Pt(24, 16))); size.X > 100 && likeness < 15 {
			t.Errorf("%v: %.1f dB", size, likeness)
		}
	}
}

func TestParseFormat(t *testing.T) {
	for _, f := range Formats() {
		if got, err := ParseFormat(string(f)); got != f || err != nil {
			t.Errorf("%s: %s, %v", f, got, err)
		}
	}
	for _, name := range []string{"", "jpg", "WEBP", "bmp", "svg"} {
		if _, err := ParseFormat(name); err == nil {
			t.Errorf("%q is a format", name)
		}
	}
}

// FuzzDecode verifies that hostile bytes give an error or an image of the measured size, which can
// be scaled and encoded.
func FuzzDecode(f *testing.F) {
	m := scene(12, 9)
	for _, kind := range kinds() {
		b := file(f, m, kind)
		f.Add(b)
		f.Add(b[:len(b)/2])
	}
	f.Add([]byte("\xff\xd8\xff\xe1\x00\x08Exif\x00\x00"))
	f.Fuzz(func(t *testing.T, b []byte) {
		p, err := Decode(bytes.NewReader(b), int64(len(b)), 1<<16)
		if err != nil {
			return
		}
		size, err := Measure(bytes.NewReader(b), int64(len(b)))
		if err != nil || size != p.Size() {
			t.Fatalf("measured %v, %v, decoded %v", size, err, p.Size())
		}
		small := p.Fit(5, 5)
		if s := small.Bounds().Size(); s.X < 1 || s.Y < 1 || s.X > 5 || s.Y > 5 {
			t.Fatalf("%v became %v", size, s)
		}
		for _, format := range Formats() {
			got := decodeElsewhere(t, encode(t, small, format, 50), format)
			if got.Bounds().Size() != small.Bounds().Size() {
				t.Fatalf("%s: %v became %v", format, small.Bounds(), got.Bounds())
			}
		}
	})
}

func BenchmarkEncode(b *testing.B) {
	m := scene(1200, 900)
	for _, f := range Formats() {
		for _, quality := range []int{80, 100} {
			b.Run(fmt.Sprint(f, quality), func(b *testing.B) {
				for b.Loop() {
					b.ReportMetric(float64(len(encode(b, m, f, quality))), "bytes")
				}
			})
		}
	}
}

// BenchmarkShrink scales a photo of 12 megapixels to 1200 × 900.
func BenchmarkShrink(b *testing.B) {
	file := encode(b, scene(4000, 3000), JPEG, 80)
	b.Run("decode", func(b *testing.B) {
		for b.Loop() {
			mustDecode(b, file)
		}
	})
	p := mustDecode(b, file)
	b.Run("shrink", func(b *testing.B) {
		for b.Loop() {
			p.Fit(1200, 0)
		}
	})
	b.Run("blurhash", func(b *testing.B) {
		for b.Loop() {
			if _, err := p.BlurHash(); err != nil {
				b.Fatal(err)
			}
		}
	})
}

// A countingReader counts its reads.
type countingReader struct {
	io.ReaderAt
	reads int
}

func (r *countingReader) ReadAt(p []byte, at int64) (int, error) {
	r.reads++
	return r.ReaderAt.ReadAt(p, at)
}

// TestManySegments verifies that a file that consists of headers is not read completely.
func TestManySegments(t *testing.T) {
	picture := encode(t, scene(8, 8), JPEG, 80)
	hostile := append([]byte{0xff, 0xd8}, bytes.Repeat([]byte{0xff, 0xe2, 0, 2}, 100_000)...)
	hostile = append(hostile, picture[2:]...)
	r := &countingReader{ReaderAt: bytes.NewReader(hostile)}
	if at, err := Measure(r, int64(len(hostile))); err != nil || at != image.Pt(8, 8) {
		t.Errorf("got %v, %v", at, err)
	}
	if r.reads > 10_000 {
		t.Errorf("read %d times", r.reads)
	}
}
