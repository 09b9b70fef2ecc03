package assets

import (
	"encoding/json"
	"fmt"
	"net/http"
	"slices"
	"strconv"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

// The test verifies that Folders omits folders in other folders for any form of the list.
func TestFoldersAtTheTop(t *testing.T) {
	want := []string{"x", "z"}
	for name, items := range map[string]string{
		"top levels":           `{"id":"x","categoryId":"c"},{"id":"z","categoryId":"c","parentId":null}`,
		"a tree":               `{"id":"x","folders":[{"id":"y","parentId":"x","folders":[{"id":"w","parentId":"y"}]}]},{"id":"z","folders":[]}`,
		"flat":                 `{"id":"y","parentId":"x"},{"id":"x","parentId":""},{"id":"w","parentId":"y"},{"id":"z"}`,
		"both":                 `{"id":"x","folders":[{"id":"y","parentId":"x"}]},{"id":"y","parentId":"x","folders":[]},{"id":"z"}`,
		"both, and no parents": `{"id":"y"},{"id":"x","folders":[{"id":"y","folders":[{"id":"w"}]}]},{"id":"w"},{"id":"z"}`,
		"twice":                `{"id":"x"},{"id":"z"},{"id":"x"}`,
		"within categories":    `{"id":"x","categoryId":"c","parentId":"c"},{"id":"y","categoryId":"c","parentId":"x"},{"id":"z","categoryId":"c","parentId":"c"}`,
	} {
		for _, body := range []string{`{"items":[` + items + `]}`, `[` + items + `]`} {
			got, err := newClient(t, Options{BaseURL: "http://localhost", Transport: &parrot{200, nil, body}}).Folders(t.Context())
			var ids []string
			for _, f := range got {
				if ids = append(ids, f.ID); f.ParentID != "" {
					t.Errorf("%s: %s has the parent %q", name, f.ID, f.ParentID)
				}
			}
			if err != nil || !cmp.Equal(ids, want) {
				t.Errorf("%s: got %v, %v", name, ids, err)
			}
		}
	}
}

// The test verifies that Folder returns the direct subfolders, even if a service also lists deeper
// ones on the same level.
func TestFoldersInAFolder(t *testing.T) {
	for name, inside := range map[string]string{
		"a tree": `{"id":"b","parentId":"a","folders":[{"id":"d","parentId":"b"}]},{"id":"c","parentId":"a"}`,
		"flat":   `{"id":"b","parentId":"a"},{"id":"d","parentId":"b"},{"id":"c","parentId":"a"}`,
		"both":   `{"id":"b","folders":[{"id":"d"}]},{"id":"d"},{"id":"c"}`,
	} {
		body := `{"id":"a","folders":[` + inside + `]}`
		got, err := newClient(t, Options{BaseURL: "http://localhost", Transport: &parrot{200, nil, body}}).Folder(t.Context(), "a", 1)
		var ids []string
		for _, f := range got.Folders {
			ids = append(ids, f.ID)
		}
		if err != nil || !cmp.Equal(ids, []string{"b", "c"}) {
			t.Errorf("%s: got %v, %v", name, ids, err)
		}
	}
}

// The test verifies that paged lists are read completely, although public clients do not page them.
func TestFoldersInPages(t *testing.T) {
	for _, s := range []*shelf{{most: 10}, {most: 10, noTotal: true}, {}} {
		for _, n := range []int{0, 1, 9, 10, 11, 30, 35} {
			s.ids, s.requests = numbered(n), 0
			if s.most == 0 {
				s.most = 1000
			}
			c := serve(t, func(w http.ResponseWriter, r *http.Request) {
				if r.FormValue("limit") == "" { // otherwise the page size of the service
					r.Form.Set("limit", "1000")
				}
				s.ServeHTTP(w, r)
			})
			got, err := c.Folders(t.Context())
			var ids []string
			for _, f := range got {
				ids = append(ids, f.ID)
			}
			if err != nil || !slices.Equal(ids, s.ids) {
				t.Errorf("pages of %d, %v: got %v, %v, want %v", s.most, s.noTotal, ids, err, s.ids)
			}
			if want := n/10 + 1; s.most == 10 && s.requests > want {
				t.Errorf("%d folders: %d requests", n, s.requests)
			}
		}
	}
}

// The test verifies that lists without an envelope are read.
func TestPlainArrays(t *testing.T) {
	for _, n := range []int{0, 1, 9, 10, 11, 20, 35} {
		for _, paged := range []bool{true, false} {
			if !paged && n > 0 && n%10 == 0 {
				continue // the end of such a list cannot be detected, which is an error
			}
			s := &shelf{ids: numbered(n)}
			c := serve(t, func(w http.ResponseWriter, r *http.Request) {
				limit, _ := strconv.Atoi(r.FormValue("limit"))
				offset, _ := strconv.Atoi(r.FormValue("offset"))
				if !paged {
					limit, offset = n, 0
				}
				_ = json.NewEncoder(w).Encode(s.page(offset, limit)["items"])
			})
			got, err := listIDs(t, c, 10)
			if err != nil || !slices.Equal(got, s.ids) {
				t.Errorf("%d, paged %v: got %v, %v", n, paged, got, err)
			}
		}
	}
}

// An aged asset has a folder and an upload time.
type aged struct {
	ID         string `json:"id"`
	FolderID   string `json:"folderId,omitempty"`
	UploadedAt string `json:"uploadedAt,omitempty"`
}

// A store lists assets in its own order, in pages of ten.
type store struct {
	all      []aged
	requests int
}

func (s *store) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	s.requests++
	offset, _ := strconv.Atoi(r.FormValue("offset"))
	_ = json.NewEncoder(w).Encode(map[string]any{"items": s.all[offset:min(offset+10, len(s.all))], "totalCount": len(s.all), "limit": 10, "offset": offset})
}

