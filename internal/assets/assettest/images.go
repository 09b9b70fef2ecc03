package assettest

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"image"
	"image/color"
	"image/gif"
	"image/jpeg"
	"image/png"
	"io"
	"io/fs"
	"slices"
	"strings"
	"testing"

	"golang.org/x/image/tiff"
	"golang.org/x/image/webp"

	"assetferry/internal/assets"
)

func imageLaws() []law {
	return []law{
		{"images", testImages},
		{"metadata of images", testMetadataOfImages},
		{guess("damaged images have the status error"), testDamagedImages},
		{"renditions", testRenditions},
		{guess("renditions within a box"), testBoxes},
		{"thumbs", testThumbs},
		{guess("no renditions of other files"), testNoRendition},
		{guess("image qualities"), testImageQualities},
		{"edit into a new asset", testEditToNew},
		{"edit in place", testEditInPlace},
		{guess("edits have a fixed order"), testEditOrder},
		{"analysis", testAnalysis},
	}
}

func testImages(t *testing.T, s *scratch) {
	a := s.uploadTo(t, assets.Upload{CategoryID: s.category, Filename: "p.png"}, picture(t, 200, 100))
	if a.ImageURLs["default"] == "" || len(a.ImageURLs) < 2 {
		t.Errorf("URLs: got %v", a.ImageURLs)
	}
	if !slices.Contains([]assets.ProcessingStatus{assets.Queued, assets.Success}, a.Metadata.Status) {
		t.Errorf("status: got %q", a.Metadata.Status)
	}
}

// photo returns a JPEG image with visible content.
func photo(t *testing.T, width, height int) []byte {
	t.Helper()
	m := image.NewRGBA(image.Rect(0, 0, width, height))
	for y := range height {
		for x := range width {
			m.SetRGBA(x, y, color.RGBA{uint8(255 * x / width), uint8(255 * y / height), uint8(x ^ y), 255})
		}
	}
	var b bytes.Buffer
	if err := jpeg.Encode(&b, m, &jpeg.Options{Quality: 95}); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

func (s *scratch) uploadPhoto(t *testing.T, width, height int) assets.Asset {
	t.Helper()
	return s.uploadTo(t, assets.Upload{CategoryID: s.category, Filename: "photo.jpg"}, photo(t, width, height))
}

// Processed retries that of the client for a minute, because a busy service may take long.
func (s *scratch) Processed(ctx context.Context, id string) (assets.Asset, error) {
	return patiently(ctx, id, s.Client.Processed)
}

func (s *scratch) Analysed(ctx context.Context, id string) (assets.Asset, error) {
	return patiently(ctx, id, s.Client.Analysed)
}

func patiently(ctx context.Context, id string, look func(context.Context, string) (assets.Asset, error)) (a assets.Asset, err error) {
	for range 15 { // about four seconds each
		if a, err = look(ctx, id); !errors.Is(err, assets.ErrQueued) {
			break
		}
	}
	return a, err
}

func testMetadataOfImages(t *testing.T, s *scratch) {
	a, err := s.Processed(t.Context(), s.uploadPhoto(t, 300, 200).ID)
	if err != nil {
		t.Fatal(err)
	}
	if m := a.Metadata; m.Status != assets.Success || m.Width != 300 || m.Height != 200 || len(m.BlurHash) < 6 {
		t.Errorf("got %+v", m)
	}
	// Text files are never queued.
	if a, err := s.Processed(t.Context(), s.upload(t, "a.txt").ID); err != nil || a.Metadata.Status != "" {
		t.Errorf("text file: got %q, %v", a.Metadata.Status, err)
	}
}

func testDamagedImages(t *testing.T, s *scratch) {
	whole := photo(t, 300, 200)
	for name, content := range map[string][]byte{"half.jpg": whole[:len(whole)/2], "text.jpg": []byte("not an image")} {
		a := s.uploadTo(t, assets.Upload{CategoryID: s.category, Filename: name}, content)
		if a, err := s.Processed(t.Context(), a.ID); err != nil || a.Metadata.Status != assets.Failed || a.Metadata.Width != 0 {
			t.Errorf("%s: %+v, %v", name, a.Metadata, err)
		}
	}
}

// fetch decodes the delivered image.
func fetch(t *testing.T, body io.ReadCloser, size int64, err error, format assets.ImageFormat) (image.Image, int) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
	b, err := io.ReadAll(body)
	if err = errors.Join(err, body.Close()); err != nil || size >= 0 && size != int64(len(b)) {
		t.Fatalf("%d of %d bytes, %v", len(b), size, err)
	}
	decode := map[assets.ImageFormat]func(io.Reader) (image.Image, error){
		assets.WebP: webp.Decode, assets.JPEG: jpeg.Decode, assets.PNG: png.Decode, assets.GIF: gif.Decode, assets.TIFF: tiff.Decode,
	}[format]
	m, err := decode(bytes.NewReader(b))
	if err != nil {
		t.Fatalf("decode %s: %v", format, err)
	}
	return m, len(b)
}

