package main

import (
	"context"
	"errors"
	"io"
	"iter"
	"strings"

	"github.com/spf13/cobra"

	"assetferry/internal/addresses"
	"assetferry/internal/ui"
	"assetferry/state"
)

// Why an address is not written.
const (
	leftPrivate     = "private"
	leftUnknown     = "privacy_unknown"
	leftUnaddressed = "no_address"
	leftTooLong     = "too_long"
)

var leftOutReasons = [...]struct{ reason, told, hint string }{
	{leftPrivate, "in private categories", ""},
	{leftUnknown, "in categories of which it is not known whether they are private", "assetferry verify asks the service"},
	{leftUnaddressed, "for which the service gave no address", ""},
	{leftTooLong, "longer than the web server reads", "take them out of the TSV, and redirect them by hand"},
}

// A mapping is what a journal knows of the addresses of a source at a destination.
type mapping struct {
	journal    *state.Store
	pair       state.Pair // the zero Pair if nothing has arrived
	run        int64      // 0: of all runs
	prefix     addresses.Prefix
	images     bool // of all sizes are wanted
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

// A located is an object with its addresses, or the reason why they must not be written.
type located struct {
	addresses.Row
	left string
}

// all yields everything that has arrived, in the order of keys.
func (m *mapping) all(ctx context.Context) iter.Seq2[located, error] {
	return func(yield func(located, error) bool) {
		for at, err := range m.journal.Addresses(ctx, m.pair.ID, m.run) {
			l := located{m.rowOf(at), m.whyLeft(at)}
			if err == nil && m.images {
				l.Images, err = at.Images()
			}
			if !yield(l, err) {
				return
			}
		}
	}
}

func (m *mapping) rowOf(at state.Address) addresses.Row {
	return addresses.Row{Old: m.prefix.Address(at.Key), New: at.URL, Key: at.Key, AssetID: at.Asset, Size: at.Size, Verified: at.Verified}
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
	leftOut           ui.Counts // by reason
}

// write writes the map in a format.
func (m *mapping) write(ctx context.Context, w io.Writer, format string) (tally, error) {
	survey := &addresses.Survey{}
	if addresses.NeedsSurvey(format) {
		for l, err := range m.all(ctx) {
			if err == nil && l.left == "" {
				err = survey.Add(l.Row)
			}
			if err != nil {
				return tally{}, err
			}
		}
	}
	to, err := addresses.New(format, w, survey)
	if err != nil {
		return tally{}, err
	}
	return m.writeTo(ctx, to)
}

func (m *mapping) writeTo(ctx context.Context, w addresses.Writer) (tally, error) {
	t := tally{leftOut: ui.Counts{}}
	for l, err := range m.all(ctx) {
		if err == nil && l.left == "" {
			err = w.Write(l.Row)
		}
		if errors.Is(err, addresses.ErrTooLong) {
			l.left, err = leftTooLong, nil
		}
		switch {
		case err != nil:
			return t, err
		case l.left != "":
			t.leftOut[l.left]++
			continue
		}
		t.written++
		if l.Verified {
			t.verified++
		}
	}
	return t, w.Close()
}
