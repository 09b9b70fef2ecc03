package sandbox_test

import (
	"bytes"
	"encoding/json"
	"io"
	"maps"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"
	"time"

	"assetferry/internal/sandbox"
	"assetferry/internal/sandbox/sandboxtest"
)

// A guarded world has one object of everything in a category, and users of new groups.
type guarded struct {
	*client
	category, folder, asset, trashed, revision, image string
}

func startGuarded(t testing.TB) *guarded {
	t.Helper()
	return newGuarded(t, start(t, sandbox.Options{}))
}

func newGuarded(t testing.TB, c *client) *guarded {
	t.Helper()
	g := &guarded{client: c}
	g.category = g.client.category("Documents")
	g.folder = g.client.folder("f", "categoryId", g.category)
	g.asset = g.upload("a.txt", "a", "folderId", g.folder)["id"].(string)
	g.trashed = g.upload("b.txt", "b", "folderId", g.folder)["id"].(string)
	g.do(204, "POST", "/assets/trash", []string{g.trashed})
	g.replace(g.asset, "a.txt", "new")
	g.do(200, "PUT", "/admin/categories/"+g.category, object{"name": "Documents", "extensions": []string{"txt", "png"}})
	g.image = g.upload("i.png", photo(t, 30, 20, asPNG), "folderId", g.folder)["id"].(string)
	g.processed()
	g.revision = items(g.get("/assets/" + g.asset + "/revisions"))[1]["id"].(string)
	return g
}

// member returns a user of a new group with permissions in some categories, or in all.
func (c *client) member(categories []string, permissions ...string) *client {
	c.Helper()
	id := c.do(201, "POST", "/admin/groups", object{"name": "g"}).object(c)["id"].(string)
	c.grant(id, categories, permissions...)
	return c.of(id)
}

func (c *client) grant(group string, categories []string, permissions ...string) object {
	c.Helper()
	granted := map[string]bool{}
	for _, p := range permissions {
		granted[p] = true
	}
	body := object{"groupId": group, "categoriesIds": categories, "permissionsList": granted}
	return c.do(201, "POST", "/admin/permissions", body).object(c)
}

// of returns a user whose token names groups.
func (c *client) of(groups ...string) *client {
	claims := sandboxtest.Claims(c.env, "user")
	claims["auth"].(map[string]any)["ckbox"].(map[string]any)["groups"] = groups
	other := *c
	other.token = sandboxtest.Sign(c.env.AccessKey, claims)
	return &other
}

// A guardedRoute calls a route with an object of the category.
type guardedRoute struct {
	needs string
	call  func(u *client, g *guarded) reply
	// bulk calls a route that responds with 207 and the status of the asset.
	bulk func(g *guarded) string
}

func asking(method string, path func(g *guarded) string, body func(g *guarded) any) func(*client, *guarded) reply {
	return func(u *client, g *guarded) reply {
		u.Helper()
		var text []byte
		if body != nil {
			text = mustJSON(u, body(g))
		}
		r, err := u.send(method, path(g), "", strings.NewReader(string(text)))
		if err != nil {
			u.Fatal(err)
		}
		return r
	}
}

func at(prefix string, of func(*guarded) string, suffix string) func(*guarded) string {
	return func(g *guarded) string { return prefix + of(g) + suffix }
}

func theAsset(g *guarded) string    { return g.asset }
func theImage(g *guarded) string    { return g.image }
func theFolder(g *guarded) string   { return g.folder }
func theCategory(g *guarded) string { return g.category }
func nothing(*guarded) string       { return "" }

func body(v any) func(*guarded) any { return func(*guarded) any { return v } }
func ids(of func(*guarded) string) func(*guarded) any {
	return func(g *guarded) any { return []string{of(g)} }
}