func (s *scratch) image(t *testing.T, a assets.Asset, r assets.Rendition) (image.Image, int) {
	t.Helper()
	body, size, err := s.Image(t.Context(), a, r)
	return fetch(t, body, size, err, r.Format)
}

// Renditions have the nearest available width in each format, and are never larger than the image.
func testRenditions(t *testing.T, s *scratch) {
	a := s.uploadPhoto(t, 300, 200)
	for _, width := range []string{"80", "160", "240", "300", "default"} {
		if a.ImageURLs[width] == "" || len(a.ImageURLs) != 5 {
			t.Errorf("no URL for %s: %v", width, a.ImageURLs)
		}
	}
	if !strings.HasSuffix(a.ImageURLs["default"], ".jpeg") || !strings.HasSuffix(a.ImageURLs["80"], ".webp") {
		t.Errorf("URLs %v", a.ImageURLs)
	}
	for _, format := range assets.ImageFormats() {
		for width, want := range map[int]int{1: 80, 160: 160, 170: 160, 290: 300, 5000: 300} {
			m, _ := s.image(t, a, assets.Rendition{Width: width, Format: format})
			if got := m.Bounds().Size(); got.X != want || (got.Y-want*2/3)*(got.Y-want*2/3) > 1 {
				t.Errorf("%d.%s: %v", width, format, got)
			}
		}
	}
	if url, err := a.ImageURL(assets.Rendition{Width: 240}); err != nil || url != a.ImageURLs["240"] {
		t.Errorf("built %q, %v, want %q", url, err, a.ImageURLs["240"])
	}
}

func testBoxes(t *testing.T, s *scratch) {
	a := s.uploadPhoto(t, 300, 200)
	for box, want := range map[image.Point]image.Point{{90, 90}: {90, 60}, {999, 50}: {75, 50}, {999, 999}: {300, 200}} {
		m, _ := s.image(t, a, assets.Rendition{Width: box.X, Height: box.Y, Format: assets.PNG})
		if got := m.Bounds().Size(); got != want {
			t.Errorf("%v: got %v, want %v", box, got, want)
		}
	}
}

func testThumbs(t *testing.T, s *scratch) {
	a := s.uploadPhoto(t, 300, 200)
	body, size, err := s.Thumb(t.Context(), a.ID, assets.Rendition{Width: 90, Height: 90, Format: assets.WebP})
	if m, _ := fetch(t, body, size, err, assets.WebP); m.Bounds().Dx() > 90 || m.Bounds().Dy() > 90 {
		t.Errorf("got %v", m.Bounds())
	}
}

func testNoRendition(t *testing.T, s *scratch) {
	a := s.upload(t, "a.txt")
	_, _, imageErr := s.Image(t.Context(), a, assets.Rendition{Width: 80})
	_, _, thumbErr := s.Thumb(t.Context(), a.ID, assets.Rendition{Width: 80})
	if !errors.Is(imageErr, fs.ErrNotExist) || !errors.Is(thumbErr, fs.ErrNotExist) {
		t.Errorf("got %v and %v", imageErr, thumbErr)
	}
}

