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

// Objects implements sources.Source. It lists current versions, a thousand per page. A prefix without
// keys is missing.
func (s *Source) Objects(ctx context.Context, after sources.Key) iter.Seq2[sources.Object, error] {
	return sources.Sequence(ctx, func(yield func(sources.Object) error) error {
		l := &listing{source: s, now: time.Now(), yield: yield}
		if after != "" {
			l.after = s.url.Prefix + string(after)
		}
		return l.run(ctx)
	}, func(err error) error { return s.fail(ctx, "list", "", err) })
}

// A listing reads all pages once. If pages are slow, it reads several at a time; see ranges.go. Its
// names are keys with the prefix.
type listing struct {
	source *Source
	now    time.Time
	after  string // the name after which it begins; "" for the beginning
	yield  func(sources.Object) error
	asking sync.WaitGroup // of all requests

	last  string // the last name that was read
	split split
}

// A chain requests the pages of a range of names, one after the other. One goroutine at a time uses
// it.
type chain struct {
	*listing
	after string // the names of the range are after this one; "" for all
	until string // and not after this one; "" for all
	token string // of the next page
	empty int    // empty pages in a row

	results chan result // in the order of the pages; nil before they are requested
}

// A result is a page of a chain, or the error of its request.
type result struct {
	page   *s3.ListObjectsV2Output
	err    error
	goesOn bool          // the chain has more pages
	broken error         // why it has none although the page is not the last one
	wait   time.Duration // of the consumer, for the result
}

// request requests the next page.
func (c *chain) request(ctx context.Context) (a result) {
	in := &s3.ListObjectsV2Input{}
	switch {
	case c.token != "":
		in.ContinuationToken = &c.token
	case c.after != "":
		in.StartAfter = &c.after
	}
	if a.page, a.err = c.page(ctx, in); a.err != nil {
		return a
	}
	a.broken = c.follow(a.page)
	a.goesOn = a.broken == nil && c.token != ""
	return a
}

// follow records the token of the next page, or the end.
func (c *chain) follow(page *s3.ListObjectsV2Output) error {
	before := c.token
	c.token = ""
	if !*page.IsTruncated {
		return nil
	}
	if c.empty++; len(page.Contents) > 0 {
		c.empty = 0
	}
	next := aws.ToString(page.NextContinuationToken)
	switch {
	case next == "":
		return errors.New("a page of the listing is not the last one, but has no continuation token")
	case next == before || c.empty > emptyPages:
		return errors.New("the listing does not advance: a page has its own continuation token")
	}
	c.token = next
	return nil
}

// run lists all names, and waits for its requests.
func (l *listing) run(ctx context.Context) error {
	defer l.asking.Wait()
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	r := &reading{chain: &chain{listing: l, after: l.after}, result: beforeFirst}
	for r != nil {
		ranges, err := l.serial(ctx, r)
		if err != nil {
			return err
		}
		if r, err = l.parallel(ctx, r, ranges); err != nil {
			return err
		}
	}
	return l.end()
}

// A reading is the progress in a chain.
type reading struct {
	*chain
	until   string // as of the chain, or where it has to stop
	last    string // the last name
	result  result // the current page
	objects int    // how many of its objects were read
	asked   bool   // the next page is requested
}

// beforeFirst is read before the first page.
var beforeFirst = result{page: &s3.ListObjectsV2Output{}, goesOn: true}

// askAhead is the number of objects of a page after which the next page is requested, in parallel
// with the remaining objects. A consumer that stops early does not cause the request.
const askAhead = 100

// serial continues a reading to its end, one page after the other, at most one ahead of the
// objects. If pages are slow, it returns ranges instead, and stops where they begin.
func (l *listing) serial(ctx context.Context, r *reading) (ranges []*chain, err error) {
	if r.results == nil {
		r.results = make(chan result, 1)
	}
	ask := func() {
		if !r.asked {
			r.asked = true
			l.asking.Go(func() { r.results <- r.request(ctx) })
		}
	}
	r.until = ""
	for {
		passed, err := r.read(ctx, ask)
		if passed || err != nil || !r.result.goesOn {
			return ranges, cmp.Or(err, r.result.broken)
		}
		if ranges == nil {
			if ranges = l.split.ranges(ctx, l, r.result); ranges != nil {
				r.until = ranges[0].after
				l.ahead(ctx, ranges[:min(lanes-1, len(ranges))])
			}
		}
		began := time.Now()
		r.result, r.objects, r.asked = <-r.results, 0, false
		r.result.wait = time.Since(began)
	}
}

// read yields the objects of the page that were not read yet, and reports whether it stopped before
// a name after the range. It calls ask when it is time for the next page.
func (r *reading) read(ctx context.Context, ask func()) (passed bool, err error) {
	if r.result.err != nil {
		return false, r.result.err
	}
	for _, o := range r.result.page.Contents[r.objects:] {
		if passed, err := r.object(o, r.result.page.EncodingType); passed || err != nil {
			return passed, err
		}
		if r.objects++; r.result.goesOn && r.objects > askAhead {
			ask()
		}
	}
	if r.result.goesOn {
		ask()
	}
	return false, nil
}

// next returns the name before which a reading stopped; "" if it is at its end.
func (r *reading) next() (string, error) {
	if r.objects == len(r.result.page.Contents) {
		return "", nil
	}
	return decodeKey(aws.ToString(r.result.page.Contents[r.objects].Key), r.result.page.EncodingType)
}

// page requests one page of names.
func (l *listing) page(ctx context.Context, in *s3.ListObjectsV2Input) (*s3.ListObjectsV2Output, error) {
	s := l.source
	in.Bucket, in.RequestPayer, in.EncodingType = &s.url.Bucket, s.payer, types.EncodingTypeUrl
	in.OptionalObjectAttributes = []types.OptionalObjectAttributes{types.OptionalObjectAttributesRestoreStatus}
	if in.Prefix == nil && s.url.Prefix != "" {
		in.Prefix = &s.url.Prefix
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

// object yields an object of a page, or reports that it is after the range. Some services list names
// before the range, too: those that do not know StartAfter.
func (r *reading) object(o types.Object, encoding types.EncodingType) (passed bool, err error) {
	name, err := decodeKey(aws.ToString(o.Key), encoding)
	if err != nil {
		return false, err
	}
	key, ok := strings.CutPrefix(name, r.source.url.Prefix)
	switch {
	case !ok:
		return false, fmt.Errorf("the listing has the key %q without the prefix", name)
	case name <= r.last:
		return false, &disorderError{name, r.last}
	case o.Size == nil || *o.Size < 0:
		return false, fmt.Errorf("the listing has no size for the key %q", name)
	case r.until != "" && name > r.until:
		return true, nil
	case key == "" && *o.Size > 0:
		return false, fmt.Errorf("the prefix itself is an object of %d bytes, which has no key below the prefix", *o.Size)
	}
	r.last, r.listing.last = name, name
	if key == "" || name <= r.after { // the folder marker of the prefix
		return false, nil
	}
	return false, r.yield(sources.Object{
		Key: sources.Key(key), Size: *o.Size, Time: modified(o.LastModified), VersionTag: versionTag(o.ETag), Obstacle: r.obstacle(o, key),
	})
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
