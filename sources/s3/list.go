package s3

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"iter"
	"net/url"
	"strings"
	"sync"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/s3"
	"github.com/aws/aws-sdk-go-v2/service/s3/types"
	"github.com/aws/smithy-go/middleware"

	"assetferry/sources"
)

// emptyPages is the maximum number of empty pages in a row. Pages of deleted objects are empty, but a
// valid listing has few of them.
const emptyPages = 1000

// errStop means that the consumer stopped the listing.
var errStop = errors.New("the loop ended")

// Objects implements sources.Source. It lists current versions, a thousand per page. A prefix without
// keys is missing.
func (s *Source) Objects(ctx context.Context, after sources.Key) iter.Seq2[sources.Object, error] {
	return func(yield func(sources.Object, error) bool) {
		l := &listing{source: s, now: time.Now(), after: string(after), yield: yield}
		err := l.run(ctx)
		switch {
		case err == errStop:
			return
		case ctx.Err() != nil:
			err = context.Cause(ctx)
		case err != nil:
			err = s.fail(ctx, "list", "", err)
		}
		if err != nil {
			yield(sources.Object{}, err)
		}
	}
}

// A listing reads all pages once.
type listing struct {
	source *Source
	now    time.Time
	after  string
	yield  func(sources.Object, error) bool
	last   string // the last key, with the prefix
	token  string // of the last requested page
	empty  int    // empty pages in a row
}

// askAhead is the number of objects of a page after which the next page is requested, in parallel
// with the remaining objects. A consumer that stops early does not cause the request.
const askAhead = 100

// run requests one page after the other, at most one ahead of the objects.
func (l *listing) run(ctx context.Context) error {
	var asking sync.WaitGroup
	defer asking.Wait()
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	type answer struct {
		page *s3.ListObjectsV2Output
		err  error
	}
	answers := make(chan answer, 1)
	ask := func() {
		asking.Go(func() {
			page, err := l.page(ctx, l.token)
			answers <- answer{page, err}
		})
	}
	for ask(); ; {
		a := <-answers
		if a.err != nil {
			return a.err
		}
		err := l.follow(a.page)
		goesOn := err == nil && l.token != ""
		for n, o := range a.page.Contents {
			if ctx.Err() != nil {
				return context.Cause(ctx)
			}
			if err := l.object(o, a.page.EncodingType); err != nil {
				return err
			}
			if goesOn && n == askAhead {
				ask()
			}
		}
		if !goesOn {
			return cmp.Or(err, l.end())
		}
		if len(a.page.Contents) <= askAhead {
			ask()
		}
	}
}

// follow records the token of the next page, or the end.
func (l *listing) follow(page *s3.ListObjectsV2Output) error {
	before := l.token
	l.token = ""
	if !*page.IsTruncated {
		return nil
	}
	if l.empty++; len(page.Contents) > 0 {
		l.empty = 0
	}
	next := aws.ToString(page.NextContinuationToken)
	switch {
	case next == "":
		return errors.New("a page of the listing is not the last one, but has no continuation token")
	case next == before || l.empty > emptyPages:
		return errors.New("the listing does not advance: a page has its own continuation token")
	}
	l.token = next
	return nil
}

// page requests one page.
func (l *listing) page(ctx context.Context, token string) (*s3.ListObjectsV2Output, error) {
	s := l.source
	in := &s3.ListObjectsV2Input{
		Bucket: &s.url.Bucket, RequestPayer: s.payer, EncodingType: types.EncodingTypeUrl,
		OptionalObjectAttributes: []types.OptionalObjectAttributes{types.OptionalObjectAttributesRestoreStatus},
	}
	if s.url.Prefix != "" {
		in.Prefix = &s.url.Prefix
	}
	if token != "" {
		in.ContinuationToken = &token
	} else if l.after != "" {
		in.StartAfter = s.name(sources.Key(l.after))
	}
	var out *s3.ListObjectsV2Output
	var c contents
	first := s3.WithAPIOptions(func(stack *middleware.Stack) error { return stack.Deserialize.Add(&c, middleware.After) })
	err := s.ask(ctx, func(ctx context.Context, where ...func(*s3.Options)) (err error) {
		out, err = s.client.ListObjectsV2(ctx, in, append(where, first)...)
		return err
	})
	if err == nil && c.objects != nil {
		out.Contents = c.objects
	}
	if err == nil && out.IsTruncated == nil {
		err = errors.New("the response is not a listing") // an error or an empty body with a success status
	}
	return out, err
}

