package approval

import (
	"bufio"
	"encoding/json"
	"errors"
	"io"
	"iter"

	"assetferry/migrate"
	"assetferry/state"
)

// A Plan is the content of a plan file.
type Plan struct {
	Hash    string
	Head    migrate.PlanHead
	Tallies []state.Tally
	Items   iter.Seq2[state.Item, error] // in key order
	Noted   Noted
}

// errOther reports that the items in the state database are not those of the plan.
var errOther = errors.New("the state database changed since the plan was made: run plan again")

// Write writes a plan.
func Write(w io.Writer, p Plan) error {
	out := bufio.NewWriterSize(w, 1<<16)
	lines := json.NewEncoder(out)
	lines.SetEscapeHTML(false) // people read it
	if err := lines.Encode(p.header()); err != nil {
		return err
	}
	hash := migrate.NewPlanHash()
	for i, err := range p.Items {
		if err != nil {
			return err
		}
		hash.Add(&i)
		if err := lines.Encode(lineOf(i)); err != nil {
			return err
		}
	}
	sum, err := hash.Sum(p.Head)
	switch {
	case err != nil:
		return err
	case sum != p.Hash:
		return errOther
	}
	return out.Flush()
}

func (p Plan) header() header {
	h := header{
		Type: kind, Version: version, Hash: p.Hash,
		Source: text(p.Head.Source), SourceURL: text(p.Head.SourceLocation), Destination: text(p.Head.Destination),
		Rules: p.Head.Rules, Categories: p.Head.Categories, Metadata: p.Head.Metadata,
		Unchanged: Amount{p.Head.Unchanged, p.Head.UnchangedBytes}, Actions: map[state.Action]Amount{}, Noted: p.Noted,
	}
	for _, t := range p.Tallies {
		h.count(t.Action, t.Objects, t.Bytes)
	}
	if h.Unchanged.Objects > 0 { // they are in the tallies, too
		h.count(state.Unchanged, -h.Unchanged.Objects, -h.Unchanged.Bytes)
	}
	return h
}

// count adds items. Actions without items are omitted.
func (h *header) count(a state.Action, objects, bytes int64) {
	h.Items += objects
	if h.Actions[a] = h.Actions[a].add(objects, bytes); h.Actions[a].Objects == 0 {
		delete(h.Actions, a)
	}
}
