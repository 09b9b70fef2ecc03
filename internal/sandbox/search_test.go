package sandbox_test

import (
	"slices"
	"strings"
	"testing"
	"time"

	"assetferry/internal/sandbox"
)

// find searches and returns the names of the results, in order.
func (c *client) find(body object) string {
	c.Helper()
	return strings.Join(column(c.do(200, "POST", "/search", body).object(c), "name"), " ")
}

// describe uploads a file and sets all fields that a search uses.
func (c *client) describe(file string, patch object) string {
	c.Helper()
	id := c.upload(file, "x")["id"].(string)
	c.do(200, "PATCH", "/assets/"+id, patch)
	return id
}

func TestSearchWords(t *testing.T) {
	c := start(t, sandbox.Options{})
	c.describe("Straße.txt", object{"metadata": object{"description": "Große ÄRZTE in İzmir", "customAttributes": object{
		"place": "Αθήνα ΟΔΟΣ", "count": 4711, "deep": object{"text": "hidden"}}}})
	c.describe("e\u0301clair.pdf", object{"tags": []string{"Süß", "two words"}})
	c.describe("100%_sure.txt", object{})
	for phrase, want := range map[string]string{
		"":              "100%_sure e\u0301clair Straße",
		"straße":        "Straße",
		"STRASSE":       "Straße",
		"strasse.TXT":   "Straße",
		"ärzte GROSSE":  "Straße", // every word, in any order
		"A\u0308RZTE":   "Straße",
		"i\u0307zmir":   "Straße",
		"αθήνα":         "Straße",
		"οδος":          "Straße", // final sigma
		"ΑΘΉΝΑ strasse": "Straße",
		"4711":          "", // not a text
		"hidden":        "", // neither name nor value
		"Éclair":        "e\u0301clair",
		"süß":           "e\u0301clair",
		"words two":     "e\u0301clair",
		"lair pdf":      "e\u0301clair",
		"süß txt":       "", // not all words match
		"pdfsüß":        "", // no word spans two parts
		"100%":          "100%_sure",
		"1_0":           "",
		"%":             "100%_sure",
		" \t\n":         "100%_sure e\u0301clair Straße",
	} {
		if got := c.find(object{"searchPhrase": phrase, "aiSearch": true}); got != want {
			t.Errorf("%q: got %q, want %q", phrase, got, want)
		}
	}
}

// The test verifies that a search finds the current fields, whatever request changed them.
func TestSearchSeesChanges(t *testing.T) {
	c := start(t, sandbox.Options{})
	id := c.describe("first.txt", object{"tags": []string{"red"}})
	check := func(phrase, want string) {
		t.Helper()
		if got := c.find(object{"searchPhrase": phrase}); got != want {
			t.Errorf("%q: got %q, want %q", phrase, got, want)
		}
	}
	check("red", "first")
	c.do(200, "PATCH", "/assets/"+id, object{"name": "second", "tags": []string{"blue"}})
	check("red", "")
	check("first", "")
	check("blue second", "second")
	c.do(204, "POST", "/assets/copy", object{"target": object{"categoryId": c.category("Documents")},
		"assetsActions": []object{{"assetId": id, "action": "rename"}}})
	check("blue", "second (1) second")
	check("(1)", "second (1)")
	c.do(204, "POST", "/assets/trash", []string{id})
	check("blue", "second (1)")
	c.do(204, "POST", "/assets/restore", object{"assetsActions": []object{{"assetId": id}}})
	check("second", "second (1) second")
}

func TestSearchFilters(t *testing.T) {
	clock := newClock()
	c := start(t, sandbox.Options{Now: func() time.Time { clock.advance(time.Second); return clock.now() }})
	c.describe("a.txt", object{"tags": []string{"red", "blue"}})
	between := clock.now().Add(time.Second / 2)
	c.describe("b.TXT", object{"tags": []string{"blue"}})
	c.upload("c.png", "x")
	documents, images := c.category("Documents"), c.category("Images")
	iso := func(at time.Time) string { return at.Format(time.RFC3339Nano) }
	in := func(values ...string) object { return object{"in": append([]string{}, values...)} }
	for _, tt := range []struct {
		filters object
		want    string
	}{
		{object{}, "c b a"},
		{object{"categories": in(documents)}, "b a"},
		{object{"categories": in(documents, images, "none")}, "c b a"},
		{object{"categories": in("none")}, ""},
		{object{"categories": in()}, ""},
		{object{"extensions": in("txt")}, "b a"},
		{object{"extensions": in("PNG", "gif")}, "c"},
		{object{"tags": in("blue")}, "b a"},
		{object{"tags": in("red", "green")}, "a"},
		{object{"tags": in("re")}, ""},
		{object{"uploadedAt": object{"lte": iso(between)}}, "a"},
		{object{"uploadedAt": object{"gte": iso(between)}}, "c b"},
		{object{"uploadedAt": object{"gte": iso(between.Add(-time.Second / 2)), "lte": iso(between)}}, ""},
		{object{"lastModifiedAt": object{"gte": iso(between)}, "extensions": in("txt")}, "b"},
	} {
		if got := c.find(object{"filters": tt.filters}); got != tt.want {
			t.Errorf("%v: got %q, want %q", tt.filters, got, tt.want)
		}
	}
}

