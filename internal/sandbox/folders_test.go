package sandbox_test

import (
	"encoding/json"
	"fmt"
	"net/http/httptest"
	"strings"
	"testing"

	"assetferry/internal/sandbox"
	"assetferry/internal/sandbox/profile"
)

func (c *client) folder(name, in, id string) string {
	c.Helper()
	return c.do(201, "POST", "/folders", object{"name": name, in: id}).object(c)["id"].(string)
}

// outline returns a tree of folders as name(child child); "?" means unknown children.
func outline(f object) string {
	name := f["name"].(string)
	children, said := f["folders"].([]any)
	if !said {
		return name + "?"
	}
	var inside []string
	for _, child := range children {
		inside = append(inside, outline(child.(object)))
	}
	return name + "(" + strings.Join(inside, " ") + ")"
}

func TestFolderDepth(t *testing.T) {
	c := start(t, sandbox.Options{})
	documents := c.category("Documents")
	a := c.folder("a", "categoryId", documents)
	b := c.folder("b", "parentId", a)
	c.folder("c", "parentId", b)
	c.folder("d", "parentId", a)
	c.folder("d", "parentId", a) // equal names are accepted
	c.folder("e", "categoryId", documents)
	for query, want := range map[string]string{
		"":         "a?",
		"?depth=0": "a?",
		"?depth=1": "a(b? d? d?)",
		"?depth=2": "a(b(c?) d() d())",
		"?depth=3": "a(b(c()) d() d())",
		"?depth=9": "a(b(c()) d() d())",
	} {
		if got := outline(c.get("/folders/" + a + query)); got != want {
			t.Errorf("%s: %s, want %s", query, got, want)
		}
	}
	if got := strings.Join(column(c.get("/folders"), "name"), " "); got != "a e" {
		t.Errorf("top folders %s", got)
	}
	f := c.get("/folders/" + b)
	if f["categoryId"] != documents || f["parentId"] != a || f["createdAt"] == "" {
		t.Errorf("nested folder %v", f)
	}
	if f := c.get("/folders/" + a); f["parentId"] != nil {
		t.Errorf("top folder has parent %v", f["parentId"])
	}
	c.do(400, "GET", "/folders/"+a+"?depth=-1", nil)
	c.do(400, "GET", "/folders/"+a+"?depth=x", nil)
	c.do(404, "GET", "/folders/none", nil)
}

func TestFolderBranch(t *testing.T) {
	c := start(t, sandbox.Options{})
	a := c.folder("a", "categoryId", c.category("Documents"))
	b := c.folder("b", "parentId", a)
	c.folder("beside", "parentId", a)
	d := c.folder("d", "parentId", b)
	c.folder("e", "parentId", d)
	for path, want := range map[string]string{
		a + "/branch":         "a?",
		a + "/branch?depth=1": "a(b? beside?)",
		b + "/branch?depth=1": "a(b(d?))",
		d + "/branch":         "a(b(d?))",
		d + "/branch?depth=2": "a(b(d(e())))",
	} {
		if got := outline(c.get("/folders/" + path)); got != want {
			t.Errorf("%s: %s, want %s", path, got, want)
		}
	}
	c.do(404, "GET", "/folders/none/branch", nil)
	c.do(400, "GET", "/folders/"+a+"/branch?depth=x", nil)
}

func TestCategoryOrder(t *testing.T) {
	c := start(t, sandbox.Options{})
	names := func() string { return strings.Join(column(c.get("/categories"), "name"), " ") }
	files, images, documents := c.category("Files"), c.category("Images"), c.category("Documents")
	order := func(want int, ids ...string) {
		t.Helper()
		c.do(want, "PUT", "/admin/categories/order", object{"categoriesIds": ids})
	}
	order(204, documents, files, images)
	if got := names(); got != "Documents Files Images" {
		t.Errorf("got %s", got)
	}
	last := c.do(201, "POST", "/admin/categories", object{"name": "Last", "extensions": []string{"txt"}}).object(t)["id"].(string)
	if got := names(); got != "Documents Files Images Last" {
		t.Errorf("with a new one: %s", got)
	}
	for _, ids := range [][]string{{}, {files, images, documents}, {files, images, documents, last, last}, {files, images, documents, "none"}} {
		order(400, ids...)
	}
	order(204, last, images, documents, files)
	if got := strings.Join(column(c.get("/admin/categories"), "name"), " "); got != "Last Images Documents Files" {
		t.Errorf("for admins: %s", got)
	}
	if got := c.upload("a.txt", "x")["categoryId"]; got != last { // the first one that allows it
		t.Errorf("upload went to %v", got)
	}
}

