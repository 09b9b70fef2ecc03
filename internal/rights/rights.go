// Package rights reads from the state database when the rights to assets end: the date in the
// attribute expires.
package rights

import (
	"context"
	"iter"
	"time"

	"assetferry/internal/mapping"
	"assetferry/internal/metadata"
	"assetferry/state"
)

// Attribute is the attribute with the date.
const Attribute = "expires"

// A State is a code.
type State string

// The states of assets.
const (
	Expired    State = "expired"
	Expiring   State = "expiring" // within the days of a report
	Valid      State = "valid"
	NoDate     State = "no_date"
	Unreadable State = "unreadable" // the text is not a date
)

// States returns all states in the order of reports.
func States() []State { return []State{Expired, Expiring, Valid, NoDate, Unreadable} }

// Of returns the state for a text on a day, and whether rights end within some days from it. Rights
// are valid on their last day.
func Of(text string, today time.Time, days int) State {
	end, err := mapping.ParseDay(text)
	first := mapping.DayOf(today)
	switch {
	case err != nil:
		return Unreadable
	case end.IsZero():
		return NoDate
	case end.Before(first):
		return Expired
	case end.Before(first.AddDate(0, 0, days)):
		return Expiring
	}
	return Valid
}

// An Asset is an object whose asset exists, with the text of its attribute.
type Asset struct {
	Key, AssetID, Expires string
	State                 State
}

// Assets yields all assets of a source at a destination in key order.
func Assets(ctx context.Context, store *state.Store, pair int64, today time.Time, days int) iter.Seq2[Asset, error] {
	return func(yield func(Asset, error) bool) {
		next, stop := iter.Pull2(store.Described(ctx, pair, ""))
		defer stop()
		said, err, more := next()
		for r, rerr := range store.Fingerprints(ctx, pair, "") {
			for rerr == nil && err == nil && more && said.Key < r.Key {
				said, err, more = next()
			}
			if rerr == nil {
				rerr = err
			}
			a := Asset{Key: string(r.Key), AssetID: r.Asset}
			if rerr == nil && more && said.Key == r.Key {
				var m metadata.Metadata
				m, rerr = metadata.Decode(said.Metadata)
				a.Expires = m.Attributes[Attribute]
			}
			a.State = Of(a.Expires, today, days)
			if !yield(a, rerr) || rerr != nil {
				return
			}
		}
	}
}
