// Package s3 makes a bucket, or what has a common prefix in it, a source: at AWS or
// at any service that speaks its protocol. Keys are relative to the prefix.
//
// What was listed is what is read: requests ask for the listed ETag, which is an
// opaque version tag and never taken for a checksum. Equal ones of objects that have one size
// and were stored in one piece stand for equal contents; different ones prove nothing. The SDK
// tries requests again; a body that breaks off is taken up where it ended by the reader
// here. There is no other layer of tries.
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

// Options are the choices of New; the zero value is for a bucket at AWS.
type Options struct {
	// Endpoint is the base address of another service than AWS, such as
	// https://minio.example.com. It is empty where the environment or the profile
	// say it, or nobody does.
	Endpoint string
	// Credentials is nil for those that the environment, the profile or the machine
	// give.
	Credentials aws.CredentialsProvider
	// Anonymous makes requests that are not signed, for public buckets.
	Anonymous bool
	// RequesterPays agrees to pay for the requests.
	RequesterPays bool
	// Tags has readers describe objects with their tags, for one more request each.
	Tags bool
	// AllowHTTP allows plain HTTP to other hosts than this one.
	AllowHTTP bool
	// TLS is how to trust the service; nil is the usual way.
	TLS *tls.Config
	// Connections is how many idle ones are kept: as many as there are readers.
	Connections int
}

// A Source is a part of a bucket.
type Source struct {
	address     Address
	client      *s3.Client
	credentials aws.CredentialsProvider // nil if requests are not signed
	redactor    *redact.Redactor        // of the credentials
	payer       types.RequestPayer
	tags        bool
	close       func()

	region atomic.Pointer[string] // where the bucket was found to be
}

// New returns the source at an address. It makes no request.
func New(ctx context.Context, address Address, o Options) (*Source, error) {
	s := &Source{address: address, tags: o.Tags, redactor: redact.New()}
	if o.RequesterPays {
		s.payer = types.RequestPayerRequester
	}
	cfg, err := config.LoadDefaultConfig(ctx)
	if err != nil {
		return nil, &sources.Error{Op: "list", Source: address.String(), Err: err,
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

// Identity names the source for the state database. The endpoint is no part of it: a
// service may move.
func (s *Source) Identity() string { return s.address.String() }

// CloseIdleConnections ends the connections that nobody uses.
func (s *Source) CloseIdleConnections() { s.close() }

// Traits implements sources.Source.
func (s *Source) Traits() sources.Traits {
	return sources.Traits{Precision: time.Second, Describes: true, ContentTags: true}
}

func (s *Source) name(key sources.Key) *string {
	return aws.String(s.address.Prefix + string(key))
}
