package sandbox_test

import (
	"bytes"
	"fmt"
	"image"
	"image/gif"
	"image/jpeg"
	"image/png"
	"io"
	"net/http"
	"strings"
	"testing"
	"time"

	"golang.org/x/image/tiff"
	"golang.org/x/image/webp"

	"assetferry/internal/sandbox"
)

// decoders returns independent decoders, by content type.
func decoders() map[string]func(io.Reader) (image.Image, error) {
	return map[string]func(io.Reader) (image.Image, error){
		"image/webp": webp.Decode, "image/jpeg": jpeg.Decode, "image/png": png.Decode, "image/gif": gif.Decode, "image/tiff": tiff.Decode,
	}
}

// sizeOf decodes a response by its content type.
func sizeOf(t testing.TB, r reply) image.Point {
	t.Helper()
	decode := decoders()[r.Header.Get("Content-Type")]
	if decode == nil {
		t.Fatalf("content type %q", r.Header.Get("Content-Type"))
	}
	m, err := decode(bytes.NewReader(r.body))
	if err != nil {
		t.Fatal(err)
	}
	return m.Bounds().Size()
}

// pathOf returns the delivery path of an asset, without its last part.
func (c *client) pathOf(a object) string {
	return strings.TrimSuffix(strings.TrimPrefix(a["url"].(string), c.url), "file")
}

func TestImageDelivery(t *testing.T) {
	c := start(t, sandbox.Options{ProcessingDelay: time.Hour}) // renditions do not wait for processing
	a := c.upload("größe.jpg", photo(t, 1000, 600, asJPEG))
	path := c.pathOf(a) + "images/"
	c.token = ""
	for name, want := range map[string]struct {
		mime string
		size image.Point
	}{
		"400.webp": {"image/webp", image.Pt(400, 240)}, "400.jpeg": {"image/jpeg", image.Pt(400, 240)}, "400.png": {"image/png", image.Pt(400, 240)},
		"400.gif": {"image/gif", image.Pt(400, 240)}, "400.tiff": {"image/tiff", image.Pt(400, 240)},
		"449.png": {"image/png", image.Pt(400, 240)}, "451.png": {"image/png", image.Pt(500, 300)},
		"1.png": {"image/png", image.Pt(100, 60)}, "1000.png": {"image/png", image.Pt(1000, 600)}, "9999.webp": {"image/webp", image.Pt(1000, 600)},
		"300x90.png": {"image/png", image.Pt(150, 90)}, "90x300.jpeg": {"image/jpeg", image.Pt(90, 54)}, "5000x5000.gif": {"image/gif", image.Pt(1000, 600)},
		"200": {"image/webp", image.Pt(200, 120)}, "123x999": {"image/webp", image.Pt(123, 74)},
	} {
		r := c.do(200, "GET", path+name, nil)
		if got := sizeOf(t, r); got != want.size || r.Header.Get("Content-Type") != want.mime || r.ContentLength != int64(len(r.body)) {
			t.Errorf("%s: %v of type %s, length %d of %d", name, got, r.Header.Get("Content-Type"), r.ContentLength, len(r.body))
		}
		if r.Header.Get("Cache-Control") != "public, no-cache" || vary(r) != "Origin" || r.Header.Get("Content-Disposition") != "" {
			t.Errorf("%s: headers %v", name, r.Header)
		}
	}
	for width, url := range a["imageUrls"].(object) {
		r := c.do(200, "GET", strings.TrimPrefix(url.(string), c.url), nil)
		if got := fmt.Sprint(sizeOf(t, r).X); got != strings.Replace(width, "default", "1000", 1) {
			t.Errorf("the URL for %s gives a width of %s", width, got)
		}
	}
	for _, name := range []string{"400.bmp", "400.jpg", "0.webp", "none", "400x.webp"} {
		c.do(404, "GET", path+name, nil)
	}
	r := c.do(200, "GET", path+"400.jpeg?download=true", nil)
	if got, want := r.Header.Get("Content-Disposition"), `attachment; filename="gr__e.jpeg"; filename*=UTF-8''gr%C3%B6%C3%9Fe.jpeg`; got != want {
		t.Errorf("Content-Disposition %s, want %s", got, want)
	}
}

func vary(r reply) string { return strings.Join(r.Header.Values("Vary"), ", ") }