// guardedRoutes returns all routes for users that concern a category directly.
func guardedRoutes() map[string]guardedRoute {
	return map[string]guardedRoute{
		"POST /assets": {"asset:create", func(u *client, g *guarded) reply {
			return u.tryUpload("/assets", "n.txt", "n", "folderId", g.folder)
		}, nil},
		"GET /assets":          {"", asking("GET", at("/assets?categoryId=", theCategory, ""), nil), nil},
		"POST /assets/trash":   {"asset:delete", asking("POST", at("/assets/trash", nothing, ""), ids(theAsset)), theAsset},
		"POST /assets/delete":  {"asset:delete", asking("POST", at("/assets/delete", nothing, ""), ids(theAsset)), theAsset},
		"POST /assets/restore": {"asset:create", asking("POST", at("/assets/restore", nothing, ""), restoreTo), nil},
		"GET /assets/{id}":     {"", asking("GET", at("/assets/", theAsset, ""), nil), nil},
		"PATCH /assets/{id}":   {"asset:metadata:modify", asking("PATCH", at("/assets/", theAsset, ""), body(object{"name": "n"})), nil},

		"POST /assets/namesExist": {"", asking("POST", at("/assets/namesExist", nothing, ""), namesHere), nil},
		"POST /assets/copy":       {"asset:create", asking("POST", at("/assets/copy", nothing, ""), carryHere), nil},
		"POST /assets/move":       {"asset:create", asking("POST", at("/assets/move", nothing, ""), carryHere), nil},
		"POST /assets/{id}": {"asset:overwrite", func(u *client, g *guarded) reply {
			return u.tryUpload("/assets/"+g.asset, "a.txt", "n")
		}, nil},
		"GET /assets/{id}/thumbs/{size}": {"", asking("GET", at("/assets/", theImage, "/thumbs/20x20.png"), nil), nil},
		"POST /assets/analyze": {"asset:metadata:modify", asking("POST", at("/assets/analyze", nothing, ""),
			func(g *guarded) any { return object{"assetIds": []string{g.asset}} }), nil},
		"POST /assets/{id}/editImage": {"asset:create", asking("POST", at("/assets/", theImage, "/editImage"),
			body(object{"action": "create", "assetName": "n"})), nil},
		"GET /assets/{id}/offset":                    {"", asking("GET", at("/assets/", theAsset, "/offset"), nil), nil},
		"GET /assets/{id}/revisions":                 {"", asking("GET", at("/assets/", theAsset, "/revisions"), nil), nil},
		"POST /assets/{id}/revisions":                {"asset:revision:change", asking("POST", at("/assets/", theAsset, "/revisions"), useRevision), nil},
		"DELETE /assets/{id}/revisions/{revisionId}": {"asset:revision:delete", asking("DELETE", theRevision, nil), nil},

		"POST /folders":            {"folder:create", asking("POST", at("/folders", nothing, ""), inCategory), nil},
		"GET /folders/{id}":        {"", asking("GET", at("/folders/", theFolder, ""), nil), nil},
		"GET /folders/{id}/branch": {"", asking("GET", at("/folders/", theFolder, "/branch"), nil), nil},
		"PUT /folders/{id}":        {"folder:metadata:modify", asking("PUT", at("/folders/", theFolder, ""), body(object{"name": "n"})), nil},
		"DELETE /folders/{id}":     {"folder:delete", asking("DELETE", at("/folders/", theFolder, ""), nil), nil},
		"GET /categories/{id}":     {"", asking("GET", at("/categories/", theCategory, ""), nil), nil},
	}
}

func theRevision(g *guarded) string { return "/assets/" + g.asset + "/revisions/" + g.revision }
func useRevision(g *guarded) any    { return object{"revisionId": g.revision} }

func namesHere(g *guarded) any {
	return object{"target": object{"folderId": g.folder}, "names": []string{"a.txt"}}
}

func carryHere(g *guarded) any {
	return object{"target": object{"categoryId": g.category}, "assetsActions": []object{{"assetId": g.asset}}}
}

func inCategory(g *guarded) any { return object{"name": "n", "categoryId": g.category} }

func restoreTo(g *guarded) any {
	return object{"assetsActions": []object{{"assetId": g.trashed, "target": object{"folderId": g.folder}}}}
}

// openRoutes returns the routes for users that concern no category, or omit inaccessible objects;
// TestListsOmitForbidden and TestSearchStaysWithinBounds verify these.
func openRoutes() []string {
	return []string{
		"GET /assets/trash", "POST /assets/restore/validate", "GET /assets/recent", "PUT /assets/recent", "GET /folders", "GET /categories", "GET /limits", "GET /permissions", "POST /search",
		"GET /workspaces", "GET /workspaces/metadata", "GET /v2/workspaces", "GET /v3/workspaces",
	}
}

// refused returns the status of the refused request, or of its only asset.
func (r guardedRoute) refused(t *testing.T, g *guarded, got reply) int {
	t.Helper()
	if got.StatusCode != http.StatusMultiStatus || r.bulk == nil {
		return got.StatusCode
	}
	var failed map[string]int
	if err := json.Unmarshal(got.body, &failed); err != nil {
		t.Fatal(err)
	}
	return failed[r.bulk(g)]
}

