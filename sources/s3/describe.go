package s3

import (
	"context"
	"mime"
	"strings"
	"unicode/utf8"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/s3"

	"assetferry/sources"
)

// opTags is the operation of reading tags, for errors.
const opTags = "read tags"

// untyped is the default content type of S3.
const untyped = "binary/octet-stream"

// Describe implements sources.Describer. Only tags need a request.
func (r *reader) Describe(ctx context.Context) (sources.Description, error) {
	d := r.description
	if !r.source.tags {
		return d, nil
	}
	var err error
	if d.Tags, err = r.tags(ctx); err != nil {
		return sources.Description{}, r.source.fail(ctx, opTags, r.object.Key, err)
	}
	return d, nil
}

// described returns the metadata in a response.
func described(out *s3.GetObjectOutput) sources.Description {
	d := sources.Description{ContentType: aws.ToString(out.ContentType), Metadata: readable(out.Metadata)}
	if d.ContentType == untyped {
		d.ContentType = ""
	}
	return d
}

// tags requests the tags of the current version, because other versions need another permission. It
// checks that this is the version being read.
func (r *reader) tags(ctx context.Context) (map[string]string, error) {
	s := r.source
	var out *s3.GetObjectTaggingOutput
	err := s.ask(ctx, func(ctx context.Context, where ...func(*s3.Options)) (err error) {
		out, err = s.client.GetObjectTagging(ctx, &s3.GetObjectTaggingInput{
			Bucket: &s.url.Bucket, Key: s.name(r.object.Key), RequestPayer: s.payer,
		}, where...)
		return err
	})
	switch {
	case err != nil && strings.HasPrefix(codeOf(err), "NoSuchTagSet"): // some services return it for an object without tags
		return nil, nil
	case err != nil:
		return nil, err
	case r.version != "" && out.VersionId != nil && *out.VersionId != r.version:
		return nil, sources.ErrChanged
	case len(out.TagSet) == 0:
		return nil, nil
	}
	tags := make(map[string]string, len(out.TagSet))
	for _, t := range out.TagSet {
		tags[aws.ToString(t.Key)] = aws.ToString(t.Value)
	}
	return tags, nil
}

// readable decodes non-ASCII values of headers.
func readable(metadata map[string]string) map[string]string {
	if len(metadata) == 0 {
		return nil
	}
	made := make(map[string]string, len(metadata))
	for name, value := range metadata {
		made[name] = decoded(value)
	}
	return made
}

// decoded decodes a value that consists only of encoded words (RFC 2047). It does not change other
// values.
func decoded(value string) string {
	var words mime.WordDecoder
	for word := range strings.FieldsSeq(value) {
		if text, err := words.Decode(word); err != nil || !utf8.ValidString(text) {
			return value
		}
	}
	if text, err := words.DecodeHeader(value); err == nil && utf8.ValidString(text) {
		return text
	}
	return value
}
