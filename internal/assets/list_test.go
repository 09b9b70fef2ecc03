package assets

import (
	"encoding/json"
	"fmt"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// A shelf is a service that lists its items in order, by offset and limit.
type shelf struct {
	ids      []string
	most     int               // maximum page size of the service; 0: none
	noTotal  bool              // the answers have no totalCount
	meddle   func(*shelf, int) // called before each page with its number
	requests int
}

func numbered(n int) []string {
	var ids []string
	for i := range n {
		ids = append(ids, fmt.Sprintf("%04d", i))
	}
	return ids
}

func (s *shelf) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if s.meddle != nil {
		s.meddle(s, s.requests)
	}
	s.requests++
	limit, _ := strconv.Atoi(r.FormValue("limit"))
	offset, _ := strconv.Atoi(r.FormValue("offset"))
	_ = json.NewEncoder(w).Encode(s.page(offset, limit))
}

func (s *shelf) page(offset, limit int) map[string]any {
	if s.most > 0 {
		limit = min(limit, s.most)
	}
	items := []map[string]string{}
	for i := offset; i < min(offset+limit, len(s.ids)); i++ {
		items = append(items, map[string]string{"id": s.ids[i]})
	}
	answer := map[string]any{"items": items, "offset": offset, "limit": limit, "totalCount": len(s.ids)}
	if s.noTotal {
		delete(answer, "totalCount")
	}
	return answer
}

func listIDs(t testing.TB, c *Client, size int) (ids []string, err error) {
	t.Helper()
	for a, err := range c.List(t.Context(), ListOptions{CategoryID: "c", PageSize: size}) {
		if err != nil {
			return ids, err
		}
		ids = append(ids, a.ID)
	}
	return ids, nil
}

func TestListPages(t *testing.T) {
	for _, n := range []int{0, 1, 9, 10, 11, 20, 35} {
		for _, s := range []*shelf{{}, {most: 4}, {noTotal: true}, {noTotal: true, most: 4}} {
			s.ids = numbered(n)
			t.Run(fmt.Sprintf("%d %d %v", n, s.most, s.noTotal), func(t *testing.T) {
				got, err := listIDs(t, serve(t, s.ServeHTTP), 10)
				if err != nil || !slices.Equal(got, s.ids) {
					t.Errorf("got %v, %v, want %v", got, err, s.ids)
				}
			})
		}
	}
}

func TestListStopsAsDocumented(t *testing.T) {
	s := &shelf{ids: numbered(20)}
	if _, err := listIDs(t, serve(t, s.ServeHTTP), 10); err != nil || s.requests != 2 {
		t.Errorf("got %v after %d requests, want 2: offset + limit >= totalCount", err, s.requests)
	}
}

func TestListShifts(t *testing.T) {
	tests := []struct {
		name   string
		meddle func(*shelf, int)
	}{
		{"added in front", func(s *shelf, n int) { s.ids = append([]string{fmt.Sprint("new", n)}, s.ids...) }},
		{"added behind", func(s *shelf, n int) {
			if n < 3 {
				s.ids = append(s.ids, fmt.Sprint("new", n))
			}
		}},
		{"removed in front", func(s *shelf, n int) {
			if n > 0 && n < 5 {
				s.ids = s.ids[3:]
			}
		}},
		{"removed in front near the end", func(s *shelf, n int) {
			if n == 3 {
				s.ids = s.ids[10:]
			}
		}},
		{"much removed in front", func(s *shelf, n int) {
			if n == 2 {
				s.ids = s.ids[25:]
			}
		}},
		{"removed behind", func(s *shelf, n int) {
			if n == 1 {
				s.ids = s.ids[:15]
			}
		}},
		{"removed so that a page is empty", func(s *shelf, n int) {
			if n == 1 {
				s.ids = s.ids[:10]
			}
		}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			s := &shelf{ids: numbered(40), meddle: tt.meddle}
			got, err := listIDs(t, serve(t, s.ServeHTTP), 10)
			if err != nil {
				t.Fatal(err)
			}
			for _, id := range s.ids { // items that exist at the start and at the end
				if !slices.Contains(got, id) && !strings.HasPrefix(id, "new") {
					t.Errorf("%s is missing", id)
				}
			}
			if unique := slices.Compact(slices.Sorted(slices.Values(got))); len(unique) != len(got) {
				t.Errorf("some came twice: %v", got)
			}
		})
	}
}

