package s3_test

import (
	"errors"
	"io/fs"
	"maps"
	"net/http"
	"testing"

	"assetferry/sources"
	"assetferry/sources/s3"
)

func TestDescribe(t *testing.T) {
	b := newBucket(t, "")
	object := sources.Object{Key: "a", Size: 1, VersionTag: "tag"}
	b.answerWith(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Query().Has("tagging") {
			if r.URL.Query().Get("versionId") != "7" {
				t.Errorf("tags of %s are asked for", r.URL)
			}
			w.Write([]byte("<Tagging><TagSet><Tag><Key>place</Key><Value>Oslo</Value></Tag></TagSet></Tagging>"))
			return
		}
		for name, value := range map[string]string{
			"ETag": `"tag"`, "Content-Type": "image/png", "X-Amz-Version-Id": "7",
			"X-Amz-Meta-Author": "Ann", "X-Amz-Meta-Title": "=?UTF-8?B?w4Zibw==?=", "X-Amz-Meta-Odd": "=?nonsense?=",
		} {
			w.Header().Set(name, value)
		}
	})
	for _, tags := range []bool{false, true} {
		got, err := b.source(func(o *s3.Options) { o.Tags = tags }).Describe(t.Context(), object)
		must(t, err)
		if got.ContentType != "image/png" || !maps.Equal(got.Metadata, map[string]string{"author": "Ann", "title": "Æbo", "odd": "=?nonsense?="}) {
			t.Errorf("got %+v", got)
		}
		if want := map[bool]string{true: "Oslo"}[tags]; got.Tags["place"] != want || (got.Tags == nil) == tags {
			t.Errorf("tags %v", got.Tags)
		}
	}
	object.VersionTag = "former"
	if _, err := b.source().Describe(t.Context(), object); !errors.Is(err, sources.ErrChanged) {
		t.Errorf("another version: %v", err)
	}
	b.answerWith(refuse(404, "", ""))
	if _, err := b.source().Describe(t.Context(), object); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("gone: %v", err)
	}
}
