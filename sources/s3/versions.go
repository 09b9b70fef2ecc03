package s3

import (
	"context"
	"errors"
	"iter"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/s3"
	"github.com/aws/aws-sdk-go-v2/service/s3/types"
	"github.com/aws/smithy-go"

	"assetferry/sources"
)

// once prevents repetitions of a request whose answer is of little importance.
func once(o *s3.Options) { o.Retryer = aws.NopRetryer{} }

// KeepsVersions implements sources.Historian. It makes one request. A service without versions has
// none.
func (s *Source) KeepsVersions(ctx context.Context) (bool, error) {
	var out *s3.GetBucketVersioningOutput
	err := s.ask(ctx, func(ctx context.Context, where ...func(*s3.Options)) (err error) {
		out, err = s.client.GetBucketVersioning(ctx, &s3.GetBucketVersioningInput{Bucket: &s.url.Bucket}, append(where, once)...)
		return err
	})
	switch e, ok := errors.AsType[smithy.APIError](err); {
	case ok && (e.ErrorCode() == "NotImplemented" || e.ErrorCode() == "MethodNotAllowed"):
		return false, nil
	case err != nil:
		return false, s.fail(ctx, "find versions of", "", err)
	}
	return out.Status != "", nil // also if no new ones are kept
}

// Versions implements sources.Historian. A page of versions has those of many objects, and is kept for
// the next calls: a list of all objects takes a request for a thousand versions. For an object beyond
// the next page, its own versions are requested.
func (s *Source) Versions(ctx context.Context, o sources.Object) iter.Seq2[sources.Object, error] {
	return sources.Sequence(ctx, func(yield func(sources.Object) error) error {
		all, err := s.versions.of(ctx, s, *s.name(o.Key))
		if err != nil {
			return err
		}
		for _, v := range olderThan(all, o) {
			if v.VersionId == nil {
				continue
			}
			object := types.Object{Size: v.Size, StorageClass: types.ObjectStorageClass(v.StorageClass), RestoreStatus: v.RestoreStatus}
			if err := yield(sources.Object{
				Key: o.Key, Size: *v.Size, Time: modified(v.LastModified), VersionTag: versionTag(v.ETag), Version: *v.VersionId,
				Obstacle: (&listing{now: time.Now()}).obstacle(object, string(o.Key)),
			}); err != nil {
				return err
			}
		}
		return nil
	}, func(err error) error { return s.fail(ctx, "list versions of", o.Key, err) })
}

// olderThan returns the versions that are older than a listed object. The object may have been
// replaced after the listing.
func olderThan(all []types.ObjectVersion, o sources.Object) []types.ObjectVersion {
	listed := slices.IndexFunc(all, func(v types.ObjectVersion) bool {
		return versionTag(v.ETag) == o.VersionTag && *v.Size == o.Size
	})
	if listed < 0 {
		listed = slices.IndexFunc(all, func(v types.ObjectVersion) bool { return aws.ToBool(v.IsLatest) })
	}
	return all[listed+1:]
}

// A versionPage is the last page of versions, in the order of their names.
type versionPage struct {
	mu       sync.Mutex
	asked    string // the last name
	after    string // the page has all versions of the names after this one
	until    string // and before this one; "" for all others
	versions []types.ObjectVersion
	valid    bool
}

// of returns the versions of a name, the newest first.
func (p *versionPage) of(ctx context.Context, s *Source, name string) ([]types.ObjectVersion, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if !p.has(name) {
		if err := p.next(ctx, s, name); err != nil {
			return nil, err
		}
	}
	if p.asked = name; p.has(name) {
		return named(p.versions, name), nil
	}
	return s.versionsOf(ctx, name)
}

// has reports whether the page has all versions of a name.
func (p *versionPage) has(name string) bool {
	return p.valid && name > p.after && (p.until == "" || name < p.until)
}

// next requests the page after the last one, or after the last name, for a name.
func (p *versionPage) next(ctx context.Context, s *Source, name string) error {
	after := ""
	if p.valid && p.until < name {
		after = p.lastComplete()
	}
	if p.asked < name {
		after = max(after, p.asked)
	}
	in := &s3.ListObjectVersionsInput{Prefix: &s.url.Prefix}
	if after != "" {
		in.KeyMarker = &after
	}
	out, err := s.versionPage(ctx, in)
	if err != nil {
		return err
	}
	p.after, p.until, p.versions = after, "", out.Versions
	p.valid = slices.IsSortedFunc(out.Versions, func(a, b types.ObjectVersion) int { return strings.Compare(*a.Key, *b.Key) })
	if aws.ToBool(out.IsTruncated) {
		if p.valid = p.valid && len(out.Versions) > 0; p.valid {
			p.until = *out.Versions[len(out.Versions)-1].Key // it may have more versions
		}
	}
	return nil
}

// lastComplete returns the last name of which the page has all versions; the only one if there is no
// other.
func (p *versionPage) lastComplete() string {
	for n := len(p.versions) - 1; n >= 0; n-- {
		if key := *p.versions[n].Key; key < p.until {
			return key
		}
	}
	return p.until
}

func named(all []types.ObjectVersion, name string) []types.ObjectVersion {
	return slices.DeleteFunc(slices.Clone(all), func(v types.ObjectVersion) bool { return *v.Key != name })
}

// versionsOf requests the versions of one name.
func (s *Source) versionsOf(ctx context.Context, name string) (all []types.ObjectVersion, err error) {
	in := &s3.ListObjectVersionsInput{Prefix: &name}
	for {
		out, err := s.versionPage(ctx, in)
		if err != nil {
			return nil, err
		}
		all = append(all, named(out.Versions, name)...)
		more := aws.ToBool(out.IsTruncated) && (out.NextKeyMarker != nil && *out.NextKeyMarker == name)
		if !more {
			return all, nil
		}
		if in.VersionIdMarker != nil && aws.ToString(out.NextVersionIdMarker) == *in.VersionIdMarker {
			return nil, errors.New("the list of versions does not advance")
		}
		in.KeyMarker, in.VersionIdMarker = out.NextKeyMarker, out.NextVersionIdMarker
	}
}

// versionPage requests one page of versions.
func (s *Source) versionPage(ctx context.Context, in *s3.ListObjectVersionsInput) (*s3.ListObjectVersionsOutput, error) {
	in.Bucket, in.RequestPayer, in.EncodingType, in.MaxKeys = &s.url.Bucket, s.payer, types.EncodingTypeUrl, aws.Int32(versionsPage)
	in.OptionalObjectAttributes = []types.OptionalObjectAttributes{types.OptionalObjectAttributesRestoreStatus}
	var out *s3.ListObjectVersionsOutput
	err := s.ask(ctx, func(ctx context.Context, where ...func(*s3.Options)) (err error) {
		out, err = s.client.ListObjectVersions(ctx, in, where...)
		return err
	})
	switch {
	case err != nil:
		return nil, err
	case out.IsTruncated == nil:
		return nil, errors.New("the response is not a list of versions")
	}
	for n := range out.Versions {
		v := &out.Versions[n]
		if v.Size == nil || *v.Size < 0 {
			return nil, errors.New("the list of versions has no size for a version")
		}
		name, err := decodeKey(aws.ToString(v.Key), out.EncodingType)
		if err != nil {
			return nil, err
		}
		v.Key = &name
	}
	if out.NextKeyMarker != nil {
		name, err := decodeKey(*out.NextKeyMarker, out.EncodingType)
		if err != nil {
			return nil, err
		}
		out.NextKeyMarker = &name
	}
	return out, nil
}
