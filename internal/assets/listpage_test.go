package assets

import (
	"fmt"
	"io"
	"net/http"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"pgregory.net/rapid"
)

// TestListPageEqualsList verifies that a page has those assets of the list that are wanted, in
// whatever form of JSON they come, and counts all items.
func TestListPageEqualsList(t *testing.T) {
	forms := []string{
		`{"id":"%s","name":"n","size":%d}`,
		`{ "id" : "%s", "size": %d }`,
		`{"size":7,"tags":["id"],"metadata":{"customAttributes":{"id":"0001"}},"id":"%s","width":%d}`,
		`{"ID":"%s","size":%d}`,
		`{"id":"\u0030%s","size":%d}`,
		`{"id":"%s","folderId":"elsewhere","size":%d}`,
		`{"id":"0002","size":1,"id":"%s","width":%d}`,
	}
	var body string
	c := serve(t, func(w http.ResponseWriter, _ *http.Request) { _, _ = io.WriteString(w, body) })
	rapid.Check(t, func(t *rapid.T) {
		var items []string
		for n := range rapid.IntRange(0, 30).Draw(t, "items") {
			items = append(items, fmt.Sprintf(rapid.SampledFrom(forms).Draw(t, "form"), fmt.Sprintf("%04d", n), n))
		}
		body = "[" + strings.Join(items, ",") + "]"
		total := -1
		if rapid.Bool().Draw(t, "envelope") {
			body, total = fmt.Sprintf(`{"offset":0,"items":%s,"limit":50,"totalCount":%d}`, body, len(items)), len(items)
		}
		wanted := map[string]bool{}
		for _, n := range rapid.SliceOfN(rapid.IntRange(0, 40), 0, 20).Draw(t, "wanted") {
			wanted[fmt.Sprintf("%04d", n)], wanted[fmt.Sprintf("0%04d", n)] = true, true
		}
		want := ListPage{Items: len(items), Total: total}
		for a, err := range c.List(t.Context(), ListOptions{CategoryID: "c"}) {
			if err != nil {
				t.Fatal(err)
			}
			if wanted[a.ID] {
				want.Assets = append(want.Assets, a)
			}
		}
		got, err := c.ListPage(t.Context(), ListOptions{CategoryID: "c"}, 0, func(id []byte) bool { return wanted[string(id)] })
		if err != nil {
			t.Fatal(err)
		}
		// The list omits a second asset with the same ID, and the fast search for IDs may miss a
		// second ID in one asset, which then is requested by itself.
		got.Assets = slices.CompactFunc(got.Assets, func(a, b Asset) bool { return a.ID == b.ID })
		want.Assets = slices.DeleteFunc(want.Assets, func(a Asset) bool { return a.Size == 1 })
		got.Assets = slices.DeleteFunc(got.Assets, func(a Asset) bool { return a.Size == 1 })
		if diff := cmp.Diff(want, got, cmpopts.EquateEmpty()); diff != "" {
			t.Errorf("%s\n(-want +got):\n%s", body, diff)
		}
	})
}

// TestListPageFull verifies when another page may follow one without a total, and that a service may
// refuse large pages.
func TestListPageFull(t *testing.T) {
	s := &shelf{ids: numbered(25), noTotal: true}
	c := serve(t, func(w http.ResponseWriter, r *http.Request) {
		if r.FormValue("limit") > "20" {
			http.Error(w, `{"statusCode":400,"message":"limit"}`, http.StatusBadRequest)
			return
		}
		s.ServeHTTP(w, r)
	})
	for _, tc := range []struct {
		offset, items int
		full          bool
	}{{0, 20, true}, {20, 5, false}, {25, 0, false}} {
		got, err := c.ListPage(t.Context(), ListOptions{FolderID: "f", PageSize: 40}, tc.offset, func(id []byte) bool { return string(id) == "0001" })
		if err != nil || got.Items != tc.items || got.Full != tc.full || got.Total != -1 || len(got.Assets) != max(0, 1-tc.offset) {
			t.Errorf("offset %d: got %+v and %v, want %+v", tc.offset, got, err, tc)
		}
	}
}

// TestListPageDoesNotDecodeOthers verifies that assets which are not wanted take no memory of their
// own: a lookup in a large folder passes over a million of them.
func TestListPageDoesNotDecodeOthers(t *testing.T) {
	items := make([]string, 500)
	for n := range items {
		items[n] = fmt.Sprintf(`{"id":"asset-%d","name":"photo-%d","tags":["a","b"],"metadata":{"customAttributes":{"x":1}}}`, n, n)
	}
	c := newClient(t, Options{BaseURL: "http://localhost", Transport: &parrot{200, nil, `{"items":[` + strings.Join(items, ",") + `],"totalCount":500}`}})
	allocations := testing.AllocsPerRun(20, func() {
		got, err := c.ListPage(t.Context(), ListOptions{CategoryID: "c", PageSize: 500}, 0, func([]byte) bool { return false })
		if err != nil || got.Items != 500 || len(got.Assets) != 0 {
			t.Errorf("got %+v and %v", got, err)
		}
	})
	if allocations > 450 {
		t.Errorf("%.0f allocations for a page of 500 assets", allocations)
	}
}
