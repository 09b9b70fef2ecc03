package ckbox

import (
	"context"

	"assetferry/sources"
)

// Structure implements sources.Structured.
func (s *Source) Structure(ctx context.Context) ([]sources.Category, error) {
	found, err := s.categories(ctx)
	if err != nil {
		return nil, s.fail(ctx, "list categories of", "", err)
	}
	all := make([]sources.Category, 0, len(found))
	for _, e := range found {
		c, _ := s.places.category(e.ID())
		all = append(all, sources.Category{Segment: e.Name(), Name: c.Name, Private: c.Private, Extensions: c.Extensions})
	}
	return all, nil
}

// categories returns the categories in the order of the keys in them, and updates the cache.
func (s *Source) categories(ctx context.Context) ([]entry, error) {
	var found []entry
	for c, err := range s.service.Categories(ctx) {
		if err != nil {
			return nil, err
		}
		s.places.addCategory(c)
		found = append(found, newEntry(c.Name, c.ID))
	}
	return inKeyOrder(distinct(found, suffixedFolder)), nil
}
