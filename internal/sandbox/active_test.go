package sandbox_test

import (
	"net/http"
	"testing"

	"assetferry/internal/sandbox"
)

// TestActiveFiles verifies that files that may run scripts, by their type or their content, are
// delivered with their own origin, and that files that browsers only show or play are not.
func TestActiveFiles(t *testing.T) {
	c := start(t, sandbox.Options{})
	const script = "<script>fetch('/')</script>"
	category := c.do(201, "POST", "/admin/categories", object{"name": "All", "extensions": []string{
		"html", "htm", "svg", "xml", "xhtml", "rss", "xslt", "txt", "json", "js", "mht", "png", "mp4", "pdf", "mp3", "jpg", "woff2",
	}}).object(t)["id"].(string)
	for name, want := range map[string]struct {
		content string
		active  bool
	}{
		"page.html": {"<!doctype html>" + script, true}, "page.htm": {script, true}, "page.HTML": {script, true},
		"vector.svg": {`<svg xmlns="http://www.w3.org/2000/svg">` + script + "</svg>", true},
		"wide.svg":   {"<\x00s\x00v\x00g\x00>\x00", true}, "coded.XML": {"\x4c\x6f\xa7\x94", true}, // UTF-16 and EBCDIC without a byte order mark
		"data.xml":   {`<?xml version="1.0"?><html xmlns="http://www.w3.org/1999/xhtml">` + script + "</html>", true},
		"page.xhtml": {`<?xml version="1.0"?><html xmlns="http://www.w3.org/1999/xhtml">` + script + "</html>", true},
		"feed.rss":   {"<rss/>", true}, "style.xslt": {"<x/>", true}, "notes.txt": {script, true}, "data.json": {"{}", true}, "app.js": {"1", true},
		"noname.mht": {"MIME-Version: 1.0", true}, "empty.html": {"x", true},
		"named.png": {"<!DOCTYPE html>" + script, true}, "named.mp4": {"  <html>" + script, true}, "named.pdf": {"<?xml version='1.0'?><a/>", true},
		"film.mp4": {"\x00\x00\x00\x18ftypmp42", false}, "sound.mp3": {"ID3\x03", false}, "text.pdf": {"%PDF-1.7\n", false}, "photo.jpg": {"\xff\xd8\xff\xe0", false},
		"font.woff2": {"wOF2\x00\x00", false},
	} {
		id := c.upload(name, want.content, "categoryId", category)["id"].(string)
		path := "/" + c.env.ID + "/assets/" + id + "/file"
		for _, ask := range [][]string{nil, {"Range", "bytes=0-3"}, {"Download", "true"}} {
			r := c.raw(t, path, ask...)
			if got := r.Header.Get("Content-Security-Policy") == "sandbox"; got != want.active || r.Header.Get("X-Content-Type-Options") != "nosniff" {
				t.Errorf("%s %v: the policy is %q (%s)", name, ask, r.Header.Get("Content-Security-Policy"), r.Header.Get("Content-Type"))
			}
		}
	}
}

// raw requests a file like a browser without a token.
func (c *client) raw(t *testing.T, path string, headers ...string) *http.Response {
	t.Helper()
	r, err := http.NewRequestWithContext(t.Context(), http.MethodGet, c.url+path, nil)
	if err != nil {
		t.Fatal(err)
	}
	for i := 0; i < len(headers); i += 2 {
		r.Header.Set(headers[i], headers[i+1])
	}
	resp, err := http.DefaultClient.Do(r)
	if err != nil {
		t.Fatal(err)
	}
	_ = resp.Body.Close()
	return resp
}
