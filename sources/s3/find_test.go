package s3

import (
	"net/http"
	"testing"

	"assetferry/sources"
)

// TestFindArchived verifies that an object in an archive is found with that obstacle, until it is
// restored.
func TestFindArchived(t *testing.T) {
	for restore, want := range map[string]sources.Obstacle{
		"":                       sources.Archived,
		`ongoing-request="true"`: sources.Archived,
		`ongoing-request="false", expiry-date="Fri, 21 Dec 2029 00:00:00 GMT"`: "",
	} {
		src := sourceOf(func(*http.Request) *http.Response {
			return answer(http.StatusOK, http.NoBody, "Content-Length", "3", "X-Amz-Storage-Class", "GLACIER", "X-Amz-Restore", restore)
		})
		if o, err := src.Find(t.Context(), "a"); err != nil || o.Obstacle != want {
			t.Errorf("%s: got %q (%v), want %q", restore, o.Obstacle, err, want)
		}
	}
}
