package sandbox_test

import (
	"slices"
	"strings"
	"testing"

	"assetferry/internal/sandbox"
)

func TestEnvironmentExtensions(t *testing.T) {
	dir := t.TempDir()
	t.Run("set", func(t *testing.T) {
		c := start(t, sandbox.Options{Dir: dir})
		config := c.as("admin").get("/admin/environmentConfig")
		if len(config["allowedExtensions"].([]any)) != 0 || config["isAllowedExtensionsEnabled"] != false {
			t.Errorf("at first: %v", config)
		}
		pdf := c.upload("a.pdf", "x")["id"].(string)
		c.do(200, "PUT", "/superadmin/environmentConfig", object{"allowedExtensions": []string{"TXT", "png"}, "isAllowedExtensionsEnabled": true})
		c.upload("a.txt", "x")
		if r := c.tryUpload("/assets", "b.pdf", "x"); r.StatusCode != 400 {
			t.Errorf("upload: %d", r.StatusCode)
		}
		if r := c.tryUpload("/assets/"+pdf, "a.pdf", "x"); r.StatusCode != 400 {
			t.Errorf("replace: %d", r.StatusCode)
		}
		txt := c.upload("b.txt", "x")["id"].(string)
		c.do(400, "PATCH", "/assets/"+txt, object{"extension": "pdf"})
		c.do(200, "PATCH", "/assets/"+pdf, object{"name": "renamed"}) // existing assets are kept
		c.do(400, "POST", "/admin/categories", object{"name": "n", "extensions": []string{"txt", "gif"}})
		c.do(201, "POST", "/admin/categories", object{"name": "n", "extensions": []string{"txt", "PNG"}})
		c.do(400, "PUT", "/admin/categories/"+c.category("Images"), object{"name": "Images", "extensions": []string{"gif"}})
		other := c.do(201, "POST", "/superadmin/workspaces", object{"name": "other"}).object(t)["id"].(string)
		if r := c.tryUpload("/assets?workspaceId="+other, "b.pdf", "x"); r.StatusCode != 400 {
			t.Errorf("in another workspace: %d", r.StatusCode)
		}
	})
	t.Run("kept", func(t *testing.T) {
		c := start(t, sandbox.Options{Dir: dir})
		if r := c.tryUpload("/assets", "b.pdf", "x"); r.StatusCode != 400 {
			t.Errorf("after a restart: %d", r.StatusCode)
		}
		c.do(200, "PUT", "/superadmin/environmentConfig", object{"allowedExtensions": []string{"txt"}, "isAllowedExtensionsEnabled": false})
		c.upload("b.pdf", "x")
	})
}

func TestEnvironmentRefusals(t *testing.T) {
	c := start(t, sandbox.Options{})
	for _, extensions := range [][]string{{}, {"a.b"}, {"txt", "TXT"}, {"toolongext"}} {
		c.do(400, "PUT", "/superadmin/environmentConfig", object{"allowedExtensions": extensions, "isAllowedExtensionsEnabled": true})
	}
	c.as("admin").do(403, "PUT", "/superadmin/environmentConfig", object{"allowedExtensions": []string{"txt"}, "isAllowedExtensionsEnabled": true})
	c.as("user").do(403, "GET", "/admin/environmentConfig", nil)
	c.as("admin").do(403, "GET", "/superadmin/workspacesTemplate", nil)
	c.do(400, "PUT", "/superadmin/workspacesTemplate", object{"categories": []object{{"name": "n", "extensions": []string{}}}})
	c.do(400, "PUT", "/superadmin/workspacesTemplate", object{"categories": []object{{"name": "", "extensions": []string{"txt"}}}})
}

