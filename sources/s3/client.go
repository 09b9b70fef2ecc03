package s3

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/aws/retry"
	"github.com/aws/aws-sdk-go-v2/service/s3"
	"github.com/aws/smithy-go"
	"github.com/aws/smithy-go/logging"
	smithyhttp "github.com/aws/smithy-go/transport/http"

	"assetferry/sources/remote"
)

// defaultRegion is the first region to try, and the usual one of services other than AWS.
const defaultRegion = "us-east-1"

const (
	// responseTimeout is the maximum time until a response begins.
	responseTimeout = 60 * time.Second
	// answerTimeout is the maximum time for a small response, with all retries.
	answerTimeout = 5 * time.Minute
)

func newClient(cfg aws.Config, endpoint string, credentials aws.CredentialsProvider, client s3.HTTPClient) *s3.Client {
	return s3.NewFromConfig(cfg, func(c *s3.Options) {
		c.Region = cmp.Or(c.Region, defaultRegion)
		c.Credentials = credentials // nil: do not sign
		if endpoint != "" {
			c.BaseEndpoint = &endpoint
		}
		// Few services other than AWS have a host name for each bucket.
		c.UsePathStyle = c.UsePathStyle || c.BaseEndpoint != nil
		c.HTTPClient = client
		c.Retryer = patient{retry.NewStandard(func(r *retry.StandardOptions) {
			r.MaxAttempts, r.MaxBackoff = 4, 5*time.Second
		})}
		c.Logger, c.ClientLogMode = logging.Nop{}, 0
		c.DisableLogOutputChecksumValidationSkipped = true
	})
}

func newHTTPClient(transport *http.Transport, allowHTTP bool) *http.Client {
	return &http.Client{
		Transport: guard{transport, allowHTTP},
		// A signature is valid for one host only, so findRegion handles redirects.
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
	}
}

func newTransport(o Options) *http.Transport {
	return remote.NewTransport(remote.Options{TLS: o.TLS, Connections: o.Connections, AnswerTimeout: responseTimeout})
}

// A guard refuses plain HTTP where it is not allowed, also for endpoints in a profile.
type guard struct {
	next      http.RoundTripper
	allowHTTP bool
}

func (g guard) RoundTrip(r *http.Request) (*http.Response, error) {
	if err := remote.CheckPlain(r.URL, g.allowHTTP); err != nil {
		return nil, err
	}
	answer, err := g.next.RoundTrip(r)
	switch {
	case err != nil:
		return nil, err
	case answer.StatusCode < 300 && r.Method == http.MethodGet && strings.HasSuffix(r.URL.RawQuery, contentQuery): // content, of any length
	case answer.StatusCode < 300 && r.URL.Query().Has("list-type"):
		answer.Body = bounded(answer.Body, largestPage+1) // readPage refuses longer pages
	case answer.StatusCode < 300 && r.URL.Query().Has("versions"):
		answer.Body = &versionsBody{ReadCloser: bounded(answer.Body, largestPage)}
	default:
		answer.Body = bounded(answer.Body, largestAnswer)
	}
	return answer, nil
}

// bounded limits the size and the time of a response body that the SDK reads completely.
func bounded(body io.ReadCloser, most int64) io.ReadCloser {
	return &boundedBody{ReadCloser: body, left: most, late: time.AfterFunc(answerTimeout, func() { _ = body.Close() })}
}

const (
	versionsPage = 1000 // versions that are requested at once
	// mostVersionTags is more than the number of XML tags of such a page. Each takes many times the memory
	// of its text.
	mostVersionTags = 60 * versionsPage
)

// A versionsBody refuses a page of versions with too many XML tags.
type versionsBody struct {
	io.ReadCloser
	tags int
}

func (b *versionsBody) Read(p []byte) (int, error) {
	n, err := b.ReadCloser.Read(p)
	if b.tags += bytes.Count(p[:n], []byte("<")); b.tags > mostVersionTags {
		return 0, fmt.Errorf("a page of versions has more than %d XML tags", mostVersionTags)
	}
	return n, err
}

// largestAnswer is more than the size of an error or of the tags of an object, in bytes.
const largestAnswer = 256 << 10

