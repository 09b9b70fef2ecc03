package assets

import (
	"cmp"
	"context"
	"iter"
	"maps"
	"net/http"
	"strconv"
	"time"

	"assetferry/internal/assets/paging"
)

// A Search selects assets of the workspace. Empty fields are no conditions.
type Search struct {
	Phrase string
	// AI requests a search by meaning, if the service supports it.
	AI bool

	Categories, Extensions, Tags []string // any of these

	// Both ends are inclusive. The format of the times is a guess.
	UploadedFrom, UploadedUntil time.Time
	ModifiedFrom, ModifiedUntil time.Time

	SortBy   string // as in ListOptions; empty: default of the service
	Order    string
	PageSize int // as in ListOptions
}

// searchRoute accepts POST requests that change nothing.
const searchRoute = "/search"

// Search yields the matching assets. At most one error is yielded, as the last item. An asset may
// be yielded twice if many are added meanwhile.
func (c *Client) Search(ctx context.Context, s Search) iter.Seq2[Asset, error] {
	r := request{
		op: "search", subject: strconv.Quote(s.Phrase),
		method: http.MethodPost, route: searchRoute,
		query: c.inWorkspace(),
	}
	body := s.body()
	return pages(ctx, c, r, paging.Pager[Asset]{Limit: cmp.Or(s.PageSize, defaultPageSize), ID: func(a Asset) string { return a.ID }},
		func(r *request, limit, offset int) {
			pagination := s.order()
			pagination["limit"], pagination["offset"] = limit, offset
			body := maps.Clone(body)
			body["pagination"] = pagination
			r.body = jsonPayload(body)
		})
}

func (s Search) body() map[string]any {
	filters := map[string]any{}
	for key, in := range map[string][]string{"categories": s.Categories, "extensions": s.Extensions, "tags": s.Tags} {
		if len(in) > 0 {
			filters[key] = map[string][]string{"in": in}
		}
	}
	for key, of := range map[string][2]time.Time{
		"uploadedAt":     {s.UploadedFrom, s.UploadedUntil},
		"lastModifiedAt": {s.ModifiedFrom, s.ModifiedUntil},
	} {
		period := map[string]string{}
		for i, end := range []string{"gte", "lte"} {
			if !of[i].IsZero() {
				period[end] = of[i].UTC().Format("2006-01-02T15:04:05.000Z")
			}
		}
		if len(period) > 0 {
			filters[key] = period
		}
	}
	return map[string]any{"searchPhrase": s.Phrase, "aiSearch": s.AI, "filters": filters}
}

func (s Search) order() map[string]any {
	order := map[string]any{}
	if s.SortBy != "" {
		order["sortBy"] = s.SortBy
	}
	if s.Order != "" {
		order["order"] = s.Order
	}
	return order
}
