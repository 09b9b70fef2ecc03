package rewrite

import (
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestWidthIn(t *testing.T) {
	for _, test := range []struct {
		url, key string
		want     int
	}{
		{"//blog.example.com/wp-content/uploads/2024/05/quay-300x200.jpg", "2024/05/quay.jpg", 300},
		{"//blog.example.com/wp-content/uploads/2024/05/quay-300x200.jpg?ver=2", "2024/05/quay.jpg", 300},
		{"//blog.example.com/wp-content/uploads/2024/05/quay-scaled.jpg", "2024/05/quay.jpg", scaledWidth},
		{"//blog.example.com/wp-content/uploads/2024/05/quay.jpg", "2024/05/quay.jpg", 0},
		{"//blog.example.com/wp-content/uploads/2024/05/poster-60x90.jpg", "2024/05/poster-60x90.jpg", 0},
		{"//blog.example.com/wp-content/uploads/2024/05/poster-60x90-300x450.jpg", "2024/05/poster-60x90.jpg", 300},
		{"//blog.example.com/wp-content/uploads/2024/05/quay-300.jpg", "2024/05/quay.jpg", 0},
		{"//blog.example.com/wp-content/uploads/2024/05/港-150x150.png", "2024/05/港.png", 150},
	} {
		if got := widthIn(test.url, test.key); got != test.want {
			t.Errorf("%s of %s: %d, want %d", test.url, test.key, got, test.want)
		}
	}
}

func TestImagesOf(t *testing.T) {
	got := imagesOf(map[string]string{"default": "d", "320": "b", "80": "a", "1000": "c"})
	if diff := cmp.Diff([]Image{{80, "a"}, {320, "b"}, {1000, "c"}}, got); diff != "" {
		t.Error(diff)
	}
	if isResized("a/film.GIF") || isResized("logo.svg") || !isResized("a.jpg") {
		t.Error("an animation or a drawing would become an image of one width")
	}
}
