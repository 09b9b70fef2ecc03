package s3

import (
	"errors"
	"net/http"
	"testing"

	"github.com/aws/aws-sdk-go-v2/aws"

	"assetferry/sources"
	"assetferry/sources/remote"
)

// A recorder keeps a request and answers none.
type recorder struct{ last *http.Request }

func (r *recorder) Do(q *http.Request) (*http.Response, error) {
	r.last = q
	return nil, remote.ErrPlain // is not tried again
}

// TestAddressing verifies that the bucket is a part of the host name, unless the certificate would
// not match, and that keys are sent unchanged.
func TestAddressing(t *testing.T) {
	const key = "a b+c%20?d#e/../ü//x"
	for bucket, want := range map[string][2]string{
		"photos":    {"photos.s3.eu-central-1.amazonaws.com", "/" + key},
		"my.photos": {"s3.eu-central-1.amazonaws.com", "/my.photos/" + key},
	} {
		var r recorder
		s := &Source{url: URL{Bucket: bucket}, client: newClient(aws.Config{Region: "eu-central-1"}, "", nil, &r)}
		if _, err := s.Open(t.Context(), sources.Object{Key: key, Size: 1}, 0); !errors.Is(err, remote.ErrPlain) {
			t.Fatalf("got %v", err)
		}
		u := r.last.URL
		if u.Scheme != "https" || u.Host != want[0] || u.Path != want[1] || r.last.Header.Get("Accept-Encoding") != "identity" {
			t.Errorf("%s: asked for %s with %v", bucket, u, r.last.Header)
		}
	}
}