func TestSearchPages(t *testing.T) {
	c := start(t, sandbox.Options{})
	for _, file := range []string{"b.txt", "c.txt", "a.txt"} {
		c.upload(file, strings.Repeat("x", int(file[0])))
	}
	for _, tt := range []struct {
		pagination object
		want       string
	}{
		{object{"sortBy": "name"}, "a b c"},
		{object{"sortBy": "name", "order": "desc"}, "c b a"},
		{object{"sortBy": "size", "order": "asc", "limit": 2}, "a b"},
		{object{"sortBy": "size", "order": "asc", "limit": 2, "offset": 2}, "c"},
		{object{"offset": 3}, ""},
	} {
		body := object{"searchPhrase": "txt", "pagination": tt.pagination}
		if got := c.find(body); got != tt.want {
			t.Errorf("%v: got %q, want %q", tt.pagination, got, tt.want)
		}
		list := c.do(200, "POST", "/search", body).object(t)
		limit, offset := tt.pagination["limit"], tt.pagination["offset"]
		if limit == nil {
			limit = 50
		}
		if offset == nil {
			offset = 0
		}
		if list["totalCount"] != 3.0 || list["limit"] != float64(limit.(int)) || list["offset"] != float64(offset.(int)) {
			t.Errorf("%v: envelope %v", tt.pagination, list)
		}
	}
}

func TestSearchRefusals(t *testing.T) {
	c := start(t, sandbox.Options{})
	for _, body := range []any{
		object{"pagination": object{"limit": 0}}, object{"pagination": object{"limit": 501}}, object{"pagination": object{"offset": -1}},
		object{"pagination": object{"sortBy": "colour"}}, object{"pagination": object{"order": "up"}},
		object{"searchPhrase": strings.Repeat("x", 1025)}, object{"searchPhrase": strings.Repeat("x ", 17)},
		object{"filters": object{"uploadedAt": object{"gte": "yesterday"}}}, object{"filters": object{"tags": "red"}}, []string{},
	} {
		c.do(400, "POST", "/search", body)
	}
}

func TestSearchStaysWithinBounds(t *testing.T) {
	g := startGuarded(t)
	other := g.do(201, "POST", "/superadmin/workspaces", object{"name": "other"}).object(t)["id"].(string)
	g.upload("p.png", "p")
	u := g.member([]string{g.client.category("Images")}, "category:access")
	if got := u.find(object{}); got != "p" {
		t.Errorf("without access to Documents: %q", got)
	}
	if got := u.find(object{"filters": object{"categories": object{"in": []string{g.category}}}}); got != "" {
		t.Errorf("asked for Documents: %q", got)
	}
	if got := g.find(object{}); !slices.Equal(strings.Fields(got), []string{"p", "i", "a"}) {
		t.Errorf("everything but the trash: %q", got)
	}
	if got := g.do(200, "POST", "/search?workspaceId="+other, object{}).object(t); len(items(got)) != 0 {
		t.Errorf("in another workspace: %v", got)
	}
}

// The test verifies that values other than text in custom attributes do not affect searches.
func TestSearchPassesOverOddAttributes(t *testing.T) {
	c := start(t, sandbox.Options{})
	id := c.upload("a.txt", "x")["id"].(string)
	c.do(200, "PATCH", "/assets/"+id, object{"metadata": object{"customAttributes": object{
		"size": 1e300, "none": nil, "deep": object{"place": "inside"}, "where": "Attic",
	}}})
	r, err := c.send("PATCH", "/assets/"+id, "application/json", strings.NewReader(`{"metadata":{"customAttributes":{"size":1e999}}}`))
	if err != nil || r.StatusCode != 400 {
		t.Fatal(r.StatusCode, err)
	}
	if got := c.find(object{"searchPhrase": "attic"}); got != "a" {
		t.Errorf("found %q", got)
	}
	if got := c.find(object{"searchPhrase": "inside"}); got != "" {
		t.Errorf("found %q", got)
	}
}
