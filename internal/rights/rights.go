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

// Assets yields the objects of a source whose assets exist at a destination, in key order. Objects
// that share an asset have its date.
func Assets(ctx context.Context, store *state.Store, pair int64, today time.Time, days int) iter.Seq2[Asset, error] {
	return func(yield func(Asset, error) bool) {
		shared, stop := iter.Pull2(store.AllAliases(ctx, pair, ""))
		defer stop()
		alias, aliasErr, more := shared()
		for a, err := range owners(ctx, store, pair, today, days) {
			for err == nil && more && (aliasErr != nil || string(alias.Key) < a.Key) {
				if !yieldShared(ctx, store, pair, alias, aliasErr, today, days, yield) {
					return
				}
				alias, aliasErr, more = shared()
			}
			if !yield(a, err) || err != nil {
				return
			}
		}
		for ; more; alias, aliasErr, more = shared() {
			if !yieldShared(ctx, store, pair, alias, aliasErr, today, days, yield) {
				return
			}
		}
	}
}

// yieldShared yields an object that has the asset of another one.
func yieldShared(ctx context.Context, store *state.Store, pair int64, alias state.Alias, err error, today time.Time, days int, yield func(Asset, error) bool) bool {
	a := Asset{Key: string(alias.Key)}
	if err == nil {
		var r state.Receipt
		if r, err = store.Receipt(ctx, pair, alias.Owner); err == nil {
			a.AssetID = r.Asset
		}
	}
	if err == nil {
		var said state.Described
		if said, err = store.DescribedAs(ctx, pair, alias.Owner); err == nil {
			a.Expires, err = expires(said)
		}
	}
	a.State = Of(a.Expires, today, days)
	return yield(a, err) && err == nil
}

// expires returns the text of the attribute.
func expires(said state.Described) (string, error) {
	if said.Metadata == "" {
		return "", nil
	}
	m, err := metadata.Decode(said.Metadata)
	return m.Attributes[Attribute], err
}

// owners yields all assets of a source at a destination, with the objects that they were uploaded for,
// in key order.
func owners(ctx context.Context, store *state.Store, pair int64, today time.Time, days int) iter.Seq2[Asset, error] {
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
				a.Expires, rerr = expires(said)
			}
			a.State = Of(a.Expires, today, days)
			if !yield(a, rerr) || rerr != nil {
				return
			}
		}
	}
}
