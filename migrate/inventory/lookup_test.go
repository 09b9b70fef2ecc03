package inventory

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"assetferry/internal/assets"
	"assetferry/internal/retry"
	"assetferry/migrate"
	"assetferry/state"
)

// shelves is a destination whose folders list their assets in an order of their own.
type shelves struct {
	migrate.Reader
	mu       sync.Mutex
	folders  map[string][]string // IDs of assets by folder, in the order of the list
	most     int                 // maximum page size
	noTotal  bool
	requests int // of all kinds
	pages    int
	change   func() // called before each page
	fault    func(page int) error
	running  int
	peak     int
}

func (s *shelves) begin() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.requests++
	s.running++
	s.peak = max(s.peak, s.running)
}

func (s *shelves) end() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.running--
}

func (s *shelves) ListPage(_ context.Context, o assets.ListOptions, offset int, wanted func([]byte) bool) (p assets.ListPage, err error) {
	s.begin()
	defer s.end()
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.pages++; s.change != nil {
		s.change()
	}
	if s.fault != nil {
		if err := s.fault(s.pages); err != nil {
			return p, err
		}
	}
	ids, exists := s.folders[o.FolderID]
	if !exists {
		return p, fs.ErrNotExist
	}
	p.Total = len(ids)
	if s.noTotal {
		p.Total = -1
	}
	limit := min(o.PageSize, s.most)
	ids = ids[min(offset, len(ids)):min(offset+limit, len(ids))]
	for _, id := range ids {
		if wanted([]byte(id)) {
			p.Assets = append(p.Assets, assets.Asset{ID: id, FolderID: o.FolderID})
		}
	}
	p.Items, p.Full = len(ids), len(ids) == limit
	return p, nil
}

func (s *shelves) Asset(_ context.Context, id string) (assets.Asset, error) {
	s.begin()
	defer s.end()
	s.mu.Lock()
	defer s.mu.Unlock()
	for folder, ids := range s.folders {
		if slices.Contains(ids, id) {
			return assets.Asset{ID: id, FolderID: folder}, nil
		}
	}
	return assets.Asset{}, fs.ErrNotExist
}

// wantEachOnce verifies that EachStatus reports each receipt once, and as Ask does.
func (s *shelves) wantEachOnce(t interface{ Errorf(string, ...any) }, receipts []state.Receipt, atOnce int) {
	got := map[string][]AssetStatus{}
	err := EachStatus(context.Background(), s, receipts, atOnce, func(r state.Receipt, a AssetStatus) error {
		got[r.Asset] = append(got[r.Asset], a)
		return nil
	})
	if err != nil {
		t.Errorf("%v", err)
	}
	want := map[string][]AssetStatus{}
	s.change = nil
	for _, r := range receipts {
		status, err := Ask(context.Background(), s, r.Asset)
		if err != nil {
			t.Errorf("%v", err)
		}
		want[r.Asset] = []AssetStatus{status}
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	if s.peak > atOnce {
		t.Errorf("%d requests at once, want at most %d", s.peak, atOnce)
	}
}

func receiptsIn(folder string, ids ...string) (all []state.Receipt) {
	for _, id := range ids {
		all = append(all, state.Receipt{Asset: id, Category: "c", Folder: folder})
	}
	return all
}

func idsTo(prefix string, n int) (ids []string) {
	for i := range n {
		ids = append(ids, fmt.Sprintf("%s%06d", prefix, i))
	}
	return ids
}

// TestEachStatusEqualsRequests verifies, for listings in any order, with pages of any length, that
// shift because assets are added and removed while they are read, and whose pages may be refused,
// that each asset has the status that a request for it shows. Assets that are removed are not wanted.
func TestEachStatusEqualsRequests(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		s := &shelves{folders: map[string][]string{}, most: rapid.IntRange(1, 40).Draw(t, "page size"), noTotal: rapid.Bool().Draw(t, "without total")}
		var receipts []state.Receipt
		for n := range rapid.IntRange(1, 3).Draw(t, "folders") {
			folder := fmt.Sprintf("folder%d", n)
			ids := idsTo(folder+"-", rapid.IntRange(0, 300).Draw(t, "assets"))
			from := rapid.IntRange(0, len(ids)).Draw(t, "from")
			receipts = append(receipts, receiptsIn(folder, ids[from:rapid.IntRange(from, len(ids)).Draw(t, "to")]...)...)
			receipts = append(receipts, receiptsIn(folder, idsTo("deleted"+folder, rapid.IntRange(0, 4).Draw(t, "deleted"))...)...)
			listed := rapid.Permutation(ids).Draw(t, "order")
			if rapid.Bool().Draw(t, "ordered") {
				slices.Sort(listed)
			}
			s.folders[folder] = listed
		}
		receipts = append(receipts, receiptsIn("no such folder", idsTo("lost", rapid.IntRange(0, 5).Draw(t, "lost"))...)...)
		shifts := rapid.SliceOfN(rapid.IntRange(0, 3), 0, 20).Draw(t, "shifts")
		s.change = func() {
			if len(shifts) == 0 {
				return
			}
			for folder, ids := range s.folders {
				for n := range shifts[0] { // added at the beginning, which shifts the rest
					ids = append([]string{fmt.Sprintf("new%s%d-%d", folder, s.pages, n)}, ids...)
				}
				if shifts[0] == 0 { // and removed there
					for len(ids) > 0 && strings.HasPrefix(ids[0], "new") {
						ids = slices.Delete(slices.Clone(ids), 0, 1)
					}
				}
				s.folders[folder] = ids
			}
			shifts = shifts[1:]
		}
		if refused := rapid.IntRange(0, 20).Draw(t, "refused page"); refused > 0 {
			s.fault = func(page int) error {
				if page == refused {
					return refusal{errors.New("bad page")}
				}
				return nil
			}
		}
		s.wantEachOnce(t, receipts, rapid.IntRange(1, 8).Draw(t, "at once"))
	})
}

