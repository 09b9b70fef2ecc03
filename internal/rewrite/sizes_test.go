package rewrite

import (
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestImagesOf(t *testing.T) {
	got := imagesOf(map[string]string{"default": "d", "320": "b", "80": "a", "1000": "c"})
	if diff := cmp.Diff([]Image{{80, "a"}, {320, "b"}, {1000, "c"}}, got); diff != "" {
		t.Error(diff)
	}
}
