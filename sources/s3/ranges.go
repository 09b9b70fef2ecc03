package s3

import (
	"cmp"
	"context"
	"strings"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/s3"
)

// A listing is a chain of requests, since each page has the token of the next one. If pages are
// slow, the names that are left are split into ranges, and several ranges are listed at a time. A
// range begins and ends at a folder, but all names between the ends belong to it, whatever the
// folders are. So wrong ends cost time, but no objects.
//
// The first name after a range must be the first name of the next one. Otherwise names may be
// missing between them: the service does not sort names by bytes, or does not know StartAfter. The
// chain of the range before goes on then, without ranges. So in the order of the service, no name is
// missing, and it is noticed if that is another order.

const (
	// slowPage is the wait for a page that shows that the service is slower than the consumer of the
	// objects. On a busy machine, both are slow.
	slowPage = 10 * time.Millisecond
	// slowPages is the number of slow pages in a row before a listing is split.
	slowPages = 3
	// lanes is the maximum number of ranges that are listed at a time.
	lanes = 4
	// rangePages is the number of pages that a range should have, and how many are requested ahead.
	// A range costs at most one more page: its last one has names of the next range, too.
	rangePages = 3
	// folderObjects is the number of objects per folder for which folders are worth a request.
	folderObjects = 10
)

// A split decides when to split a listing, and where. It judges by the last of some slow pages in a
// row, twice as many after each attempt in vain.
type split struct {
	pages   int      // slow pages in a row
	objects int      // on the last of them
	folders []string // of these, in order
	vain    int      // attempts without a result, at most mostVain
	never   bool

	found chan folders // nil before they are requested
	base  string       // the folder in which they are
	each  int          // the number of them for a range
}

// mostVain bounds the pages between two attempts: 96.
const mostVain = 5

// again begins to count again, after an attempt without a result.
func (s *split) again() { *s = split{vain: min(s.vain+1, mostVain)} }

// folders are the first folders after a name, in order.
type folders struct {
	names []string
	more  bool // there are more
}

// ranges returns ranges of the names that are left, after those that the listing reads meanwhile.
// It returns nil if there is no reason to split them, or no answer yet. It uses a page whose
// objects were read.
func (s *split) ranges(ctx context.Context, l *listing, a result) []*chain {
	switch {
	case s.never:
	case s.found != nil:
		select {
		case f := <-s.found:
			ranges := s.cut(l, f)
			if s.again(); len(ranges) > 0 {
				*s = split{}
			}
			return ranges
		default:
		}
	case a.wait < slowPage:
		*s = split{vain: s.vain}
	default:
		s.count(a)
		switch {
		case s.pages < slowPages<<s.vain:
		case s.isWorthIt(len(a.page.Contents)):
			s.request(ctx, l)
		default:
			s.again()
		}
	}
	return nil
}

// count counts a slow page, and its folders if it is one of the last before an attempt.
func (s *split) count(a result) {
	if s.pages++; s.pages <= slowPages<<s.vain-slowPages {
		return
	}
	s.objects += len(a.page.Contents)
	for _, o := range a.page.Contents {
		name, _ := decodeKey(aws.ToString(o.Key), a.page.EncodingType) // which was read already
		folder := name[:strings.LastIndexByte(name, '/')+1]
		if len(s.folders) == 0 || s.folders[len(s.folders)-1] != folder {
			s.folders = append(s.folders, folder)
		}
	}
}

// isWorthIt reports whether to request the folders that follow. It sets base and each.
func (s *split) isWorthIt(pageSize int) bool {
	if len(s.folders) < 2 {
		return false
	}
	s.base = commonFolder(s.folders[0], s.folders[len(s.folders)-1])
	inBase, last := 0, ""
	for _, f := range s.folders {
		child, _, _ := strings.Cut(f[len(s.base):], "/")
		if inBase == 0 || child != last {
			inBase++
		}
		last = child
	}
	s.each = max(1, rangePages*pageSize*inBase/s.objects)
	return s.objects >= folderObjects*inBase
}

// commonFolder returns the folder that contains two names, "" for the root.
func commonFolder(a, b string) string {
	n := 0
	for n < min(len(a), len(b)) && a[n] == b[n] {
		n++
	}
	return a[:strings.LastIndexByte(a[:n], '/')+1]
}