func TestWorkspacesTemplate(t *testing.T) {
	c := start(t, sandbox.Options{})
	names := func(template object) (all []string) {
		for _, cat := range template["categories"].([]any) {
			all = append(all, cat.(object)["name"].(string))
		}
		return all
	}
	if got := names(c.get("/superadmin/workspacesTemplate")); !slices.Equal(got, []string{"Files", "Images", "Documents"}) {
		t.Errorf("at first: %v", got)
	}
	template := object{"categories": []object{
		{"name": "Video", "extensions": []string{"mp4"}, "isPrivate": true}, {"name": "Text", "extensions": []string{"txt"}},
	}}
	c.do(200, "PUT", "/superadmin/workspacesTemplate", template)
	if got := names(c.get("/superadmin/workspacesTemplate")); !slices.Equal(got, []string{"Video", "Text"}) {
		t.Errorf("set: %v", got)
	}
	ws := c.do(201, "POST", "/superadmin/workspaces", object{"name": "new"}).object(t)["id"].(string)
	found := items(c.get("/categories?workspaceId=" + ws))
	if len(found) != 2 || found[0]["name"] != "Video" || found[0]["isPrivate"] != true || found[1]["isPrivate"] != false {
		t.Errorf("new workspace: %v", found)
	}
	if got := column(c.get("/categories"), "name"); len(got) != 3 {
		t.Errorf("the other workspace: %v", got)
	}
}

func TestConfigureWorkspace(t *testing.T) {
	c := start(t, sandbox.Options{})
	ws := c.do(201, "POST", "/superadmin/workspaces", object{"name": "second"}).object(t)["id"].(string)
	inside := c.as("admin", ws)
	got := inside.do(200, "PUT", "/admin/workspaces/"+ws, object{"enableAIProcessing": true}).object(t)
	if got["name"] != "second" || got["enableAIProcessing"] != true {
		t.Errorf("switched on: %v", got)
	}
	got = inside.do(200, "PUT", "/admin/workspaces/"+ws, object{"name": "Größe"}).object(t)
	if got["name"] != "Größe" || got["enableAIProcessing"] != true {
		t.Errorf("renamed: %v", got)
	}
	if found := items(c.get("/v3/workspaces?searchPhrase=GRÖSSE")); len(found) != 1 || found[0]["id"] != ws {
		t.Errorf("found by name: %v", found)
	}
	inside.do(400, "PUT", "/admin/workspaces/"+ws, object{"name": ""})
	inside.do(403, "PUT", "/admin/workspaces/"+c.env.ID, object{"name": "mine"})
	c.do(404, "PUT", "/admin/workspaces/none", object{"name": "x"})
}

func TestWorkspaceMetadata(t *testing.T) {
	g := startGuarded(t)
	g.upload("a.PNG", "x")
	lists := func(c *client) string {
		o := c.get("/workspaces/metadata")
		text := string(mustJSON(t, []any{o["allowedExtensions"], o["extensionsInUse"]}))
		return strings.NewReplacer(`"`, "", "[", "", "]", "").Replace(text)
	}
	u := g.member([]string{g.client.category("Images")}, "category:access")
	if got := lists(u); got != "avif,bmp,gif,heic,heif,ico,jpeg,jpg,png,svg,tif,tiff,webp,png" {
		t.Errorf("for a user of Images: %s", got)
	}
	if got := lists(g.client); !strings.HasSuffix(got, ",zip,png,txt") {
		t.Errorf("for an admin: %s", got)
	}
	g.do(200, "PUT", "/superadmin/environmentConfig", object{"allowedExtensions": []string{"txt"}, "isAllowedExtensionsEnabled": true})
	if got := lists(g.client); got != "txt,png,txt" {
		t.Errorf("restricted: %s", got)
	}
}

// The test verifies that a list of extensions applies to new assets and not to existing ones.
func TestEnvironmentLeavesExtensionsThatAreThere(t *testing.T) {
	c := start(t, sandbox.Options{})
	id := c.upload("a.txt", "x")["id"].(string)
	c.do(200, "PUT", "/superadmin/environmentConfig", object{"allowedExtensions": []string{"pdf"}, "isAllowedExtensionsEnabled": true})
	c.do(200, "PATCH", "/assets/"+id, object{"name": "b", "extension": "txt"})
	c.do(400, "PATCH", "/assets/"+id, object{"name": "b", "extension": "md"})
}
