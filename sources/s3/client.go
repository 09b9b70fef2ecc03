package s3

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/aws/retry"
	"github.com/aws/aws-sdk-go-v2/service/s3"
	"github.com/aws/smithy-go"
	"github.com/aws/smithy-go/logging"
	smithyhttp "github.com/aws/smithy-go/transport/http"

	"assetferry/sources/remote"
)

// defaultRegion is where the search for a bucket begins, and what services other
// than AWS are used to.
const defaultRegion = "us-east-1"

const (
	// responseTimeout is how long the service may take before its answer begins.
	responseTimeout = 60 * time.Second
	// answerTimeout is how long a small answer may take, with all tries.
	answerTimeout = 5 * time.Minute
)

func newClient(cfg aws.Config, endpoint string, credentials aws.CredentialsProvider, client s3.HTTPClient) *s3.Client {
	return s3.NewFromConfig(cfg, func(c *s3.Options) {
		c.Region = cmp.Or(c.Region, defaultRegion)
		c.Credentials = credentials // nil: nothing is signed
		if endpoint != "" {
			c.BaseEndpoint = &endpoint
		}
		// Few services other than AWS have a name for each bucket.
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
		// A signature holds for one host only, so regions are found in our way.
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
	}
}

func newTransport(o Options) *http.Transport {
	return remote.NewTransport(remote.Options{TLS: o.TLS, Connections: o.Connections, AnswerTimeout: responseTimeout})
}

// A guard lets plain HTTP only go where it may, whoever gave the address: it may
// come from a profile as well.
type guard struct {
	next      http.RoundTripper
	allowHTTP bool
}

func (g guard) RoundTrip(r *http.Request) (*http.Response, error) {
	if err := remote.CheckPlain(r.URL, g.allowHTTP); err != nil {
		return nil, err
	}
	answer, err := g.next.RoundTrip(r)
	query := r.URL.Query()
	switch {
	case err != nil:
		return nil, err
	case answer.StatusCode < 300 && r.Method == http.MethodGet && query.Get("x-id") == "GetObject": // content, of any length
	case answer.StatusCode < 300 && query.Has("list-type"):
		answer.Body = bounded(answer.Body, largestPage+1) // what is longer is refused where pages are read
	default:
		answer.Body = bounded(answer.Body, largestAnswer)
	}
	return answer, nil
}

// bounded is the body of an answer that the SDK reads as a whole: it may be neither longer nor
// slower than a service has reason to be.
func bounded(body io.ReadCloser, most int64) io.ReadCloser {
	return &boundedBody{ReadCloser: body, left: most, late: time.AfterFunc(answerTimeout, func() { _ = body.Close() })}
}

// largestAnswer is more than an error has, or the tags of an object.
const largestAnswer = 256 << 10

var errLargeAnswer = fmt.Errorf("an answer that is no content has more than %d bytes", largestAnswer)

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

// patient tries again what the SDK tries again, and also answers that broke off, and
// waits as long as the service asks for, unless that is too long.
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

// call makes a request, in the region that the bucket is in: where the answer says
// that it is another one, the request is made again there.
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

// ask is call for requests whose answer is read before they return. One that stands
// still is given up.
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
	return s.client.Options().Region
}

// findRegion tells the bucket's region from an answer that refuses another one. If
// that says nothing else, a request that is not signed is answered with it.
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
	out, err := s.client.HeadBucket(ctx, &s3.HeadBucketInput{Bucket: &s.address.Bucket}, func(o *s3.Options) { o.Credentials = nil })
	if err == nil {
		return aws.ToString(out.BucketRegion)
	}
	if answer, ok := errors.AsType[*smithyhttp.ResponseError](err); ok && answer.Response != nil {
		return answer.Response.Header.Get(regionHeader)
	}
	return ""
}

const regionHeader = "X-Amz-Bucket-Region"

// A credentialsError says that there is nothing to sign with.
type credentialsError struct{ err error }

func (e *credentialsError) Error() string { return fmt.Sprintf("no credentials: %v", e.err) }
func (e *credentialsError) Unwrap() error { return e.err }
