package sandbox_test

import (
	"bytes"
	"fmt"
	"image"
	"image/gif"
	"slices"
	"strings"
	"testing"
	"time"

	"assetferry/internal/sandbox"
	"assetferry/internal/sandbox/profile"
)

// replace replaces the file of an asset.
func (c *client) replace(id, file, content string) object {
	c.Helper()
	r := c.tryUpload("/assets/"+id, file, content)
	if r.StatusCode != 200 {
		c.Fatalf("replace %s: %d %s", id, r.StatusCode, r.body)
	}
	return r.object(c)
}

// file returns the delivered content of an asset.
func (c *client) file(a object) string {
	c.Helper()
	return string(c.do(200, "GET", strings.TrimPrefix(a["url"].(string), c.url), nil).body)
}

func TestReplaceInPlace(t *testing.T) {
	clock := newClock()
	c := start(t, sandbox.Options{Now: clock.now})
	documents := c.category("Documents")
	folder := c.folder("f", "categoryId", documents)
	a := c.upload("a.txt", "first", "folderId", folder)
	id := a["id"].(string)
	a = c.do(200, "PATCH", "/assets/"+id, object{"tags": []string{"x"}, "metadata": object{"description": "d"}}).object(t)
	clock.advance(time.Minute)
	got := c.replace(id, "other name.TXT", "second!")
	if got["size"] != 7.0 || got["lastModifiedAt"] == a["lastModifiedAt"] {
		t.Errorf("replaced: %v", got)
	}
	for _, field := range []string{"id", "url", "name", "extension", "tags", "categoryId", "folderId", "uploadedAt", "metadata"} {
		if fmt.Sprint(got[field]) != fmt.Sprint(a[field]) {
			t.Errorf("%s is %v, was %v", field, got[field], a[field])
		}
	}
	if content := c.file(a); content != "second!" {
		t.Errorf("delivered %q", content)
	}
	for file, want := range map[string]int{"a.md": 400, "a": 400} {
		if r := c.tryUpload("/assets/"+id, file, "x"); r.StatusCode != want {
			t.Errorf("%s: %d %s", file, r.StatusCode, r.body)
		}
	}
	if r := c.tryUpload("/assets/none", "a.txt", "x"); r.StatusCode != 404 {
		t.Errorf("no such asset: %d", r.StatusCode)
	}
	c.do(400, "POST", "/assets/"+id, object{})
	if content := c.file(a); content != "second!" {
		t.Errorf("after refusals %q is delivered", content)
	}
}

func TestReplacedImageIsProcessedAgain(t *testing.T) {
	clock := newClock()
	c := start(t, sandbox.Options{Now: clock.now, ProcessingDelay: time.Minute})
	picture := func(width int) string {
		return encoded(t, width, 4, func(b *bytes.Buffer, m image.Image) error { return gif.Encode(b, m, nil) })
	}
	id := c.upload("a.gif", picture(3))["id"].(string)
	clock.advance(time.Minute)
	c.processed()
	metadata := func(o object) object { return o["metadata"].(object) }
	if m := metadata(c.get("/assets/" + id)); m["width"] != 3.0 {
		t.Fatalf("metadata %v", m)
	}
	got := c.replace(id, "a.gif", picture(200))
	if m := metadata(got); m["metadataProcessingStatus"] != "queued" || m["width"] != nil {
		t.Errorf("at first %v", m)
	}
	if urls := got["imageUrls"].(object); urls["200"] == nil || urls["3"] != nil {
		t.Errorf("URLs %v", urls)
	}
	clock.advance(time.Minute)
	c.processed()
	if m := metadata(c.get("/assets/" + id)); m["metadataProcessingStatus"] != "success" || m["width"] != 200.0 {
		t.Errorf("later %v", m)
	}
}