var errLargeAnswer = fmt.Errorf("a response without content has more than %d bytes", largestAnswer)

type boundedBody struct {
	io.ReadCloser
	left int64
	late *time.Timer
}

func (b *boundedBody) Read(p []byte) (int, error) {
	if len(p) > 0 && b.left <= 0 {
		return 0, errLargeAnswer
	}
	n, err := b.ReadCloser.Read(p[:min(int64(len(p)), b.left)])
	b.left -= int64(n)
	return n, err
}

func (b *boundedBody) Close() error {
	b.late.Stop()
	return b.ReadCloser.Close()
}

// patient retries like the SDK, and also after interrupted responses. It waits as long as the service
// asks, up to a limit.
type patient struct{ *retry.Standard }

func (p patient) IsErrorRetryable(err error) bool {
	_, unreadable := errors.AsType[*smithy.DeserializationError](err)
	return retryAfter(err) <= remote.LongestWait && !errors.Is(err, remote.ErrPlain) && !remote.IsTrustError(err) &&
		(p.Standard.IsErrorRetryable(err) || unreadable || errors.Is(err, io.ErrUnexpectedEOF) || errors.Is(err, io.EOF))
}

func (p patient) RetryDelay(attempt int, err error) (time.Duration, error) {
	delay, e := p.Standard.RetryDelay(attempt, err)
	return max(delay, retryAfter(err)), e
}

// call makes a request in the region of the bucket. If the response names another region, it
// repeats the request there.
func (s *Source) call(ctx context.Context, request func(...func(*s3.Options)) error) error {
	if s.credentials != nil {
		if _, err := s.credentials.Retrieve(ctx); err != nil {
			return &credentialsError{err}
		}
	}
	region := s.currentRegion()
	err := request(in(region))
	if err == nil || ctx.Err() != nil {
		return err
	}
	found := s.findRegion(ctx, err)
	if found == "" || found == region {
		return err
	}
	s.region.Store(&found)
	return request(in(found))
}

// ask is call for requests whose response is read completely. It gives up a stalled one.
func (s *Source) ask(ctx context.Context, request func(context.Context, ...func(*s3.Options)) error) error {
	ctx, cancel := context.WithTimeoutCause(ctx, answerTimeout, remote.ErrStalled)
	defer cancel()
	err := s.call(ctx, func(where ...func(*s3.Options)) error { return request(ctx, where...) })
	if err != nil && context.Cause(ctx) == remote.ErrStalled {
		return remote.ErrStalled
	}
	return err
}

func in(region string) func(*s3.Options) { return func(o *s3.Options) { o.Region = region } }

func (s *Source) currentRegion() string {
	if r := s.region.Load(); r != nil {
		return *r
	}
	region := s.client.Options().Region // of a copy of all options
	s.region.CompareAndSwap(nil, &region)
	return region
}

// findRegion returns the region of the bucket from a response that refuses another region. If that
// has no region, an unsigned request returns it.
func (s *Source) findRegion(ctx context.Context, err error) string {
	answer, ok := errors.AsType[*smithyhttp.ResponseError](err)
	if !ok || answer.Response == nil {
		return ""
	}
	if region := answer.Response.Header.Get(regionHeader); region != "" {
		return region
	}
	code := codeOf(err)
	if answer.HTTPStatusCode() != http.StatusMovedPermanently && code != "AuthorizationHeaderMalformed" && code != "IllegalLocationConstraintException" {
		return ""
	}
	out, err := s.client.HeadBucket(ctx, &s3.HeadBucketInput{Bucket: &s.url.Bucket}, func(o *s3.Options) { o.Credentials = nil })
	if err == nil {
		return aws.ToString(out.BucketRegion)
	}
	if answer, ok := errors.AsType[*smithyhttp.ResponseError](err); ok && answer.Response != nil {
		return answer.Response.Header.Get(regionHeader)
	}
	return ""
}

const regionHeader = "X-Amz-Bucket-Region"

// A credentialsError means that there are no credentials.
type credentialsError struct{ err error }

func (e *credentialsError) Error() string { return fmt.Sprintf("no credentials: %v", e.err) }
func (e *credentialsError) Unwrap() error { return e.err }
