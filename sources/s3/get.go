package s3

import (
	"context"
	"errors"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	v4 "github.com/aws/aws-sdk-go-v2/aws/signer/v4"
	"github.com/aws/aws-sdk-go-v2/service/s3"
	"github.com/aws/smithy-go/encoding/httpbinding"
	smithytime "github.com/aws/smithy-go/time"
)

// getObject requests content.
//
// For a small object, the middleware of the SDK takes more CPU time than everything else in the
// process. So the request is made from a recorded one, signed by the SDK's signer and sent here. If
// the answer is not content, the SDK takes it as the answer to the first attempt of its own request:
// retries, the correction of clocks and errors are those of the SDK, and no request is sent twice.
func (s *Source) getObject(ctx context.Context, in *s3.GetObjectInput, where ...func(*s3.Options)) (*s3.GetObjectOutput, error) {
	t := s.templateOf(ctx, where...)
	if !t.usable() {
		return s.client.GetObject(ctx, in, where...)
	}
	r, err := t.request(ctx, s.credentials, in)
	if err != nil {
		return s.client.GetObject(ctx, in, where...)
	}
	answer, err := t.client.Do(r)
	if err == nil {
		if out, ok := t.content(answer); ok {
			return out, nil
		}
	}
	out, failure := s.client.GetObject(ctx, in, append(where, answeredBy(answer, err))...)
	if failure == nil && answer != nil && isRefusal(answer.StatusCode) {
		s.template.Store(&template{region: t.region}) // it accepts only requests of the SDK
	}
	return out, failure
}

// isRefusal reports whether a status may be due to the signature of the request.
func isRefusal(status int) bool {
	return status == http.StatusUnauthorized || status == http.StatusForbidden
}

// A template is a request for content of the SDK, without what differs from object to object.
type template struct {
	region string
	base   string // URL up to the key; empty if content is only requested by the SDK
	header http.Header
	client s3.HTTPClient
	signer *v4.Signer
}

func (t *template) usable() bool { return t != nil && t.base != "" }

const (
	anyKey       = "key"
	contentQuery = "x-id=GetObject"
)

// templateOf returns the template for the current region, nil if there is none.
func (s *Source) templateOf(ctx context.Context, where ...func(*s3.Options)) *template {
	region := s.currentRegion()
	if t := s.template.Load(); t != nil && t.region == region {
		return t
	}
	var seen requestRecorder
	_, err := s.client.GetObject(ctx, &s3.GetObjectInput{Bucket: &s.url.Bucket, Key: aws.String(anyKey), RequestPayer: s.payer},
		append(where, func(o *s3.Options) { seen.HTTPClient, o.HTTPClient, o.Retryer = o.HTTPClient, &seen, aws.NopRetryer{} })...)
	if seen.request == nil || !errors.Is(err, errRecorded) {
		return nil
	}
	t := templateFrom(seen.request, region, s.credentials != nil)
	t.client = seen.HTTPClient
	s.template.Store(t)
	return t
}

// templateFrom makes a template from a request for anyKey. Requests in another form than the usual
// one are left to the SDK: other signatures, and those for directory buckets.
func templateFrom(r *http.Request, region string, signed bool) *template {
	t := &template{region: region, header: r.Header.Clone(), signer: v4.NewSigner(func(o *v4.SignerOptions) { o.DisableURIPathEscaping = true })}
	path, ok := strings.CutSuffix(r.URL.EscapedPath(), anyKey)
	scheme, rest, _ := strings.Cut(r.Header.Get("Authorization"), " ")
	if signed {
		ok = ok && scheme == "AWS4-HMAC-SHA256" && strings.Contains(rest, "/"+region+"/s3/aws4_request,")
	} else {
		ok = ok && scheme == ""
	}
	if ok && r.Method == http.MethodGet && r.URL.RawQuery == contentQuery {
		t.base = r.URL.Scheme + "://" + r.URL.Host + path
	}
	for _, name := range []string{"Authorization", "X-Amz-Date", "X-Amz-Security-Token", "Amz-Sdk-Invocation-Id", "Amz-Sdk-Request"} {
		t.header.Del(name)
	}
	return t
}