// ask sends a request with one additional header.
func (c *client) ask(method, path, header, value string) reply {
	c.Helper()
	r, err := http.NewRequestWithContext(c.Context(), method, c.url+path, nil)
	if err != nil {
		c.Fatal(err)
	}
	r.Header.Set(header, value)
	resp, err := http.DefaultTransport.RoundTrip(r)
	if err != nil {
		c.Fatal(err)
	}
	defer func() { _ = resp.Body.Close() }()
	b, err := io.ReadAll(resp.Body)
	if err != nil {
		c.Fatal(err)
	}
	return reply{resp, b}
}

func TestConditionalImageDelivery(t *testing.T) {
	clock := newClock()
	c := start(t, sandbox.Options{Now: clock.now})
	a := c.upload("a.jpg", photo(t, 300, 200, asJPEG))
	path := c.pathOf(a) + "images/120.jpeg"
	first := c.do(200, "GET", path, nil)
	tag, modified := first.Header.Get("ETag"), first.Header.Get("Last-Modified")
	if again := c.do(200, "GET", path, nil); again.Header.Get("ETag") != tag || !bytes.Equal(again.body, first.body) {
		t.Error("the same rendition is another one")
	}
	head := c.do(200, "HEAD", path, nil)
	if head.ContentLength != int64(len(first.body)) || len(head.body) != 0 || head.Header.Get("ETag") != tag {
		t.Errorf("HEAD: %v", head.Header)
	}
	for _, test := range []struct {
		header, value string
		status        int
		body          []byte
	}{
		{"If-None-Match", tag, 304, nil}, {"If-None-Match", `"x"`, 200, first.body}, {"If-Modified-Since", modified, 304, nil},
		{"Range", "bytes=10-19", 206, first.body[10:20]}, {"Range", "bytes=-5", 206, first.body[len(first.body)-5:]}, {"Range", "bytes=9999999-", 416, nil},
	} {
		r := c.ask("GET", path, test.header, test.value)
		if r.StatusCode != test.status || test.body != nil && !bytes.Equal(r.body, test.body) {
			t.Errorf("%s %s: %d with %d bytes", test.header, test.value, r.StatusCode, len(r.body))
		}
	}
	clock.advance(time.Minute)
	c.do(200, "PUT", "/admin/images/jpeg", object{"quality": 20})
	worse := c.ask("GET", path, "If-Modified-Since", modified)
	if worse.StatusCode != 200 || worse.Header.Get("ETag") == tag || len(worse.body) >= len(first.body) {
		t.Errorf("with less quality: %d, %d bytes, were %d", worse.StatusCode, len(worse.body), len(first.body))
	}
	c.replace(a["id"].(string), "b.jpg", photo(t, 301, 200, asJPEG))
	if other := c.do(200, "GET", path, nil); other.Header.Get("ETag") == worse.Header.Get("ETag") {
		t.Error("another image has the same ETag")
	}
}

func TestNoRendition(t *testing.T) {
	c := start(t, sandbox.Options{})
	whole := photo(t, 300, 200, asPNG)
	for file, content := range map[string]string{"half.png": whole[:len(whole)/2], "text.jpg": "text", "a.svg": "<svg/>"} {
		a := c.upload(file, content)
		for range 2 { // before and after processing
			for _, path := range []string{c.pathOf(a) + "images/80.webp", "/assets/" + a["id"].(string) + "/thumbs/80"} {
				r := c.do(404, "GET", path, nil)
				if message := r.object(t)["message"].(string); !strings.Contains(message, "image") || !strings.Contains(message, a["id"].(string)) {
					t.Errorf("%s: %q", file, message)
				}
			}
			c.do(200, "GET", c.pathOf(a)+"file", nil)
			c.processed()
		}
	}
	a := c.upload("a.png", whole)
	c.do(404, "GET", strings.Replace(c.pathOf(a), c.env.ID, "none", 1)+"images/80.webp", nil)
	c.do(204, "POST", "/assets/trash", []any{a["id"]})
	c.do(404, "GET", c.pathOf(a)+"images/80.webp", nil)
}

