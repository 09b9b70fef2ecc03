package cli

import (
	"bytes"
	"compress/zlib"
	"encoding/binary"
	"fmt"
	"hash/crc32"
	"image"
	"image/color"
	"image/gif"
	"image/jpeg"
	"io"
	"mime/multipart"
	"net/http"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"

	"assetferry/internal/sandbox/sandboxtest"
	"assetferry/internal/test/longtest"
)

// TestSandboxMemory uploads crafted images, 30 in the long form and otherwise two of each kind.
// Each has a few kilobytes that decode to hundreds of megabytes. It requests a rendition of each at
// the same time and verifies the peak memory. Images with a side of 7,000 pixels are decoded one
// after another, those with 1,000 pixels at the same time.
func TestSandboxMemory(t *testing.T) {
	t.Parallel()
	sides, allowed := []int{7000, 1000}, int64(256<<20)
	if longtest.Raced { // it multiplies memory and time
		sides, allowed = []int{1000}, 1<<30
	}
	for _, side := range sides {
		t.Run(strconv.Itoa(side), func(t *testing.T) {
			over, idle := memoryOfSandbox(t, craftedImages(t, side))
			t.Logf("%d MB over %d MB of an idle sandbox", over>>20, idle>>20)
			if over > allowed {
				t.Errorf("the crafted images took %d MB over idle, and %d MB are allowed", over>>20, allowed>>20)
			}
		})
	}
}

// memoryOfSandbox starts a sandbox that processes files. It returns the peak memory above that of
// the idle sandbox, and that of the idle sandbox, in bytes.
func memoryOfSandbox(t *testing.T, files map[string][]byte) (over, idle int64) {
	t.Helper()
	dir, env := t.TempDir(), sandboxtest.Environment()
	p := commandWithin(t, 3*patience, dir, []string{"ASSETFERRY_ENVIRONMENT_ID=" + env.ID, "ASSETFERRY_ACCESS_KEY=" + string(env.AccessKey)},
		"sandbox", "--credentials-from-env", "--no-ai", "--data", "data")
	url := startedAt(t, p)
	t.Cleanup(func() {
		_ = p.Process.Kill()
		_ = p.Wait()
	})
	token := sandboxtest.Sign(env.AccessKey, sandboxtest.Claims(env, "superadmin"))
	idle = peakMemoryOf(t, p.Process.Pid)

	var all sync.WaitGroup
	for name, content := range files {
		all.Go(func() {
			id := uploadTo(t, url, token, name, content)
			sizes := []string{"400x400.webp"}
			if strings.HasPrefix(name, "2") { // a few of each kind
				sizes = append(sizes, "6300x6300.webp")
			}
			for _, size := range sizes {
				r, err := http.NewRequestWithContext(t.Context(), "GET", url+"/assets/"+id+"/thumbs/"+size, nil)
				if err != nil {
					t.Error(err)
					return
				}
				r.Header.Set("Authorization", token)
				resp, err := http.DefaultClient.Do(r)
				if err != nil {
					t.Error(err)
					return
				}
				_, _ = io.Copy(io.Discard, resp.Body)
				_ = resp.Body.Close()
			}
		})
	}
	all.Wait()
	return peakMemoryOf(t, p.Process.Pid) - idle, idle
}

// startedAt starts a sandbox and returns its URL.
func startedAt(t *testing.T, p *process) string {
	t.Helper()
	out, err := os.Create(filepath.Join(p.Dir, "lines"))
	if err != nil {
		t.Fatal(err)
	}
	defer out.Close()
	p.Stdout, p.Stderr = out, nil
	if err := p.Start(); err != nil {
		t.Fatal(err)
	}
	found := regexp.MustCompile(`ASSETFERRY_URL=(\S+)\n(?s:.*)ACCESS_KEY=`)
	for t.Context().Err() == nil {
		text, err := os.ReadFile(out.Name())
		if err != nil {
			t.Fatal(err)
		}
		if m := found.FindSubmatch(text); m != nil {
			return string(bytes.Trim(m[1], "'"))
		}
	}
	t.Fatal("the sandbox does not start")
	return ""
}

// peakMemoryOf returns the peak memory of a process, in bytes.
func peakMemoryOf(t *testing.T, pid int) int64 {
	t.Helper()
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", pid))
	if err != nil {
		t.Fatal(err)
	}
	m := regexp.MustCompile(`VmHWM:\s*(\d+) kB`).FindSubmatch(text)
	if m == nil {
		t.Fatal("the system does not say")
	}
	kilobytes, err := strconv.ParseInt(string(m[1]), 10, 64)
	if err != nil {
		t.Fatal(err)
	}
	return kilobytes << 10
}

