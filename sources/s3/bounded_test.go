package s3

import (
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/credentials"
	"github.com/aws/aws-sdk-go-v2/service/s3"
)

// endless is a body that blocks each read until it is closed.
type endless struct{ closed chan struct{} }

func (e endless) Read([]byte) (int, error) {
	<-e.closed
	return 0, errors.New("closed")
}

func (e endless) Close() error {
	select {
	case <-e.closed:
	default:
		close(e.closed)
	}
	return nil
}

// TestErrorWithoutEnd verifies that reading an answer other than content ends, even where the SDK
// reads it without a deadline.
func TestErrorWithoutEnd(t *testing.T) {
	t.Setenv("AWS_EC2_METADATA_DISABLED", "true")
	synctest.Test(t, func(t *testing.T) {
		client := &http.Client{Transport: guard{next: standIn(func() *http.Response {
			return &http.Response{StatusCode: http.StatusForbidden, Header: http.Header{}, Body: endless{make(chan struct{})}}
		})}}
		cfg := aws.Config{Region: defaultRegion}
		c := newClient(cfg, "http://localhost", credentials.NewStaticCredentialsProvider("a", "b", ""), client)
		began := time.Now()
		_, err := c.GetObject(t.Context(), &s3.GetObjectInput{Bucket: aws.String("b"), Key: aws.String("k")}, func(o *s3.Options) { o.RetryMaxAttempts = 1 })
		if took := time.Since(began); err == nil || took > time.Hour {
			t.Errorf("after %v: %v", took, err)
		}
	})
}

// TestAnswersThatAreBounded verifies that all answers except the content of objects have a maximum
// size.
func TestAnswersThatAreBounded(t *testing.T) {
	const long = 1 << 20
	for _, tt := range []struct {
		method, url string
		status      int
		whole       bool
	}{
		{http.MethodGet, "http://localhost/b/k?x-id=GetObject", 200, true},
		{http.MethodGet, "http://localhost/b/k?x-id=GetObject", 206, true},
		{http.MethodGet, "http://localhost/b?list-type=2", 200, true},
		{http.MethodGet, "http://localhost/b?encoding-type=url&prefix=p&versions=", 200, true},
		{http.MethodGet, "http://localhost/b/k?x-id=GetObject", 500, false},
		{http.MethodGet, "http://localhost/b?list-type=2", 403, false},
		{http.MethodGet, "http://localhost/b/k?tagging", 200, false},
		{http.MethodPost, "http://localhost/b/k?uploads", 200, false},
		{http.MethodPut, "http://localhost/b/k?x-id=PutObject", 200, false},
	} {
		g := guard{next: standIn(func() *http.Response {
			return &http.Response{StatusCode: tt.status, Body: io.NopCloser(strings.NewReader(strings.Repeat("x", long)))}
		})}
		answer, err := g.RoundTrip(httptest.NewRequest(tt.method, tt.url, nil))
		if err != nil {
			t.Fatal(err)
		}
		got, err := io.ReadAll(answer.Body)
		answer.Body.Close()
		if tt.whole && (err != nil || len(got) != long) || !tt.whole && (!errors.Is(err, errLargeAnswer) || len(got) != largestAnswer) {
			t.Errorf("%s %s %d: %d bytes, %v", tt.method, tt.url, tt.status, len(got), err)
		}
	}
}

type standIn func() *http.Response

func (a standIn) RoundTrip(*http.Request) (*http.Response, error) { return a(), nil }
