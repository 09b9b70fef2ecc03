package s3

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"

	"assetferry/sources"
	"assetferry/sources/remote"
)

// A service answers requests without a network, in the time of a bubble.
type service func(*http.Request) *http.Response

func (s service) Do(r *http.Request) (*http.Response, error) { return s(r), nil }

func sourceOf(s service) *Source {
	client := newClient(aws.Config{ResponseChecksumValidation: aws.ResponseChecksumValidationWhenSupported}, "http://127.0.0.1", nil, s)
	return &Source{url: URL{Bucket: "photos"}, client: client}
}

func answer(status int, body io.ReadCloser, headers ...string) *http.Response {
	r := &http.Response{StatusCode: status, Header: http.Header{}, Body: body, ContentLength: -1}
	for i := 0; i < len(headers); i += 2 {
		r.Header.Set(headers[i], headers[i+1])
	}
	return r
}

// A standing body returns its content and then blocks until it is closed.
type standing struct {
	io.Reader
	ctx context.Context
}

func (s standing) Read(p []byte) (int, error) {
	if n, err := s.Reader.Read(p); err == nil {
		return n, nil
	}
	<-s.ctx.Done()
	return 0, context.Cause(s.ctx)
}

func (standing) Close() error { return nil }

// TestStall verifies that a body that stalls is resumed on another connection.
func TestStall(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		content := []byte("0123456789")
		var ranges []string
		src := sourceOf(func(r *http.Request) *http.Response {
			from := 0
			fmt.Sscanf(r.Header.Get("Range"), "bytes=%d-", &from)
			ranges = append(ranges, r.Header.Get("Range"))
			body := standing{bytes.NewReader(content[from : from+5]), r.Context()}
			return answer(http.StatusOK, body, "ETag", `"tag"`, "Content-Range", fmt.Sprintf("bytes %d-9/10", from))
		})
		began := time.Now()
		r, err := src.Open(t.Context(), sources.Object{Key: "a", Size: 10, VersionTag: "tag"}, 0)
		if err != nil {
			t.Fatal(err)
		}
		got := make([]byte, 10)
		if n, err := io.ReadFull(r, got); err != nil || !bytes.Equal(got, content) {
			t.Errorf("%q and %v", got[:n], err)
		}
		if d := time.Since(began); d < remote.StallTimeout || d > remote.StallTimeout+time.Second {
			t.Errorf("it took %v", d)
		}
		if want := []string{"", "bytes=5-"}; strings.Join(ranges, ",") != strings.Join(want, ",") {
			t.Errorf("asked for %q", ranges)
		}
		time.Sleep(2 * remote.StallTimeout) // a slow caller is no stalled connection
		if err := r.Close(); err != nil {
			t.Error(err)
		}
	})
}

// TestListingThatStandsStill verifies that a listing that stalls ends.
func TestListingThatStandsStill(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		src := sourceOf(func(r *http.Request) *http.Response {
			return answer(http.StatusOK, standing{strings.NewReader("<ListBucketResult><Name>photos</Name>"), r.Context()})
		})
		began := time.Now()
		for o, err := range src.Objects(t.Context(), "") {
			if !errors.Is(err, remote.ErrStalled) || time.Since(began) != answerTimeout {
				t.Errorf("%+v and %v after %v", o, err, time.Since(began))
			}
			return
		}
		t.Error("it ends without an error")
	})
}

// TestTries verifies that retries wait as long as the service asks, and that there are few.
func TestTries(t *testing.T) {
	for after, want := range map[string]struct {
		requests        int
		atLeast, atMost time.Duration
	}{
		"":   {4, 0, 15 * time.Second},
		"8":  {4, 24 * time.Second, 30 * time.Second},
		"30": {1, 0, 0},
	} {
		synctest.Test(t, func(t *testing.T) {
			requests := 0
			src := sourceOf(func(*http.Request) *http.Response {
				requests++
				return answer(http.StatusServiceUnavailable, http.NoBody, "Retry-After", after)
			})
			began := time.Now()
			_, err := src.Open(t.Context(), sources.Object{Key: "a"}, 0)
			took := time.Since(began)
			if err == nil || requests != want.requests || took < want.atLeast || took > want.atMost {
				t.Errorf("Retry-After %q: %d requests in %v, then %v", after, requests, took, err)
			}
		})
	}
}

// TestCancelWhileItWaits verifies that a cancelled caller gets the cause at once.
func TestCancelWhileItWaits(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		cause := errors.New("enough")
		ctx, cancel := context.WithCancelCause(t.Context())
		src := sourceOf(func(*http.Request) *http.Response {
			time.AfterFunc(time.Second, func() { cancel(cause) })
			return answer(http.StatusServiceUnavailable, http.NoBody, "Retry-After", "9")
		})
		began := time.Now()
		_, err := src.Open(ctx, sources.Object{Key: "a"}, 0)
		if err != cause || time.Since(began) != time.Second {
			t.Errorf("%v after %v", err, time.Since(began))
		}
	})
}

// TestChecksum verifies that content is compared with the checksum of the service, and that a
// mismatch at the end of the body does not resume it.
func TestChecksum(t *testing.T) {
	for sum, want := range map[string]string{"DUoRhQ==": "", "AAAAAA==": "checksum"} {
		src := sourceOf(func(r *http.Request) *http.Response {
			if r.Header.Get("X-Amz-Checksum-Mode") != "ENABLED" {
				t.Error("no digest is asked for")
			}
			return answer(http.StatusOK, io.NopCloser(strings.NewReader("hello world")), "ETag", `"tag"`, "X-Amz-Checksum-Crc32", sum)
		})
		r, err := src.Open(t.Context(), sources.Object{Key: "a", Size: 11, VersionTag: "tag"}, 0)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := io.ReadAll(r); (err == nil) != (want == "") || err != nil && !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v", sum, err)
		}
		if err := r.Close(); err != nil {
			t.Error(err)
		}
	}
}