func uploadTo(t *testing.T, url, token, name string, content []byte) string {
	t.Helper()
	var b bytes.Buffer
	m := multipart.NewWriter(&b)
	part, err := m.CreateFormFile("file", name)
	if err == nil {
		_, err = part.Write(content)
	}
	if err == nil {
		err = m.Close()
	}
	r, rerr := http.NewRequestWithContext(t.Context(), "POST", url+"/assets", &b)
	if err != nil || rerr != nil {
		t.Errorf("%s: %v %v", name, err, rerr)
		return ""
	}
	r.Header.Set("Authorization", token)
	r.Header.Set("Content-Type", m.FormDataContentType())
	resp, err := http.DefaultClient.Do(r)
	if err != nil {
		t.Error(err)
		return ""
	}
	defer func() { _ = resp.Body.Close() }()
	body, err := io.ReadAll(resp.Body)
	id := regexp.MustCompile(`"id":"([^"]+)"`).FindSubmatch(body)
	if err != nil || id == nil {
		t.Errorf("%s: %d %s %v", name, resp.StatusCode, body, err)
		return ""
	}
	return string(id[1])
}

// craftedImages returns small files of square images with a side in pixels; 7,000 is just below the
// limit of the sandbox. The formats are PNG of several depths, GIF with a small frame on a large
// canvas, baseline and progressive JPEG, and TIFF in one compressed strip.
func craftedImages(t *testing.T, side int) map[string][]byte {
	t.Helper()
	files := map[string][]byte{}
	add := func(count int, ending string, content []byte) {
		for range min(count, longtest.Size(2, count)) {
			files[fmt.Sprintf("%d.%s", len(files), ending)] = content
		}
	}
	add(5, "png", craftedPNG(uint32(side), 16, 6, 8*side))
	add(5, "png", craftedPNG(uint32(side), 8, 6, 4*side))
	add(3, "png", craftedPNG(uint32(side), 8, 0, side))
	var small bytes.Buffer
	frame := image.NewPaletted(image.Rect(0, 0, 8, 8), palette())
	if err := gif.EncodeAll(&small, &gif.GIF{Image: []*image.Paletted{frame}, Delay: []int{0}, Config: image.Config{Width: side, Height: side, ColorModel: palette()}}); err != nil {
		t.Fatal(err)
	}
	add(5, "gif", small.Bytes())
	var photo bytes.Buffer
	if err := jpeg.Encode(&photo, image.NewYCbCr(image.Rect(0, 0, side, side), image.YCbCrSubsampleRatio420), &jpeg.Options{Quality: 1}); err != nil {
		t.Fatal(err)
	}
	add(4, "jpg", photo.Bytes())
	progressive := bytes.Clone(photo.Bytes())
	progressive[bytes.Index(progressive, []byte{0xff, 0xc0})+1] = 0xc2
	scan := bytes.Index(progressive, []byte{0xff, 0xda})
	add(4, "jpg", slices.Concat(progressive[:scan], []byte(firstScan), make([]byte, side*side/64*3/2/4+1), []byte{0xff, 0xd9}))
	add(4, "tif", craftedTIFF(uint32(side)))

	for name, content := range disguisedImages(uint32(side), photo.Bytes()) {
		files[name] = content
	}
	return files
}

// firstScan is the head of the first scan of a progressive JPEG, with the averages of all blocks.
// Each zero byte after it encodes four blocks.
const firstScan = "\xff\xda\x00\x0c\x03\x01\x00\x02\x11\x03\x11\x00\x00\x00"

// disguisedImages returns images that need more memory than a superficial parser expects.
func disguisedImages(side uint32, photo []byte) map[string][]byte {
	deep := craftedPNG(side, 16, 6, 8*int(side))
	cheap := "\x00\x00\x00\x0aaaAa" + "\x00\x00\x00\x00\x00\x00\x00\x00\x08\x03" // at the position of the depth in a PNG
	cheap += string(binary.BigEndian.AppendUint32(nil, crc32.ChecksumIEEE([]byte(cheap[4:]))))
	start := string(photo[:bytes.Index(photo, []byte{0xff, 0xda})+2])
	at := strings.Index(start, "\xff\xc0")
	rgb := strings.NewReplacer("\x01\x22\x00", "R\x22\x00", "\x02\x11\x01", "G\x11\x01", "\x03\x11\x01", "B\x11\x01").Replace(start[at:])
	scan := strings.NewReplacer("\x01\x00\x02\x11\x03\x11", "R\x00G\x11B\x11").Replace(string(photo[len(start):][:12]))
	frame, rest := "\xff\xc2"+start[at+2:at+19], start[at+19:len(start)-2]
	gray := "\xff\xc0\x00\x0b\x08" + start[at+5:at+9] + "\x01\x01\x11\x00"
	before := "\xff\xd8\xff\xd0" + frame + "\xff\xfe\xff\xff"
	before += strings.Repeat(" ", 2+2+0xffc2-len(before)) + gray // where a parser that reads the marker of the frame as a length continues
	before += strings.Repeat(" ", len("\xff\xd8\xff\xd0"+frame+"\xff\xfe")+0xffff-len(before))
	restart := before + rest + firstScan + strings.Repeat("\x00", int(side)*int(side)/64*3/2/4+1) + "\xff\xd9"
	wide := 571 * side
	return map[string][]byte{
		"header behind.png": []byte(string(deep[:8]) + cheap + string(deep[8:])),
		"restart.jpg":       []byte(restart),
		"rgb.jpg":           []byte(start[:at] + rgb + scan + string(photo[len(start)+12:])),
		"wide.png":          craftedSliver(2142*side, 1),
		"two rows.png":      craftedSliver(2142*side, 2),
		"tile.tif":          craftedTile(wide),
		"frame.webp":        craftedAnimation(16383 * side / 7000 & 0x3fff),
	}
}