func TestEveryRouteIsGuarded(t *testing.T) {
	known := guardedRoutes()
	for _, route := range sandbox.Routes() {
		name := route.Method + " " + route.Pattern
		r, guarded := known[name]
		switch {
		case guarded && r.needs != route.Needs:
			t.Errorf("%s needs %q here, %q in the table of routes", name, r.needs, route.Needs)
		case !guarded && route.Role == "user" && !slices.Contains(openRoutes(), name):
			t.Errorf("%s: no test says which permission it needs", name)
		case !guarded && route.Needs != "":
			t.Errorf("%s needs %q, and no test shows it", name, route.Needs)
		}
	}
	for _, name := range slices.Sorted(maps.Keys(known)) {
		t.Run(name, func(t *testing.T) { known[name].check(t) })
	}
}

func (r guardedRoute) check(t *testing.T) {
	all := []string{
		"category:access", "asset:create", "asset:delete", "asset:metadata:modify", "asset:overwrite", "asset:revision:change",
		"asset:revision:delete", "folder:create", "folder:delete", "folder:metadata:modify",
	}
	g := startGuarded(t)
	without := func(p string) []string {
		return slices.DeleteFunc(slices.Clone(all), func(s string) bool { return s == p })
	}
	elsewhere := []string{g.client.category("Images")}
	refusals := map[string]*client{
		"no access":              g.member(nil, without("category:access")...),
		"rights somewhere else":  g.member(elsewhere, all...),
		"a group without rights": g.member(nil),
		"no such group":          g.of("none"),
	}
	if r.needs != "" {
		refusals["all but "+r.needs] = g.member(nil, without(r.needs)...)
	}
	for who, u := range refusals {
		if got := r.call(u, g); r.refused(t, g, got) != http.StatusForbidden {
			t.Errorf("%s: %d %s", who, got.StatusCode, got.body)
		}
	}
	just := []string{"category:access", r.needs, "asset:delete"} // restoring needs the last one, too
	just = slices.DeleteFunc(just, func(p string) bool { return p == "" })
	if got := r.call(g.member([]string{g.category}, just...), g); got.StatusCode >= 300 || r.refused(t, g, got) == http.StatusForbidden {
		t.Errorf("with %v: %d %s", just, got.StatusCode, got.body)
	}
}

// The test verifies that lists omit inaccessible categories and their contents.
func TestListsOmitForbidden(t *testing.T) {
	g := startGuarded(t)
	g.upload("p.png", "p", "categoryId", g.client.category("Images"))
	u := g.member([]string{g.client.category("Images")}, "category:access")
	if got := column(u.get("/categories"), "name"); !slices.Equal(got, []string{"Images"}) {
		t.Errorf("categories %v", got)
	}
	if got := u.get("/categories")["totalCount"]; got != 1.0 {
		t.Errorf("%v categories in total", got)
	}
	for _, path := range []string{"/folders", "/assets/trash"} {
		if got := u.get(path); len(items(got)) != 0 || got["totalCount"] != 0.0 {
			t.Errorf("%s: %v", path, got)
		}
		if got := g.as("user").get(path); len(items(got)) != 1 {
			t.Errorf("%s for the default group: %v", path, got)
		}
	}
	claim := func(o *client) []string {
		validated := o.do(200, "POST", "/assets/restore/validate", object{"assetsIds": []string{g.trashed}}).object(t)
		return slices.Collect(maps.Keys(validated["assets"].(object)))
	}
	if seen, hidden := claim(g.as("user")), claim(u); len(seen) != 1 || len(hidden) != 0 {
		t.Errorf("validated %v and %v", seen, hidden)
	}
	u.do(204, "PUT", "/assets/recent", []string{g.asset})
	if got := column(g.as("user").get("/assets/recent"), "id"); !slices.Contains(got, g.asset) {
		t.Errorf("recent for the default group: %v", got)
	}
	if got := column(u.get("/assets/recent"), "name"); !slices.Equal(got, []string{"p"}) {
		t.Errorf("recent: %v", got)
	}
	granted := u.get("/permissions")
	if len(granted) != 1 {
		t.Fatalf("permissions %v", granted)
	}
	images := granted[g.client.category("Images")].(object)
	if images["category:access"] != true || images["asset:create"] != false || len(images) != 10 {
		t.Errorf("permissions in Images %v", images)
	}
}

