package paging

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"assetferry/internal/outbound"
)

// A shelf lists its items by limit and offset.
type shelf struct {
	ids     []string
	most    int  // maximum page size; 0: none
	noTotal bool // its pages have no total
}

func (s *shelf) page(limit, offset int) (got Page[string], err error) {
	if s.most > 0 {
		limit = min(limit, s.most)
	}
	items := append([]string{}, s.ids[min(offset, len(s.ids)):min(offset+limit, len(s.ids))]...)
	answer := map[string]any{"items": items, "offset": offset, "limit": limit, "totalCount": len(s.ids)}
	if s.noTotal {
		delete(answer, "totalCount")
	}
	data, err := json.Marshal(answer)
	if err != nil {
		return got, err
	}
	err = got.Decode(outbound.NewMeter(strings.NewReader(string(data)), outbound.Typed), nil)
	return got, err
}

// The test verifies that for any paging of a service and any removals meanwhile, the list contains
// all remaining items and ends. With overlapping pages, this holds also if items are added.
func TestListProperty(t *testing.T) {
	for _, overlap := range []bool{false, true} {
		t.Run(fmt.Sprint(overlap), func(t *testing.T) { rapid.Check(t, func(t *rapid.T) { listWhileItChanges(t, overlap) }) })
	}
}

func listWhileItChanges(t *rapid.T, overlap bool) {
	s := &shelf{most: rapid.IntRange(0, 8).Draw(t, "most")}
	for i := range rapid.IntRange(0, 60).Draw(t, "n") {
		s.ids = append(s.ids, fmt.Sprintf("%04d", i))
	}
	limit := rapid.IntRange(1, 12).Draw(t, "limit")
	removals := rapid.SliceOfN(rapid.IntRange(0, 59), 0, 12).Draw(t, "removals")
	var additions []int
	if overlap && limit > 1 && s.most != 1 { // a page of one item cannot overlap
		additions = rapid.SliceOfN(rapid.IntRange(0, 2), 0, 12).Draw(t, "additions")
		s.noTotal = rapid.Bool().Draw(t, "without total")
	}
	requests := 0
	p := Pager[string]{Limit: limit, ID: func(id string) string { return id }, Overlap: overlap}
	p.Fetch = func(_ context.Context, limit, offset int) (Page[string], error) {
		if requests++; requests > 1000 {
			t.Fatal("no end")
		}
		if requests > 1 && len(removals) > 0 && len(s.ids) > 0 {
			i := removals[0] % len(s.ids)
			removals = removals[1:]
			s.ids = slices.Delete(slices.Clone(s.ids), i, i+1)
		}
		if requests > 1 && len(additions) > 0 {
			for i := range additions[0] {
				s.ids = append(s.ids, fmt.Sprintf("new %d %d", requests, i))
			}
			additions = additions[1:]
		}
		return s.page(limit, offset)
	}
	var got []string
	for id, err := range p.Items(context.Background()) {
		if err != nil {
			return // the error reports that the list is incomplete
		}
		got = append(got, id)
	}
	for _, id := range s.ids {
		if !slices.Contains(got, id) && !strings.HasPrefix(id, "new") {
			t.Fatalf("%s is missing of %v", id, got)
		}
	}
}
