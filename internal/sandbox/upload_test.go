package sandbox_test

import (
	"net/http"
	"strings"
	"testing"

	"assetferry/internal/sandbox"
)

func TestUploadRoundTrip(t *testing.T) {
	c := start(t, sandbox.Options{})
	images := c.category("Documents")
	a := c.upload("report.v2.PDF", "some content", "categoryId", images)
	if a["name"] != "report.v2" || a["extension"] != "PDF" || a["size"] != 12.0 || a["mimeType"] != "application/pdf" {
		t.Errorf("asset is %v", a)
	}
	url := a["url"].(string)
	if !strings.HasPrefix(url, c.url+"/"+c.env.ID+"/assets/") || !strings.HasSuffix(url, "/file") {
		t.Errorf("url is %s", url)
	}
	r := c.do(http.StatusOK, "GET", strings.TrimPrefix(url, c.url), nil)
	if string(r.body) != "some content" {
		t.Errorf("delivered %q", r.body)
	}
	if got := c.get("/assets/" + a["id"].(string)); got["id"] != a["id"] {
		t.Errorf("got %v", got)
	}
}
