package sandbox_test

import (
	"strings"
	"testing"
	"time"

	"assetferry/internal/sandbox"
	"assetferry/internal/sandbox/profile"
)

// TestFlatFolders verifies that a profile can select a list of all folders with their parents.
func TestFlatFolders(t *testing.T) {
	c := start(t, sandbox.Options{Profile: profile.Profile{Folders: "flat"}})
	a := c.folder("a", "categoryId", c.category("Documents"))
	b := c.folder("b", "parentId", a)
	c.folder("c", "parentId", b)
	var got []string
	for _, f := range items(c.get("/folders")) {
		parent, _ := f["parentId"].(string)
		got = append(got, outline(f)+" in "+map[string]string{"": "none", a: "a", b: "b"}[parent])
	}
	if got, want := strings.Join(got, ", "), "a? in none, b? in a, c? in b"; got != want {
		t.Errorf("got %s, want %s", got, want)
	}
}

// TestDeepCategories verifies that a profile can select lists of categories that include their
// folders.
func TestDeepCategories(t *testing.T) {
	c := start(t, sandbox.Options{Profile: profile.Profile{CategoryListing: "deep"}})
	documents := c.category("Documents")
	a := c.folder("a", "categoryId", documents)
	b := c.folder("b", "parentId", a)
	c.upload("0.txt", "0", "categoryId", documents)
	c.upload("1.txt", "1", "folderId", a)
	c.upload("2.txt", "2", "folderId", b)
	for query, want := range map[string]string{
		"categoryId=" + documents: "0 1 2", "folderId=" + a: "1", "folderId=" + b: "2",
		"categoryId=" + documents + "&limit=1&offset=1": "1",
	} {
		if got := strings.Join(column(c.get("/assets?"+query), "name"), " "); got != want {
			t.Errorf("%s: got %s, want %s", query, got, want)
		}
	}
}

// TestListingDelay verifies that a new asset is listed and found only after the delay, but can be
// read at once.
func TestListingDelay(t *testing.T) {
	clock := newClock()
	c := start(t, sandbox.Options{Now: clock.now, Profile: profile.Profile{ListingDelay: 10 * time.Second}})
	documents := c.category("Documents")
	id := c.upload("late.txt", "late", "categoryId", documents)["id"].(string)
	for _, want := range []int{0, 0, 1} {
		listed := len(items(c.get("/assets?categoryId=" + documents)))
		found := len(items(c.do(200, "POST", "/search", object{"searchPhrase": "late"}).object(t)))
		if listed != want || found != want {
			t.Errorf("%d listed and %d found, want %d", listed, found, want)
		}
		c.get("/assets/" + id)
		clock.advance(5 * time.Second)
	}
}

// TestListOrderIgnored verifies that lists and searches have one order, whatever is requested.
func TestListOrderIgnored(t *testing.T) {
	c := start(t, sandbox.Options{Profile: profile.Profile{ListOrder: "ignored"}})
	documents := c.category("Documents")
	for _, name := range []string{"b", "a", "c"} {
		c.upload(name+".txt", name, "categoryId", documents)
	}
	found := c.do(200, "POST", "/search", object{"searchPhrase": "", "pagination": object{"sortBy": "name", "order": "desc"}}).object(t)
	for _, got := range []object{c.get("/assets?categoryId=" + documents + "&sortBy=name&order=asc"), found} {
		if got := strings.Join(column(got, "name"), " "); got != "b a c" {
			t.Errorf("got %s", got)
		}
	}
	c.do(400, "GET", "/assets?categoryId="+documents+"&order=up", nil)
}

// TestDateFilter verifies that a profile can select that searches ignore or refuse dates.
func TestDateFilter(t *testing.T) {
	future := object{"searchPhrase": "", "filters": object{"uploadedAt": object{"gte": "2999-01-01T00:00:00Z"}}}
	for setting, want := range map[string]int{"": 0, "honoured": 0, "ignored": 1, "refused": -1} {
		c := start(t, sandbox.Options{Profile: profile.Profile{DateFilter: setting}})
		c.upload("a.txt", "a", "categoryId", c.category("Documents"))
		if want < 0 {
			c.do(400, "POST", "/search", future)
			c.do(200, "POST", "/search", object{"searchPhrase": ""})
			continue
		}
		if got := len(items(c.do(200, "POST", "/search", future).object(t))); got != want {
			t.Errorf("%q: %d found, want %d", setting, got, want)
		}
	}
}
