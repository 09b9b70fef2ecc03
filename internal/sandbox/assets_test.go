package sandbox_test

import (
	"bytes"
	"fmt"
	"image"
	"image/gif"
	"image/png"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"assetferry/internal/sandbox"
	"assetferry/internal/sandbox/profile"
)

func TestListAssets(t *testing.T) {
	clock := newClock()
	c := start(t, sandbox.Options{Now: clock.now})
	documents := c.category("Documents")
	folder := c.folder("f", "categoryId", documents)
	var ids []string
	for i, name := range []string{"b", "c", "a", "c"} {
		clock.advance(time.Duration(i%2) * time.Second) // some at the same time
		ids = append(ids, c.upload(name+".txt", strings.Repeat("x", 4-i), "categoryId", documents)["id"].(string))
	}
	c.upload("inside.txt", "x", "folderId", folder)
	clock.advance(time.Second)
	c.do(200, "PATCH", "/assets/"+ids[1], object{"tags": []string{"x"}})

	in := "/assets?categoryId=" + documents
	for query, want := range map[string]string{
		"":                              "b c a c",
		"&order=desc":                   "c a c b",
		"&sortBy=name":                  "a b c c",
		"&sortBy=name&order=desc":       "c c b a",
		"&sortBy=size":                  "c a c b",
		"&sortBy=uploadedAt&order=desc": "c a c b",
		"&sortBy=lastModifiedAt":        "b a c c",
		"&limit=2":                      "b c",
		"&limit=2&offset=2":             "a c",
		"&limit=2&offset=4":             "",
		"&limit=500&offset=3":           "c",
	} {
		page := c.get(in + query)
		if got := strings.Join(column(page, "name"), " "); got != want || page["totalCount"] != 4.0 {
			t.Errorf("%q: %s of %v, want %s of 4", query, got, page["totalCount"], want)
		}
	}
	if page := c.get(in); page["limit"] != 50.0 || page["offset"] != 0.0 {
		t.Errorf("defaults: limit %v, offset %v", page["limit"], page["offset"])
	}
	for _, query := range []string{"?folderId=" + folder, "?categoryId=" + documents + "&folderId=" + folder} {
		if got := column(c.get("/assets"+query), "name"); !slices.Equal(got, []string{"inside"}) {
			t.Errorf("in the folder, %s: %v", query, got)
		}
	}
	if got := c.get("/categories/" + documents)["assetsCount"]; got != 5.0 {
		t.Errorf("the category counts %v assets, want 5", got)
	}
	if got := c.get("/folders/" + folder)["assetsCount"]; got != 1.0 {
		t.Errorf("the folder counts %v assets, want 1", got)
	}
	for _, query := range []string{"&limit=0", "&limit=501", "&limit=x", "&offset=-1", "&sortBy=id", "&order=up"} {
		c.do(400, "GET", in+query, nil)
	}
	c.do(400, "GET", "/assets?categoryId="+c.category("Images")+"&folderId="+folder, nil)
	c.do(400, "GET", "/assets", nil)
	c.do(404, "GET", "/assets?categoryId=none", nil)
	c.do(404, "GET", "/assets?folderId=none", nil)
}

