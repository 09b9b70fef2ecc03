package s3server

import (
	"bytes"
	"encoding/json"
	"maps"
	"testing"
)

// TestKept verifies that the item's line in the output has the metadata of an object at the server,
// including its tags. The line is written after the state database has them.
func TestKept(t *testing.T) {
	b := newBucket(t)
	must(t, b.describe(t.Context(), "a.txt", "text/x-poem", map[string]string{"author": "Ann", "title": "=?UTF-8?B?w4Zibw==?="}, "place=Oslo&year=2026"))
	p := build(t)
	s, _ := p.sandbox(t)
	c := p.command(t, []string{
		"ASSETFERRY_URL=" + s.url, "ASSETFERRY_ENVIRONMENT_ID=" + s.environment, "ASSETFERRY_ACCESS_KEY=" + s.key,
		"AWS_ACCESS_KEY_ID=" + accessKey, "AWS_SECRET_ACCESS_KEY=" + secretKey,
	}, "migrate", "s3://"+b.name, "--endpoint", gateway.url, "--s3-tags", "--unsupported", "create", "--json")
	var complaints bytes.Buffer
	c.Stderr = &complaints
	out, err := c.Output()
	if err != nil {
		t.Fatalf("%v: %s", err, complaints.String())
	}
	reported := 0
	for line := range bytes.Lines(out) {
		var item struct {
			Type   string
			Source struct {
				ContentType    string `json:"content_type"`
				Metadata, Tags map[string]string
			} `json:"source_metadata"`
		}
		must(t, json.Unmarshal(line, &item))
		if item.Type != "item" {
			continue
		}
		reported++
		d := item.Source
		if d.ContentType != "text/x-poem" || !maps.Equal(d.Metadata, map[string]string{"author": "Ann", "title": "Æbo"}) ||
			!maps.Equal(d.Tags, map[string]string{"place": "Oslo", "year": "2026"}) {
			t.Errorf("told %s", line)
		}
	}
	if reported != 1 {
		t.Errorf("%d items are told", reported)
	}
}
