package s3

import (
	"bytes"
	"context"
	"encoding/xml"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/s3"
	"github.com/aws/aws-sdk-go-v2/service/s3/types"

	"assetferry/sources"
)

// A slowBucket lists names in pages, each after a delay.
type slowBucket struct {
	pageSize     int
	compare      func(a, b string) int // the order of names
	ignoresStart bool
	withoutTree  bool // refuses delimiters
	changes      func(*slowBucket)

	mu    sync.Mutex
	names []string // in its order
	asked int
}

const slowAnswer = 100 * time.Millisecond

func newSlowBucket(pageSize int, names ...string) *slowBucket {
	b := &slowBucket{pageSize: pageSize, names: names, compare: strings.Compare}
	slices.Sort(b.names)
	return b
}

func (b *slowBucket) answer(r *http.Request) *http.Response {
	time.Sleep(slowAnswer)
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.asked++; b.changes != nil {
		b.changes(b)
	}
	q := r.URL.Query()
	if b.withoutTree && q.Has("delimiter") {
		return answer(http.StatusForbidden, io.NopCloser(strings.NewReader("<Error><Code>AccessDenied</Code></Error>")))
	}
	from := q.Get("start-after")
	if b.ignoresStart {
		from = ""
	}
	if token := q.Get("continuation-token"); token != "" {
		from, _ = strings.CutPrefix(token, "after:")
	}
	return answer(http.StatusOK, io.NopCloser(bytes.NewReader(b.page(from, q))), "Content-Type", "application/xml")
}

// page returns the names after a name.
func (b *slowBucket) page(from string, q url.Values) []byte {
	var text bytes.Buffer
	count, last, folder := 0, from, ""
	for _, name := range b.names {
		if !strings.HasPrefix(name, q.Get("prefix")) || from != "" && b.compare(name, from) <= 0 {
			continue
		}
		rest := name[len(q.Get("prefix")):]
		if f, _, below := strings.Cut(rest, "/"); below && q.Has("delimiter") {
			if f = q.Get("prefix") + f + "/"; f == folder {
				last = name
				continue
			}
			if count == b.pageSize {
				count++
				break
			}
			folder = f
			fmt.Fprintf(&text, "<CommonPrefixes><Prefix>%s</Prefix></CommonPrefixes>", url.QueryEscape(f))
		} else {
			if count == b.pageSize {
				count++
				break
			}
			fmt.Fprintf(&text, "<Contents><Key>%s</Key><Size>1</Size><LastModified>2026-01-02T03:04:05.000Z</LastModified></Contents>", url.QueryEscape(name))
		}
		count, last = count+1, name
	}
	if count > b.pageSize {
		text.WriteString("<NextContinuationToken>")
		_ = xml.EscapeText(&text, []byte("after:"+last))
		text.WriteString("</NextContinuationToken>")
	}
	return fmt.Appendf(nil, "<ListBucketResult><EncodingType>url</EncodingType><IsTruncated>%t</IsTruncated>%s</ListBucketResult>", count > b.pageSize, text.String())
}

// list lists the bucket, and returns how long that took.
func (b *slowBucket) list(t *testing.T, prefix string) (keys []string, took time.Duration, err error) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		src := sourceOf(b.answer)
		src.url.Prefix = prefix
		began := time.Now()
		for o, e := range src.Objects(t.Context(), "") {
			if err = e; e == nil {
				keys = append(keys, string(o.Key))
			}
		}
		took = time.Since(began)
	})
	return keys, took, err
}

// tree returns the names of objects in folders.
func tree(format string, folders, objects int) (names []string) {
	for f := range folders {
		for o := range objects {
			names = append(names, fmt.Sprintf(format, f, o))
		}
	}
	return names
}

// TestSlowListings verifies that slow listings are complete and in order, and which of them take
// less time.
func TestSlowListings(t *testing.T) {
	for name, test := range map[string]struct {
		names  []string
		prefix string
		saves  bool
	}{
		"folders":            {tree("%03d/%03d", 100, 20), "", true},
		"folders in one":     {tree("all/%03d/%03d", 100, 20), "", true},
		"below a prefix":     {append(tree("p/all/%03d/%03d", 100, 20), tree("q/%03d/%03d", 50, 20)...), "p/", true},
		"two levels":         {append(tree("a/%03d/%03d", 50, 20), tree("b/%03d/%03d", 50, 20)...), "", true},
		"large folders":      {tree("%03d/%04d", 10, 200), "", false},
		"more than a page":   {tree("%03d/%02d", 300, 15), "", true},
		"odd names":          {tree("a b+%%é/%03d~/&%03d<", 100, 20), "", true},
		"markers":            {append(tree("%03d/%03d", 100, 20), tree("%03d/%.0d", 100, 1)...), "", true},
		"no folders":         {tree("%03d-%03d", 100, 20), "", false},
		"one folder":         {tree("all/%03d-%03d", 100, 20), "", false},
		"few in each":        {tree("%04d/%d", 500, 2), "", false},
		"three pages":        {tree("%03d/%03d", 2, 15), "", false},
		"a folder, and more": {append(tree("a/%03d-%03d", 10, 20), tree("b/%03d/%03d", 100, 20)...), "", true},
	} {
		t.Run(name, func(t *testing.T) {
			b := newSlowBucket(10, test.names...)
			keys, took, err := b.list(t, test.prefix)
			var want []string
			for _, name := range b.names {
				if key, ok := strings.CutPrefix(name, test.prefix); ok && key != "" {
					want = append(want, key)
				}
			}
			if err != nil || !slices.Equal(keys, want) {
				t.Fatalf("%d of %d keys, and %v", len(keys), len(want), err)
			}
			serial := (len(want) + 9) / 10
			limit := time.Duration(serial) * slowAnswer
			if test.saves {
				limit = limit * 3 / 4
			}
			if took > limit || b.asked > serial*3/2+10 {
				t.Errorf("%d requests in %v; one after the other: %d in %v", b.asked, took, serial, time.Duration(serial)*slowAnswer)
			}
		})
	}
}