func TestPatchAsset(t *testing.T) {
	clock := newClock()
	c := start(t, sandbox.Options{Now: clock.now})
	a := c.upload("a.txt", "x")
	path := "/assets/" + a["id"].(string)
	clock.advance(time.Hour)
	all := object{"name": "näme", "extension": "MD", "tags": []string{"b", "a", "b"}, "metadata": object{
		"description": strings.Repeat("ö", 1024), "customAttributes": object{"k": "v", "n": 1.5, "o": object{"x": nil}}}}
	got := c.do(200, "PATCH", path, all).object(t)
	if got["name"] != "näme" || got["extension"] != "MD" || got["mimeType"] != "text/markdown" || fmt.Sprint(got["tags"]) != "[b a b]" {
		t.Errorf("patched %v", got)
	}
	if got["uploadedAt"] != a["uploadedAt"] || got["lastModifiedAt"] == a["lastModifiedAt"] || got["url"] != a["url"] {
		t.Errorf("times or URL are wrong: %v", got)
	}
	metadata := got["metadata"].(object)
	if metadata["description"] != all["metadata"].(object)["description"] || fmt.Sprint(metadata["customAttributes"]) != "map[k:v n:1.5 o:map[x:<nil>]]" {
		t.Errorf("metadata %v", metadata)
	}
	if again := c.get(path); fmt.Sprint(again) != fmt.Sprint(got) {
		t.Errorf("read back %v", again)
	}
	partial := c.do(200, "PATCH", path, object{"metadata": object{"customAttributes": object{"other": true}}}).object(t)
	if m := partial["metadata"].(object); fmt.Sprint(m["customAttributes"]) != "map[other:true]" || m["description"] == "" || partial["name"] != "näme" {
		t.Errorf("after a partial change: %v", partial)
	}
	for name, body := range map[string]any{
		"empty name":                    object{"name": ""},
		"long name":                     object{"name": strings.Repeat("x", 257)},
		"long description":              object{"metadata": object{"description": strings.Repeat("x", 1025)}},
		"long extension":                object{"extension": "abcdefghij"},
		"extension of another category": object{"extension": "png"},
		"attributes as list":            object{"metadata": object{"customAttributes": []string{}}},
		"tags as text":                  object{"tags": "x"},
		"tags of numbers":               object{"tags": []int{1}},
		"list":                          []string{},
	} {
		r, err := c.send("PATCH", path, "", bytes.NewReader(mustJSON(t, body)))
		if err != nil {
			t.Fatal(err)
		}
		if r.StatusCode != 400 {
			t.Errorf("%s: %d", name, r.StatusCode)
		}
	}
	if r, _ := c.send("PATCH", path, "", strings.NewReader(`{"name":`)); r.StatusCode != 400 {
		t.Errorf("broken JSON: %d", r.StatusCode)
	}
	c.do(404, "PATCH", "/assets/none", object{"name": "x"})
	if after := c.get(path); fmt.Sprint(after) != fmt.Sprint(partial) {
		t.Errorf("refused changes changed %v", after)
	}
}

func TestTrash(t *testing.T) {
	dir := t.TempDir()
	c := start(t, sandbox.Options{Dir: dir})
	documents, images := c.category("Documents"), c.category("Images")
	folder := c.folder("f", "categoryId", documents)
	a := c.upload("a.txt", "x", "categoryId", documents)
	b := c.upload("b.txt", "x", "categoryId", documents)
	id, other := a["id"].(string), b["id"].(string)
	file := strings.TrimPrefix(a["url"].(string), c.url)

	c.do(204, "POST", "/assets/trash", []string{id})
	c.do(404, "GET", "/assets/"+id, nil)
	c.do(404, "PATCH", "/assets/"+id, object{"name": "x"})
	c.do(404, "GET", file, nil)
	if got := column(c.get("/assets?categoryId="+documents), "id"); !slices.Equal(got, []string{other}) {
		t.Errorf("listed: %v", got)
	}
	if got := column(c.get("/assets/trash"), "id"); !slices.Equal(got, []string{id}) {
		t.Errorf("in the trash: %v", got)
	}
	failed := c.do(207, "POST", "/assets/trash", []string{id, other, "none"}).object(t)
	if fmt.Sprint(failed) != fmt.Sprint(object{id: 404.0, "none": 404.0}) {
		t.Errorf("failed: %v", failed)
	}

	failed = c.do(207, "POST", "/assets/restore", object{"assetsActions": []object{
		{"assetId": id, "action": "rename", "target": object{"folderId": folder}},
		{"assetId": other, "target": object{"categoryId": images}},
		{"assetId": "none"},
	}}).object(t)
	if fmt.Sprint(failed) != fmt.Sprint(object{other: 400.0, "none": 404.0}) {
		t.Errorf("failed: %v", failed)
	}
	if got := c.get("/assets/" + id)["folderId"]; got != folder {
		t.Errorf("restored to %v", got)
	}
	c.do(204, "POST", "/assets/restore", object{"assetsActions": []object{{"assetId": other}}})
	c.do(204, "POST", "/assets/trash", []string{other})

	c.do(204, "POST", "/assets/delete", []string{id, other, id})
	failed = c.do(207, "POST", "/assets/delete", []string{id}).object(t)
	if failed[id] != 404.0 || c.get("/assets/trash")["totalCount"] != 0.0 {
		t.Errorf("after the deletion: %v", failed)
	}
	checkNoLeftovers(t, dir, 0)
	c.do(400, "POST", "/assets/trash", object{})
}

