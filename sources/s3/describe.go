package s3

import (
	"context"
	"mime"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/s3"

	"assetferry/sources"
)

// Describe implements sources.Describer with one request, and one more where tags are
// wanted.
func (s *Source) Describe(ctx context.Context, o sources.Object) (sources.Description, error) {
	d, err := s.describe(ctx, o)
	if err != nil {
		return sources.Description{}, s.fail(ctx, "describe", o.Key, err)
	}
	return d, nil
}

func (s *Source) describe(ctx context.Context, o sources.Object) (d sources.Description, err error) {
	var head *s3.HeadObjectOutput
	err = s.ask(ctx, func(ctx context.Context, where ...func(*s3.Options)) (err error) {
		head, err = s.client.HeadObject(ctx, &s3.HeadObjectInput{
			Bucket: &s.address.Bucket, Key: s.name(o.Key), RequestPayer: s.payer, IfMatch: etag(o),
		}, where...)
		return err
	})
	if err != nil {
		return d, err
	}
	if !isListed(head.ETag, head.LastModified, o) {
		return d, sources.ErrChanged
	}
	d = sources.Description{ContentType: aws.ToString(head.ContentType), Metadata: readable(head.Metadata)}
	if s.tags {
		d.Tags, err = s.objectTags(ctx, o, head.VersionId)
	}
	return d, err
}

// objectTags asks for the tags of a version.
func (s *Source) objectTags(ctx context.Context, o sources.Object, version *string) (map[string]string, error) {
	var out *s3.GetObjectTaggingOutput
	err := s.ask(ctx, func(ctx context.Context, where ...func(*s3.Options)) (err error) {
		out, err = s.client.GetObjectTagging(ctx, &s3.GetObjectTaggingInput{
			Bucket: &s.address.Bucket, Key: s.name(o.Key), RequestPayer: s.payer, VersionId: version,
		}, where...)
		return err
	})
	if err != nil {
		return nil, err
	}
	tags := make(map[string]string, len(out.TagSet))
	for _, t := range out.TagSet {
		tags[aws.ToString(t.Key)] = aws.ToString(t.Value)
	}
	return tags, nil
}

// readable undoes the encoding in which headers carry what is not ASCII.
func readable(metadata map[string]string) map[string]string {
	var words mime.WordDecoder
	made := make(map[string]string, len(metadata))
	for name, value := range metadata {
		if decoded, err := words.DecodeHeader(value); err == nil {
			value = decoded
		}
		made[name] = value
	}
	return made
}