// TestSlowListingsOfOddServices verifies that no name is missing in the listing of a service that
// is not like S3. If its order is another one, the listing has an error.
func TestSlowListingsOfOddServices(t *testing.T) {
	mixed := append(tree("a%03d/%03d", 50, 20), tree("B%03d/%03d", 50, 20)...)
	for name, test := range map[string]struct {
		names    []string
		change   func(*slowBucket)
		disorder bool
	}{
		"ignores StartAfter": {tree("%03d/%03d", 100, 20), func(b *slowBucket) { b.ignoresStart = true }, false},
		"has no folders":     {tree("%03d/%03d", 100, 20), func(b *slowBucket) { b.withoutTree = true }, false},
		"ignores case":       {mixed, func(b *slowBucket) { b.compare = ignoringCase }, true},
	} {
		t.Run(name, func(t *testing.T) {
			b := newSlowBucket(10, test.names...)
			test.change(b)
			slices.SortFunc(b.names, b.compare)
			keys, _, err := b.list(t, "")
			_, disorder := errors.AsType[*disorderError](err)
			if disorder != test.disorder || !disorder && !slices.Equal(keys, b.names) {
				t.Errorf("%d of %d keys, and %v", len(keys), len(b.names), err)
			}
		})
	}
}

func ignoringCase(a, b string) int { return strings.Compare(strings.ToLower(a), strings.ToLower(b)) }

// TestOrderAcrossRanges verifies that another order is noticed wherever it shows: in a range, between
// two of them, or after the last one.
func TestOrderAcrossRanges(t *testing.T) {
	for folders := 1; folders < 70; folders += 7 {
		b := newSlowBucket(10, slices.Concat(tree("a%03d/%03d", folders, 20), tree("B%03d/%03d", 3, 20), tree("c%03d/%03d", 60, 20))...)
		b.compare = ignoringCase
		slices.SortFunc(b.names, b.compare)
		keys, _, err := b.list(t, "")
		if _, disorder := errors.AsType[*disorderError](err); !disorder {
			t.Errorf("%d folders: %d of %d keys, and %v", folders, len(keys), len(b.names), err)
		}
	}
}

// TestOrderWithinPages is TestOrderAcrossRanges for pages that are requested ahead while they are read.
func TestOrderWithinPages(t *testing.T) {
	for folders := 10; folders < 40; folders += 3 {
		b := newSlowBucket(200, slices.Concat(tree("a%03d/%03d", 150, 20), tree("b%03d/%03d", folders, 20), tree("B%03d/%03d", 5, 20), tree("c%03d/%03d", 50, 20))...)
		b.compare = ignoringCase
		slices.SortFunc(b.names, b.compare)
		_, _, err := b.list(t, "")
		if _, disorder := errors.AsType[*disorderError](err); !disorder {
			t.Errorf("%d folders: %v", folders, err)
		}
	}
}

// TestFewInEachFolder verifies that a listing that cannot be split takes little memory for the
// attempts.
func TestFewInEachFolder(t *testing.T) {
	var s split
	for p := range 1000 {
		page := &s3.ListObjectsV2Output{}
		for o := range 10 {
			page.Contents = append(page.Contents, types.Object{Key: aws.String(fmt.Sprintf("uploads/%06d/file", 10*p+o))})
		}
		if ranges := s.ranges(t.Context(), nil, result{page: page, wait: slowPage}); ranges != nil || s.found != nil || len(s.folders) > 10*slowPages {
			t.Fatalf("page %d: %d ranges, %d folders", p, len(ranges), len(s.folders))
		}
	}
}

