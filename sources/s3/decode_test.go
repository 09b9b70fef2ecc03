package s3

import (
	"bytes"
	"io"
	"net/http"
	"net/url"
	"strings"
	"testing"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/s3"
	"github.com/aws/aws-sdk-go-v2/service/s3/types"
	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
)

// FuzzDecodeKey verifies that keys which a service encoded are decoded to the original, and that
// keys which it did not encode stay unchanged, even if they look encoded.
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

// An answering client answers every request with the same text.
type answering []byte

func (a answering) Do(*http.Request) (*http.Response, error) {
	return &http.Response{StatusCode: http.StatusOK, Header: http.Header{}, Body: io.NopCloser(bytes.NewReader(a))}, nil
}

const oneObject = `<Contents><Key>a/b%20c.jpg</Key><LastModified>2026-01-02T03:04:05.000Z</LastModified><ETag>&quot;0123&#34;</ETag>` +
	`<ChecksumAlgorithm>CRC64NVME</ChecksumAlgorithm><ChecksumType>FULL_OBJECT</ChecksumType>` +
	`<Size>12</Size><StorageClass>STANDARD</StorageClass></Contents>`

// FuzzContents verifies that our reader of listings finds the same as the SDK.
func FuzzContents(f *testing.F) {
	const head, tail = `<?xml version="1.0"?><ListBucketResult xmlns="x"><IsTruncated>false</IsTruncated>`, `<KeyCount>1</KeyCount></ListBucketResult>`
	for _, text := range []string{
		head + oneObject + "\n  " + oneObject + tail,
		head + strings.ReplaceAll(oneObject, "><", ">\r\n\t<") + tail,
		head + `<Contents><Key>a&amp;quot;&lt;&apos;</Key><Size>+1</Size></Contents>` + tail,
		head + `<Contents><Key>a&auml;</Key></Contents>` + tail,
		head + `<Contents><Key> ü]]&gt;</Key><Owner><ID>1</ID></Owner></Contents>` + tail,
		head + `<Contents><ChecksumAlgorithm>CRC32</ChecksumAlgorithm><ChecksumAlgorithm>SHA1</ChecksumAlgorithm><ChecksumType>X</ChecksumType></Contents>` + tail,
		head + `<Contents><Key/><Size>1</Size><Key></Key></Contents>` + oneObject + tail,
		head + `<Contents><Key>a<!-- b --></Key><Key a="b">c</Key></Contents>` + tail,
		head + oneObject + `<x/>` + oneObject + tail,
		head + `<!--` + oneObject + `-->` + tail,
		head + `<x a="/>">` + oneObject + `</x>` + tail,
		head + `/><x>` + oneObject + `</x>` + tail,
		`<?A<0?><Contents></Contents>`, `<a></a><b>` + oneObject + `</b>`,
		head + oneObject, "<Contents>", "<Contents><Key>a</Size></Contents>", oneObject, "",
	} {
		f.Add([]byte(text))
	}
	f.Fuzz(func(t *testing.T, text []byte) {
		objects, rest := takeContents(text)
		if objects == nil {
			if !bytes.Equal(rest, text) {
				t.Fatalf("nothing was taken, and %q is left", rest)
			}
			return
		}
		list := func(text []byte) (*s3.ListObjectsV2Output, error) {
			client := s3.New(s3.Options{Region: "r", HTTPClient: answering(text), RetryMaxAttempts: 1, Retryer: aws.NopRetryer{}})
			return client.ListObjectsV2(t.Context(), &s3.ListObjectsV2Input{Bucket: aws.String("photos")})
		}
		want, err := list(text)
		got, errOfRest := list(rest)
		if err != nil || errOfRest != nil {
			if (err == nil) != (errOfRest == nil) {
				t.Fatalf("%q: %v; without its objects %v", text, err, errOfRest)
			}
			return
		}
		got.Contents = objects
		if diff := cmp.Diff(want, got, cmpopts.IgnoreUnexported(s3.ListObjectsV2Output{}, types.Object{}),
			cmpopts.IgnoreFields(s3.ListObjectsV2Output{}, "ResultMetadata")); diff != "" {
			t.Fatalf("%q (-SDK +here):\n%s", text, diff)
		}
	})
}

// TestContentsOfTheUsualForm verifies that our reader accepts the usual form of a listing.
func TestContentsOfTheUsualForm(t *testing.T) {
	objects, rest := takeContents([]byte("<r>" + oneObject + "\n" + oneObject + "</r>"))
	if len(objects) != 2 || *objects[1].Key != "a/b%20c.jpg" || *objects[1].ETag != `"0123"` || string(rest) != "<r></r>" {
		t.Errorf("got %v and %s", objects, rest)
	}
}
