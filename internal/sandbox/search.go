package sandbox

import (
	"fmt"
	"net/http"
	"slices"
	"strings"

	"assetferry/internal/sandbox/naming"
	"assetferry/internal/sandbox/problem"
	"assetferry/internal/sandbox/records"
	"assetferry/internal/sandbox/store"
)

// The most that a search looks for; guesses.
const (
	maxPhrase = 1024 // bytes
	maxWords  = 16
)

// A searchBody is what clients send. That equal rules hold with aiSearch, for
// want of a semantic model, and the form of the times are guesses.
type searchBody struct {
	SearchPhrase string
	AISearch     bool
	Filters      struct {
		Categories, Extensions, Tags *struct{ In []string }
		UploadedAt, LastModifiedAt   records.Period
	}
	Pagination struct {
		Limit, Offset *int
		SortBy, Order string
	}
}

// search lists the assets of the workspace in which every word of a phrase
// occurs: in the name with its extension, a tag, the description or a text among
// the custom attributes. The trash is left out, and so is what may not be seen.
// The rules of matching are guesses.
func (s *Server) search(c *call) error {
	ws, r, err := c.here()
	if err != nil {
		return err
	}
	var in searchBody
	if err := c.json(&in); err != nil {
		return err
	}
	limit, offset, err := in.page(s.options.Profile)
	if err != nil {
		return err
	}
	order, err := in.order()
	if err != nil {
		return err
	}
	words := in.words()
	if err := checkPhrase(in.SearchPhrase, words); err != nil {
		return err
	}
	if err := records.FoldAssets(s.store); err != nil {
		return fmt.Errorf("prepare search in %s: %w", ws, err)
	}
	return s.replyAssets(c, limit, offset, func(ses *store.Session) ([]records.Asset, int, error) {
		visible, err := records.CategoryIDs(ses, r, ws)
		if err != nil {
			return nil, 0, err
		}
		if f := in.Filters.Categories; f != nil {
			visible = slices.DeleteFunc(visible, func(id string) bool { return !slices.Contains(f.In, id) })
		}
		p, cs := s.options.Profile, in.conditions(visible, words)
		if err := p.withinDates(&cs, in.Filters.UploadedAt, in.Filters.LastModifiedAt); err != nil {
			return nil, 0, err
		}
		if until := s.listedUntil(); !until.IsZero() {
			cs.Add("uploaded_at <= ?", store.Millis(until))
		}
		return records.SelectMatches(ses, cs, p.assetOrder(order), limit, offset)
	})
}

func checkPhrase(phrase string, words []string) error {
	if len(phrase) > maxPhrase || len(words) > maxWords {
		return problem.Refuse(http.StatusBadRequest, "searchPhrase has more than %d words or %d bytes.", maxWords, maxPhrase)
	}
	return nil
}

func (in *searchBody) words() []string { return strings.Fields(records.FoldText(in.SearchPhrase)) }

// page is that of lists of assets.
func (in *searchBody) page(p Profile) (limit, offset int, err error) {
	limit, largest, accepted := p.page("/assets")
	if in.Pagination.Limit != nil {
		limit = *in.Pagination.Limit
	}
	if in.Pagination.Offset != nil {
		offset = *in.Pagination.Offset
	}
	if limit < 1 || limit > accepted || offset < 0 {
		return 0, 0, problem.Refuse(http.StatusBadRequest, "pagination.limit must be from 1 to %d, and pagination.offset not negative.", accepted)
	}
	return min(limit, largest), offset, nil
}

// order is that of listings, but the newest come first: a guess.
func (in *searchBody) order() (string, error) {
	by, order := in.Pagination.SortBy, in.Pagination.Order
	if by == "" && order == "" {
		order = "desc"
	}
	return orderBy(by, order, assetFields())
}

// conditions are SQL of ours with the values for it, without those of the dates.
func (in *searchBody) conditions(visible, words []string) records.Conditions {
	var cs records.Conditions
	cs.Add("category_id IN (SELECT value FROM json_each(?))", records.JsonArray(visible))
	if f := in.Filters.Extensions; f != nil {
		folded := make([]string, len(f.In))
		for i, e := range f.In {
			folded[i] = naming.Fold(e)
		}
		cs.Add("folded IN (SELECT value FROM json_each(?))", records.JsonArray(folded))
	}
	if f := in.Filters.Tags; f != nil {
		cs.Add("EXISTS (SELECT 1 FROM json_each(tags) WHERE value IN (SELECT value FROM json_each(?)))", records.JsonArray(f.In))
	}
	for _, w := range words {
		cs.Add("instr(searchable, ?) > 0", w)
	}
	return cs
}
