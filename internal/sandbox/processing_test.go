package sandbox_test

import (
	"bytes"
	"fmt"
	"image"
	"image/color"
	"image/gif"
	"image/jpeg"
	"image/png"
	"slices"
	"strings"
	"testing"
	"time"

	"golang.org/x/image/bmp"
	"golang.org/x/image/tiff"

	"assetferry/internal/sandbox"
)

func TestImages(t *testing.T) {
	clock := newClock()
	c := start(t, sandbox.Options{Now: clock.now, ProcessingDelay: time.Minute})
	for file, test := range map[string]struct {
		content string
		widths  string // with the extension of the default rendition
	}{
		"a.png":  {encoded(t, 1024, 2, func(b *bytes.Buffer, m image.Image) error { return png.Encode(b, m) }), "1024 103 206 309 412 515 618 721 824 927 png"},
		"a.JPG":  {encoded(t, 376, 2, func(b *bytes.Buffer, m image.Image) error { return jpeg.Encode(b, m, nil) }), "160 240 320 376 80 jpeg"},
		"a.gif":  {encoded(t, 80, 2, func(b *bytes.Buffer, m image.Image) error { return gif.Encode(b, m, nil) }), "80 gif"},
		"a.tif":  {encoded(t, 81, 2, func(b *bytes.Buffer, m image.Image) error { return tiff.Encode(b, m, nil) }), "80 81 tiff"},
		"a.bmp":  {encoded(t, 1, 1, func(b *bytes.Buffer, m image.Image) error { return bmp.Encode(b, m) }), "1 png"},
		"a.webp": {"RIFF\x1a\x00\x00\x00WEBPVP8L\x0d\x00\x00\x00\x2f\x00\x00\x00\x10\x07\x10\x11\x11\x88\x88\xfe\x07\x00", "1 webp"},
		"b.png":  {"no image", ""},
		"c.jpg":  {"", ""},
	} {
		a := c.upload(file, test.content)
		status := func(a object) any { return a["metadata"].(object)["metadataProcessingStatus"] }
		if status(a) != "queued" {
			t.Errorf("%s: at first %v", file, status(a))
		}
		base := strings.TrimSuffix(a["url"].(string), "/file") + "/images/"
		urls, _ := a["imageUrls"].(object)
		var widths []string
		for w, u := range urls {
			if w != "default" && u != base+w+".webp" {
				t.Errorf("%s: %s is %v", file, w, u)
			}
			if w != "default" {
				widths = append(widths, w)
			}
		}
		slices.Sort(widths)
		if test.widths != "" {
			_, format, _ := strings.Cut(strings.TrimPrefix(urls["default"].(string), base), ".")
			widths = append(widths, format)
		}
		if got := strings.Join(widths, " "); got != test.widths {
			t.Errorf("%s: widths %s, want %s", file, got, test.widths)
		}
		if got := status(c.get("/assets/" + a["id"].(string))); got != "queued" {
			t.Errorf("%s: too soon %v", file, got)
		}
		clock.advance(time.Minute)
		c.processed()
		want := "success"
		if test.widths == "" {
			want = "error"
		}
		later := c.get("/assets/" + a["id"].(string))
		if status(later) != want {
			t.Errorf("%s: later %v, want %s", file, status(later), want)
		}
		if m := later["metadata"].(object); (m["width"] != nil) != (want == "success") || (m["blurHash"] != nil) != (want == "success") {
			t.Errorf("%s: metadata %v", file, m)
		}
	}
	for _, file := range []string{"a.svg", "a.txt"} {
		a := c.upload(file, "<svg/>")
		if a["metadata"].(object)["metadataProcessingStatus"] != nil || a["imageUrls"] != nil {
			t.Errorf("%s is processed: %v", file, a)
		}
	}
}

// photo returns an image with visible content.
func photo(t testing.TB, width, height int, encode func(*bytes.Buffer, image.Image) error) string {
	t.Helper()
	m := image.NewRGBA(image.Rect(0, 0, width, height))
	for y := range height {
		for x := range width {
			m.SetRGBA(x, y, color.RGBA{uint8(255 * x / width), uint8(255 * y / height), uint8(16 * (x ^ y)), 255})
		}
	}
	var b bytes.Buffer
	if err := encode(&b, m); err != nil {
		t.Fatal(err)
	}
	return b.String()
}

func asJPEG(b *bytes.Buffer, m image.Image) error { return jpeg.Encode(b, m, nil) }
func asPNG(b *bytes.Buffer, m image.Image) error  { return png.Encode(b, m) }

func metadataOf(a object) object { return a["metadata"].(object) }

