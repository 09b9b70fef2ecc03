package assettest

import (
	"crypto/rand"
	"slices"
	"strings"
	"testing"
	"time"

	"assetferry/internal/assets"
)

func searchLaws() []law {
	return []law{
		{guess("search for words"), testSearch},
		{"search with filters", testSearchFilters},
		{guess("search by time"), testSearchTimes},
	}
}

func (s *scratch) find(t *testing.T, search assets.Search) []string {
	t.Helper()
	var ids []string
	for a, err := range s.Search(t.Context(), search) {
		if err != nil {
			t.Fatal(err)
		}
		ids = append(ids, a.ID)
	}
	return ids
}

// The rules for matching phrases are a guess: each word matches anywhere, in any case.
func testSearch(t *testing.T, s *scratch) {
	key := rand.Text() // unique, so that no other asset matches
	name := s.upload(t, "Größe "+key+".txt")
	tag, description, attribute := s.upload(t, "a.txt"), s.upload(t, "b.txt"), s.upload(t, "c.txt")
	for id, changes := range map[string]assets.Changes{
		tag.ID:         {Tags: &[]string{"x", key + "größe"}},
		description.ID: {Description: new("die größe von " + key)},
		attribute.ID:   {CustomAttributes: map[string]any{"k": "Größe " + key}},
	} {
		if _, err := s.Update(t.Context(), id, changes); err != nil {
			t.Fatal(err)
		}
	}
	want := sorted([]string{name.ID, tag.ID, description.ID, attribute.ID})
	for _, phrase := range []string{key, strings.ToLower(key), "GRÖSSE " + key, key + " gro\u0308ße"} {
		for _, size := range []int{0, 1, 3} {
			if got := sorted(s.find(t, assets.Search{Phrase: phrase, PageSize: size})); !slices.Equal(got, want) {
				t.Errorf("%q in pages of %d: got %v, want %v", phrase, size, got, want)
			}
		}
	}
	if got := s.find(t, assets.Search{Phrase: key + " elsewhere"}); len(got) != 0 {
		t.Errorf("phrase with an unknown word: got %v", got)
	}
	if err := s.Trash(t.Context(), name.ID); err != nil {
		t.Fatal(err)
	}
	if got := s.find(t, assets.Search{Phrase: key}); len(got) != 3 || slices.Contains(got, name.ID) {
		t.Errorf("after trashing an asset: got %v", got)
	}
}

func testSearchFilters(t *testing.T, s *scratch) {
	a, b := s.upload(t, "a.txt"), s.uploadTo(t, assets.Upload{CategoryID: s.category, Filename: "b.png"}, picture(t, 2, 2))
	if _, err := s.Update(t.Context(), a.ID, assets.Changes{Tags: &[]string{"red"}}); err != nil {
		t.Fatal(err)
	}
	s.checkFound(t, map[string]found{
		"category":  {assets.Search{}, []string{a.ID, b.ID}},
		"extension": {assets.Search{Extensions: []string{"png"}}, []string{b.ID}},
		"tag":       {assets.Search{Tags: []string{"red", "blue"}}, []string{a.ID}},
		"other tag": {assets.Search{Tags: []string{"blue"}}, nil},
	})
}

// The format of times is not documented.
func testSearchTimes(t *testing.T, s *scratch) {
	a := s.upload(t, "a.txt")
	b := s.upload(t, "b.txt")
	s.checkFound(t, map[string]found{
		"uploaded since": {assets.Search{UploadedFrom: a.UploadedAt.Add(-time.Hour)}, []string{a.ID, b.ID}},
		"uploaded until": {assets.Search{UploadedUntil: a.UploadedAt.Add(-time.Hour)}, nil},
		"modified since": {assets.Search{ModifiedFrom: a.UploadedAt.Add(time.Hour)}, nil},
		"modified until": {assets.Search{ModifiedUntil: a.UploadedAt.Add(time.Hour)}, []string{a.ID, b.ID}},
	})
}

// A found is a search with its expected result in the category of the law.
type found struct {
	search assets.Search
	want   []string
}

func (s *scratch) checkFound(t *testing.T, searches map[string]found) {
	t.Helper()
	for what, tt := range searches {
		tt.search.Categories, tt.search.SortBy, tt.search.Order = []string{s.category}, assets.ByName, assets.Ascending
		if got := s.find(t, tt.search); !slices.Equal(got, tt.want) {
			t.Errorf("%s: got %v, want %v", what, got, tt.want)
		}
	}
}