func TestDelivery(t *testing.T) {
	c := start(t, sandbox.Options{Dir: t.TempDir()})
	a := c.upload("größe \"x\".pdf", "0123456789")
	path := strings.TrimPrefix(a["url"].(string), c.url)
	c.token = ""
	r := c.do(200, "GET", path, nil)
	etag := r.Header.Get("ETag")
	if r.Header.Get("Content-Type") != "application/pdf" || r.ContentLength != 10 || len(etag) != 66 || etag[0] != '"' {
		t.Errorf("headers %v", r.Header)
	}
	if r.Header.Get("Content-Disposition") != "" {
		t.Error("an attachment, though not asked for")
	}
	r = c.do(200, "HEAD", path, nil)
	if r.ContentLength != 10 || len(r.body) != 0 {
		t.Errorf("HEAD: length %d, body %q", r.ContentLength, r.body)
	}
	r = c.do(200, "GET", path+"?download=true", nil)
	if got, want := r.Header.Get("Content-Disposition"), `attachment; filename="gr__e _x_.pdf"; filename*=UTF-8''gr%C3%B6%C3%9Fe%20%22x%22.pdf`; got != want {
		t.Errorf("Content-Disposition %s, want %s", got, want)
	}
	for header, test := range map[[2]string]struct {
		status int
		body   string
	}{
		{"Range", "bytes=2-4"}:   {206, "234"},
		{"Range", "bytes=7-"}:    {206, "789"},
		{"Range", "bytes=-1"}:    {206, "9"},
		{"Range", "bytes=10-"}:   {416, ""},
		{"If-None-Match", etag}:  {304, ""},
		{"If-Match", `"other"`}:  {412, ""},
		{"If-None-Match", `"x"`}: {200, "0123456789"},
	} {
		req, err := http.NewRequest("GET", c.url+path, nil)
		if err != nil {
			t.Fatal(err)
		}
		req.Header.Set(header[0], header[1])
		resp, err := http.DefaultTransport.RoundTrip(req)
		if err != nil {
			t.Fatal(err)
		}
		var b bytes.Buffer
		_, _ = b.ReadFrom(resp.Body)
		_ = resp.Body.Close()
		if resp.StatusCode != test.status || test.body != "" && b.String() != test.body {
			t.Errorf("%v: %d %q, want %d %q", header, resp.StatusCode, b.String(), test.status, test.body)
		}
	}
	c.do(404, "GET", "/"+c.env.ID+"/assets/none/file", nil)
	c.do(404, "GET", "/none/assets/"+a["id"].(string)+"/file", nil)
}

func TestPrivateDelivery(t *testing.T) {
	c := start(t, sandbox.Options{})
	ws := c.do(201, "POST", "/superadmin/workspaces", object{"name": "other"}).object(t)["id"].(string)
	body := object{"name": "Secret", "extensions": []string{"txt"}, "isPrivate": true}
	secret := c.do(201, "POST", "/admin/categories", body).object(t)["id"].(string)
	folder := c.folder("f", "categoryId", secret)
	a := c.upload("a.txt", "x", "folderId", folder)
	path := strings.TrimPrefix(a["url"].(string), c.url)
	anonymous := *c
	anonymous.token = ""
	anonymous.do(401, "GET", path, nil)
	c.as("user").do(200, "GET", path, nil)
	c.as("user", ws).do(403, "GET", path, nil)

	authorize := func(token string) reply {
		form := "--b\r\nContent-Disposition: form-data; name=\"token\"\r\n\r\n" + token + "\r\n--b--\r\n"
		r, err := anonymous.send("POST", "/categories/authorizePrivateAccess", "multipart/form-data; boundary=b", strings.NewReader(form))
		if err != nil {
			t.Fatal(err)
		}
		return r
	}
	if r := authorize("nonsense"); r.StatusCode != 401 || r.Header.Get("Set-Cookie") != "" {
		t.Errorf("bad token: %d %v", r.StatusCode, r.Header)
	}
	for token, want := range map[string]int{c.as("user").token: 200, c.as("user", ws).token: 403} {
		r := authorize(token)
		cookies := r.Cookies()
		if len(cookies) != 1 || cookies[0].Name != "CKBox-Auth" {
			t.Fatalf("cookies %v", cookies)
		}
		req, err := http.NewRequest("GET", c.url+path, nil)
		if err != nil {
			t.Fatal(err)
		}
		req.AddCookie(cookies[0])
		resp, err := http.DefaultTransport.RoundTrip(req)
		if err != nil {
			t.Fatal(err)
		}
		_ = resp.Body.Close()
		if resp.StatusCode != want {
			t.Errorf("with the cookie: %d, want %d", resp.StatusCode, want)
		}
	}
}