func TestMetadataOfImages(t *testing.T) {
	c := start(t, sandbox.Options{})
	a := c.upload("a.jpg", photo(t, 300, 200, asJPEG))
	if m := metadataOf(a); m["metadataProcessingStatus"] != "queued" || m["width"] != nil || m["blurHash"] != nil {
		t.Errorf("the upload's answer has %v", m)
	}
	c.processed()
	m := metadataOf(c.get("/assets/" + a["id"].(string)))
	hash, _ := m["blurHash"].(string)
	if m["metadataProcessingStatus"] != "success" || m["width"] != 300.0 || m["height"] != 200.0 || len(hash) != 28 {
		t.Errorf("metadata %v", m)
	}
	small, _ := m["thumbnailMetadata"].(object)
	if small["width"] != 80.0 || small["height"] != 53.0 || small["blurHash"] != hash || small["mimeType"] != "image/webp" {
		t.Errorf("thumbnail %v", small)
	}
}

// TestDamagedImages verifies that damage after a valid header is found.
func TestDamagedImages(t *testing.T) {
	c := start(t, sandbox.Options{})
	whole := photo(t, 300, 200, asPNG)
	for file, content := range map[string]string{
		"half.png": whole[:len(whole)/2], "flipped.png": strings.Replace(whole, whole[400:404], "....", 1),
		"text.jpg": "this is no picture", "empty.webp": "",
	} {
		a := c.upload(file, content)
		if m := metadataOf(a); m["metadataProcessingStatus"] != "queued" {
			t.Errorf("%s: at first %v", file, m)
		}
		c.processed()
		a = c.get("/assets/" + a["id"].(string))
		if m := metadataOf(a); m["metadataProcessingStatus"] != "error" || m["width"] != nil || a["imageUrls"] != nil {
			t.Errorf("%s: %v", file, a)
		}
	}
}

// TestQueueOutlivesTheProcess verifies that a queued image is processed after a restart.
func TestQueueOutlivesTheProcess(t *testing.T) {
	clock := newClock()
	o := sandbox.Options{Dir: t.TempDir(), Now: clock.now, ProcessingDelay: time.Hour}
	first := start(t, o)
	path := "/assets/" + first.upload("a.png", photo(t, 30, 20, asPNG))["id"].(string)
	if err := first.server.Close(); err != nil {
		t.Fatal(err)
	}
	second := start(t, o)
	if m := metadataOf(second.get(path)); m["metadataProcessingStatus"] != "queued" {
		t.Errorf("after the start: %v", m)
	}
	clock.advance(time.Hour)
	second.processed()
	if m := metadataOf(second.get(path)); m["metadataProcessingStatus"] != "success" || m["width"] != 30.0 {
		t.Errorf("an hour later: %v", m)
	}
}

func TestDelayEndsByItself(t *testing.T) {
	c := start(t, sandbox.Options{ProcessingDelay: 20 * time.Millisecond})
	a := c.upload("a.png", photo(t, 30, 20, asPNG))
	begun := time.Now()
	c.processed()
	if m := metadataOf(c.get("/assets/" + a["id"].(string))); m["metadataProcessingStatus"] != "success" {
		t.Errorf("after %v: %v", time.Since(begun), m)
	}
}

// TestQueueEndsWithItsAssets verifies that deleted images leave the queue, for all ways of
// deletion.
func TestQueueEndsWithItsAssets(t *testing.T) {
	clock := newClock()
	c := start(t, sandbox.Options{Now: clock.now, ProcessingDelay: time.Hour})
	content := photo(t, 30, 20, asPNG)
	deleted := c.upload("a.png", content)["id"].(string)
	c.do(204, "POST", "/assets/delete", []string{deleted})
	body := object{"name": "Short-lived", "extensions": []string{"png"}}
	category := c.do(201, "POST", "/admin/categories", body).object(t)["id"].(string)
	c.upload("b.png", content, "categoryId", category)
	c.do(204, "DELETE", "/admin/categories/"+category, nil)
	c.processed() // it would wait an hour for a queued image
}

// TestCopiesAreProcessedAlready verifies that a copy of a processed image is not queued, because it
// shares the bytes.
func TestCopiesAreProcessedAlready(t *testing.T) {
	c := start(t, sandbox.Options{})
	a := c.upload("a.png", photo(t, 30, 20, asPNG))
	c.processed()
	folder := c.folder("f", "categoryId", a["categoryId"].(string))
	action := object{"assetId": a["id"]}
	c.do(204, "POST", "/assets/copy", object{"target": object{"folderId": folder}, "assetsActions": []object{action}})
	copies := items(c.get("/assets?folderId=" + folder))
	if len(copies) != 1 || fmt.Sprint(copies[0]["metadata"]) != fmt.Sprint(c.get("/assets/" + a["id"].(string))["metadata"]) {
		t.Errorf("copies %v", copies)
	}
}
