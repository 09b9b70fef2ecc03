package s3

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"strings"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/s3"
	"github.com/aws/aws-sdk-go-v2/service/s3/types"

	"assetferry/sources"
	"assetferry/sources/remote"
)

// Find returns an object without a listing, or fs.ErrNotExist. Its time is in seconds.
func (s *Source) Find(ctx context.Context, key sources.Key) (o sources.Object, err error) {
	err = s.ask(ctx, func(ctx context.Context, where ...func(*s3.Options)) error {
		out, err := s.client.HeadObject(ctx, &s3.HeadObjectInput{Bucket: &s.url.Bucket, Key: s.name(key), RequestPayer: s.payer}, where...)
		if err == nil {
			o = sources.Object{Key: key, Size: aws.ToInt64(out.ContentLength), Time: modified(out.LastModified), VersionTag: versionTag(out.ETag)}
			archived := out.StorageClass == types.StorageClassGlacier || out.StorageClass == types.StorageClassDeepArchive
			if archived && !strings.Contains(aws.ToString(out.Restore), `ongoing-request="false"`) {
				o.Obstacle = sources.Archived
			}
		}
		return err
	})
	if err != nil {
		return sources.Object{}, s.fail(ctx, "look at", key, err)
	}
	return o, nil
}

// Open implements sources.Source.
func (s *Source) Open(ctx context.Context, o sources.Object, offset int64) (io.ReadCloser, error) {
	if ctx.Err() != nil {
		return nil, context.Cause(ctx)
	}
	if err := o.CheckOffset(offset); err != nil {
		return nil, s.fail(ctx, "open", o.Key, err)
	}
	r := &reader{ctx: ctx, source: s, object: o, version: o.Version}
	var err error
	r.Reader, err = remote.Open(ctx, remote.Content{
		Size: o.Size, Connect: r.connect, TooLong: r.tooLong, Fail: r.fail,
		EndCounts: true, // checksums are compared at the end
	}, offset)
	if err != nil {
		return nil, s.fail(ctx, "open", o.Key, err)
	}
	return r, nil
}

// A reader reads one object to its listed size, and has its metadata.
type reader struct {
	*remote.Reader
	ctx         context.Context
	source      *Source
	object      sources.Object
	version     string              // the version being read, if the bucket has versions
	description sources.Description // without tags
}

func (r *reader) fail(err error) error { return r.source.fail(r.ctx, "read", r.object.Key, err) }

func (r *reader) tooLong() error {
	return fmt.Errorf("the service sent more than the listed %d bytes", r.object.Size)
}

// connect requests the content from the next byte on. An empty range cannot be requested, so at the
// end it requests the last byte again.
func (r *reader) connect(next int64) (*remote.Body, error) {
	from := min(next, max(r.object.Size-1, 0))
	ctx, cancel := context.WithCancelCause(r.ctx)
	out, err := r.get(ctx, from)
	if err != nil && r.version != r.object.Version && errors.Is(classify("open", err), fs.ErrPermission) {
		r.version = "" // versions need another permission
		out, err = r.get(ctx, from)
	}
	if err != nil {
		cancel(nil)
		return nil, err
	}
	body := remote.Watch(out.Body, cancel)
	err = checkListed(out, r.object, from)
	if err == nil {
		_, err = io.CopyN(io.Discard, body, next-from)
	}
	if err != nil {
		body.Close()
		return nil, err
	}
	r.version, r.description = aws.ToString(out.VersionId), described(out)
	return body, nil
}

func (r *reader) get(ctx context.Context, from int64) (*s3.GetObjectOutput, error) {
	s := r.source
	in := &s3.GetObjectInput{Bucket: &s.url.Bucket, Key: s.name(r.object.Key), RequestPayer: s.payer, IfMatch: etag(r.object)}
	if r.version != "" {
		in.VersionId = &r.version
	}
	if from > 0 {
		in.Range = aws.String(fmt.Sprintf("bytes=%d-", from))
	}
	var out *s3.GetObjectOutput
	err := s.call(ctx, func(where ...func(*s3.Options)) (err error) {
		out, err = s.getObject(ctx, in, where...)
		return err
	})
	return out, err
}

// etag returns the condition of a request.
func etag(o sources.Object) *string {
	if o.VersionTag == "" {
		return nil
	}
	return aws.String(`"` + o.VersionTag + `"`)
}

// checkListed checks that a response has the listed version and the requested range, because some
// services ignore conditions.
func checkListed(out *s3.GetObjectOutput, o sources.Object, from int64) error {
	if !isListed(out.ETag, out.LastModified, o) {
		return sources.ErrChanged
	}
	size := aws.ToInt64(out.ContentLength)
	if from > 0 {
		first, total, ok := remote.ParseRange(aws.ToString(out.ContentRange))
		if !ok || first != from {
			return fmt.Errorf("the service returned another range than from byte %d on", from)
		}
		size = total
	}
	if out.ContentLength != nil && size != o.Size {
		return fmt.Errorf("the service has %d bytes instead of the listed %d", size, o.Size)
	}
	return nil
}

// isListed compares the version in a response with the listed one. Responses have times in seconds.
func isListed(etag *string, stored *time.Time, o sources.Object) bool {
	if tag := versionTag(etag); tag != "" && o.VersionTag != "" {
		return tag == o.VersionTag
	}
	return stored == nil || o.Time.IsZero() || stored.Truncate(time.Second).Equal(o.Time.Truncate(time.Second))
}
