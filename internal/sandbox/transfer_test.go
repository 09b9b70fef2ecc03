package sandbox_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"assetferry/internal/sandbox"
	"assetferry/internal/sandbox/profile"
)

// transfer copies or moves one asset and returns its status; 0 is success.
func (c *client) transfer(how string, asset any, action string, target object) int {
	c.Helper()
	one := object{"assetId": asset}
	if action != "" {
		one["action"] = action
	}
	r, err := c.send("POST", "/assets/"+how, "", strings.NewReader(string(mustJSON(c, object{"target": target, "assetsActions": []object{one}}))))
	if err != nil {
		c.Fatal(err)
	}
	switch r.StatusCode {
	case 204:
		return 0
	case 207:
		return int(r.object(c)[asset.(string)].(float64))
	}
	return r.StatusCode
}

func TestCopyAndMove(t *testing.T) {
	for name, test := range map[string]struct {
		here   string // asset to move or copy
		there  string // existing asset in the target; empty: none
		action string
		copy   int // status; 0 is success
		move   int
		names  string // names in the target after success
	}{
		"free name":                 {"a.txt", "b.txt", "", 0, 0, "a b"},
		"taken":                     {"a.txt", "a.txt", "", 409, 409, ""},
		"taken, extension folded":   {"a.txt", "a.TXT", "", 409, 409, ""},
		"taken, normal form":        {"gru\u0308n.txt", "gr\u00fcn.txt", "", 409, 409, ""},
		"other case":                {"a.txt", "A.txt", "", 0, 0, "A a"},
		"other extension":           {"a.txt", "a.md", "", 0, 0, "a a"},
		"rename":                    {"a.txt", "a.txt", "rename", 0, 0, "a a (1)"},
		"rename where it is free":   {"a.txt", "b.txt", "rename", 0, 0, "a b"},
		"replace":                   {"a.txt", "a.txt", "replace", 0, 0, "a"},
		"replace nothing":           {"a.txt", "b.txt", "replace", 0, 0, "a b"},
		"unknown action":            {"a.txt", "b.txt", "merge", 400, 400, ""},
		"rename of the longest":     {strings.Repeat("ö", 256) + ".txt", strings.Repeat("ö", 256) + ".txt", "rename", 0, 0, strings.Repeat("ö", 252) + " (1) " + strings.Repeat("ö", 256)},
		"a renamed one is in there": {"a.txt", "a (1).txt", "rename", 0, 0, "a a (1)"},
	} {
		for how, want := range map[string]int{"copy": test.copy, "move": test.move} {
			t.Run(name+" "+how, func(t *testing.T) {
				c := start(t, sandbox.Options{})
				documents := c.category("Documents")
				folder := c.folder("f", "categoryId", documents)
				a := c.upload(test.here, "here", "categoryId", documents)
				other := c.upload(test.there, "there", "folderId", folder)
				if got := c.transfer(how, a["id"], test.action, object{"folderId": folder}); got != want {
					t.Fatalf("status %d, want %d", got, want)
				}
				left, arrived := c.get("/assets?categoryId="+documents), c.get("/assets?folderId="+folder+"&sortBy=name")
				if want != 0 {
					if len(items(left)) != 1 || len(items(arrived)) != 1 {
						t.Errorf("after the refusal: %v and %v", left, arrived)
					}
					return
				}
				if got := strings.Join(column(arrived, "name"), " "); got != test.names {
					t.Errorf("names %s, want %s", got, test.names)
				}
				if got := len(items(left)); got != map[string]int{"copy": 1, "move": 0}[how] {
					t.Errorf("%d left", got)
				}
				if got := column(c.get("/assets/trash"), "id"); len(got) > 0 && (test.action != "replace" || got[0] != other["id"]) {
					t.Errorf("in the trash: %v", got)
				}
			})
		}
	}
}

func TestCopyIsAnAssetOfItsOwn(t *testing.T) {
	dir := t.TempDir()
	clock := newClock()
	c := start(t, sandbox.Options{Dir: dir, Now: clock.now})
	documents := c.category("Documents")
	a := c.upload("a.txt", "content", "categoryId", documents)
	id := a["id"].(string)
	c.replace(id, "a.txt", "newer")
	a = c.do(200, "PATCH", "/assets/"+id, object{"tags": []string{"x"}, "metadata": object{"description": "d", "customAttributes": object{"k": 1}}}).object(t)
	clock.advance(time.Hour)
	folder := c.folder("f", "categoryId", documents)
	if got := c.named("bob").transfer("copy", id, "", object{"folderId": folder}); got != 0 {
		t.Fatalf("status %d", got)
	}
	made := items(c.get("/assets?folderId=" + folder))[0]
	for _, field := range []string{"name", "extension", "size", "tags", "metadata", "categoryId"} {
		if fmt.Sprint(made[field]) != fmt.Sprint(a[field]) {
			t.Errorf("%s is %v, the original's %v", field, made[field], a[field])
		}
	}
	if made["id"] == id || made["url"] == a["url"] || made["uploadedAt"] == a["uploadedAt"] {
		t.Errorf("copied %v", made)
	}
	of := items(c.get("/assets/" + made["id"].(string) + "/revisions"))
	if len(of) != 1 || of[0]["createdBy"] != "bob" || of[0]["createdAt"] != made["uploadedAt"] {
		t.Errorf("revisions of the copy: %v", of)
	}
	checkNoLeftovers(t, dir, 2) // of three listed assets
	c.replace(made["id"].(string), "a.txt", "of the copy")
	if c.file(a) != "newer" || c.file(made) != "of the copy" {
		t.Errorf("contents %q and %q", c.file(a), c.file(made))
	}
}

