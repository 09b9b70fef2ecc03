package s3

import (
	"errors"
	"strings"
	"unicode/utf8"

	"assetferry/sources"
)

// Scheme is what the address of a source begins with.
const Scheme = "s3"

// An Address names a part of a bucket.
type Address struct {
	Bucket string
	// Prefix is what the keys begin with; empty for all of the bucket, or with a
	// slash at its end.
	Prefix string
}

// ParseAddress reads s3://bucket or s3://bucket/prefix. The prefix is taken as it
// stands: nothing in it is an escape, because any character may be part of a key. A
// missing slash at its end is added, so that s3://b/p does not reach into p2/. The
// error does not repeat the address, which may hold what somebody took for its place.
func ParseAddress(text string) (Address, error) {
	rest, ok := strings.CutPrefix(text, Scheme+"://")
	if !ok {
		return Address{}, errors.New("the address does not begin with s3://")
	}
	bucket, prefix, _ := strings.Cut(rest, "/")
	if err := checkBucket(bucket); err != nil {
		return Address{}, err
	}
	switch {
	case !utf8.ValidString(prefix):
		return Address{}, errors.New("the prefix is not valid UTF-8")
	case len(prefix) > sources.MaxKeyLength:
		return Address{}, errors.New("the prefix is too long")
	case prefix != "" && !strings.HasSuffix(prefix, "/"):
		prefix += "/"
	}
	return Address{bucket, prefix}, nil
}

// checkBucket takes what was a name of a bucket at any time, at any service.
func checkBucket(name string) error {
	switch {
	case name == "":
		return errors.New("the address names no bucket")
	case strings.Contains(name, "@"):
		return errors.New("the address holds a user name or a password; credentials come from the environment or a profile")
	case len(name) < 3 || len(name) > 255 || strings.ContainsFunc(name, notInBucket):
		return errors.New("the bucket's name is not valid: it has 3 letters, digits, dots or dashes or more, and no ARN is taken")
	case strings.HasSuffix(name, "--x-s3"):
		return errors.New("a directory bucket lists its objects in no order, so that a listing cannot be resumed")
	}
	return nil
}

func notInBucket(r rune) bool {
	return !(r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r >= '0' && r <= '9' || r == '-' || r == '_' || r == '.')
}

// String names the source: in state databases, too.
func (a Address) String() string { return Scheme + "://" + a.Bucket + "/" + a.Prefix }
