package s3

import (
	"net/url"
	"strings"
	"testing"

	"github.com/aws/aws-sdk-go-v2/service/s3/types"
)

// What a service encodes comes back as it was, and what it did not encode is not
// touched, whatever it looks like.
func FuzzDecodeKey(f *testing.F) {
	for _, key := range []string{"a b+c%20.jpg", "%", "%zz", "ü/\x01\n\xff", "", "a%2Fb"} {
		f.Add(key)
	}
	f.Fuzz(func(t *testing.T, key string) {
		encoded := strings.ReplaceAll(url.QueryEscape(key), "%2F", "/")
		if got, err := decodeKey(encoded, types.EncodingTypeUrl); err != nil || got != key {
			t.Errorf("%q was encoded as %q and decoded as %q (%v)", key, encoded, got, err)
		}
		if got, err := decodeKey(key, ""); err != nil || got != key {
			t.Errorf("%q was not encoded and decoded as %q (%v)", key, got, err)
		}
		if got, err := decodeKey(key, types.EncodingTypeUrl); err != nil && got != "" {
			t.Errorf("%q gives %q and %v", key, got, err)
		}
	})
}

func FuzzParseRange(f *testing.F) {
	for _, text := range []string{"bytes 5-9/10", "bytes */10", "bytes 5-9/*", "bytes 9-5/1", "5-9/10", "bytes -5-9/10"} {
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text string) {
		if first, total, ok := parseRange(text); ok && (first < 0 || total <= first || !strings.HasPrefix(text, "bytes ")) {
			t.Errorf("%q: byte %d of %d", text, first, total)
		}
	})
}
