package engine

import (
	"bytes"
	"image"
	"image/png"
	"strings"
	"testing"

	"assetferry/migrate"
)

// pictureOf returns a PNG image of a width in pixels.
func pictureOf(t *testing.T, width int) string {
	t.Helper()
	var b bytes.Buffer
	must(t, png.Encode(&b, image.NewGray(image.Rect(0, 0, width, 1))))
	return b.String()
}

// wantImages verifies that the state database has the URLs of the other sizes of the only image.
func (w *world) wantImages(how string) {
	w.Helper()
	n := 0
	for a, err := range w.store.AssetURLs(w.Context(), w.pair.ID, 0) {
		must(w, err)
		n++
		images, err := a.Images()
		must(w, err)
		for _, width := range []string{"80", "160", "200"} {
			if want := strings.TrimSuffix(a.URL, "file") + "images/" + width + ".webp"; images[width] != want {
				w.Errorf("%s: the image of width %s is at %q, want %q", how, width, images[width], want)
			}
		}
		if !strings.HasSuffix(images["default"], "/images/200.png") || len(images) != 4 {
			w.Errorf("%s: the images are at %v", how, images)
		}
	}
	if n != 1 {
		w.Errorf("%s: %d URLs, want 1", how, n)
	}
}

// TestImagesAreKept verifies that the other sizes of an image are known, whichever way the image
// gets to the destination.
func TestImagesAreKept(t *testing.T) {
	w := newWorld(t)
	w.put("a.png", pictureOf(t, 200))
	w.migrate(migrate.DefaultRules())
	w.wantImages("created")
	w.loseState()
	w.wantStates(w.migrate(migrate.DefaultRules()), map[string]int64{"adopt done": 1})
	w.wantImages("adopted")
}

func TestImagesAreKeptOfItemsUnconfirmed(t *testing.T) {
	w := newWorld(t, faults(t, "POST /assets drop=after once=1"))
	w.put("a.png", pictureOf(t, 200))
	w.wantStates(w.migrate(migrate.DefaultRules()), map[string]int64{"create done": 1})
	w.wantImages("found")
}
