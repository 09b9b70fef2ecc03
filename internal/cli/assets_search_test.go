package cli

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"assetferry/internal/cli/exit"
	"assetferry/internal/sandbox"
)

// The test verifies a search against a service that ignores the date filter: the command omits
// older assets on every page, and --limit counts only the assets that are shown.
func TestSearchSince(t *testing.T) {
	t.Parallel()
	var day atomic.Int64
	noon := func() time.Time { return time.Date(2026, 3, int(day.Load()), 12, 0, 0, 0, time.UTC) }
	s := startService(t, sandbox.Options{Now: noon})
	var want []string
	for i := range 60 { // more than one page
		day.Store(int64(1 + i%2*10))
		s.skew = time.Until(noon())
		name := fmt.Sprintf("%02d.txt", i)
		if err := s.upload("Documents", name, []byte(name)); err != nil {
			t.Fatal(err)
		}
		if i%2 == 1 {
			want = append(want, name)
		}
	}
	s.wrap(withoutDateFilter)
	search := func(args ...string) (names []string) {
		t.Helper()
		args = append([]string{"assets", "search", "txt", "--compensate-clock", "--sort", "name", "--json", "--since", "2026-03-05"}, args...)
		c := assetferry(t, t.TempDir(), s.variables(), args...)
		c.must(t, exit.CodeDone)
		for line := range strings.Lines(c.stdout.String()) {
			var asset struct{ Name string }
			if err := json.Unmarshal([]byte(line), &asset); err != nil {
				t.Fatal(err)
			}
			names = append(names, asset.Name)
		}
		return names
	}
	if got := search(); !slices.Equal(got, want) {
		t.Errorf("got %v, want %v", got, want)
	}
	if got := search("--limit", "3"); !slices.Equal(got, want[:3]) {
		t.Errorf("--limit 3: got %v, want %v", got, want[:3])
	}
	s.drain()
	search("--limit", "29")
	if got := s.drain(); len(got) > 3 {
		t.Errorf("--limit 29 takes %d requests: %v", len(got), got)
	}
}

// withoutDateFilter wraps a service to ignore date filters.
func withoutDateFilter(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/search" {
			var body map[string]any
			if err := json.NewDecoder(r.Body).Decode(&body); err != nil {
				http.Error(w, err.Error(), http.StatusBadRequest)
				return
			}
			delete(body["filters"].(map[string]any), "uploadedAt")
			text, err := json.Marshal(body)
			if err != nil {
				http.Error(w, err.Error(), http.StatusInternalServerError)
				return
			}
			r.Body, r.ContentLength = io.NopCloser(bytes.NewReader(text)), int64(len(text))
		}
		next.ServeHTTP(w, r)
	})
}
