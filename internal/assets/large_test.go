package assets

import (
	"fmt"
	"io"
	"net/http"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"

	"assetferry/internal/assets/paging"
)

// The test verifies that a list that is too long for one answer is read in pages.
func TestLargeListOfFolders(t *testing.T) {
	const most = 50_000
	c := serve(t, func(w http.ResponseWriter, r *http.Request) {
		from, limit := 0, most
		if r.FormValue("limit") != "" {
			from, _ = strconv.Atoi(r.FormValue("offset"))
			limit, _ = strconv.Atoi(r.FormValue("limit"))
		}
		var b strings.Builder
		b.WriteString(`{"items":[`)
		for n := from; n < min(from+limit, most); n++ {
			if n > from {
				b.WriteByte(',')
			}
			fmt.Fprintf(&b, `{"id":"0b9d1e7c-40ab-4f63-8c0d-%012d","name":"Product photos %d","categoryId":"5f7c9a52-1d3e-4b6a-9f01-23456789abcd","parentId":"","createdAt":"2024-05-06T07:08:09.123Z","assetsCount":12,"folders":[]}`, n, n)
		}
		fmt.Fprintf(&b, `],"totalCount":%d}`, most)
		_, _ = io.WriteString(w, b.String())
	})
	got, err := c.Folders(t.Context())
	if err != nil || len(got) != most {
		t.Fatalf("%d folders, %v", len(got), err)
	}
	for n, f := range got {
		if want := fmt.Sprintf("Product photos %d", n); f.Name != want {
			t.Fatalf("folder %d is %q", n, f.Name)
		}
	}
}

// The test verifies that 20,000 folders fit into one answer of a service without pages.
func TestUnpagedListOfFolders(t *testing.T) {
	const most = 20_000
	var b strings.Builder
	for n := range most {
		fmt.Fprintf(&b, `,{"id":"0b9d1e7c-40ab-4f63-8c0d-%012d","name":"Product photos %d","categoryId":"5f7c9a52-1d3e-4b6a-9f01-23456789abcd","parentId":"0b9d1e7c-40ab-4f63-8c0d-%012d","createdAt":"2024-05-06T07:08:09.123Z","updatedAt":"2024-05-06T07:08:09.123Z","assetsCount":12,"folders":[]}`, n, n, n/10)
	}
	c := serve(t, func(w http.ResponseWriter, _ *http.Request) {
		_, _ = io.WriteString(w, `{"items":[`+b.String()[1:]+`]}`)
	})
	if got, err := c.FoldersAsListed(t.Context()); err != nil || len(got) != most {
		t.Errorf("%d folders, %v", len(got), err)
	}
}

// The test verifies that a page of assets with much metadata is requested again with fewer assets,
// and that later pages keep that size.
func TestLargePageIsShortened(t *testing.T) {
	const most = 200
	text := strings.Repeat("x", 400_000)
	var requests, plain atomic.Int64
	c := serve(t, func(w http.ResponseWriter, r *http.Request) {
		requests.Add(1)
		from, _ := strconv.Atoi(r.FormValue("offset"))
		limit, _ := strconv.Atoi(r.FormValue("limit"))
		if plain.Load() > 0 { // a service without pages
			from, limit = 0, most
		}
		fmt.Fprint(w, `{"items":[`)
		for n := from; n < min(from+limit, most); n++ {
			if n > from {
				fmt.Fprint(w, ",")
			}
			description := text
			if from == 0 && plain.Load() == 0 { // the first page has the normal size
				description = "short"
			}
			fmt.Fprintf(w, `{"id":"a%d","metadata":{"description":"%s"}}`, n, description)
		}
		fmt.Fprintf(w, `],"totalCount":%d}`, most)
	})
	list := func() (n int, err error) {
		for a, err := range c.List(t.Context(), ListOptions{CategoryID: "c"}) {
			if err != nil {
				return n, err
			}
			if a.ID != fmt.Sprintf("a%d", n) {
				t.Fatalf("asset %d is %s", n, a.ID)
			}
			n++
		}
		return n, nil
	}
	if n, err := list(); err != nil || n != most {
		t.Errorf("%d assets, %v", n, err)
	}
	if n := requests.Swap(0); n > 10 {
		t.Errorf("%d requests", n)
	}
	plain.Store(1)
	c.pageSizes = paging.Sizes{Refused: isBadRequest}
	if n, err := list(); err == nil {
		t.Errorf("%d assets", n)
	}
	if n := requests.Load(); n > 3 {
		t.Errorf("%d requests of what is not paged", n)
	}
}
