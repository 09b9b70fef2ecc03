package wordpress

import (
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"slices"
	"strconv"
	"strings"
	"testing"

	"assetferry/internal/hint"
)

// A collection is a list of a site that changes while it is read.
type collection struct {
	ids       []int64
	invisible map[int64]bool
	before    func(c *collection, request int) // changes it before a request
	requests  int
	pad       int // bytes of each item
}

func (c *collection) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if r.Method == http.MethodHead {
		w.Header().Set("Link", "<http://"+r.Host+"/wp-json/>; rel=\"https://api.w.org/\"")
		return
	}
	if r.URL.Path == "/wp-json/" {
		fmt.Fprint(w, `{"name": "x", "namespaces": ["wp/v2"], "authentication": []}`)
		return
	}
	c.requests++
	if c.before != nil {
		c.before(c, c.requests)
	}
	query := r.URL.Query()
	offset, _ := strconv.Atoi(query.Get("offset")) // "" is 0
	size, err := strconv.Atoi(query.Get("per_page"))
	if err != nil || query.Get("orderby") != "id" || query.Get("order") != "asc" {
		http.Error(w, "not the form of a listing", http.StatusBadRequest)
		return
	}
	items := []map[string]any{}
	for _, id := range c.ids[min(offset, len(c.ids)):min(offset+size, len(c.ids))] {
		if !c.invisible[id] {
			items = append(items, map[string]any{"id": id, "pad": fmt.Sprintf("%0*d", c.pad, 0)})
		}
	}
	w.Header().Set("X-WP-Total", strconv.Itoa(len(c.ids)))
	_ = json.NewEncoder(w).Encode(items) // to a client of the test
}

func numbers(n int) (ids []int64) {
	for i := range n {
		ids = append(ids, int64(i+1))
	}
	return ids
}

func start(t *testing.T, h http.Handler, o Options) *Client {
	t.Helper()
	server := httptest.NewServer(h)
	t.Cleanup(server.Close)
	u, err := ParseURL("wordpress+" + server.URL)
	if err != nil {
		t.Fatal(err)
	}
	c := New(u, o)
	t.Cleanup(c.CloseIdleConnections)
	return c
}

func idsOf(t *testing.T, c *Client) (ids []int64) {
	t.Helper()
	for item, err := range c.List(t.Context(), "/wp/v2/media", nil) {
		if err != nil {
			t.Fatal(err)
		}
		var got struct{ ID int64 }
		if err := json.Unmarshal(item, &got); err != nil {
			t.Fatal(err)
		}
		ids = append(ids, got.ID)
	}
	return ids
}

func TestListThatChanges(t *testing.T) {
	remove := func(at, first, count int) func(*collection, int) {
		return func(c *collection, request int) {
			if request == at {
				c.ids = slices.DeleteFunc(c.ids, func(id int64) bool { return id >= int64(first) && id < int64(first+count) })
			}
		}
	}
	few := func(from, to int64) map[int64]bool {
		is := map[int64]bool{}
		for id := from; id <= to; id++ {
			is[id] = true
		}
		return is
	}
	for name, c := range map[string]struct {
		collection
		missing map[int64]bool // of 1,000
		most    int            // requests
	}{
		"unchanged":                        {collection{ids: numbers(1000)}, nil, 11},
		"one page":                         {collection{ids: numbers(100)}, few(101, 1000), 1},
		"empty":                            {collection{}, few(1, 1000), 1},
		"one of the first deleted":         {collection{ids: numbers(1000), before: remove(3, 5, 1)}, nil, 12},
		"many deleted":                     {collection{ids: numbers(1000), before: remove(5, 1, 290)}, nil, 20},
		"the last one deleted":             {collection{ids: numbers(1000), before: remove(2, 100, 1)}, nil, 12},
		"all of the first page deleted":    {collection{ids: numbers(1000), before: remove(2, 1, 100)}, nil, 20},
		"deleted before they were listed":  {collection{ids: numbers(1000), before: remove(2, 500, 50)}, few(500, 549), 12},
		"all others deleted":               {collection{ids: numbers(1000), before: remove(3, 1, 1000)}, few(200, 1000), 8},
		"some invisible":                   {collection{ids: numbers(1000), invisible: few(95, 110)}, few(95, 110), 20},
		"hundreds invisible":               {collection{ids: numbers(1000), invisible: few(90, 700)}, few(90, 700), 40},
		"the first and the last invisible": {collection{ids: numbers(1000), invisible: few(1, 300)}, few(1, 300), 20},
		"large items":                      {collection{ids: numbers(150), pad: 200_000}, few(151, 1000), 20},
	} {
		t.Run(name, func(t *testing.T) {
			var want []int64
			for _, id := range numbers(1000) {
				if !c.missing[id] {
					want = append(want, id)
				}
			}
			if got := idsOf(t, start(t, &c.collection, Options{})); !slices.Equal(got, want) {
				t.Errorf("%d items, want %d: %v", len(got), len(want), got)
			}
			if c.requests > c.most {
				t.Errorf("%d requests, want at most %d", c.requests, c.most)
			}
		})
	}
}

// TestListWithoutEnd reads lists of hostile sites: one that claims to have more items, and one whose size
// changes all the time.
func TestListWithoutEnd(t *testing.T) {
	for name, total := range map[string]func(request int) int{
		"empty pages":   func(int) int { return 1 << 40 },
		"changing size": func(request int) int { return 1<<40 + request },
	} {
		t.Run(name, func(t *testing.T) {
			requests := 0
			c := start(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				if r.URL.Query().Get("per_page") == "" {
					new(collection).ServeHTTP(w, r)
					return
				}
				requests++
				w.Header().Set("X-WP-Total", strconv.Itoa(total(requests)))
				fmt.Fprint(w, "[]")
			}), Options{})
			var last error
			for _, last = range c.List(t.Context(), "/wp/v2/media", nil) {
			}
			if last == nil || !strings.Contains(last.Error(), "does not advance") || hint.Of(last) == "" || requests > maxIdle+1 {
				t.Errorf("after %d requests: %v", requests, last)
			}
		})
	}
}

func TestListOfNewItems(t *testing.T) {
	c := collection{ids: numbers(150), before: func(c *collection, request int) {
		if request == 2 {
			c.ids = append(c.ids, 151, 152)
		}
	}}
	if got := idsOf(t, start(t, &c, Options{})); !slices.Equal(got, numbers(152)) {
		t.Errorf("%v", got)
	}
}