func TestUploadWithoutAPlaceNeedsPermission(t *testing.T) {
	g := startGuarded(t)
	u := g.member([]string{g.client.category("Images")}, "category:access", "asset:create")
	if r := u.tryUpload("/assets", "n.txt", "n"); r.StatusCode != http.StatusForbidden {
		t.Errorf("into Documents: %d", r.StatusCode)
	}
	u.upload("n.png", "n")
}

// The test verifies that private files require access to the category in addition to the token.
func TestPrivateFilesNeedAccess(t *testing.T) {
	g := startGuarded(t)
	g.do(200, "PUT", "/admin/categories/"+g.category, object{"name": "Documents", "extensions": []string{"txt"}, "isPrivate": true})
	path := strings.TrimPrefix(g.get("/assets/" + g.asset)["url"].(string), g.url)
	g.member(nil, "asset:create").do(403, "GET", path, nil)
	g.member(nil, "category:access").do(200, "GET", path, nil)
}

// The test verifies that a token has the permissions of all its groups, and that a change applies
// at once.
func TestGroups(t *testing.T) {
	c := start(t, sandbox.Options{})
	all := items(c.get("/admin/groups"))
	if len(all) != 1 || all[0]["isDefault"] != true {
		t.Fatalf("groups of a new workspace: %v", all)
	}
	standard := all[0]["id"].(string)
	first := items(c.get("/admin/permissions?groupId=" + standard))
	if len(first) != 1 || len(first[0]["categoriesIds"].([]any)) != 0 {
		t.Fatalf("permissions of the default group: %v", first)
	}
	for p, granted := range first[0]["permissionsList"].(object) {
		if granted != true {
			t.Errorf("the default group starts without %s", p)
		}
	}
	c.do(400, "DELETE", "/admin/groups/"+standard, nil)
	c.as("user").upload("a.txt", "x")

	// The default group can lose its rights.
	c.do(204, "DELETE", "/admin/permissions/"+first[0]["id"].(string), nil)
	if r := c.as("user").tryUpload("/assets", "a.txt", "x"); r.StatusCode != 403 {
		t.Errorf("upload without rights: %d", r.StatusCode)
	}
	c.as("admin").upload("a.txt", "x")

	readers := c.do(201, "POST", "/admin/groups", object{"name": "readers"}).object(t)["id"].(string)
	writers := c.do(201, "POST", "/admin/groups", object{"name": "writers"}).object(t)["id"].(string)
	c.grant(readers, nil, "category:access")
	write := c.grant(writers, []string{c.category("Documents")}, "asset:create")
	if r := c.of(writers).tryUpload("/assets", "a.txt", "x"); r.StatusCode != 403 {
		t.Errorf("upload without access: %d", r.StatusCode)
	}
	c.of(readers, writers).upload("a.txt", "x")

	id := write["id"].(string)
	elsewhere := object{"groupId": writers, "categoriesIds": []string{c.category("Images")}, "permissionsList": object{"asset:create": true}}
	got := c.do(200, "PUT", "/admin/permissions/"+id, elsewhere).object(t)
	if got["id"] != id || got["groupId"] != writers {
		t.Errorf("changed permission %v", got)
	}
	if r := c.of(readers, writers).tryUpload("/assets", "a.txt", "x"); r.StatusCode != 403 {
		t.Errorf("upload after the change: %d", r.StatusCode)
	}
	if got := c.do(200, "PUT", "/admin/groups/"+writers, object{"name": "authors"}).object(t)["name"]; got != "authors" {
		t.Errorf("renamed to %v", got)
	}
	c.do(204, "DELETE", "/admin/groups/"+writers, nil)
	if got := column(c.get("/admin/groups"), "name"); !slices.Equal(got, []string{"Default group", "readers"}) {
		t.Errorf("groups %v", got)
	}
	if got := items(c.get("/admin/permissions")); len(got) != 1 {
		t.Errorf("permissions after the group went: %v", got)
	}
}

// The test verifies that deleting a category does not turn its grant into one for all categories.
func TestGrantOfADeletedCategory(t *testing.T) {
	c := start(t, sandbox.Options{})
	u := c.member([]string{c.category("Images")}, "category:access", "asset:create")
	c.do(204, "DELETE", "/admin/categories/"+c.category("Images"), nil)
	if got := items(u.get("/categories")); len(got) != 0 {
		t.Errorf("categories %v", got)
	}
}

