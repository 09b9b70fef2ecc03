package sandbox_test

import (
	"net/http"
	"slices"
	"strings"
	"testing"

	"assetferry/internal/sandbox"
	"assetferry/internal/sandbox/sandboxtest"
	"assetferry/internal/sandbox/tokens"
)

func TestEnvironmentsAreIsolated(t *testing.T) {
	first := tokens.Environment{ID: "11111111111111111111", AccessKey: "one"}
	second := tokens.Environment{ID: "22222222222222222222", AccessKey: "two"}
	c := start(t, sandbox.Options{Environments: []tokens.Environment{first, second}})
	other := *c
	other.env = second
	o := other.as("superadmin")

	a := c.upload("a.txt", "of the first")
	folder := c.do(201, "POST", "/folders", object{"name": "f", "categoryId": a["categoryId"]}).object(t)
	id := a["id"].(string)
	o.do(404, "GET", "/assets/"+id, nil)
	o.do(404, "PATCH", "/assets/"+id, object{"name": "mine"})
	o.do(404, "GET", "/categories/"+a["categoryId"].(string), nil)
	o.do(404, "GET", "/assets?categoryId="+a["categoryId"].(string), nil)
	o.do(404, "GET", "/folders/"+folder["id"].(string), nil)
	o.do(404, "POST", "/folders", object{"name": "f", "parentId": folder["id"]})
	o.do(403, "GET", "/categories?workspaceId="+first.ID, nil)
	o.do(404, "PUT", "/superadmin/workspaces/"+first.ID, object{"name": "mine"})
	o.do(404, "DELETE", "/superadmin/workspaces/"+first.ID, nil)
	for _, path := range []string{"/assets/trash", "/assets/delete"} {
		if failed := o.do(207, "POST", path, []string{id}).object(t); failed[id] != 404.0 {
			t.Errorf("%s: %v", path, failed)
		}
	}
	if r := o.tryUpload("/assets", "b.txt", "", "categoryId", a["categoryId"].(string)); r.StatusCode != 404 {
		t.Errorf("upload into another environment: %d", r.StatusCode)
	}
	if ids := column(o.get("/workspaces"), "id"); !slices.Equal(ids, []string{second.ID}) {
		t.Errorf("the second environment sees workspaces %v", ids)
	}
	if c.get("/assets/" + id)["name"] != "a" {
		t.Error("the asset has changed")
	}
	crossed := sandboxtest.Claims(second, "superadmin", first.ID)
	o.token = sandboxtest.Sign(second.AccessKey, crossed)
	o.do(401, "GET", "/categories", nil)
}

func TestWorkspacesAreIsolated(t *testing.T) {
	c := start(t, sandbox.Options{})
	ws := c.do(201, "POST", "/superadmin/workspaces", object{"name": "second"}).object(t)["id"].(string)
	if len(ws) != 20 {
		t.Errorf("workspace ID %q", ws)
	}
	inside, both := c.as("admin", ws), c.as("user", ws, c.env.ID)
	a := inside.upload("a.txt", "x")
	id := a["id"].(string)
	if !strings.Contains(a["url"].(string), "/"+ws+"/assets/") {
		t.Errorf("url %v does not name the workspace", a["url"])
	}

	c.as("admin").do(404, "GET", "/assets/"+id, nil)
	c.as("admin").do(403, "GET", "/categories?workspaceId="+ws, nil)
	c.do(404, "GET", "/assets?categoryId="+a["categoryId"].(string), nil) // the default workspace
	both.get("/assets/" + id)
	c.get("/assets/" + id) // IDs resolve in all workspaces of the token
	c.get("/assets?categoryId=" + a["categoryId"].(string) + "&workspaceId=" + ws)
	both.do(404, "GET", "/assets?workspaceId="+c.env.ID+"&categoryId="+a["categoryId"].(string), nil)
	if got := both.get("/categories"); !slices.Contains(column(got, "id"), a["categoryId"].(string)) {
		t.Error("the first workspace of the claim is not the default")
	}
	if got := c.as("superadmin", ws).get("/categories"); !slices.Contains(column(got, "id"), a["categoryId"].(string)) {
		t.Error("the first workspace of a superadmin's claim is not the default")
	}
	path := strings.TrimPrefix(a["url"].(string), c.url)
	c.do(404, "GET", strings.Replace(path, ws, c.env.ID, 1), nil)

	c.do(204, "DELETE", "/superadmin/workspaces/"+ws, nil)
	inside.do(401, "GET", "/categories", nil)
	c.do(404, "GET", path, nil)
	c.do(400, "DELETE", "/superadmin/workspaces/"+c.env.ID, nil)
}

func TestWorkspaceLists(t *testing.T) {
	c := start(t, sandbox.Options{})
	var ids []string
	for _, name := range []string{"Zebra", "Apple"} {
		ids = append(ids, c.do(201, "POST", "/superadmin/workspaces", object{"name": name}).object(t)["id"].(string))
	}
	c.do(200, "PUT", "/superadmin/workspaces/"+ids[1], object{"name": "Apricot"})
	for query, want := range map[string]string{
		"":                          "Default workspace,Zebra,Apricot",
		"?sortBy=name":              "Apricot,Default workspace,Zebra",
		"?sortBy=name&order=desc":   "Zebra,Default workspace,Apricot",
		"?limit=1&offset=1":         "Zebra",
		"?searchPhrase=ap":          "Apricot",
		"?ids=" + ids[0] + ",other": "Zebra",
		"?offset=9":                 "",
	} {
		for _, path := range []string{"/workspaces", "/v2/workspaces", "/v3/workspaces"} {
			if got := strings.Join(column(c.get(path+query), "name"), ","); got != want {
				t.Errorf("%s%s: %s, want %s", path, query, got, want)
			}
		}
	}
	if got := column(c.as("user", ids[0]).get("/workspaces"), "name"); !slices.Equal(got, []string{"Zebra"}) {
		t.Errorf("a user of one workspace sees %v", got)
	}
	c.do(http.StatusBadRequest, "POST", "/superadmin/workspaces", object{"name": strings.Repeat("x", 257)})
	c.do(http.StatusBadRequest, "GET", "/workspaces?sortBy=size", nil)
}
