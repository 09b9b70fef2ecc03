package sandbox

import (
	"fmt"
	"net/http"
	"slices"

	"assetferry/internal/sandbox/problem"
	"assetferry/internal/sandbox/profile"
	"assetferry/internal/sandbox/records"
	"assetferry/internal/sandbox/store"
)

// search lists the assets of the workspace that contain every word of a phrase: in the name with
// its extension, a tag, the description or a text in the custom attributes. It omits the trash and
// inaccessible assets. The rules of matching are guesses.
func (s *Server) search(c *call) error {
	ws, r, err := c.here()
	if err != nil {
		return err
	}
	var in records.SearchBody
	if err := c.json(&in); err != nil {
		return err
	}
	limit, offset, err := searchPage(in, s.options.Profile)
	if err != nil {
		return err
	}
	order, err := in.Order()
	if err != nil {
		return err
	}
	words := in.Words()
	if err := records.CheckPhrase(in.SearchPhrase, words); err != nil {
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
		p, cs := s.options.Profile, in.Conditions(visible, words)
		if err := p.WithinDates(&cs, in.Filters.UploadedAt, in.Filters.LastModifiedAt); err != nil {
			return nil, 0, err
		}
		if until := s.listedUntil(); !until.IsZero() {
			cs.Add("uploaded_at <= ?", store.Millis(until))
		}
		return records.SelectMatches(ses, cs, p.AssetOrder(order), limit, offset)
	})
}

// searchPage returns limit and offset, with the rules of asset lists.
func searchPage(in records.SearchBody, p profile.Profile) (limit, offset int, err error) {
	limit, largest, accepted := p.Page("/assets")
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
