package sandbox_test

import (
	"bytes"
	"fmt"
	"image"
	"image/color"
	"image/draw"
	"image/png"
	"testing"

	"assetferry/internal/sandbox"
)

// plain returns an image of one colour.
func plain(t testing.TB, width, height int, c color.Color) string {
	t.Helper()
	m := image.NewRGBA(image.Rect(0, 0, width, height))
	draw.Draw(m, m.Rect, image.NewUniform(c), image.Point{}, draw.Src)
	var b bytes.Buffer
	if err := png.Encode(&b, m); err != nil {
		t.Fatal(err)
	}
	return b.String()
}

func TestAnalysis(t *testing.T) {
	c := start(t, sandbox.Options{})
	blue := plain(t, 60, 40, color.RGBA{40, 80, 210, 255})
	before := c.upload("skipped.png", blue)["id"].(string)
	analyse := func(id string) object {
		t.Helper()
		if r := c.do(202, "POST", "/assets/analyze", object{"assetIds": []string{id}}); len(r.body) != 0 {
			t.Errorf("a body: %q", r.body)
		}
		c.processed()
		return c.get("/assets/" + id)
	}
	if a := analyse(before); metadataOf(a)["analysisProcessingStatus"] != "skipped" || metadataOf(a)["description"] != "" {
		t.Errorf("switched off: %v", a)
	}
	c.do(200, "PUT", "/admin/workspaces/"+c.env.ID, object{"enableAIProcessing": true})
	written := c.upload("written.png", blue)["id"].(string)
	c.do(200, "PATCH", "/assets/"+written, object{"tags": []string{"mine"}, "metadata": object{"description": "written"}})
	for id, want := range map[string][3]string{ // status, description, tags
		c.upload("a.png", blue)["id"].(string):                                            {"success", "A landscape picture of 60 × 40 pixels, mostly blue.", "[landscape blue]"},
		c.upload("b.png", plain(t, 20, 21, color.Black))["id"].(string):                   {"success", "A square picture of 20 × 21 pixels, mostly black.", "[square black]"},
		c.upload("c.png", plain(t, 20, 41, color.RGBA{250, 230, 60, 255}))["id"].(string): {"success", "A portrait picture of 20 × 41 pixels, mostly yellow.", "[portrait yellow]"},
		written: {"success", "written", "[mine]"},
		c.upload("broken.png", blue[:60])["id"].(string): {"error", "", "[]"},
		c.upload("text.txt", "x")["id"].(string):         {"skipped", "", "[]"},
	} {
		a := analyse(id)
		m := metadataOf(a)
		if got := [3]string{fmt.Sprint(m["analysisProcessingStatus"]), m["description"].(string), fmt.Sprint(a["tags"])}; got != want {
			t.Errorf("%s: %q, want %q", a["name"], got, want)
		}
	}
	c.do(404, "POST", "/assets/analyze", object{"assetIds": []string{before, "none"}})
	c.do(400, "POST", "/assets/analyze", []string{before})
}
