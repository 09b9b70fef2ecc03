// Package s3 reads a bucket, or the keys with a prefix in it, as a source: at AWS or at an
// S3-compatible service. Keys are relative to the prefix.
//
// Requests name the listed ETag, so the listed version is read. An ETag is an opaque version tag,
// not a checksum. Objects of one size and ETag that were not stored in parts are identical; objects
// with different ETags may be identical, too. The SDK retries requests, and the reader here resumes
// interrupted bodies. There are no other retries. The first attempt of a request for content does not
// pass through the SDK; see get.go.
package s3

import (
	"context"
	"crypto/tls"
	"sync/atomic"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/config"
	"github.com/aws/aws-sdk-go-v2/service/s3"
	"github.com/aws/aws-sdk-go-v2/service/s3/types"

	"assetferry/internal/redact"
	"assetferry/sources"
)

// Options are the options of New; the zero value is for a bucket at AWS.
type Options struct {
	// Endpoint is the base URL of a service other than AWS, such as
	// https://minio.example.com. If it is "", the environment and the profile decide.
	Endpoint string
	// Credentials are the credentials; nil means those of the environment, the profile or the
	// machine.
	Credentials aws.CredentialsProvider
	// Anonymous makes unsigned requests, for public buckets.
	Anonymous bool
	// RequesterPays agrees to pay for the requests.
	RequesterPays bool
	// Tags adds tags to the metadata of readers, with one more request each.
	Tags bool
	// AllowHTTP allows plain HTTP to other hosts than this one.
	AllowHTTP bool
	// TLS is the configuration for the service; nil for the default.
	TLS *tls.Config
	// Connections is the number of idle connections to keep: one per reader.
	Connections int
}

// A Source is a part of a bucket.
type Source struct {
	url         URL
	client      *s3.Client
	credentials aws.CredentialsProvider // nil if requests are not signed
	redactor    *redact.Redactor        // of the credentials
	payer       types.RequestPayer
	tags        bool
	close       func()

	region   atomic.Pointer[string]   // the region to try first
	template atomic.Pointer[template] // of requests for content
	versions versionPage
}

// New returns the source of a URL. It makes no request.
func New(ctx context.Context, url URL, o Options) (*Source, error) {
	s := &Source{url: url, tags: o.Tags, redactor: redact.New()}
	if o.RequesterPays {
		s.payer = types.RequestPayerRequester
	}
	cfg, err := config.LoadDefaultConfig(ctx)
	if err != nil {
		return nil, &sources.Error{Op: "list", Source: url.String(), Err: err,
			Hint: "check AWS_PROFILE and the files ~/.aws/config and ~/.aws/credentials"}
	}
	transport := newTransport(o)
	s.close = transport.CloseIdleConnections
	s.credentials = cfg.Credentials
	if o.Credentials != nil {
		s.credentials = aws.NewCredentialsCache(o.Credentials)
	}
	if o.Anonymous {
		s.credentials = nil
	}
	s.client = newClient(cfg, o.Endpoint, s.credentials, newHTTPClient(transport, o.AllowHTTP))
	return s, nil
}

// Identity names the source for the state database. It does not include the endpoint, because a
// service may move.
func (s *Source) Identity() string { return s.url.String() }

// CloseIdleConnections closes idle connections.
func (s *Source) CloseIdleConnections() { s.close() }

// Traits implements sources.Source.
func (s *Source) Traits() sources.Traits {
	return sources.Traits{Precision: time.Second, Describes: true, ContentTags: true}
}

func (s *Source) name(key sources.Key) *string {
	return aws.String(s.url.Prefix + string(key))
}