func TestRevisions(t *testing.T) {
	dir := t.TempDir()
	clock := newClock()
	c := start(t, sandbox.Options{Dir: dir, Now: clock.now})
	a := c.upload("a.txt", "1")
	id := a["id"].(string)
	for _, content := range []string{"22", "333"} {
		clock.advance(time.Second)
		c.replace(id, "a.txt", content)
	}
	path := "/assets/" + id + "/revisions"
	list := c.get(path)
	if got := column(list, "size"); !slices.Equal(got, []string{"3", "2", "1"}) || list["totalCount"] != 3.0 {
		t.Errorf("sizes %v", list)
	}
	if got := column(list, "isCurrent"); !slices.Equal(got, []string{"true", "false", "false"}) {
		t.Errorf("current: %v", got)
	}
	if got := column(list, "createdBy"); !slices.Equal(got, []string{"tester", "tester", "tester"}) {
		t.Errorf("by %v", got)
	}
	if got := items(list)[2]["createdAt"]; got != a["uploadedAt"] {
		t.Errorf("the first was made at %v, want %v", got, a["uploadedAt"])
	}
	ids := column(list, "id")
	for i, want := range []string{"333", "22", "1"} {
		r := c.do(200, "GET", "/"+c.env.ID+path+"/"+ids[i]+"/file", nil)
		if string(r.body) != want {
			t.Errorf("revision %d is %q, want %q", i, r.body, want)
		}
	}
	checkNoLeftovers(t, dir, 3)

	c.do(204, "POST", path, object{"revisionId": ids[2]})
	c.do(204, "POST", path, object{"revisionId": ids[2]}) // it is current
	if content := c.file(a); content != "1" {
		t.Errorf("delivered %q", content)
	}
	list = c.get(path)
	if got := column(list, "isCurrent"); !slices.Equal(got, []string{"false", "false", "true"}) || !slices.Equal(column(list, "id"), ids) {
		t.Errorf("after going back: %v", list)
	}
	c.do(400, "DELETE", path+"/"+ids[2], nil)
	c.do(204, "DELETE", path+"/"+ids[0], nil)
	c.do(404, "DELETE", path+"/"+ids[0], nil)
	c.do(404, "POST", path, object{"revisionId": ids[0]})
	c.do(404, "GET", "/"+c.env.ID+path+"/"+ids[0]+"/file", nil)
	checkNoLeftovers(t, dir, 2)
	if got := column(c.get(path), "id"); !slices.Equal(got, ids[1:]) {
		t.Errorf("left: %v, want %v", got, ids[1:])
	}

	for method, path := range map[string]string{"GET": "/assets/none/revisions", "POST": "/assets/none/revisions", "DELETE": "/assets/none/revisions/x"} {
		c.do(404, method, path, object{"revisionId": "x"})
	}
	c.do(404, "GET", "/"+c.env.ID+"/assets/none/revisions/x/file", nil)
	c.do(404, "GET", "/none/assets/"+id+"/revisions/"+ids[1]+"/file", nil)
	c.token = ""
	c.do(401, "GET", "/"+c.env.ID+path+"/"+ids[1]+"/file", nil)
}

// The test verifies that the permanent deletion of assets also deletes their revisions.
func TestRevisionsGoWithTheirAsset(t *testing.T) {
	for name, end := range map[string]func(c *client, workspace, category, asset string){
		"asset": func(c *client, ws, category, asset string) {
			c.do(204, "POST", "/assets/delete?workspaceId="+ws, []string{asset})
		},
		"extension": func(c *client, ws, category, asset string) {
			c.do(200, "PUT", "/admin/categories/"+category+"?workspaceId="+ws, object{"name": "n", "extensions": []string{"png"}})
		},
		"category": func(c *client, ws, category, asset string) {
			c.do(204, "DELETE", "/admin/categories/"+category+"?workspaceId="+ws, nil)
		},
		"workspace": func(c *client, ws, category, asset string) {
			c.do(204, "DELETE", "/superadmin/workspaces/"+ws, nil)
		},
	} {
		for _, trashed := range []bool{false, true} {
			t.Run(fmt.Sprint(name, " in the trash ", trashed), func(t *testing.T) {
				dir := t.TempDir()
				c := start(t, sandbox.Options{Dir: dir})
				ws := c.do(201, "POST", "/superadmin/workspaces", object{"name": "w"}).object(t)["id"].(string)
				category := c.do(201, "POST", "/admin/categories?workspaceId="+ws, object{"name": "n", "extensions": []string{"txt"}}).object(t)["id"].(string)
				r := c.tryUpload("/assets?workspaceId="+ws, "a.txt", "old", "categoryId", category)
				a := r.object(t)
				c.replace(a["id"].(string), "a.txt", "new")
				c.upload("stays.txt", "x")
				if trashed {
					c.do(204, "POST", "/assets/trash?workspaceId="+ws, []any{a["id"]})
				}
				checkNoLeftovers(t, dir, 3)
				end(c, ws, category, a["id"].(string))
				checkNoLeftovers(t, dir, 1)
			})
		}
	}
}

func TestRevisionsCountToTheStorage(t *testing.T) {
	c := start(t, sandbox.Options{Limits: profile.Limits{MaxStorageInBytes: 10}})
	id := c.upload("a.txt", "12345")["id"].(string)
	c.replace(id, "a.txt", "1234")
	r := c.tryUpload("/assets/"+id, "a.txt", "12")
	if data, _ := r.object(t)["data"].(object); r.StatusCode != 400 || data["limit"] != 10.0 {
		t.Errorf("%d %s", r.StatusCode, r.body)
	}
	for _, revision := range items(c.get("/assets/" + id + "/revisions")) {
		if revision["isCurrent"] == false {
			c.do(204, "DELETE", "/assets/"+id+"/revisions/"+revision["id"].(string), nil)
		}
	}
	c.replace(id, "a.txt", "12")
}