// emptyHash is the SHA-256 of a request without a body.
const emptyHash = "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855"

// request returns the signed request for an object.
func (t *template) request(ctx context.Context, credentials aws.CredentialsProvider, in *s3.GetObjectInput) (*http.Request, error) {
	query := contentQuery
	if in.VersionId != nil {
		query = "versionId=" + url.QueryEscape(*in.VersionId) + "&" + query
	}
	r, err := http.NewRequestWithContext(ctx, http.MethodGet, t.base+httpbinding.EscapePath(*in.Key, false)+"?"+query, nil)
	if err != nil {
		return nil, err
	}
	r.Header = t.header.Clone()
	if in.IfMatch != nil {
		r.Header.Set("If-Match", *in.IfMatch)
	}
	if in.Range != nil {
		r.Header.Set("Range", *in.Range)
	}
	if credentials == nil {
		return r, nil
	}
	c, err := credentials.Retrieve(ctx)
	if err != nil {
		return nil, err
	}
	return r, t.signer.SignHTTP(ctx, c, r, emptyHash, "s3", t.region, time.Now())
}

// content returns the answer of a request as the SDK would return it, if it is content.
func (t *template) content(answer *http.Response) (*s3.GetObjectOutput, bool) {
	if answer.StatusCode != http.StatusOK && answer.StatusCode != http.StatusPartialContent {
		return nil, false
	}
	out := &s3.GetObjectOutput{Body: answer.Body}
	for name, values := range answer.Header {
		if len(values) == 0 || !readHeader(out, name, values[0]) {
			return nil, false
		}
	}
	if t.header.Get("X-Amz-Checksum-Mode") != "" {
		out.Body = checked(out.Body, answer.Header)
	}
	return out, true
}

// metadataPrefix is that of headers with metadata of the user.
const metadataPrefix = "X-Amz-Meta-"

// readHeader adds a header of an answer to the output. It returns false if it has no valid value.
func readHeader(out *s3.GetObjectOutput, name, value string) bool {
	switch name {
	case "Content-Length":
		size, err := strconv.ParseInt(value, 10, 64)
		out.ContentLength = &size
		return err == nil
	case "Last-Modified":
		stored, err := smithytime.ParseHTTPDate(value)
		out.LastModified = &stored
		return err == nil
	case "Etag":
		out.ETag = &value
	case "Content-Type":
		out.ContentType = &value
	case "Content-Range":
		out.ContentRange = &value
	case "X-Amz-Version-Id":
		out.VersionId = &value
	default:
		if field, ok := strings.CutPrefix(name, metadataPrefix); ok {
			if out.Metadata == nil {
				out.Metadata = map[string]string{}
			}
			out.Metadata[strings.ToLower(field)] = value
		}
	}
	return true
}

var errRecorded = errors.New("the request was recorded")

// A requestRecorder keeps a request and does not send it.
type requestRecorder struct {
	s3.HTTPClient // of the requests that are sent
	request       *http.Request
}

func (r *requestRecorder) Do(q *http.Request) (*http.Response, error) {
	r.request = q
	return nil, errRecorded
}

// answeredBy makes the SDK take an answer or an error as that of its first attempt.
func answeredBy(answer *http.Response, err error) func(*s3.Options) {
	return func(o *s3.Options) { o.HTTPClient = &answeredClient{o.HTTPClient, answer, err, false} }
}

// An answeredClient has the answer to its first request. It sends the others.
type answeredClient struct {
	s3.HTTPClient
	answer *http.Response
	err    error
	given  bool
}

func (c *answeredClient) Do(q *http.Request) (*http.Response, error) {
	if !c.given {
		c.given = true
		return c.answer, c.err
	}
	return c.HTTPClient.Do(q)
}
