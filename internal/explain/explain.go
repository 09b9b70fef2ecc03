// Package explain collects all that is known of one object: where its asset is, what each run
// wanted with it and why, what was found of it, its old URLs, and what helps with what the last
// run left.
package explain

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"assetferry/internal/mapping"
	"assetferry/internal/oldurl"
	"assetferry/migrate"
	"assetferry/sources"
	"assetferry/state"
)

// suggestedKeys is how many keys are offered in the place of one that is not known.
const suggestedKeys = 5

// An Explainer knows objects by a state database.
type Explainer struct {
	Store    *state.Store
	Mapping  func() *mapping.Mapping
	Rules    []*oldurl.Template // that old URLs are found by
	HasRules bool               // the configuration has some, so old URLs are listed
	Advice   Advice
}

// Advice knows commands that can be pasted as they are.
type Advice interface {
	// AfterRun helps with the newest run of a source, ForItem with an item of a run.
	AfterRun(state.Run, []state.Tally) Next
	ForItem(state.Run, []state.Tally, state.Item, time.Time) Next
	// Command begins a run by its rules, which may be changed, or goes on with it.
	Command(run state.Run, change func(command *string, r *migrate.Rules)) string
	// Repair creates again what was deleted at the destination.
	Repair(state.Run) string
	// Undo undoes a run, or finishes that.
	Undo(state.Run) string
}

// A Next is what helps: what to know before, and a command. Both may be empty.
type Next struct{ Why, Command string }

// An UnknownKeyError is that nothing is known of an object.
type UnknownKeyError struct {
	Asked   string
	Similar []sources.Key
}

func (e *UnknownKeyError) Error() string {
	return fmt.Sprintf("the journal knows nothing of %q", e.Asked)
}

// Hint names keys that are known.
func (e *UnknownKeyError) Hint() string {
	if len(e.Similar) == 0 {
		return "a key is relative to SOURCE, as plan --verbose shows it; an object that never was anything but unchanged or left out has no record"
	}
	similar := texts(slices.Compact(slices.Sorted(slices.Values(e.Similar))))
	for n, s := range similar {
		similar[n] = fmt.Sprintf("%q", s)
	}
	return "there are " + strings.Join(similar[:min(len(similar), suggestedKeys)], ", ")
}

// Find yields what every pair that knows an object knows of it; an *UnknownKeyError if none
// does. The object is asked for by its key, a path into the source, the ID of its asset, a key
// that it went by, or an old URL.
func (e *Explainer) Find(ctx context.Context, asked string) iter.Seq2[History, error] {
	return func(yield func(History, error) bool) {
		pairs, err := e.Store.Pairs(ctx)
		unknown := &UnknownKeyError{Asked: asked}
		known := false
		for _, p := range pairs {
			h, err := e.find(ctx, p, asked)
			if err == nil && h.isEmpty() {
				var similar []sources.Key
				similar, err = e.Store.KeysEnding(ctx, p.ID, path.Base(string(h.key)), suggestedKeys)
				if unknown.Similar = append(unknown.Similar, similar...); err == nil {
					continue
				}
			}
			if known = true; !yield(h, err) || err != nil {
				return
			}
		}
		if err != nil {
			yield(History{}, err)
		} else if !known {
			yield(History{}, unknown)
		}
	}
}

// find finds what a pair knows; an empty history with the key that was looked for if it is
// nothing.
func (e *Explainer) find(ctx context.Context, p state.Pair, asked string) (History, error) {
	key := sources.Key(keyWithin(p.Source, asked))
	if byAsset, err := e.Store.KeyOfAsset(ctx, p.ID, asked); err == nil {
		key = byAsset
	} else if !errors.Is(err, state.ErrNotFound) {
		return History{}, err
	}
	h, err := e.load(ctx, p, key)
	if err == nil && h.isEmpty() { // a key that looks like a path into the source
		h, err = e.load(ctx, p, sources.Key(asked))
	}
	if err == nil && h.receipt == nil {
		h, err = e.followed(ctx, h)
	}
	if h.isEmpty() {
		h.key = key
	}
	return h, err
}

// keyWithin makes a key of a path into a source, and leaves all else as it is.
func keyWithin(source, asked string) string {
	if !filepath.IsAbs(source) { // a bucket
		return strings.TrimPrefix(asked, strings.TrimSuffix(source, "/")+"/")
	}
	full, err := filepath.Abs(asked)
	if err != nil {
		return asked
	}
	if rest, ok := strings.CutPrefix(full, strings.TrimSuffix(source, "/")+string(filepath.Separator)); ok {
		return filepath.ToSlash(rest)
	}
	return asked
}
