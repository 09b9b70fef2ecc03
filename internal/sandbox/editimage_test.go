package sandbox_test

import (
	"image"
	"slices"
	"strings"
	"testing"

	"assetferry/internal/sandbox"
	"assetferry/internal/sandbox/profile"
)

func TestEditImage(t *testing.T) {
	c := start(t, sandbox.Options{})
	folder := c.folder("f", "categoryId", c.category("Images"))
	a := c.upload("a.png", photo(t, 100, 60, asPNG), "folderId", folder)
	path := "/assets/" + a["id"].(string) + "/editImage"
	sizeOfFile := func(a object) image.Point { return sizeOf(t, c.do(200, "GET", c.pathOf(a)+"file", nil)) }
	for name, test := range map[string]struct {
		transformations object
		size            image.Point
	}{
		"none":   {object{}, image.Pt(100, 60)},
		"crop":   {object{"crop": object{"x": 10, "y": 20, "width": 30, "height": 40}}, image.Pt(30, 40)},
		"rotate": {object{"rotate": object{"angle": -90}}, image.Pt(60, 100)},
		"flip":   {object{"flip": object{"x": true, "y": false}}, image.Pt(100, 60)},
		"resize": {object{"resize": object{"width": 200, "height": 10}}, image.Pt(200, 10)},
		"all": {object{"crop": object{"x": 0, "y": 0, "width": 50, "height": 40}, "rotate": object{"angle": 270},
			"flip": object{"x": true, "y": true}, "resize": object{"width": 20}}, image.Pt(20, 25)},
	} {
		body := object{"action": "create", "assetName": name, "transformations": test.transformations}
		made := c.do(200, "POST", path, body).object(t)
		if made["id"] == a["id"] || made["name"] != name || made["extension"] != "png" || made["folderId"] != folder ||
			metadataOf(made)["metadataProcessingStatus"] != "queued" || made["imageUrls"] == nil {
			t.Errorf("%s: %v", name, made)
		}
		if got := sizeOfFile(made); got != test.size {
			t.Errorf("%s: size %v, want %v", name, got, test.size)
		}
		c.processed()
		m := metadataOf(c.get("/assets/" + made["id"].(string)))
		if m["metadataProcessingStatus"] != "success" || m["width"] != float64(test.size.X) || m["height"] != float64(test.size.Y) {
			t.Errorf("%s: metadata %v", name, m)
		}
	}
	if got := sizeOfFile(a); got != image.Pt(100, 60) {
		t.Errorf("the original is %v now", got)
	}
}

func TestEditOverAnImage(t *testing.T) {
	c := start(t, sandbox.Options{})
	a := c.upload("a.jpg", photo(t, 100, 60, asJPEG))
	path := "/assets/" + a["id"].(string)
	body := object{"action": "overwrite", "assetName": "other", "transformations": object{"rotate": object{"angle": 90}}}
	if got := c.do(200, "POST", path+"/editImage", body).object(t); got["id"] != a["id"] || got["name"] != "a" || got["url"] != a["url"] {
		t.Errorf("answer %v", got)
	}
	if got := sizeOf(t, c.do(200, "GET", c.pathOf(a)+"images/60.png", nil)); got != image.Pt(60, 100) {
		t.Errorf("size %v", got)
	}
	if all := items(c.get(path + "/revisions")); len(all) != 2 {
		t.Errorf("revisions %v", all)
	}
	images := []string{c.category("Images")}
	mayCreate, mayOverwrite := c.member(images, "category:access", "asset:create"), c.member(images, "category:access", "asset:overwrite")
	mayCreate.do(403, "POST", path+"/editImage", body)
	mayOverwrite.do(200, "POST", path+"/editImage", body)
}

func TestEditRefusals(t *testing.T) {
	c := start(t, sandbox.Options{Limits: profile.Limits{MaxImageInMegapixels: 1}})
	image := c.upload("a.png", photo(t, 100, 60, asPNG))["id"].(string)
	broken := c.upload("b.png", "no image")["id"].(string)
	text := c.upload("a.txt", "no image")["id"].(string)
	edit := func(status int, id string, transformations object) {
		t.Helper()
		c.do(status, "POST", "/assets/"+id+"/editImage", object{"action": "create", "assetName": "n", "transformations": transformations})
	}
	for _, transformations := range []object{
		{"crop": object{"x": 90, "y": 0, "width": 11, "height": 5}}, {"crop": object{"width": 0, "height": 5}}, {"rotate": object{"angle": 45}},
		{"resize": object{"width": 16384, "height": 1}}, {"resize": object{"width": -1, "height": 5}}, {"resize": object{}},
		{"resize": object{"width": 2000, "height": 501}}, {"rotate": "left"},
	} {
		edit(400, image, transformations)
	}
	edit(404, broken, object{})
	edit(400, text, object{})
	edit(404, "none", object{})
	c.do(400, "POST", "/assets/"+image+"/editImage", object{"action": "create", "assetName": ""})
	c.do(400, "POST", "/assets/"+image+"/editImage", object{"action": "create", "assetName": strings.Repeat("n", 257)})
	if got := column(c.get("/assets?categoryId="+c.category("Images")), "name"); !slices.Equal(got, []string{"a", "b"}) {
		t.Errorf("assets %v", got)
	}
}
