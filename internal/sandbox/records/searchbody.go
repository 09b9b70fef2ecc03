package records

import (
	"net/http"
	"strings"

	"assetferry/internal/sandbox/naming"
	"assetferry/internal/sandbox/problem"
)

// The most that a search looks for; guesses.
const (
	maxPhrase = 1024 // bytes
	maxWords  = 16
)

// A SearchBody is what clients send. That equal rules hold with aiSearch, for
// want of a semantic model, and the form of the times are guesses.
type SearchBody struct {
	SearchPhrase string
	AISearch     bool
	Filters      struct {
		Categories, Extensions, Tags *struct{ In []string }
		UploadedAt, LastModifiedAt   Period
	}
	Pagination struct {
		Limit, Offset *int
		SortBy, Order string
	}
}

func CheckPhrase(phrase string, words []string) error {
	if len(phrase) > maxPhrase || len(words) > maxWords {
		return problem.Refuse(http.StatusBadRequest, "searchPhrase has more than %d words or %d bytes.", maxWords, maxPhrase)
	}
	return nil
}

func (in *SearchBody) Words() []string { return strings.Fields(FoldText(in.SearchPhrase)) }

// Order is that of listings, but the newest come first: a guess.
func (in *SearchBody) Order() (string, error) {
	by, order := in.Pagination.SortBy, in.Pagination.Order
	if by == "" && order == "" {
		order = "desc"
	}
	return OrderBy(by, order, AssetFields())
}

// Conditions are SQL of ours with the values for it, without those of the dates.
func (in *SearchBody) Conditions(visible, words []string) Conditions {
	var cs Conditions
	cs.Add("category_id IN (SELECT value FROM json_each(?))", JsonArray(visible))
	if f := in.Filters.Extensions; f != nil {
		folded := make([]string, len(f.In))
		for i, e := range f.In {
			folded[i] = naming.Fold(e)
		}
		cs.Add("folded IN (SELECT value FROM json_each(?))", JsonArray(folded))
	}
	if f := in.Filters.Tags; f != nil {
		cs.Add("EXISTS (SELECT 1 FROM json_each(tags) WHERE value IN (SELECT value FROM json_each(?)))", JsonArray(f.In))
	}
	for _, w := range words {
		cs.Add("instr(searchable, ?) > 0", w)
	}
	return cs
}
