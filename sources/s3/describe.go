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

// opTags is the operation that a user asked for who wants tags.
const opTags = "read tags"

// untyped is the content type that S3 gives objects that were stored without one.
const untyped = "binary/octet-stream"

// Describe implements sources.Describer. Only tags cost a request.
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

// described is what an answer says of the object besides its content.
func described(out *s3.GetObjectOutput) sources.Description {
	d := sources.Description{ContentType: aws.ToString(out.ContentType), Metadata: readable(out.Metadata)}
	if d.ContentType == untyped {
		d.ContentType = ""
	}
	return d
}

// tags asks for the tags of the current version, because versions need a permission
// of their own, and makes sure that it is the one that is read.
func (r *reader) tags(ctx context.Context) (map[string]string, error) {
	s := r.source
	var out *s3.GetObjectTaggingOutput
	err := s.ask(ctx, func(ctx context.Context, where ...func(*s3.Options)) (err error) {
		out, err = s.client.GetObjectTagging(ctx, &s3.GetObjectTaggingInput{
			Bucket: &s.address.Bucket, Key: s.name(r.object.Key), RequestPayer: s.payer,
		}, where...)
		return err
	})
	switch {
	case err != nil && strings.HasPrefix(codeOf(err), "NoSuchTagSet"): // what some services say of an object without any
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

// readable undoes the encoding in which headers carry what is not ASCII.
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

// decoded reads a value that is made of nothing but encoded words (RFC 2047). Others
// may mean what they look like, and stay as they are.
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