// The test verifies that overlapping pages find assets that moved below the offset, although as
// many were added as removed and the total is unchanged. Without changes, they cost no more
// requests.
func TestListOverlaps(t *testing.T) {
	added := func(s *shelf, n int) { s.ids = append(s.ids, fmt.Sprint("new", n)) }
	tests := []struct {
		name     string
		meddle   func(*shelf, int)
		requests int
	}{
		{"nothing", nil, 4},
		{"one for one", func(s *shelf, n int) {
			if n == 1 {
				s.ids = s.ids[1:]
				added(s, n)
			}
		}, 6},
		{"one for one, each time", func(s *shelf, n int) {
			if n > 0 && n < 6 {
				s.ids = s.ids[1:]
				added(s, n)
			}
		}, 10},
		{"two pages for as many", func(s *shelf, n int) {
			if n == 2 {
				s.ids = s.ids[19:]
				for i := range 19 {
					added(s, i)
				}
			}
		}, 8},
		{"all that was listed, and none comes", func(s *shelf, n int) {
			if n == 3 {
				s.ids = s.ids[28:]
			}
		}, 7},
		{"the last one of a page", func(s *shelf, n int) {
			if n == 1 {
				s.ids = slices.Delete(s.ids, 9, 10)
				added(s, n)
			}
		}, 6},
		{"moved to the end, as what is replaced", func(s *shelf, n int) {
			if n == 2 {
				s.ids = append(s.ids[1:], s.ids[0])
			}
		}, 7},
	}
	for _, tt := range tests {
		for _, noTotal := range []bool{false, true} {
			t.Run(fmt.Sprint(tt.name, " ", noTotal), func(t *testing.T) {
				s := &shelf{ids: numbered(36), meddle: tt.meddle, noTotal: noTotal}
				var got []string
				for a, err := range serve(t, s.ServeHTTP).List(t.Context(), ListOptions{CategoryID: "c", PageSize: 10, Overlap: true}) {
					if err != nil {
						t.Fatal(err)
					}
					got = append(got, a.ID)
				}
				for _, id := range s.ids {
					if !slices.Contains(got, id) && !strings.HasPrefix(id, "new") {
						t.Errorf("%s is missing", id)
					}
				}
				if s.requests > tt.requests {
					t.Errorf("%d requests, want at most %d", s.requests, tt.requests)
				}
			})
		}
	}
}

func TestListErrors(t *testing.T) {
	tests := []struct {
		name     string
		handler  http.HandlerFunc
		requests int // maximum number
	}{
		{"offset is ignored", func(w http.ResponseWriter, r *http.Request) {
			_ = json.NewEncoder(w).Encode((&shelf{ids: numbered(1000)}).page(0, 10))
		}, 6},
		{"pages alternate", func(w http.ResponseWriter, r *http.Request) {
			offset, _ := strconv.Atoi(r.FormValue("offset"))
			_ = json.NewEncoder(w).Encode((&shelf{ids: numbered(1000)}).page(offset%20, 10))
		}, 8},
		{"empty page", func(w http.ResponseWriter, r *http.Request) { fmt.Fprint(w, `{"items":[],"totalCount":5}`) }, 1},
		{"empty page later", func(w http.ResponseWriter, r *http.Request) {
			s := &shelf{ids: numbered(100)}
			p := s.page(0, 10)
			if r.FormValue("offset") != "0" {
				p["items"] = []any{}
			}
			_ = json.NewEncoder(w).Encode(p)
		}, 2},
		{"total grows for ever", func(w http.ResponseWriter, r *http.Request) {
			offset, _ := strconv.Atoi(r.FormValue("offset"))
			p := (&shelf{ids: numbered(10)}).page(0, 10)
			p["totalCount"] = offset + 100
			_ = json.NewEncoder(w).Encode(p)
		}, 6},
		{"total shakes", func() http.HandlerFunc {
			n := 0
			return func(w http.ResponseWriter, r *http.Request) {
				n++
				offset, _ := strconv.Atoi(r.FormValue("offset"))
				p := (&shelf{ids: numbered(1000)}).page(offset, 10)
				p["totalCount"] = 1000 - n%2*10
				_ = json.NewEncoder(w).Encode(p)
			}
		}(), 1000},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			requests := 0
			c := serve(t, func(w http.ResponseWriter, r *http.Request) { requests++; tt.handler(w, r) })
			got, err := listIDs(t, c, 10)
			if err == nil {
				t.Errorf("no error, got %d items", len(got))
			}
			if requests > tt.requests {
				t.Errorf("got %d requests, want at most %d", requests, tt.requests)
			}
		})
	}
}

func TestListBreaksAndRestarts(t *testing.T) {
	s := &shelf{ids: numbered(30)}
	seq := serve(t, s.ServeHTTP).List(t.Context(), ListOptions{FolderID: "f", PageSize: 10})
	for range 2 {
		n := 0
		for a, err := range seq {
			if err != nil || a.ID != s.ids[n] {
				t.Fatalf("got %v, %v, want %s", a.ID, err, s.ids[n])
			}
			if n++; n == 15 {
				break
			}
		}
	}
	if s.requests != 4 {
		t.Errorf("got %d requests, want 4", s.requests)
	}
}

func TestListErrorComesLast(t *testing.T) {
	a := answers(`200 {"items":[{"id":"a"}],"totalCount":9}`, "404")
	c := serve(t, a.ServeHTTP)
	var ids []string
	var errs int
	for asset, err := range c.List(t.Context(), ListOptions{CategoryID: "c"}) {
		if errs > 0 {
			t.Error("goes on after an error")
		}
		if err != nil {
			if errs++; asset.ID != "" {
				t.Error("an asset with the error")
			}
			continue
		}
		ids = append(ids, asset.ID)
	}
	if errs != 1 || !cmp.Equal(ids, []string{"a"}) {
		t.Errorf("got %v and %d errors", ids, errs)
	}
}

func TestListNeedsOnePlace(t *testing.T) {
	c := newClient(t, Options{BaseURL: "https://localhost"})
	for _, o := range []ListOptions{{}, {CategoryID: "c", FolderID: "f"}} {
		n := 0
		for _, err := range c.List(t.Context(), o) {
			if n++; err == nil {
				t.Error("no error")
			}
		}
		if n != 1 {
			t.Errorf("got %d items", n)
		}
	}
}