func TestFolderRefusals(t *testing.T) {
	c := start(t, sandbox.Options{})
	documents, images := c.category("Documents"), c.category("Images")
	a := c.folder("a", "categoryId", documents)
	c.do(400, "POST", "/folders", object{"name": "x"})
	c.do(400, "POST", "/folders", object{"name": "", "categoryId": documents})
	c.do(400, "POST", "/folders", object{"name": strings.Repeat("x", 257), "categoryId": documents})
	c.do(400, "POST", "/folders", object{"name": "x", "categoryId": images, "parentId": a})
	c.do(201, "POST", "/folders", object{"name": "x", "categoryId": documents, "parentId": a})
	c.do(404, "POST", "/folders", object{"name": "x", "categoryId": "none"})
	c.do(404, "POST", "/folders", object{"name": "x", "parentId": "none"})
	c.do(400, "POST", "/folders", []string{"x"})
	c.do(400, "PUT", "/folders/"+a, object{"name": ""})
}

func TestDeletedFolderMovesItsContentsUp(t *testing.T) {
	c := start(t, sandbox.Options{})
	a := c.folder("a", "categoryId", c.category("Documents"))
	b := c.folder("b", "parentId", a)
	inner := c.folder("c", "parentId", b)
	kept := c.upload("x.txt", "x", "folderId", b)["id"].(string)
	trashed := c.upload("y.txt", "y", "folderId", b)["id"].(string)
	c.do(204, "POST", "/assets/trash", []string{trashed})

	c.do(204, "DELETE", "/folders/"+b, nil)
	c.do(404, "DELETE", "/folders/"+b, nil)
	c.do(204, "POST", "/assets/restore", object{"assetsActions": []object{{"assetId": trashed}}})
	for _, id := range []string{kept, trashed} {
		if got := c.get("/assets/" + id)["folderId"]; got != a {
			t.Errorf("asset went to folder %v, want %v", got, a)
		}
	}
	if got := c.get("/folders/" + inner)["parentId"]; got != a {
		t.Errorf("folder went to %v, want %v", got, a)
	}
	c.do(204, "DELETE", "/folders/"+a, nil)
	if got := c.get("/assets/" + kept)["folderId"]; got != nil {
		t.Errorf("asset is in folder %v, want none", got)
	}
	if got := strings.Join(column(c.get("/folders"), "name"), " "); got != "c" {
		t.Errorf("top folders %s", got)
	}
	if got := c.do(200, "PUT", "/folders/"+inner, object{"name": "new"}).object(t)["name"]; got != "new" {
		t.Errorf("renamed to %v", got)
	}
}

func TestDeepFolders(t *testing.T) {
	c := start(t, sandbox.Options{})
	documents := c.category("Documents")
	top := c.folder("0", "categoryId", documents)
	id := top
	for i := range 300 {
		id = c.folder(fmt.Sprint(i+1), "parentId", id)
	}
	if got := strings.Count(string(c.do(200, "GET", "/folders/"+top+"?depth=1000", nil).body), `"id"`); got != 301 {
		t.Errorf("%d folders shown, want 301", got)
	}
	c.do(204, "DELETE", "/admin/categories/"+documents, nil)
	if got := column(c.get("/folders"), "name"); len(got) > 0 {
		t.Errorf("folders left: %v", got)
	}
}

func TestCategories(t *testing.T) {
	c := start(t, sandbox.Options{})
	list := c.get("/categories")
	if got := strings.Join(column(list, "name"), " "); got != "Files Images Documents" {
		t.Errorf("first categories: %s", got)
	}
	seen := make(map[string]bool)
	for _, cat := range items(list) {
		extensions := cat["extensions"].([]any)
		if len(extensions) == 0 || len(extensions) > 100 {
			t.Errorf("%v has %d extensions", cat["name"], len(extensions))
		}
		for _, e := range extensions {
			name := e.(string)
			if seen[name] || name == "" || len(name) > 9 {
				t.Errorf("extension %q of %v is there twice, or its length is wrong", name, cat["name"])
			}
			seen[name] = true
		}
	}
	for _, e := range []string{"xyz", "exe", "iso", "bak"} {
		if seen[e] {
			t.Errorf("extension %q is allowed", e)
		}
	}
	page := c.get("/categories?limit=1&offset=1")
	if got := fmt.Sprint(column(page, "name"), page["totalCount"], page["offset"], page["limit"]); got != "[Images] 3 1 1" {
		t.Errorf("page: %s", got)
	}
	for name, body := range map[string]object{
		"no name":         {"extensions": []string{"a"}},
		"no extensions":   {"name": "x"},
		"dot":             {"name": "x", "extensions": []string{".a"}},
		"long extension":  {"name": "x", "extensions": []string{"abcdefghij"}},
		"empty extension": {"name": "x", "extensions": []string{""}},
		"twice":           {"name": "x", "extensions": []string{"a", "A"}},
		"too many":        {"name": "x", "extensions": strings.Split(strings.Repeat("a,", 100)+"a", ",")},
		"wrong type":      {"name": 5, "extensions": []string{"a"}},
	} {
		if r := c.do(400, "POST", "/admin/categories", body); r.StatusCode != 400 {
			t.Errorf("%s was accepted", name)
		}
	}
	body := object{"name": "Files", "extensions": []string{"XYZ", "abc"}, "categoryId": "draft", "isPrivate": true}
	made := c.do(201, "POST", "/admin/categories", body).object(t)
	if made["id"] == "draft" {
		t.Error("the draft key became the ID")
	}
	got := c.get("/categories/" + made["id"].(string))
	if got["name"] != "Files" || fmt.Sprint(got["extensions"]) != "[XYZ abc]" || got["isPrivate"] != true {
		t.Errorf("created %v", got)
	}
	c.upload("a.xyz", "x", "categoryId", made["id"].(string))
}

