package rendition

import (
	"bytes"
	"encoding/binary"
	"image"
	"image/color"
	"image/png"
	"io"
	"math/rand/v2"
	"runtime"
	"runtime/debug"
	"strings"
	"testing"
	"time"

	"assetferry/internal/test/longtest"
)

// allocated returns the number of bytes that a function allocates in total.
func allocated(f func()) int64 {
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	f()
	runtime.ReadMemStats(&after)
	return int64(after.TotalAlloc - before.TotalAlloc)
}

// TestShrinkSlivers verifies that the memory for very wide or very high images depends on the
// number of pixels.
func TestShrinkSlivers(t *testing.T) {
	const perPixel, fixed = 8, 4 << 20
	for _, size := range []image.Point{{1 << 22, 1}, {1 << 22, 2}, {1 << 22, 3}, {2, 1 << 22}, {1, 1 << 22}} {
		for _, side := range longtest.Fewer([]int{16, 400, 16383, 65535}, []int{400}) {
			m := image.NewGray(image.Rectangle{Max: size})
			to := fit(size, side, side)
			most := int64(size.X)*int64(size.Y)*perPixel + fixed
			if got := allocated(func() { shrink(m, to) }); got > most {
				t.Errorf("%v to %v took %d MB, and %d MB are allowed", size, to, got>>20, most>>20)
			}
		}
	}
}

// vp8l returns a black lossless image of any size in 8 bytes.
func vp8l(side uint32) []byte {
	bits := uint64(0x2f) | uint64(side-1)<<8 | uint64(side-1)<<22
	b := binary.LittleEndian.AppendUint64(nil, bits)[:5]
	return append(b, 0x88, 0x88, 0x08) // no transformation, no cache, and five codes of one symbol
}

// animated returns an animation whose frame header states the size of the canvas, with a frame of
// the size inner after junk chunks.
func animated(canvas, inner uint32, junk int) []byte {
	size := []byte{byte(canvas - 1), 0, 0, byte(canvas - 1), 0, 0}
	file := appendChunk([]byte("RIFF....WEBP"), "VP8X", append([]byte{flagAnimation, 0, 0, 0}, size...))
	file = appendChunk(file, "ANIM", make([]byte, 6))
	for range junk {
		file = appendChunk(file, "junk", nil)
	}
	head := append(append(make([]byte, 6), size...), 0, 0, 0, 0)
	file = appendChunk(file, "ANMF", append(head, appendChunk(nil, "VP8L", vp8l(inner))...))
	binary.LittleEndian.PutUint32(file[4:], uint32(len(file)-8))
	return file
}

// TestFrameBomb verifies that animations are refused if a frame is larger than its header states,
// or comes after too many chunks.
func TestFrameBomb(t *testing.T) {
	decode := func(file []byte) (took int64, err error) {
		took = allocated(func() { _, err = Decode(bytes.NewReader(file), int64(len(file)), 1<<20) })
		return took, err
	}
	if _, err := decode(animated(8, 8, 0)); err != nil {
		t.Error(err)
	}
	for name, file := range map[string][]byte{"larger": animated(8, 16383, 0), "far behind": animated(8, 16383, maxChunks)} {
		if took, err := decode(file); err == nil || took > 1<<20 {
			t.Errorf("%s: %v, took %d MB", name, err, took>>20)
		}
	}
	behind := appendChunk(nil, "junk", make([]byte, 8<<20)) // the file is not read beyond the frame
	file := animated(8, 8, 0)
	if took, err := decode(append(file, behind...)); err != nil || took > 1<<20 {
		t.Errorf("%v, took %d MB", err, took>>20)
	}
	if _, err := Decode(strings.NewReader("RIFF....WEBPVP8X\x0a\x00\x00\x00\x02"+strings.Repeat("\x00", 9)), 30, 1<<20); err == nil {
		t.Error("an animation without frames was decoded")
	}
}

