package cli

import (
	"cmp"
	"context"
	"errors"
	"io"
	"iter"
	"strings"

	"github.com/spf13/cobra"

	"assetferry/internal/event"
	"assetferry/internal/oldurl"
	"assetferry/internal/redirect"
	"assetferry/state"
)

// Why an address is not written.
const (
	leftPrivate     = "private"
	leftUnknown     = "privacy_unknown"
	leftUnaddressed = "no_address"
	leftTooLong     = "too_long"
	leftQuery       = "query"
	leftTaken       = "taken"
)

var leftOutReasons = [...]struct{ reason, told, hint string }{
	{leftPrivate, "in private categories", ""},
	{leftUnknown, "in categories of which it is not known whether they are private", "assetferry verify asks the service"},
	{leftUnaddressed, "for which the service gave no address", ""},
	{leftTooLong, "longer than the web server reads", "take them out of the TSV, and redirect them by hand"},
	{leftQuery, "with a query, which the maps of web servers do not compare", "take them out of the TSV, and redirect them by hand"},
	{leftTaken, "because another object has the same old address", ""},
}

// toldTaken is how many addresses are told that two objects had.
const toldTaken = 5

// A mapping is what a journal knows of the addresses of a source at a destination.
type mapping struct {
	journal    *state.Store
	pair       state.Pair // the zero Pair if nothing has arrived
	run        int64      // 0: of all runs
	images     bool       // of all sizes are wanted
	pathsOnly  bool       // of old addresses, because that is what is compared
	newOnly    bool       // each new address once
	finder     *oldurl.Finder
	categories map[string]state.Category
}

// openMapping finds the mapping that the command is about, among pairs.
func (a *app) openMapping(ctx context.Context, cmd *cobra.Command, journal *state.Store, pairs []state.Pair) (*mapping, error) {
	pair, run, err := a.choosePair(ctx, cmd, journal, pairs)
	if err != nil {
		return nil, err
	}
	a.summary.Run, a.summary.Source, a.summary.Destination = run.ID, pair.Source, pair.Destination
	m := &mapping{journal: journal, pair: pair, run: run.Num}
	m.categories, err = journal.Categories(ctx, pair.Destination)
	return m, err
}

// build has the mapping build old addresses by rules.
func (m *mapping) build(ctx context.Context, rules []*oldurl.Template) (err error) {
	if m.pathsOnly {
		rules = oldurl.Paths(rules)
	}
	m.finder, err = oldurl.NewFinder(ctx, rules, m)
	return err
}

// ByKey finds an object for the finder, as do the next two.
func (m *mapping) ByKey(ctx context.Context, key string) (oldurl.Object, error) {
	return m.objectOf(m.journal.AddressByKey(ctx, m.pair.ID, key))
}

// ByAddress finds an object by an address that it had.
func (m *mapping) ByAddress(ctx context.Context, comparable string) (oldurl.Object, error) {
	return m.objectOf(m.journal.AddressByGiven(ctx, m.pair.ID, comparable))
}

// Beginnings are those of addresses that objects had.
func (m *mapping) Beginnings(ctx context.Context) ([]string, error) {
	return m.journal.GivenBeginnings(ctx, m.pair.ID)
}

func (m *mapping) objectOf(at state.Address, err error) (oldurl.Object, error) {
	if errors.Is(err, state.ErrNotFound) {
		return oldurl.Object{}, oldurl.ErrUnknown
	}
	kind := [...]oldurl.Kind{state.ByKey: oldurl.Current, state.ByFormerKey: oldurl.Former, state.ByAlias: oldurl.Alias,
		state.ByGivenAddress: oldurl.Given}[at.Known]
	return oldurl.Object{Key: at.Key, Kind: kind, URL: at.URL, Left: m.whyLeft(at), Images: at.Images}, err
}

// A located is an object with its addresses, or the reason why they must not be written.
type located struct {
	redirect.Row
	left    string
	takenBy string // the key of the object that has the old address
}

// all yields everything that has arrived, with all its old addresses, in the order of keys.
func (m *mapping) all(ctx context.Context) iter.Seq2[located, error] {
	return func(yield func(located, error) bool) {
		for at, err := range m.journal.Addresses(ctx, m.pair.ID, m.run) {
			if err != nil {
				yield(located{}, err)
				return
			}
			if m.newOnly && at.Known != state.ByKey {
				continue
			}
			if !m.addressesOf(ctx, at, yield) {
				return
			}
		}
	}
}

// addressesOf yields all old addresses that an object has because of something it is known
// by.
func (m *mapping) addressesOf(ctx context.Context, at state.Address, yield func(located, error) bool) bool {
	o, _ := m.objectOf(at, nil)
	row := redirect.Row{Key: at.Key, AssetID: at.Asset, Size: at.Size, Verified: at.Verified}
	if m.images {
		var err error
		if row.Images, err = at.Images(); err != nil {
			return yield(located{}, err)
		}
	}
	as := at.As
	if m.pathsOnly && o.Kind == oldurl.Given {
		as = oldurl.WithoutHost(as)
	}
	for old, err := range m.finder.List(ctx, as, o) {
		l := located{row, o.Left, cmp.Or(at.TakenBy, old.TakenBy)}
		l.Old, l.New, l.Kind, l.Width = old.Address, old.New, old.Kind, old.Width
		if l.Width > 0 {
			l.Images = nil
		}
		if l.takenBy != "" && l.left == "" {
			l.left = leftTaken
		}
		if !yield(l, err) {
			return false
		}
	}
	return true
}

// whyLeft says why an address must not be written; nothing if it may be.
func (m *mapping) whyLeft(at state.Address) string {
	category, known := m.categories[at.Category]
	switch {
	case !known:
		return leftUnknown
	case category.Private:
		return leftPrivate
	case !strings.HasPrefix(at.URL, "https://") && !strings.HasPrefix(at.URL, "http://"):
		return leftUnaddressed
	}
	return ""
}

// A tally counts addresses.
type tally struct {
	written, verified int64
	leftOut           event.Counts // by reason
	taken             []located    // some of those that another object has
}

// leave counts an address that is not written.
func (t *tally) leave(l located) {
	if t.leftOut[l.left]++; l.left == leftTaken && len(t.taken) < toldTaken {
		t.taken = append(t.taken, l)
	}
}

// write writes the map in a format.
func (m *mapping) write(ctx context.Context, w io.Writer, format string) (tally, error) {
	survey := &redirect.Survey{}
	if redirect.NeedsSurvey(format) {
		for l, err := range m.all(ctx) {
			if err == nil && l.left == "" {
				err = survey.Add(l.Row)
			}
			if errors.Is(err, redirect.ErrQuery) {
				continue // as when it is written
			}
			if err != nil {
				return tally{}, err
			}
		}
	}
	to, err := redirect.New(format, w, survey)
	if err != nil {
		return tally{}, err
	}
	return m.writeTo(ctx, to)
}

func (m *mapping) writeTo(ctx context.Context, w redirect.Writer) (tally, error) {
	t := tally{leftOut: event.Counts{}}
	for l, err := range m.all(ctx) {
		if err == nil && l.left == "" {
			err = w.Write(l.Row)
		}
		switch {
		case errors.Is(err, redirect.ErrTooLong):
			l.left, err = leftTooLong, nil
		case errors.Is(err, redirect.ErrQuery):
			l.left, err = leftQuery, nil
		}
		switch {
		case err != nil:
			return t, err
		case l.left != "":
			t.leave(l)
			continue
		}
		t.written++
		if l.Verified {
			t.verified++
		}
	}
	return t, w.Close()
}