func (s *store) list(t *testing.T, o ListOptions) (ids []string) {
	t.Helper()
	s.requests = 0
	for a, err := range serve(t, s.ServeHTTP).List(t.Context(), o) {
		if err != nil {
			t.Fatal(err)
		}
		ids = append(ids, a.ID)
	}
	return ids
}

// The test verifies that a list of a category omits the assets in its folders, and that pages with
// only such assets do not end it.
func TestListWithoutFolders(t *testing.T) {
	s := &store{}
	for n := range 45 {
		a := aged{ID: fmt.Sprint(n), FolderID: "f"}
		if n == 3 || n == 44 {
			a.FolderID = ""
		}
		s.all = append(s.all, a)
	}
	for _, overlap := range []bool{false, true} {
		if got := s.list(t, ListOptions{CategoryID: "c", PageSize: 10, Overlap: overlap}); !cmp.Equal(got, []string{"3", "44"}) {
			t.Errorf("category: got %v", got)
		}
	}
	s.all[7].FolderID = "below f"
	if got := s.list(t, ListOptions{FolderID: "f", PageSize: 10}); len(got) != 44 || slices.Contains(got, "7") {
		t.Errorf("folder: got %v", got)
	}
}

// The test verifies that a list back to a time ends after the page that reaches it, but only once
// the service has shown that it respects the order.
func TestListSince(t *testing.T) {
	at := func(minute int) string { return time.Date(2026, 1, 1, 0, minute, 0, 0, time.UTC).Format(time.RFC3339) }
	since := time.Date(2026, 1, 1, 0, 40, 0, 0, time.UTC)
	build := func(minute func(n int) int) *store {
		s := &store{}
		for n := range 50 {
			s.all = append(s.all, aged{ID: strconv.Itoa(minute(n)), UploadedAt: at(minute(n))})
		}
		return s
	}
	for name, tt := range map[string]struct {
		minute   func(int) int
		requests int
	}{
		"newest first":    {func(n int) int { return 50 - n }, 2},
		"oldest first":    {func(n int) int { return n + 1 }, 5},
		"no order":        {func(n int) int { return n*7%50 + 1 }, 5},
		"turns at a page": {func(n int) int { return (n+20)%50 + 1 }, 5},
	} {
		s := build(tt.minute)
		got := s.list(t, ListOptions{CategoryID: "c", SortBy: ByUploadedAt, Order: Descending, PageSize: 10, Since: since})
		var want []string
		for _, a := range s.all {
			if n, _ := strconv.Atoi(a.ID); n >= 40 {
				want = append(want, a.ID)
			}
		}
		if !cmp.Equal(got, want) || s.requests != tt.requests {
			t.Errorf("%s: got %v after %d requests, want %v after %d", name, got, s.requests, want, tt.requests)
		}
	}
	equal := build(func(n int) int { return 1 })
	for n := range equal.all {
		equal.all[n].ID += fmt.Sprint(" at ", n)
	}
	equal.all[49] = aged{ID: "new", UploadedAt: at(45)}
	equal.all[48] = aged{ID: "of no age"}
	if got := equal.list(t, ListOptions{CategoryID: "c", SortBy: ByUploadedAt, Order: Descending, PageSize: 10, Since: since}); !cmp.Equal(got, []string{"of no age", "new"}) {
		t.Errorf("equal times: got %v", got)
	}
}

// The test verifies that the client does not rely on the order after the service ignored it, or if
// the profile says so.
func TestListSinceWithoutOrder(t *testing.T) {
	s := &store{}
	for n := range 30 {
		s.all = append(s.all, aged{ID: strconv.Itoa(n), UploadedAt: time.Date(2026, 1, 1, 0, 30-n, 0, 0, time.UTC).Format(time.RFC3339)})
	}
	o := ListOptions{CategoryID: "c", SortBy: ByUploadedAt, Order: Descending, PageSize: 10, Since: time.Date(2026, 1, 1, 0, 29, 0, 0, time.UTC)}
	c := serve(t, s.ServeHTTP)
	read := func(c *Client) (requests int) {
		s.requests = 0
		for _, err := range c.List(t.Context(), o) {
			if err != nil {
				t.Fatal(err)
			}
		}
		return s.requests
	}
	if got := read(c); got != 1 {
		t.Errorf("in order: %d requests", got)
	}
	slices.Reverse(s.all)
	read(c)
	slices.Reverse(s.all)
	if got := read(c); got != 3 {
		t.Errorf("after there was no order: %d requests", got)
	}
	unordered := serve(t, s.ServeHTTP)
	unordered.Unordered()
	if got := read(unordered); got != 3 {
		t.Errorf("where no order is to be expected: %d requests", got)
	}
}