// craftedPNG returns a black PNG.
func craftedPNG(side uint32, depth, colour byte, row int) []byte {
	return blackPNG(side, side, depth, colour, row)
}

// craftedSliver returns a black PNG with few, long rows.
func craftedSliver(width, height uint32) []byte { return blackPNG(width, height, 8, 0, int(width)) }

func blackPNG(width, height uint32, depth, colour byte, row int) []byte {
	file := []byte("\x89PNG\r\n\x1a\n")
	chunk := func(name string, body []byte) {
		file = binary.BigEndian.AppendUint32(file, uint32(len(body)))
		start := len(file)
		file = append(append(file, name...), body...)
		file = binary.BigEndian.AppendUint32(file, crc32.ChecksumIEEE(file[start:]))
	}
	head := binary.BigEndian.AppendUint32(binary.BigEndian.AppendUint32(nil, width), height)
	chunk("IHDR", append(head, depth, colour, 0, 0, 0))
	chunk("IDAT", zeros(int(height)*(row+1)))
	chunk("IEND", nil)
	return file
}

// craftedAnimation returns a WebP animation whose frame header states a small size.
func craftedAnimation(side uint32) []byte {
	chunk := func(file []byte, name string, body ...byte) []byte {
		return append(binary.LittleEndian.AppendUint32(append(file, name...), uint32(len(body))), body...)
	}
	bits := uint64(0x2f) | uint64(side-1)<<8 | uint64(side-1)<<22 | 0x088888<<40 // black: five codes of one symbol
	frame := chunk(make([]byte, 16), "VP8L", binary.LittleEndian.AppendUint64(nil, bits)...)
	file := chunk([]byte("RIFF....WEBP"), "VP8X", 2, 0, 0, 0, 0, 0, 0, 0, 0, 0)
	file = chunk(chunk(file, "ANIM", 0, 0, 0, 0, 0, 0), "ANMF", frame...)
	binary.LittleEndian.PutUint32(file[4:], uint32(len(file)-8))
	return file
}

// craftedTIFF returns a black TIFF with four channels of 16 bits in one strip.
func craftedTIFF(side uint32) []byte {
	return blackTIFF(side, side, side, [][3]uint32{{278, 1, side}})
}

// craftedTile returns a TIFF with one row of pixels, in a tile of the maximum height.
func craftedTile(width uint32) []byte {
	return blackTIFF(width, 1, 17, [][3]uint32{{322, 1, width}, {323, 1, 17}})
}

func blackTIFF(width, height, rows uint32, parts [][3]uint32) []byte {
	strip := zeros(int(width) * int(rows) * 8)
	file := binary.LittleEndian.AppendUint32([]byte("II*\x00"), 8+uint32(len(strip))+8)
	file = append(file, strip...)
	depths := uint32(len(file))
	file = append(file, 16, 0, 16, 0, 16, 0, 16, 0)
	entries := append([][3]uint32{ // tag, count, value
		{256, 1, width}, {257, 1, height}, {258, 4, depths}, {259, 1, 8}, {262, 1, 2}, {273, 1, 8}, {277, 1, 4}, {279, 1, uint32(len(strip))},
		{324, 1, 8}, {325, 1, uint32(len(strip))}, {338, 1, 2},
	}, parts...)
	slices.SortFunc(entries, func(a, b [3]uint32) int { return int(a[0]) - int(b[0]) })
	file = binary.LittleEndian.AppendUint16(file, uint16(len(entries)))
	for _, e := range entries {
		kind := uint16(4)
		if e[1] == 4 {
			kind = 3
		}
		file = binary.LittleEndian.AppendUint16(file, uint16(e[0]))
		file = binary.LittleEndian.AppendUint16(file, kind)
		file = binary.LittleEndian.AppendUint32(file, e[1])
		file = binary.LittleEndian.AppendUint32(file, e[2])
	}
	return append(file, 0, 0, 0, 0)
}

// zeros returns n compressed zero bytes.
func zeros(n int) []byte {
	var b bytes.Buffer
	w := zlib.NewWriter(&b)
	for block := make([]byte, 1<<16); n > 0; n -= len(block) {
		_, _ = w.Write(block[:min(n, len(block))]) // writes to a buffer never fail
	}
	_ = w.Close()
	return b.Bytes()
}

func palette() color.Palette { return color.Palette{color.Black, color.White} }