// request requests the folders after the last name, while the listing goes on.
func (s *split) request(ctx context.Context, l *listing) {
	in := &s3.ListObjectsV2Input{Prefix: &s.base, StartAfter: aws.String(l.last), Delimiter: aws.String("/")}
	found := make(chan folders, 1)
	s.found = found
	l.asking.Go(func() {
		page, err := l.page(ctx, in)
		if err != nil { // the listing can do without
			page = &s3.ListObjectsV2Output{}
		}
		f := folders{more: aws.ToBool(page.IsTruncated)}
		for _, p := range page.CommonPrefixes {
			if name, err := decodeKey(aws.ToString(p.Prefix), page.EncodingType); err == nil {
				f.names = append(f.names, name)
			}
		}
		found <- f
	})
}

// cut returns ranges that begin with folders. The first one begins half a range after the last name,
// because the pages before it are requested one after the other. The last one ends with the base, or
// with the folders that are known.
func (s *split) cut(l *listing, f folders) (ranges []*chain) {
	last, seen := l.last, 0
	for _, name := range f.names {
		if name <= last || !strings.HasPrefix(name, s.base) {
			continue // it is being read
		}
		last = name
		if seen++; seen%s.each != s.each/2 {
			continue
		}
		if len(ranges) > 0 {
			ranges[len(ranges)-1].until = name
		}
		ranges = append(ranges, &chain{listing: l, after: name})
	}
	switch base, nested := strings.CutSuffix(s.base, "/"); {
	case len(ranges) == 0:
	case f.more && len(ranges) > 1:
		ranges = ranges[:len(ranges)-1]
	case nested:
		ranges[len(ranges)-1].until = base + string('/'+1) // no name in the base is greater
	}
	return ranges
}

// parallel lists ranges, several at a time, and yields their objects in order. It goes on from a
// reading that stopped before the first of them. It returns the last reading, which serial can go on
// with; nil at the end of the listing.
func (l *listing) parallel(ctx context.Context, r *reading, ranges []*chain) (*reading, error) {
	for n, c := range ranges {
		want, err := r.next()
		if want == "" || err != nil {
			return nil, err
		}
		l.ahead(ctx, ranges[n:min(n+lanes, len(ranges))])
		of := &reading{chain: c, until: c.until}
		adjoins, err := of.readRange(ctx, want)
		if err != nil {
			return nil, err
		}
		if !adjoins {
			l.split.never = true
			return r, nil
		}
		r = of
	}
	if next, err := r.next(); next == "" || err != nil {
		return nil, err
	}
	return r, nil
}

// ahead requests the pages of chains in the background.
func (l *listing) ahead(ctx context.Context, chains []*chain) {
	for _, c := range chains {
		if c.results == nil {
			c.results = make(chan result, rangePages)
			l.asking.Go(func() { c.requestAll(ctx) })
		}
	}
}

// requestAll requests all pages of a range.
func (c *chain) requestAll(ctx context.Context) {
	for more := true; more; {
		a := c.request(ctx)
		more = a.goesOn && !c.ends(a.page)
		select {
		case c.results <- a:
		case <-ctx.Done():
			return
		}
	}
}

// ends reports whether the last name of a page is after the range.
func (c *chain) ends(page *s3.ListObjectsV2Output) bool {
	return c.until != "" && lastName(page) > c.until
}

// lastName returns the last name of a page. It is empty without one, or if the key is invalid, which
// is reported with the object.
func lastName(page *s3.ListObjectsV2Output) string {
	if len(page.Contents) == 0 {
		return ""
	}
	name, _ := decodeKey(aws.ToString(page.Contents[len(page.Contents)-1].Key), page.EncodingType)
	return name
}

// readRange yields the objects of a range. If the range does not begin with the wanted name, it
// reports that it does not adjoin, and yields nothing.
func (r *reading) readRange(ctx context.Context, want string) (adjoins bool, err error) {
	for {
		select {
		case r.result = <-r.results:
			r.objects = 0
		case <-ctx.Done():
			return false, context.Cause(ctx)
		}
		if !adjoins && r.result.err == nil {
			first, err := r.next()
			if first != want && (first != "" || !r.result.goesOn) {
				return false, err
			}
			adjoins = first == want
		}
		passed, err := r.read(ctx, func() {})
		if passed && !r.ends(r.result.page) { // so requestAll goes on
			after, err := r.next()
			return adjoins, cmp.Or[error](err, &disorderError{lastName(r.result.page), after})
		}
		if passed || err != nil || !r.result.goesOn {
			return adjoins, cmp.Or(err, r.result.broken)
		}
	}
}