// TestEachStatusRequests pins how many requests find assets that are neighbours in a listing or far
// apart, few or many, and deleted ones.
func TestEachStatusRequests(t *testing.T) {
	const total = 100_000
	ids := idsTo("", total)
	reversed := slices.Clone(ids)
	slices.Reverse(reversed)
	scattered := make([]string, total)
	for n := range scattered {
		scattered[n] = ids[n*7919%total]
	}
	for _, tc := range []struct {
		name   string
		listed []string
		most   int
		wanted []string
		atMost int
	}{
		{"a thirtieth, in order", ids, 500, ids[40_000:43_334], 45},
		{"a thirtieth, in the opposite order", reversed, 500, ids[40_000:43_334], 45},
		{"a thirtieth, without order", scattered, 500, ids[40_000:43_334], 201},
		{"a thirtieth, in order, on short pages", ids, 50, ids[40_000:43_334], 240},
		{"a thirtieth, without order, on short pages", scattered, 50, ids[40_000:43_334], 2001},
		{"few, without order", scattered, 500, ids[:100], 101},
		{"two", ids, 500, ids[:2], 2},
		{"all", scattered, 500, ids, 200},
		{"a whole folder of one page", ids[:400], 500, ids[:400], 1},
		{"deleted ones among many", ids, 500, slices.Concat(ids[:3000], idsTo("deleted", 20)), 7 + 30 + 20 + 10},
		{"deleted ones only", ids[:400], 500, idsTo("deleted", 300), 301},
	} {
		t.Run(tc.name, func(t *testing.T) {
			s := &shelves{folders: map[string][]string{"f": tc.listed}, most: tc.most}
			n := 0
			err := EachStatus(t.Context(), s, receiptsIn("f", tc.wanted...), 16, func(state.Receipt, AssetStatus) error { n++; return nil })
			if err != nil || n != len(tc.wanted) {
				t.Errorf("got %d assets of %d, and %v", n, len(tc.wanted), err)
			}
			if s.requests > tc.atMost {
				t.Errorf("%d requests, want at most %d", s.requests, tc.atMost)
			}
			t.Log(s.requests)
		})
	}
}

// TestEachStatusFailsWithItsPage verifies that an error which is not permanent ends the search: no
// asset counts as deleted because a page could not be read.
func TestEachStatusFailsWithItsPage(t *testing.T) {
	ids := idsTo("", 5000)
	for failing := range 4 {
		outage := errors.New("outage")
		s := &shelves{folders: map[string][]string{"f": ids}, most: 500, fault: func(page int) error {
			if page == failing+1 {
				return outage
			}
			return nil
		}}
		err := EachStatus(t.Context(), s, receiptsIn("f", ids...), 1, func(_ state.Receipt, a AssetStatus) error {
			if !a.There {
				t.Errorf("reported as deleted: %+v", a)
			}
			return nil
		})
		if !errors.Is(err, outage) {
			t.Errorf("page %d: got %v, want the outage", failing, err)
		}
	}
	broken := errors.New("full disk")
	s := &shelves{folders: map[string][]string{"f": ids}, most: 500}
	if err := EachStatus(t.Context(), s, receiptsIn("f", ids...), 4, func(state.Receipt, AssetStatus) error { return refusal{broken} }); !errors.Is(err, broken) {
		t.Errorf("got %v, want the error of the caller", err)
	}
}

// A refusal is a permanent error.
type refusal struct{ error }

func (refusal) Class() retry.Class { return retry.Permanent }

func (r refusal) Unwrap() error { return r.error }