// TestErrorInARange verifies that an error of a range is yielded after the objects before it.
func TestErrorInARange(t *testing.T) {
	b := newSlowBucket(10, tree("%03d/%03d", 100, 20)...)
	failing := func(r *http.Request) *http.Response {
		if strings.HasPrefix(r.URL.Query().Get("continuation-token"), "after:05") {
			time.Sleep(slowAnswer)
			return answer(http.StatusForbidden, io.NopCloser(strings.NewReader("<Error><Code>AccessDenied</Code></Error>")))
		}
		return b.answer(r)
	}
	synctest.Test(t, func(t *testing.T) {
		var keys []string
		var failure error
		for o, err := range sourceOf(failing).Objects(t.Context(), "") {
			if failure = err; err == nil {
				keys = append(keys, string(o.Key))
			}
		}
		if failure == nil || len(keys) < 900 || len(keys) > 1010 || !slices.Equal(keys, b.names[:len(keys)]) {
			t.Errorf("%d keys, and %v", len(keys), failure)
		}
	})
}

// TestEarlyEndOfRanges verifies that no request outlives a loop that ends early, nor a cancelled one,
// which ends with the cause.
func TestEarlyEndOfRanges(t *testing.T) {
	cause := errors.New("cancelled")
	for _, after := range []int{1, 95, 300, 1000, 1999} {
		for _, cancelled := range []bool{false, true} {
			synctest.Test(t, func(t *testing.T) {
				ctx, cancel := context.WithCancelCause(t.Context())
				defer cancel(nil)
				n, failure := 0, error(nil)
				for _, err := range sourceOf(newSlowBucket(10, tree("%03d/%03d", 100, 20)...).answer).Objects(ctx, "") {
					if failure = err; err != nil {
						continue
					}
					if n++; n == after && cancelled {
						cancel(cause)
					} else if n == after {
						break
					}
				}
				if n != after || cancelled != (failure == cause) {
					t.Errorf("%d objects, want %d; cancelled: %t; %v", n, after, cancelled, failure)
				}
			})
		}
	}
}

// TestResumedSlowListings verifies that a slow listing can begin after any key.
func TestResumedSlowListings(t *testing.T) {
	b := newSlowBucket(10, append(tree("p/all/%03d/%03d", 100, 20), tree("q/%03d/%03d", 50, 20)...)...)
	for _, ignoresStart := range []bool{false, true} {
		b.ignoresStart = ignoresStart
		for _, after := range []string{"all", "all/000/000", "all/017/", "all/050/010", "all/099/018", "all/099/019", "b"} {
			synctest.Test(t, func(t *testing.T) {
				src := sourceOf(b.answer)
				src.url.Prefix = "p/"
				var keys, want []string
				for o, err := range src.Objects(t.Context(), sources.Key(after)) {
					if err != nil {
						t.Fatal(err)
					}
					keys = append(keys, string(o.Key))
				}
				for _, name := range b.names {
					if key, ok := strings.CutPrefix(name, "p/"); ok && key > after {
						want = append(want, key)
					}
				}
				if !slices.Equal(keys, want) {
					t.Errorf("after %s, without StartAfter %t: %d keys, want %d", after, ignoresStart, len(keys), len(want))
				}
			})
		}
	}
}

// TestSlowListingsOfRandomNames verifies that a slow listing has all names that exist all the time,
// in order, or an error, whatever the names, the order of the service and the changes meanwhile are.
func TestSlowListingsOfRandomNames(t *testing.T) {
	for seed := range uint64(60) {
		random := rand.New(rand.NewPCG(seed, 1))
		b := newSlowBucket(1+random.IntN(30), randomNames(random)...)
		ignoresCase := seed%7 == 0
		if b.ignoresStart = seed%5 == 0; ignoresCase {
			b.compare = ignoringCase
			slices.SortStableFunc(b.names, b.compare)
		}
		stay := slices.Clone(b.names)
		b.changes = func(b *slowBucket) {
			if n := random.IntN(3 * (len(b.names) + 1)); n < len(b.names) {
				deleted := b.names[n]
				stay = slices.DeleteFunc(stay, func(name string) bool { return name == deleted })
				b.names = slices.Delete(slices.Clone(b.names), n, n+1)
			}
		}
		keys, _, err := b.list(t, "")
		if !slices.IsSorted(keys) || err != nil && !ignoresCase {
			t.Errorf("seed %d: sorted %t, and %v", seed, slices.IsSorted(keys), err)
		}
		for _, name := range stay {
			if _, found := slices.BinarySearch(keys, name); !found && err == nil {
				t.Errorf("seed %d: %q is missing", seed, name)
			}
		}
	}
}

// randomNames returns different names in folders of all depths.
func randomNames(random *rand.Rand) (names []string) {
	letters := "aAbB"
	folders := []string{""}
	for range random.IntN(40) {
		parent := folders[random.IntN(len(folders))]
		folders = append(folders, parent+string(letters[random.IntN(4)])+strconv.Itoa(random.IntN(30))+"/")
	}
	for _, folder := range folders {
		for n := range random.IntN(100) {
			names = append(names, folder+string(letters[random.IntN(4)])+strconv.Itoa(n))
		}
	}
	slices.Sort(names)
	return slices.Compact(names)
}