func encoded(t *testing.T, width, height int, encode func(*bytes.Buffer, image.Image) error) string {
	t.Helper()
	var b bytes.Buffer
	if err := encode(&b, image.NewRGBA(image.Rect(0, 0, width, height))); err != nil {
		t.Fatal(err)
	}
	return b.String()
}

func TestLimitRefusals(t *testing.T) {
	c := start(t, sandbox.Options{Limits: profile.Limits{MaxFileSizeInBytes: 1000, MaxImageInMegapixels: 1, MaxStorageInBytes: 1500}})
	check := func(r reply, status int, key string, value float64) {
		t.Helper()
		checkProblem(t, r)
		if data, _ := r.object(t)["data"].(object); r.StatusCode != status || data[key] != value {
			t.Errorf("status %d, data %v, want %d and %s", r.StatusCode, data, status, key)
		}
	}
	check(c.tryUpload("/assets", "a.txt", strings.Repeat("x", 1001)), 413, "sizeLimit", 1000)
	check(c.tryUpload("/assets", "a.txt", strings.Repeat("x", 1_000_000)), 413, "sizeLimit", 1000)
	large := encoded(t, 1001, 1000, func(b *bytes.Buffer, m image.Image) error { return gif.Encode(b, m, &gif.Options{NumColors: 2}) })
	check(c.tryUpload("/assets", "a.gif", large[:900]), 400, "megapixelsLimit", 1)
	c.upload("a.txt", strings.Repeat("x", 1000))
	c.upload("a.txt", strings.Repeat("x", 500))
	check(c.tryUpload("/assets", "a.txt", "x"), 400, "limit", 1500)
	if c.get("/limits")["isMaxStorageSizeExceeded"] != true {
		t.Error("the storage is not said to be used up")
	}
}

// The test verifies that bodies must be valid UTF-8, because parts of them are stored unchanged.
func TestBodiesAreUTF8(t *testing.T) {
	c := start(t, sandbox.Options{})
	id := c.upload("a.txt", "x")["id"].(string)
	r, err := c.send("PATCH", "/assets/"+id, "application/json", strings.NewReader("{\"metadata\":{\"customAttributes\":{\"a\":\"\xff\"}}}"))
	if err != nil || r.StatusCode != 400 {
		t.Fatal(r.StatusCode, err)
	}
	checkProblem(t, r)
}

// The test verifies that an image that is renamed to another type is no longer an image.
func TestImageRenamedToAnotherKind(t *testing.T) {
	c := start(t, sandbox.Options{})
	category := c.do(201, "POST", "/admin/categories", object{"name": "n", "extensions": []string{"png", "txt"}}).object(t)["id"].(string)
	picture := encoded(t, 4, 3, func(b *bytes.Buffer, m image.Image) error { return png.Encode(b, m) })
	id := c.upload("a.png", picture, "categoryId", category)["id"].(string)
	c.processed()
	for _, extension := range []string{"txt", "PNG"} {
		a := c.do(200, "PATCH", "/assets/"+id, object{"extension": extension}).object(t)
		_, hasURLs := a["imageUrls"]
		_, status := a["metadata"].(object)["metadataProcessingStatus"]
		if isImage := extension == "PNG"; hasURLs != isImage || status != isImage {
			t.Errorf("%s: %v", extension, a)
		}
	}
}
