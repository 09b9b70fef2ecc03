package s3_test

import (
	"context"
	"errors"
	"io"
	"io/fs"
	"maps"
	"net/http"
	"strings"
	"testing"

	"assetferry/internal/retry"
	"assetferry/sources"
	"assetferry/sources/s3"
)

var thing = sources.Object{Key: "a", Size: 1, VersionTag: "tag"}

// describing answers with an object and these headers, and hands requests for tags
// to a function.
func describing(tags http.HandlerFunc, headers ...string) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Query().Has("tagging") {
			tags(w, r)
			return
		}
		w.Header().Set("ETag", `"tag"`)
		for i := 0; i < len(headers); i += 2 {
			w.Header().Set(headers[i], headers[i+1])
		}
		io.WriteString(w, "x")
	}
}

func tagged(text string, headers ...string) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		for i := 0; i < len(headers); i += 2 {
			w.Header().Set(headers[i], headers[i+1])
		}
		io.WriteString(w, "<Tagging><TagSet>"+text+"</TagSet></Tagging>")
	}
}

const oslo = "<Tag><Key>place</Key><Value>Oslo</Value></Tag>"

// describe opens an object, returns its metadata, and reads the content.
func describe(ctx context.Context, src *s3.Source) (d sources.Description, err error) {
	r, err := src.Open(ctx, thing, 0)
	if err != nil {
		return d, err
	}
	d, err = r.(sources.Describer).Describe(ctx)
	if err == nil {
		_, err = io.ReadAll(r)
	}
	return d, errors.Join(err, r.Close())
}

func withTags(o *s3.Options) { o.Tags = true }

// TestDescribe verifies that metadata takes no request, and that tags take one if they are enabled.
func TestDescribe(t *testing.T) {
	b := newBucket(t, "")
	b.answerWith(describing(tagged(oslo, "X-Amz-Version-Id", "7"), "Content-Type", "image/png", "X-Amz-Version-Id", "7",
		"X-Amz-Meta-Author", "Ann", "X-Amz-Meta-Title", "=?UTF-8?B?w4Zibw==?="))
	for want, change := range map[string]func(*s3.Options){"": func(*s3.Options) {}, "Oslo": withTags} {
		got, err := describe(t.Context(), b.source(change))
		must(t, err)
		if got.ContentType != "image/png" || !maps.Equal(got.Metadata, map[string]string{"author": "Ann", "title": "Æbo"}) {
			t.Errorf("got %+v", got)
		}
		requests := b.asked()
		if got.Tags["place"] != want || (got.Tags == nil) != (want == "") || len(requests) != 1+len(got.Tags) {
			t.Errorf("%d requests for the tags %v, want %q", len(requests), got.Tags, want)
		}
		for _, r := range requests {
			if r.Method != http.MethodGet || r.URL.Query().Has("versionId") {
				t.Errorf("%s %s needs another permission", r.Method, r.URL)
			}
		}
	}
}

// TestDescribeNothing verifies that objects without metadata have none.
func TestDescribeNothing(t *testing.T) {
	for name, tags := range map[string]http.HandlerFunc{"no tags": tagged(""), "no set of tags": refuse(404, "NoSuchTagSet", "none")} {
		b := newBucket(t, "")
		b.answerWith(describing(tags, "Content-Type", "binary/octet-stream"))
		if got, err := describe(t.Context(), b.source(withTags)); err != nil || got.ContentType != "" || got.Metadata != nil || got.Tags != nil {
			t.Errorf("%s: got %+v (%v)", name, got, err)
		}
	}
}

func TestEncodedMetadata(t *testing.T) {
	for given, want := range map[string]string{
		"plain":                                  "plain",
		"=?UTF-8?B?w4Zibw==?=":                   "Æbo",
		"=?UTF-8?Q?=C3=86?= =?utf-8?b?Ym8=?=":    "Æbo", // long values are broken up
		"=?ISO-8859-1?Q?=C6bo?=":                 "Æbo",
		"=?nonsense?=":                           "=?nonsense?=",
		"see =?UTF-8?B?w4Zibw==?=":               "see =?UTF-8?B?w4Zibw==?=",
		"=?UTF-8?B?/w==?=":                       "=?UTF-8?B?/w==?=", // not valid UTF-8
		"=?unheard-of?B?w4Zibw==?=":              "=?unheard-of?B?w4Zibw==?=",
		"=?UTF-8?B?w4Zibw==?= and =?UTF-8?Q?a?=": "=?UTF-8?B?w4Zibw==?= and =?UTF-8?Q?a?=",
	} {
		b := newBucket(t, "")
		b.answerWith(describing(nil, "X-Amz-Meta-Title", given))
		if d, err := describe(t.Context(), b.source()); err != nil || d.Metadata["title"] != want {
			t.Errorf("%q became %q (%v), want %q", given, d.Metadata["title"], err, want)
		}
	}
}

func TestTagsThatCannotBeRead(t *testing.T) {
	const remedy = "allow s3:GetObjectTagging, or remove --s3-tags"
	for name, tc := range map[string]struct {
		tags   http.HandlerFunc
		is     error
		class  retry.Class
		remedy bool
		auth   bool
	}{
		"refused":             {refuse(403, "AccessDenied", "Access Denied"), fs.ErrPermission, retry.Permanent, true, false},
		"unknown to it":       {refuse(501, "NotImplemented", "no"), fs.ErrPermission, retry.Permanent, true, false},
		"not allowed":         {refuse(405, "MethodNotAllowed", "no"), fs.ErrPermission, retry.Permanent, true, false},
		"credentials expired": {refuse(403, "ExpiredToken", "old"), nil, retry.Fatal, false, true},
		"object gone":         {refuse(404, "NoSuchKey", "no"), fs.ErrNotExist, retry.Permanent, false, false},
		"stored again":        {tagged(oslo, "X-Amz-Version-Id", "8"), sources.ErrChanged, retry.Transient, false, false},
	} {
		t.Run(name, func(t *testing.T) {
			b := newBucket(t, "")
			b.answerWith(describing(tc.tags, "X-Amz-Version-Id", "7"))
			_, err := describe(t.Context(), b.source(withTags))
			if err == nil || tc.is != nil && !errors.Is(err, tc.is) || sources.IsAuth(err) != tc.auth || strings.Contains(err.Error(), remedy) != tc.remedy {
				t.Errorf("got %v", err)
			}
			if class, _ := retry.Classify(err); class != tc.class {
				t.Errorf("it is %s, want %s", class, tc.class)
			}
		})
	}
}