// peak returns the maximum number of bytes that a function uses at the same time.
func peak(f func()) int64 {
	defer debug.SetGCPercent(debug.SetGCPercent(2))
	debug.FreeOSMemory()
	before, most, done, ended := heap(), int64(0), make(chan struct{}), make(chan struct{})
	go func() {
		defer close(ended)
		for {
			select {
			case <-done:
				return
			case <-time.After(100 * time.Microsecond):
				most = max(most, heap())
			}
		}
	}()
	f()
	close(done)
	<-ended
	return most - before
}

func heap() int64 {
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return int64(m.HeapAlloc)
}

// TestCostCovers verifies that renditions of noise in every format, at full size and smaller, need
// no more memory than reserved.
func TestCostCovers(t *testing.T) {
	const side = 300
	random := rand.New(rand.NewPCG(1, 2))
	noise, deep := image.NewNRGBA(image.Rect(0, 0, side, side)), image.NewNRGBA64(image.Rect(0, 0, side, side))
	few := image.NewPaletted(noise.Rect, color.Palette{color.RGBA{}, color.RGBA{255, 0, 0, 255}, color.White})
	for _, pix := range [][]byte{noise.Pix, deep.Pix, few.Pix} {
		for i := range pix {
			pix[i] = byte(random.Uint32())
		}
	}
	for i := range few.Pix {
		few.Pix[i] %= 3
	}
	encoded := func(m image.Image) []byte {
		var b bytes.Buffer
		if err := png.Encode(&b, m); err != nil {
			t.Fatal(err)
		}
		return b.Bytes()
	}
	photo, turned := encode(t, scene(2*side, 2*side), JPEG, 80), exifWith(6, binary.LittleEndian, "II")
	for name, file := range map[string][]byte{
		"PNG": encoded(noise), "PNG, turned": withEXIF(t, encoded(deep), PNG, turned), "palette": encoded(few),
		"JPEG, turned": withEXIF(t, photo, JPEG, turned),
	} {
		for n, f := range Formats() {
			most := side - 10
			if n < 2 {
				most = 2 * side // at full size
			}
			box, cost, err := Within(bytes.NewReader(file), int64(len(file)), most, most, f)
			if err != nil {
				t.Fatal(err)
			}
			rendition := func() {
				if err := Encode(io.Discard, mustDecode(t, file).Fit(box.X, box.Y), f, 80); err != nil {
					t.Error(err)
				}
			}
			took := peak(rendition)
			for tries := 1; took > cost && tries < 5; tries++ { // the garbage collector may be late
				took = min(took, peak(rendition))
			}
			if took > cost {
				t.Errorf("%s to %s of %d: %d KB are reserved, and it took %d KB", name, f, most, cost>>10, took>>10)
			}
		}
	}
}

// TestCostOfTurning verifies that a rotated image reserves memory for two more copies: one in the
// colour model of the rotation, and the upright one.
func TestCostOfTurning(t *testing.T) {
	const side = 600
	photo := encode(t, scene(side, side), JPEG, 80)
	var costs []int64
	for _, file := range [][]byte{photo, withEXIF(t, photo, JPEG, exifWith(6, binary.LittleEndian, "II"))} {
		_, cost, err := Within(bytes.NewReader(file), int64(len(file)), side, side, JPEG)
		if err != nil {
			t.Fatal(err)
		}
		costs = append(costs, cost)
	}
	if got := costs[1] - costs[0]; got < 2*4*side*side {
		t.Errorf("turning takes %d bytes for each pixel more, want 8", got/side/side)
	}
}

// TestNoisyOpacity encodes an opacity that cannot be compressed.
func TestNoisyOpacity(t *testing.T) {
	random := rand.New(rand.NewPCG(1, 2))
	m := image.NewNRGBA(image.Rect(0, 0, 700, 700))
	for i := 3; i < len(m.Pix); i += 4 {
		m.Pix[i] = byte(random.Uint32())
	}
	got := toNRGBA(mustDecode(t, encode(t, m, WebP, 80)).Fit(0, 0))
	for i := 3; i < len(m.Pix); i += 4 {
		if got.Pix[i] != m.Pix[i] {
			t.Fatalf("the opacity of pixel %d is %d, want %d", i/4, got.Pix[i], m.Pix[i])
		}
	}
}
