// Package explain collects everything that the state database knows about one object: its asset,
// the action and the reason of each run, its metadata and its sources, its old URLs, and the next
// command.
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

// suggestedKeys is the number of similar keys that are suggested for an unknown one.
const suggestedKeys = 5

// An Explainer finds objects in a state database.
type Explainer struct {
	Store    *state.Store
	Mapping  func() *mapping.Mapping
	Rules    []*oldurl.Template // rules for old URLs
	HasRules bool               // the configuration has rules, so old URLs are listed
	Advice   Advice
}

// Advice returns commands that can be pasted.
type Advice interface {
	// AfterRun returns the next step after the newest run of a source, ForItem that for one item.
	AfterRun(state.Run, []state.Tally) Next
	ForItem(state.Run, []state.Tally, state.Item, time.Time) Next
	// Command starts a run with the same rules, which may be changed, or resumes it.
	Command(run state.Run, change func(command *string, r *migrate.Rules)) string
	// Repair creates assets again that were deleted at the destination.
	Repair(state.Run) string
	// Undo undoes a run, or resumes its undo.
	Undo(state.Run) string
}

// A Next is the next step: an explanation and a command. Both may be empty.
type Next struct{ Why, Command string }

// An UnknownKeyError means that nothing is known about an object.
type UnknownKeyError struct {
	Asked   string
	Similar []sources.Key
}

func (e *UnknownKeyError) Error() string {
	return fmt.Sprintf("the state database has no record of %q", e.Asked)
}

// Hint suggests similar keys.
func (e *UnknownKeyError) Hint() string {
	if len(e.Similar) == 0 {
		return "use a key relative to SOURCE, as listed by plan --verbose. Objects that were always skipped have no record"
	}
	similar := texts(slices.Compact(slices.Sorted(slices.Values(e.Similar))))
	for n, s := range similar {
		similar[n] = fmt.Sprintf("%q", s)
	}
	return "similar keys: " + strings.Join(similar[:min(len(similar), suggestedKeys)], ", ")
}

// Find yields the history of an object for each source and destination that have one, and an
// *UnknownKeyError if there is none. The object is named by its key, a path into the source, the
// ID of its asset, a previous key, or an old URL.
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

// find returns the history for one source and destination. If there is none, the history is empty
// except for the key.
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

// keyWithin turns a path in a source into a key, and returns any other text unchanged.
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