// testImageQualities sets the quality of one format and then restores it.
func testImageQualities(t *testing.T, s *scratch) {
	all, err := s.ImageQualities(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	was := map[assets.ImageFormat]int{}
	for _, q := range all {
		was[q.Format] = q.Quality
	}
	if len(was) != 5 || was[assets.JPEG] < 1 {
		t.Fatalf("got %v", all)
	}
	defer func() {
		if err := s.SetImageQuality(t.Context(), assets.JPEG, was[assets.JPEG]); err != nil {
			t.Errorf("clean up: %v", err)
		}
	}()
	a := s.uploadPhoto(t, 300, 200)
	var sizes []int
	for _, quality := range []int{10, 95} {
		if err := s.SetImageQuality(t.Context(), assets.JPEG, quality); err != nil {
			t.Fatal(err)
		}
		_, size := s.image(t, a, assets.Rendition{Width: 300, Format: assets.JPEG})
		sizes = append(sizes, size)
	}
	if sizes[0] >= sizes[1] {
		t.Errorf("got %d bytes with quality 10, and %d with 95", sizes[0], sizes[1])
	}
	if err := s.SetImageQuality(t.Context(), assets.JPEG, 101); err == nil {
		t.Error("quality 101 was accepted")
	}
	if err := s.SetImageQuality(t.Context(), "bmp", 50); !errors.Is(err, fs.ErrNotExist) {
		t.Error(fmt.Errorf("bmp: %w", err))
	}
}

func testEditToNew(t *testing.T, s *scratch) {
	a := s.uploadPhoto(t, 300, 200)
	made, err := s.EditToNew(t.Context(), a.ID, "cut", assets.Edit{Crop: &assets.Crop{X: 10, Y: 20, Width: 100, Height: 50}})
	if err != nil {
		t.Fatal(err)
	}
	if made.ID == a.ID || made.Name != "cut" || made.Extension != "jpg" || made.CategoryID != a.CategoryID || made.URL == a.URL {
		t.Errorf("got %+v", made)
	}
	if made, err = s.Processed(t.Context(), made.ID); err != nil || made.Metadata.Width != 100 || made.Metadata.Height != 50 {
		t.Errorf("got %+v, %v", made.Metadata, err)
	}
	if a, err := s.Processed(t.Context(), a.ID); err != nil || a.Metadata.Width != 300 {
		t.Errorf("original: got %+v, %v", a.Metadata, err)
	}
}

func testEditInPlace(t *testing.T, s *scratch) {
	a := s.uploadPhoto(t, 300, 200)
	edited, err := s.EditInPlace(t.Context(), a.ID, assets.Edit{Resize: &assets.Resize{Width: 150, Height: 100}})
	if err != nil {
		t.Fatal(err)
	}
	if edited.ID != a.ID || edited.URL != a.URL || edited.Name != a.Name || edited.CategoryID != a.CategoryID {
		t.Errorf("got %+v", edited)
	}
	if edited, err = s.Processed(t.Context(), a.ID); err != nil || edited.Metadata.Width != 150 || edited.Metadata.Height != 100 {
		t.Errorf("got %+v, %v", edited.Metadata, err)
	}
	if all, err := s.Revisions(t.Context(), a.ID); err != nil || len(all) != 2 {
		t.Errorf("revisions: got %v, %v", all, err)
	}
}

func testEditOrder(t *testing.T, s *scratch) {
	made, err := s.EditToNew(t.Context(), s.uploadPhoto(t, 300, 200).ID, "all", assets.Edit{
		Crop: &assets.Crop{Width: 200, Height: 40}, Rotate: &assets.Rotate{Angle: 90}, Flip: &assets.Flip{X: true},
		Resize: &assets.Resize{Width: 20, Height: 100},
	})
	if err != nil {
		t.Fatal(err)
	}
	if made, err = s.Processed(t.Context(), made.ID); err != nil || made.Metadata.Width != 20 || made.Metadata.Height != 100 {
		t.Errorf("got %+v, %v", made.Metadata, err)
	}
	for name, e := range map[string]assets.Edit{
		"outside": {Crop: &assets.Crop{X: 250, Width: 100, Height: 10}}, "too large": {Resize: &assets.Resize{Width: 16384, Height: 10}},
	} {
		if _, err := s.EditToNew(t.Context(), made.ID, name, e); err == nil {
			t.Errorf("edit %s was accepted", name)
		}
	}
}

// testAnalysis works with analysis on or off in the workspace.
func testAnalysis(t *testing.T, s *scratch) {
	a, text := s.uploadPhoto(t, 300, 200), s.upload(t, "a.txt")
	if err := s.Analyze(t.Context(), a.ID, text.ID); err != nil {
		t.Fatal(err)
	}
	a, err := s.Analysed(t.Context(), a.ID)
	if err != nil {
		t.Fatal(err)
	}
	switch a.Metadata.AnalysisStatus {
	case assets.Success:
		if a.Metadata.Description == "" && len(a.Tags) == 0 {
			t.Errorf("analysis without results: %+v", a)
		}
	case assets.Skipped:
		if a.Metadata.Description != "" || len(a.Tags) > 0 {
			t.Errorf("skipped analysis with results: %+v", a)
		}
	default:
		t.Errorf("status %q", a.Metadata.AnalysisStatus)
	}
	if text, err = s.Analysed(t.Context(), text.ID); err != nil || text.Metadata.AnalysisStatus != assets.Skipped {
		t.Errorf("text file: got %q, %v", text.Metadata.AnalysisStatus, err)
	}
}
