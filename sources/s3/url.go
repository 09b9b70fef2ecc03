package s3

import (
	"errors"
	"strings"
	"unicode/utf8"

	"assetferry/sources"
)

// Scheme is the scheme of the URL of a source.
const Scheme = "s3"

// A URL names a part of a bucket.
type URL struct {
	Bucket string
	// Prefix is the beginning of the keys: "" for the whole bucket, or with a slash at
	// its end.
	Prefix string
}

// ParseURL parses s3://bucket or s3://bucket/prefix. The prefix is literal, because any
// character may be part of a key. It adds a missing slash, so that s3://b/p does not include p2/.
// Errors do not repeat the URL, which may contain a secret by mistake.
func ParseURL(text string) (URL, error) {
	rest, ok := strings.CutPrefix(text, Scheme+"://")
	if !ok {
		return URL{}, errors.New("the URL must begin with s3://")
	}
	bucket, prefix, _ := strings.Cut(rest, "/")
	if err := checkBucket(bucket); err != nil {
		return URL{}, err
	}
	switch {
	case !utf8.ValidString(prefix):
		return URL{}, errors.New("the prefix is not valid UTF-8")
	case len(prefix) > sources.MaxKeyLength:
		return URL{}, errors.New("the prefix is too long")
	case prefix != "" && !strings.HasSuffix(prefix, "/"):
		prefix += "/"
	}
	return URL{bucket, prefix}, nil
}

// checkBucket accepts all bucket names that any service ever allowed.
func checkBucket(name string) error {
	switch {
	case name == "":
		return errors.New("the bucket name is missing")
	case strings.Contains(name, "@"):
		return errors.New("a user name or password in the URL is not supported; set credentials in the environment or a profile")
	case len(name) < 3 || len(name) > 255 || strings.ContainsFunc(name, notInBucket):
		return errors.New("invalid bucket name: use at least 3 letters, digits, dots or dashes; ARNs are not supported")
	case strings.HasSuffix(name, "--x-s3"):
		return errors.New("directory buckets are not supported, because they list objects in no order")
	}
	return nil
}

func notInBucket(r rune) bool {
	return !(r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r >= '0' && r <= '9' || r == '-' || r == '_' || r == '.')
}

// String returns the name of the source, also for state databases.
func (a URL) String() string { return Scheme + "://" + a.Bucket + "/" + a.Prefix }