// The test verifies that shared bytes are kept until the last asset is deleted, in any order.
func TestSharedBytes(t *testing.T) {
	dir := t.TempDir()
	c := start(t, sandbox.Options{Dir: dir})
	documents := c.category("Documents")
	a := c.upload("a.txt", "shared", "categoryId", documents)
	var copies []object
	for i := range 3 {
		folder := c.folder(fmt.Sprint(i), "categoryId", documents)
		if got := c.transfer("copy", a["id"], "", object{"folderId": folder}); got != 0 {
			t.Fatalf("status %d", got)
		}
		copies = append(copies, items(c.get("/assets?folderId=" + folder))[0])
	}
	c.do(204, "POST", "/assets/delete", []any{a["id"]})
	checkNoLeftovers(t, dir, 1)
	c.replace(copies[0]["id"].(string), "a.txt", "another") // its revision uses the bytes
	c.do(204, "POST", "/assets/delete", []any{copies[1]["id"], copies[2]["id"]})
	checkNoLeftovers(t, dir, 2)
	path := "/assets/" + copies[0]["id"].(string) + "/revisions"
	old := items(c.get(path))[1]["id"].(string)
	if r := c.do(200, "GET", "/"+c.env.ID+path+"/"+old+"/file", nil); string(r.body) != "shared" {
		t.Errorf("revision is %q", r.body)
	}
	c.do(204, "DELETE", path+"/"+old, nil)
	checkNoLeftovers(t, dir, 1)
	c.do(204, "DELETE", "/admin/categories/"+documents, nil)
	checkNoLeftovers(t, dir, 0)
}

func TestTransferInBulk(t *testing.T) {
	c := start(t, sandbox.Options{})
	documents, images := c.category("Documents"), c.category("Images")
	ws := c.do(201, "POST", "/superadmin/workspaces", object{"name": "w"}).object(t)["id"].(string)
	there := c.category("Documents", "workspaceId="+ws)
	text := c.upload("a.txt", "x", "categoryId", documents)["id"].(string)
	again := c.upload("b.txt", "x", "categoryId", documents)["id"].(string)
	trashed := c.upload("c.txt", "x", "categoryId", documents)["id"].(string)
	c.do(204, "POST", "/assets/trash", []string{trashed})
	other := c.tryUpload("/assets?workspaceId="+ws, "d.txt", "x").object(t)["id"].(string)
	folder := c.folder("f", "categoryId", documents)
	all := func(target object) object {
		return object{"target": target, "assetsActions": []object{
			{"assetId": text}, {"assetId": trashed}, {"assetId": "none"}, {"assetId": other}, {"assetId": again},
		}}
	}
	for _, how := range []string{"copy", "move"} {
		failed := c.do(207, "POST", "/assets/"+how, all(object{"categoryId": images})).object(t)
		want := object{text: 400.0, again: 400.0, trashed: 404.0, "none": 404.0, other: 404.0}
		if fmt.Sprint(failed) != fmt.Sprint(want) {
			t.Errorf("%s: failed %v, want %v", how, failed, want)
		}
		c.do(404, "POST", "/assets/"+how, all(object{"categoryId": there}))
		c.do(404, "POST", "/assets/"+how, all(object{"folderId": "none"}))
		c.do(400, "POST", "/assets/"+how, all(object{}))
		c.do(400, "POST", "/assets/"+how, all(object{"categoryId": documents, "folderId": folder}))
		c.do(400, "POST", "/assets/"+how, []string{})
	}
	failed := c.do(207, "POST", "/assets/move", all(object{"folderId": folder})).object(t)
	if fmt.Sprint(failed) != fmt.Sprint(object{trashed: 404.0, "none": 404.0, other: 404.0}) {
		t.Errorf("failed: %v", failed)
	}
	if got := column(c.get("/assets?folderId="+folder), "id"); !slices.Equal(got, []string{text, again}) {
		t.Errorf("moved: %v", got)
	}
}

// The test verifies that replacing an asset by a copy or a move requires the permission to
// overwrite.
func TestReplacingOnTheWayNeedsPermission(t *testing.T) {
	g := startGuarded(t)
	there := g.upload("a.txt", "x", "categoryId", g.category)["id"]
	rights := []string{"category:access", "asset:create", "asset:delete"}
	for _, how := range []string{"copy", "move"} {
		u := g.member(nil, rights...)
		if got := u.transfer(how, g.asset, "replace", object{"categoryId": g.category}); got != 403 {
			t.Errorf("%s without the permission: %d", how, got)
		}
		if got := column(g.get("/assets?categoryId="+g.category), "id"); !slices.Equal(got, []string{there.(string)}) {
			t.Errorf("%s: there is %v", how, got)
		}
	}
	if got := g.member(nil, append(rights, "asset:overwrite")...).transfer("move", g.asset, "replace", object{"categoryId": g.category}); got != 0 {
		t.Errorf("with the permission: %d", got)
	}
}

