package records

import (
	"net/http"
	"strings"

	"assetferry/internal/sandbox/naming"
	"assetferry/internal/sandbox/problem"
)

// Limits of a search; guesses.
const (
	maxPhrase = 1024 // bytes
	maxWords  = 16
)

// A SearchBody is the body of a search. That aiSearch has the same rules, because there is no
// semantic model, and the form of times are guesses.
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

// Order is the same as in lists, but with the newest first by default: a guess.
func (in *SearchBody) Order() (string, error) {
	by, order := in.Pagination.SortBy, in.Pagination.Order
	if by == "" && order == "" {
		order = "desc"
	}
	return OrderBy(by, order, AssetFields())
}

// Conditions returns trusted SQL with its values, without the dates.
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
