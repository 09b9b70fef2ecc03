package pixels

import (
	"bytes"
	"context"
	"errors"
	"strings"
	"testing"
)

func TestCost(t *testing.T) {
	png := func(depth, colour, interlace byte) string {
		return "\x89PNG\r\n\x1a\n\x00\x00\x00\rIHDR\x00\x00\x00\x01\x00\x00\x00\x01" + string([]byte{depth, colour, 0, 0, interlace})
	}
	const yuv420 = "\xff\xd8\xff\xc0\x00\x11\x08\x00\x01\x00\x01\x03\x01\x22\x00\x02\x11\x01\x03\x11\x01"
	const adobe = "\xff\xee\x00\x0eAdobe\x00\x64\x00\x00\x00\x00" // and the transformation
	for name, c := range map[string]struct {
		head string
		want int64 // bytes for each pixel
	}{
		"PNG, 8 bits":           {png(8, 6, 0), 4},
		"PNG, 16 bits":          {png(16, 6, 0), 8},
		"PNG, 16 interlaced":    {png(16, 6, 1), 16},
		"PNG, palette":          {png(8, 3, 0), 1},
		"JPEG, 4:2:0":           {"\xff\xd8\xff\xe0\x00\x04ab\xff\xc0\x00\x11\x08\x00\x01\x00\x01\x03\x01\x22\x00\x02\x11\x01\x03\x11\x01", 2},
		"JPEG, 4:4:4":           {"\xff\xd8\xff\xc0\x00\x11\x08\x00\x01\x00\x01\x03\x01\x11\x00\x02\x11\x01\x03\x11\x01", 3},
		"JPEG, progressive":     {"\xff\xd8\xff\xc2\x00\x11\x08\x00\x01\x00\x01\x03\x01\x22\x00\x02\x11\x01\x03\x11\x01", 10},
		"JPEG, odd sampling":    {"\xff\xd8\xff\xc2\x00\x11\x08\x00\x01\x00\x01\x03\x01\x22\x00\x02\x22\x01\x03\x11\x01", 15},
		"PNG, header behind":    {"\x89PNG\r\n\x1a\n\x00\x00\x00\x0aaaAa\x00\x00\x00\x00\x00\x00\x00\x00\x08\x03\x00\x00\x00\x00", 16},
		"JPEG, RGB by name":     {"\xff\xd8\xff\xc0\x00\x11\x08\x00\x01\x00\x01\x03R\x11\x00G\x11\x01B\x11\x01", 7},
		"JPEG, RGB by Adobe":    {yuv420 + strings.Repeat("\x00", 65510) + adobe + "\x00", 6},
		"JPEG, RGB in parts":    {yuv420 + strings.Repeat("\xff\xee", 32756) + adobe + "\x00", 6},
		"JPEG, not RGB":         {yuv420 + adobe + "\x01", 2},
		"JPEG, restart first":   {"\xff\xd8\xff\xd0\xff\xc2" + strings.Repeat("\x00", 0xffc0) + "\xff\xc0\x00\x0b\x08\x00\x01\x00\x01\x01\x01\x11\x00", 24},
		"JPEG, stuffing first":  {"\xff\xd8\xff\x00\xff\xc2" + strings.Repeat("\x00", 0xffc0) + "\xff\xc0\x00\x0b\x08\x00\x01\x00\x01\x01\x01\x11\x00", 24},
		"JPEG, cut":             {"\xff\xd8\xff\xe0\xff\xff", 24},
		"WebP, lossy":           {"RIFF\x00\x00\x00\x00WEBPVP8 ", 2},
		"WebP, lossless":        {"RIFF\x00\x00\x00\x00WEBPVP8L", 12},
		"WebP, animated":        {"RIFF\x00\x00\x00\x00WEBPVP8X\x0a\x00\x00\x00\x02", 16},
		"GIF":                   {"GIF89a", 5},
		"BMP":                   {"BM", 4},
		"TIFF, whatever it has": {"II*\x00", 8},
		"something else":        {"", 24},
	} {
		r := bytes.NewReader([]byte(c.head))
		got := Cost(r, int64(len(c.head)), 1000, 1000) - Cost(r, int64(len(c.head)), 1000, 999)
		if got != (c.want+2)*1000 {
			t.Errorf("%s: %d bytes for each pixel, want %d", name, got/1000, c.want+2)
		}
	}
	tiff := bytes.NewReader([]byte("MM\x00*"))
	for size, least := range map[[2]int]int64{{1, 1}: 32 << 20, {571_000, 1}: 128<<20 + 64<<20, {2000, 2000}: 8*4_000_000 + 64<<20} {
		if got := Cost(tiff, 4, size[0], size[1]); got < least {
			t.Errorf("a TIFF of %v costs %d, and its buffer takes %d", size, got, least)
		}
	}
	for _, size := range [][2]int{{65535, 65535}, {1 << 31, 1}, {1, 1 << 31}, {1 << 31, 1 << 31}} {
		if got := Cost(bytes.NewReader(nil), 0, size[0], size[1]); got <= MemoryLimit {
			t.Errorf("%v costs %d", size, got)
		}
	}
}

// TestHold verifies that images wait for each other, and that an image beyond the limit is refused.
func TestHold(t *testing.T) {
	if _, err := Hold(t.Context(), MemoryLimit+1); !errors.Is(err, ErrTooLarge) {
		t.Errorf("got %v", err)
	}
	release, err := Hold(t.Context(), MemoryLimit)
	if err != nil {
		t.Fatal(err)
	}
	ended, end := context.WithCancel(t.Context())
	end()
	if _, err := Hold(ended, 1); !errors.Is(err, context.Canceled) {
		t.Errorf("beside all of it: %v", err)
	}
	release()
	if release, err = Hold(t.Context(), MemoryLimit); err != nil {
		t.Fatal(err)
	}
	release()
}