func TestTransferToTheSamePlace(t *testing.T) {
	c := start(t, sandbox.Options{})
	documents := c.category("Documents")
	id := c.upload("a.txt", "x", "categoryId", documents)["id"].(string)
	here := object{"categoryId": documents}
	for _, action := range []string{"", "rename", "replace"} {
		if got := c.transfer("move", id, action, here); got != 0 {
			t.Errorf("move %q: %d", action, got)
		}
	}
	for action, want := range map[string]int{"": 409, "replace": 409} {
		if got := c.transfer("copy", id, action, here); got != want {
			t.Errorf("copy %q: %d, want %d", action, got, want)
		}
	}
	for range 2 {
		if got := c.transfer("copy", id, "rename", here); got != 0 {
			t.Errorf("copy with another name: %d", got)
		}
	}
	if got := column(c.get("/assets?sortBy=name&categoryId="+documents), "name"); !slices.Equal(got, []string{"a", "a (1)", "a (2)"}) {
		t.Errorf("names %v", got)
	}
}

func TestCopiesCountToTheStorage(t *testing.T) {
	c := start(t, sandbox.Options{Limits: profile.Limits{MaxStorageInBytes: 10}})
	documents := c.category("Documents")
	a := c.upload("a.txt", "1234", "categoryId", documents)
	b := c.upload("b.txt", "1234", "categoryId", documents)
	body := object{"target": object{"categoryId": documents}, "assetsActions": []object{
		{"assetId": a["id"], "action": "rename"}, {"assetId": b["id"], "action": "rename"},
	}}
	r := c.do(400, "POST", "/assets/copy", body).object(t)
	if r["data"].(object)["limit"] != 10.0 || c.get("/assets?categoryId=" + documents)["totalCount"] != 2.0 {
		t.Errorf("refused with %v", r)
	}
}

func TestNamesExist(t *testing.T) {
	c := start(t, sandbox.Options{})
	documents := c.category("Documents")
	folder := c.folder("f", "categoryId", documents)
	for _, name := range []string{"a.txt", "gr\u00fcn.TXT", "noextension", "b.v2.txt"} {
		c.tryUpload("/assets", name, "x", "categoryId", documents)
	}
	c.upload("inside.txt", "x", "folderId", folder)
	trashed := c.upload("trashed.txt", "x", "categoryId", documents)
	c.do(204, "POST", "/assets/trash", []any{trashed["id"]})
	names := []string{"a.txt", "A.txt", "a.TXT", "a.md", "gru\u0308n.txt", "b.v2.txt", "b.txt", "trashed.txt", "inside.txt", "", "a"}
	for target, want := range map[string]string{"categoryId " + documents: `["a.txt","a.TXT","grün.txt","b.v2.txt"]`, "folderId " + folder: `["inside.txt"]`} {
		field, id, _ := strings.Cut(target, " ")
		r := c.do(200, "POST", "/assets/namesExist", object{"target": object{field: id}, "names": names})
		want = strings.Replace(want, "grün", "gru\u0308n", 1)
		if got := strings.TrimSpace(string(r.body)); got != want {
			t.Errorf("%s: got %s, want %s", target, got, want)
		}
	}
	if r := c.do(200, "POST", "/assets/namesExist", object{"target": object{"folderId": folder}, "names": []string{}}); string(r.body) != "[]\n" {
		t.Errorf("no names: %s", r.body)
	}
	c.do(400, "POST", "/assets/namesExist", object{"names": names})
	c.do(404, "POST", "/assets/namesExist", object{"target": object{"categoryId": "none"}, "names": names})
}

func TestOffset(t *testing.T) {
	c := start(t, sandbox.Options{})
	documents := c.category("Documents")
	folder := c.folder("f", "categoryId", documents)
	for i, name := range []string{"b", "c", "a", "c"} {
		c.upload(name+".txt", strings.Repeat("x", 4-i), "categoryId", documents)
	}
	alone := c.upload("alone.txt", "x", "folderId", folder)
	for _, query := range []string{"", "sortBy=name", "sortBy=name&order=desc", "sortBy=size", "sortBy=uploadedAt&order=desc", "sortBy=lastModifiedAt"} {
		for i, id := range column(c.get("/assets?categoryId="+documents+"&"+query), "id") {
			if got := c.get("/assets/" + id + "/offset?assetId=" + id + "&" + query)["offset"]; got != float64(i) {
				t.Errorf("%q: %v, want %d", query, got, i)
			}
		}
	}
	if got := c.get("/assets/" + alone["id"].(string) + "/offset")["offset"]; got != 0.0 {
		t.Errorf("in the folder: %v", got)
	}
	c.do(404, "GET", "/assets/none/offset", nil)
	c.do(400, "GET", "/assets/"+alone["id"].(string)+"/offset?sortBy=id", nil)
}
