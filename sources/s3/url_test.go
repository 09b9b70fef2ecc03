package s3_test

import (
	"strings"
	"testing"
	"unicode/utf8"

	"assetferry/sources/s3"
)

func TestParseURL(t *testing.T) {
	for text, want := range map[string]string{
		"s3://bucket":                      "s3://bucket/",
		"s3://bucket/":                     "s3://bucket/",
		"s3://bucket/p":                    "s3://bucket/p/",
		"s3://bucket/p/":                   "s3://bucket/p/",
		"s3://bucket/p//":                  "s3://bucket/p//",
		"s3://bucket//p":                   "s3://bucket//p/",
		"s3://bucket/a b+c%20?d#e/ü":       "s3://bucket/a b+c%20?d#e/ü/",
		"s3://my.bucket-1_A/../x":          "s3://my.bucket-1_A/../x/",
		"s3://":                            "the bucket name is missing",
		"s3:///p":                          "the bucket name is missing",
		"s3://no":                          "invalid bucket name",
		"s3://a:b/p":                       "invalid bucket name",
		"s3://key:hush@bucket/p":           "a user name or password",
		"s3://hush bucket/p":               "invalid bucket name",
		"s3://arn:aws:s3:::hush/p":         "invalid bucket name",
		"s3://logs--x-s3/p":                "directory bucket",
		"s3://bucket/hush\xff":             "not valid UTF-8",
		"S3://bucket":                      "must begin with s3://",
		"s3:/bucket":                       "must begin with s3://",
		"s3://" + strings.Repeat("b", 256): "invalid bucket name",
	} {
		a, err := s3.ParseURL(text)
		switch {
		case err != nil && (!strings.Contains(err.Error(), want) || strings.Contains(err.Error(), "hush")):
			t.Errorf("%q: %v, want %s", text, err, want)
		case err == nil && a.String() != want:
			t.Errorf("%q: got %s, want %s", text, a, want)
		}
	}
}

func FuzzParseURL(f *testing.F) {
	for _, text := range []string{"s3://bucket", "s3://bucket/a/b/", "s3://bucket/%2F+ ?#", "s3://k:s@bucket", "s3://\xff/", "s3:///"} {
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text string) {
		a, err := s3.ParseURL(text)
		if err != nil {
			if a != (s3.URL{}) {
				t.Errorf("%q gives %+v and %v", text, a, err)
			}
			return
		}
		if !strings.HasPrefix(a.String(), text) || len(a.String()) > len(text)+1 || !utf8.ValidString(a.String()) {
			t.Errorf("%q became %q", text, a)
		}
		if a.Prefix != "" && !strings.HasSuffix(a.Prefix, "/") || strings.Contains(a.Bucket, "/") {
			t.Errorf("%q is %+v", text, a)
		}
		if again, err := s3.ParseURL(a.String()); err != nil || again != a {
			t.Errorf("%q is read as %+v, and its name as %+v (%v)", text, a, again, err)
		}
	})
}
