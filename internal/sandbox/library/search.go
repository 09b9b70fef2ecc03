package library

import (
	"errors"
	"net/http"
	"strings"
)

// options limits the categories in the search form.
const options = 500

// search shows the results of the sandbox's own search.
func (p *Pages) search(r *http.Request) (view, error) {
	w, err := p.places.Workspace(r.PathValue("id"))
	if err != nil {
		return view{}, err
	}
	categories, _, err := p.places.Categories(w.ID, Span{Limit: options})
	if err != nil {
		return view{}, err
	}
	l := listingOf(r, Order{By: ByUploaded, Descending: true}, "q", "category")
	q := Query{Workspace: w.ID, Category: l.fixed.Get("category"), Phrase: strings.TrimSpace(l.fixed.Get("q"))}
	body := struct {
		Query      Query
		Categories []Category
		List       *listing
		Assets     []Asset
		Refused    string // why the search was refused
	}{Query: q, Categories: categories, List: l}
	if q.Phrase != "" {
		body.Assets, err = list(l, func(s Span) ([]Asset, int, error) { return p.assets.Search(q, l.Order, s) })
	}
	if refused, ok := errors.AsType[*RefusedError](err); ok {
		body.Refused, err = refused.Reason, nil
	}
	return view{Title: "Search", Workspace: w.Ref, Searching: true, Trail: trail(w.Ref, Ref{}, nil), Body: body}, err
}

// trash shows the deleted assets that can be restored.
func (p *Pages) trash(r *http.Request) (view, error) {
	w, err := p.places.Workspace(r.PathValue("id"))
	if err != nil {
		return view{}, err
	}
	l := listingOf(r, Order{})
	found, err := list(l, func(s Span) ([]Asset, int, error) { return p.assets.Trash(w.ID, s) })
	return view{Title: "Trash", Workspace: w.Ref, Trail: trail(w.Ref, Ref{}, nil), Body: struct {
		List   *listing
		Assets []Asset
	}{l, found}}, err
}
