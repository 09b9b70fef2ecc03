package sandbox

import (
	"encoding/json"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"time"

	"golang.org/x/text/cases"
	"golang.org/x/text/unicode/norm"

	"assetferry/internal/sandbox/naming"
	"assetferry/internal/sandbox/problem"
	"assetferry/internal/sandbox/standin"
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
		UploadedAt, LastModifiedAt   period
	}
	Pagination struct {
		Limit, Offset *int
		SortBy, Order string
	}
}

// A period holds both of its ends; an end that is missing is open.
type period struct{ GTE, LTE *time.Time }

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
	if err := foldAssets(s.store); err != nil {
		return fmt.Errorf("prepare search in %s: %w", ws, err)
	}
	return s.replyAssets(c, limit, offset, func(ses *store.Session) ([]asset, int, error) {
		visible, err := categoryIDs(ses, r, ws)
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
			cs.add("uploaded_at <= ?", store.Millis(until))
		}
		return selectMatches(ses, cs, p.assetOrder(order), limit, offset)
	})
}

func checkPhrase(phrase string, words []string) error {
	if len(phrase) > maxPhrase || len(words) > maxWords {
		return problem.Refuse(http.StatusBadRequest, "searchPhrase has more than %d words or %d bytes.", maxWords, maxPhrase)
	}
	return nil
}

func (in *searchBody) words() []string { return strings.Fields(foldText(in.SearchPhrase)) }

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
func (in *searchBody) conditions(visible, words []string) conditions {
	var cs conditions
	cs.add("category_id IN (SELECT value FROM json_each(?))", jsonArray(visible))
	if f := in.Filters.Extensions; f != nil {
		folded := make([]string, len(f.In))
		for i, e := range f.In {
			folded[i] = naming.Fold(e)
		}
		cs.add("folded IN (SELECT value FROM json_each(?))", jsonArray(folded))
	}
	if f := in.Filters.Tags; f != nil {
		cs.add("EXISTS (SELECT 1 FROM json_each(tags) WHERE value IN (SELECT value FROM json_each(?)))", jsonArray(f.In))
	}
	for _, w := range words {
		cs.add("instr(searchable, ?) > 0", w)
	}
	return cs
}

func jsonArray(values []string) string {
	text, err := json.Marshal(append([]string{}, values...)) // never null
	if err != nil {
		panic(err) // strings are always JSON
	}
	return string(text)
}

// searchText is everything of an asset that a phrase is looked for in, folded.
// No word reaches from one part into the next.
func (a asset) searchText() (string, error) {
	parts := []string{a.Name + "." + a.Extension, a.Description}
	var tags []string
	if err := json.Unmarshal(a.Tags, &tags); err != nil {
		return "", fmt.Errorf("tags of asset %s: %w", a.ID, err)
	}
	attributes, ok := standin.DecodeObject(a.Attributes)
	if !ok {
		return "", fmt.Errorf("custom attributes of asset %s are not an object", a.ID)
	}
	parts = append(parts, tags...)
	for name := range attributes {
		if text, ok := attributes.Text(name); ok {
			parts = append(parts, text)
		}
	}
	return foldText(strings.Join(parts, "\n")), nil
}

// foldText is the form in which words are compared: without case, also beyond
// ASCII, and however accents were written.
func foldText(s string) string { return norm.NFC.String(cases.Fold().String(norm.NFC.String(s))) }