func TestThumbs(t *testing.T) {
	c := start(t, sandbox.Options{})
	path := "/assets/" + c.upload("a.jpg", photo(t, 1000, 600, asJPEG))["id"].(string) + "/thumbs/"
	for name, want := range map[string]image.Point{
		"200x200.webp": {200, 120}, "200x60.png": {100, 60}, "137": {137, 82}, "137.jpeg": {137, 82}, "5000.gif": {1000, 600}, "64x64": {64, 38},
	} {
		r := c.do(200, "GET", path+name, nil)
		if got := sizeOf(t, r); got != want || r.Header.Get("Cache-Control") != "private, no-cache" {
			t.Errorf("%s: %v, %v", name, got, r.Header)
		}
	}
	c.do(404, "GET", path+"200.jpg", nil)
	c.do(404, "GET", "/assets/none/thumbs/200.png", nil)
	anonymous := *c
	anonymous.token = ""
	anonymous.do(401, "GET", path+"200.png", nil)
}

func TestPrivateImages(t *testing.T) {
	c := start(t, sandbox.Options{})
	body := object{"name": "Secret", "extensions": []string{"jpg"}, "isPrivate": true}
	secret := c.do(201, "POST", "/admin/categories", body).object(t)["id"].(string)
	a := c.upload("a.jpg", photo(t, 300, 200, asJPEG), "folderId", c.folder("f", "categoryId", secret))
	old := items(c.get("/assets/" + a["id"].(string) + "/revisions"))[0]["id"].(string)
	c.replace(a["id"].(string), "a.jpg", photo(t, 200, 200, asJPEG))
	token := c.token
	c.token = ""
	for _, last := range []string{"file", "images/80.webp", "images/80x80.png", "revisions/" + old + "/file"} {
		c.do(401, "GET", c.pathOf(a)+last, nil)
		c.do(401, "HEAD", c.pathOf(a)+last, nil)
		r := c.ask("GET", c.pathOf(a)+last, "Cookie", "CKBox-Auth="+token)
		if r.StatusCode != 200 || r.Header.Get("Cache-Control") != "private, no-cache" || vary(r) != "Origin, Cookie, Authorization" {
			t.Errorf("%s: %d %v", last, r.StatusCode, r.Header)
		}
	}
}

func TestImageQualities(t *testing.T) {
	c := start(t, sandbox.Options{})
	other := c.do(201, "POST", "/superadmin/workspaces", object{"name": "other"}).object(t)["id"].(string)
	check := func(query, want string) {
		t.Helper()
		got := c.get("/admin/images" + query)
		if qualities := strings.Join(column(got, "quality"), " "); qualities != want || got["totalCount"] != 5.0 {
			t.Errorf("%s: %v", query, got)
		}
	}
	if formats := strings.Join(column(c.get("/admin/images"), "format"), " "); formats != "webp jpeg png gif tiff" {
		t.Errorf("formats %s", formats)
	}
	check("", "80 80 100 100 100")
	if got := c.do(200, "PUT", "/admin/images/png", object{"quality": 7}).object(t); got["format"] != "png" || got["quality"] != 7.0 {
		t.Errorf("answer %v", got)
	}
	c.do(200, "PUT", "/admin/images/webp?workspaceId="+other, object{"quality": 1})
	check("", "80 80 7 100 100")
	check("?workspaceId="+other, "1 80 100 100 100")
	for _, bad := range []any{object{"quality": 0}, object{"quality": 101}, object{}, object{"quality": "high"}, object{"quality": 1.5}, nil} {
		c.do(400, "PUT", "/admin/images/png", bad)
	}
	c.do(404, "PUT", "/admin/images/bmp", object{"quality": 50})
	c.as("user").do(403, "GET", "/admin/images", nil)
	check("", "80 80 7 100 100")
	c.do(204, "DELETE", "/superadmin/workspaces/"+other, nil)
}

func BenchmarkRendition(b *testing.B) {
	c := start(b, sandbox.Options{})
	path := c.pathOf(c.upload("a.jpg", photo(b, 4000, 3000, asJPEG))) + "images/"
	c.processed()
	for _, format := range []string{"webp", "jpeg", "png", "gif", "tiff"} {
		b.Run(format+"/first", func(b *testing.B) {
			for i := 0; b.Loop(); i++ {
				c.do(200, "GET", fmt.Sprintf("%s1200x%d.%s", path, 1000+i, format), nil)
			}
		})
		b.Run(format+"/again", func(b *testing.B) {
			for b.Loop() {
				c.do(200, "GET", path+"1200."+format, nil)
			}
		})
	}
}