func TestCategoryDestroysAssets(t *testing.T) {
	dir := t.TempDir()
	c := start(t, sandbox.Options{Dir: dir})
	documents := c.category("Documents")
	txt := c.upload("a.TXT", "x", "categoryId", documents)["id"].(string)
	trashed := c.upload("b.txt", "x", "categoryId", documents)["id"].(string)
	pdf := c.upload("a.pdf", "x", "categoryId", documents)["id"].(string)
	c.do(204, "POST", "/assets/trash", []string{trashed})
	for _, cat := range items(c.get("/admin/categories")) {
		want := "[]"
		if cat["id"] == documents {
			want = "[pdf txt]"
		}
		if got := fmt.Sprint(cat["extensionsInUse"]); got != want {
			t.Errorf("%v: extensions in use %s, want %s", cat["name"], got, want)
		}
	}
	c.do(200, "PUT", "/admin/categories/"+documents, object{"name": "D", "extensions": []string{"doc", "PDF"}})
	c.do(404, "GET", "/assets/"+txt, nil)
	c.get("/assets/" + pdf)
	if got := c.get("/assets/trash")["totalCount"]; got != 0.0 {
		t.Errorf("%v assets left in the trash", got)
	}
	checkNoLeftovers(t, dir, 1)
	if got := c.get("/categories/" + documents); got["name"] != "D" || fmt.Sprint(got["extensions"]) != "[doc PDF]" {
		t.Errorf("updated %v", got)
	}
	c.do(204, "DELETE", "/admin/categories/"+documents, nil)
	c.do(404, "GET", "/assets/"+pdf, nil)
	c.do(404, "GET", "/categories/"+documents, nil)
	checkNoLeftovers(t, dir, 0)
}

func TestPermissionsAndLimits(t *testing.T) {
	c := start(t, sandbox.Options{}).as("user")
	permissions := c.get("/permissions")
	if len(permissions) != 3 || permissions[c.category("Images")].(object)["asset:create"] != true {
		t.Errorf("permissions %v", permissions)
	}
	got, _ := json.Marshal(c.get("/limits"))
	want := `{"isImageProcessingEnabled":true,"isMaxBandwidthExceeded":false,"isMaxStorageSizeExceeded":false,` +
		`"isSemanticSearchEnabled":false,"maxFileSizeInBytesLimit":5368709120,` +
		`"maxImageInMegapixelsLimit":50,"pricingPlanName":"ckbox.personal"}`
	if string(got) != want {
		t.Errorf("limits %s", got)
	}
}

// The test verifies that the limits of a profile for names apply to new and changed names of all
// kinds.
func TestProfileOfNames(t *testing.T) {
	c := start(t, sandbox.Options{Profile: profile.Profile{MaxName: 9, EqualFolders: "refuse", EqualCategories: "refuse"}})
	plain := httptest.NewServer(c.server) // the description has no 409, which only profiles cause
	defer plain.Close()
	c.url = plain.URL
	category := func(want int, method, path, name string) object {
		return c.do(want, method, path, object{"name": name, "extensions": []string{"txt"}}).object(t)
	}
	first, second := category(201, "POST", "/admin/categories", "first"), category(201, "POST", "/admin/categories", "second")
	path := "/admin/categories/" + second["id"].(string)
	category(409, "POST", "/admin/categories", "first")
	category(409, "PUT", path, "first")
	category(400, "PUT", path, "0123456789")
	category(200, "PUT", path, "second")
	folder := func(want int, method, path, name string) object {
		return c.do(want, method, path, object{"name": name, "categoryId": first["id"]}).object(t)
	}
	folder(201, "POST", "/folders", "a")
	path = "/folders/" + folder(201, "POST", "/folders", "b")["id"].(string)
	folder(409, "POST", "/folders", "a")
	folder(409, "PUT", path, "a")
	folder(400, "PUT", path, "0123456789")
	folder(200, "PUT", path, "b")
}