func TestGroupRefusals(t *testing.T) {
	c := start(t, sandbox.Options{})
	other := c.do(201, "POST", "/superadmin/workspaces", object{"name": "other"}).object(t)["id"].(string)
	there := items(c.get("/admin/groups?workspaceId=" + other))[0]["id"].(string)
	here := items(c.get("/admin/groups"))[0]["id"].(string)
	grant := items(c.get("/admin/permissions"))[0]["id"].(string)
	c.do(400, "POST", "/admin/groups", object{"name": ""})
	c.do(400, "POST", "/admin/groups", object{"name": strings.Repeat("x", 257)})
	c.do(404, "PUT", "/admin/groups/"+there, object{"name": "x"})
	c.do(404, "DELETE", "/admin/groups/none", nil)
	c.do(404, "GET", "/admin/permissions?groupId="+there, nil)
	c.do(404, "POST", "/admin/permissions", object{"groupId": there})
	c.do(404, "POST", "/admin/permissions", object{"groupId": here, "categoriesIds": []string{"none"}})
	c.do(400, "POST", "/admin/permissions", object{"groupId": here, "permissionsList": object{"asset:fly": true}})
	c.do(404, "PUT", "/admin/permissions/none", object{})
	c.do(400, "PUT", "/admin/permissions/"+grant, object{"groupId": there})
	c.do(404, "DELETE", "/admin/permissions/none", nil)
	c.as("user").do(403, "GET", "/admin/groups", nil)
	c.as("admin").do(403, "GET", "/admin/groups?workspaceId="+other, nil)

	claims := sandboxtest.Claims(c.env, "user")
	claims["auth"].(map[string]any)["ckbox"].(map[string]any)["groups"] = "one"
	wrong := *c
	wrong.token = sandboxtest.Sign(c.env.AccessKey, claims)
	wrong.do(401, "GET", "/categories", nil)
}

// The test verifies that the permissions for a change are those at the place of the asset at the
// time of the change, not of the request.
func TestReplacingWhatIsMovedMeanwhile(t *testing.T) {
	c := start(t, sandbox.Options{})
	var categories []string
	for _, name := range []string{"open", "closed"} {
		made := c.do(201, "POST", "/admin/categories", object{"name": name, "extensions": []string{"txt"}}).object(t)
		categories = append(categories, made["id"].(string))
	}
	id := c.upload("a.txt", "old", "categoryId", categories[0])["id"].(string)
	u := c.member(categories[:1], "category:access", "asset:overwrite")
	plain := httptest.NewServer(c.server)
	defer plain.Close()
	content, contentType := form(t, "a.txt", []byte("new"))
	// The service reads the body after it has found the asset.
	body := &lateBody{Reader: bytes.NewReader(content), before: func() error {
		_, err := c.asking("POST", "/assets/move", object{
			"target": object{"categoryId": categories[1]}, "assetsActions": []object{{"assetId": id}},
		})()
		return err
	}}
	r, err := http.NewRequest("POST", plain.URL+"/assets/"+id, body)
	if err != nil {
		t.Fatal(err)
	}
	r.ContentLength = int64(len(content))
	for key, value := range map[string]string{"Authorization": u.token, "Content-Type": contentType, "Expect": "100-continue"} {
		r.Header.Set(key, value)
	}
	transport := &http.Transport{ExpectContinueTimeout: time.Minute}
	defer transport.CloseIdleConnections()
	resp, err := transport.RoundTrip(r)
	if err != nil {
		t.Fatal(err)
	}
	if err := resp.Body.Close(); err != nil || resp.StatusCode != http.StatusForbidden {
		t.Errorf("got %d, %v", resp.StatusCode, err)
	}
	if got := items(c.get("/assets/" + id + "/revisions")); len(got) != 1 || c.get("/assets/" + id)["categoryId"] != categories[1] {
		t.Errorf("revisions: %v", got)
	}
}

// A lateBody calls a function before it is read.
type lateBody struct {
	io.Reader
	before func() error
}

func (l *lateBody) Read(p []byte) (int, error) {
	if before := l.before; before != nil {
		l.before = nil
		if err := before(); err != nil {
			return 0, err
		}
	}
	return l.Reader.Read(p)
}