// object yields an object of a page.
func (l *listing) object(o types.Object, encoding types.EncodingType) error {
	name, err := decodeKey(aws.ToString(o.Key), encoding)
	if err != nil {
		return err
	}
	key, ok := strings.CutPrefix(name, l.source.url.Prefix)
	switch {
	case !ok:
		return fmt.Errorf("the listing has the key %q without the prefix", name)
	case name <= l.last:
		return &disorderError{name, l.last}
	case o.Size == nil || *o.Size < 0:
		return fmt.Errorf("the listing has no size for the key %q", name)
	}
	l.last = name
	switch {
	case key == "" && *o.Size > 0:
		return fmt.Errorf("the prefix itself is an object of %d bytes, which has no key below the prefix", *o.Size)
	case key <= l.after: // also the folder marker of the prefix, and keys of a service without StartAfter
		return nil
	}
	object := sources.Object{
		Key: sources.Key(key), Size: *o.Size, Time: modified(o.LastModified), VersionTag: versionTag(o.ETag), Obstacle: l.obstacle(o, key),
	}
	if !l.yield(object, nil) {
		return errStop
	}
	return nil
}

// end checks a complete listing.
func (l *listing) end() error {
	if l.last == "" && l.after == "" && l.source.url.Prefix != "" {
		return noKeyError(l.source.url.Prefix)
	}
	return nil
}

// A noKeyError is a prefix without keys.
type noKeyError string

func (e noKeyError) Error() string { return fmt.Sprintf("no key begins with %q", string(e)) }

// Is matches fs.ErrNotExist.
func (noKeyError) Is(target error) bool { return target == fs.ErrNotExist }

// decodeKey decodes a key if the response declares the encoding. Many services ignore the requested
// encoding and return literal keys.
func decodeKey(key string, encoding types.EncodingType) (string, error) {
	if !strings.EqualFold(string(encoding), string(types.EncodingTypeUrl)) {
		return key, nil
	}
	decoded, err := url.QueryUnescape(key)
	if err != nil {
		return "", fmt.Errorf("the listing has an invalid encoded key: %w", err)
	}
	return decoded, nil
}

// obstacle returns the reason why an object cannot be read. Listings do not show whether an object of
// INTELLIGENT_TIERING is archived; opening it fails then.
func (l *listing) obstacle(o types.Object, key string) sources.Obstacle {
	switch {
	case *o.Size == 0 && (strings.HasSuffix(key, "/") || strings.HasSuffix(key, "_$folder$")):
		return sources.FolderMarker
	case o.StorageClass != types.ObjectStorageClassGlacier && o.StorageClass != types.ObjectStorageClassDeepArchive:
		return ""
	case isRestored(o.RestoreStatus, l.now):
		return ""
	}
	return sources.Archived
}

// isRestored reports whether an archived object has a readable copy.
func isRestored(r *types.RestoreStatus, now time.Time) bool {
	return r != nil && !aws.ToBool(r.IsRestoreInProgress) && r.RestoreExpiryDate != nil && now.Before(*r.RestoreExpiryDate)
}

// versionTag returns an ETag without its quotes, which some services omit in listings.
func versionTag(etag *string) string { return strings.Trim(aws.ToString(etag), `"`) }

// modified returns the time of an object, or zero outside the range of state databases, which count
// nanoseconds from 1678 to 2262.
func modified(t *time.Time) time.Time {
	if t == nil || t.Year() < 1678 || t.Year() >= 2262 {
		return time.Time{}
	}
	return t.UTC()
}

// A disorderError means that a listing is out of order or repeats keys, so it may be incomplete.
type disorderError struct{ key, last string }

func (e *disorderError) Error() string {
	if e.key == e.last {
		return fmt.Sprintf("the listing has the key %q twice", e.key)
	}
	return fmt.Sprintf("the listing has the key %q after %q", e.key, e.last)
}
