// Package enrichment keeps what the AI content service proposed for assets: what was listed of a
// destination, what was asked and answered in which run, what people decided, and what was written into
// assets. Its tables are in the state database, and it reads and writes them as package state does: each
// method that writes is one transaction, which fails if this process does not own the database any more.
package enrichment

import (
	"bytes"
	"context"
	"database/sql"
	"encoding/json"
	"errors"
	"fmt"
	"iter"
	"slices"
	"strings"
	"time"

	"assetferry/state"
)

// A Store keeps enrichments in a state database.
type Store struct{ state *state.Store }

// In gives the enrichments in a state database.
func In(s *state.Store) *Store { return &Store{s} }

// A Kind says what is proposed for an asset.
type Kind string

// The kinds: a description and tags; better words for a description that is there; the
// description in another language.
const (
	KindDescribe  Kind = "describe"
	KindReview    Kind = "review"
	KindTranslate Kind = "translate"
)

// A State says how far an enrichment has come.
type State string

// The states of an enrichment. One that is asking or applying when a process begins was left
// so by another one that died. A refused one was flagged by the moderation of the service.
// For one in conflict somebody else wrote meanwhile.
const (
	Planned  State = "planned"
	Asking   State = "asking"
	Proposed State = "proposed"
	Accepted State = "accepted"
	Rejected State = "rejected"
	Applying State = "applying"
	Applied  State = "applied"
	Undone   State = "undone"
	Failed   State = "failed"
	Refused  State = "refused"
	Conflict State = "conflict"
)

// An Enrichment is what is proposed for an asset, and what became of it. There is one for
// each destination, asset, kind and language.
type Enrichment struct {
	Num         int64
	Destination string
	Asset       string
	Kind        Kind
	Language    string
	State       State
	Run         string   // id of the run that asked last
	Contexts    []string // of that run

	Basis    Basis
	Proposal Proposal // none in the first states; see the schema
	Edited   bool     // a person changed the proposal

	Calls    int   // that were billed, in all attempts
	Bytes    int64 // of pictures sent, in all attempts
	Attempts int
	Class    string   // of Error
	Error    string   // of the last attempt, or why there is a conflict
	Flagged  []string // categories of moderation
	Updated  time.Time
}

// A Basis is what an asset was when a proposal was made, or is asked for.
type Basis struct {
	Size          int64
	Width, Height int
	Blur          string
	Description   string
	Tags          []string
	Attribute     string // name of the custom attribute that the text is for; empty: it is for the description
	Value         string // of the attribute
}

// A Proposal is what the service proposed, or what a person made of it.
type Proposal struct {
	Text       string // what goes to the description or the attribute
	Tags       []string
	Decorative bool   // the service takes the picture for one that needs no description
	Note       string // what a person should know of it, such as that it was shortened
	Model      string
}

// Enrichment finds one by its number; ErrNotFound if there is none.
func (s *Store) Enrichment(ctx context.Context, num int64) (Enrichment, error) {
	all, err := s.enrichments(ctx, `WHERE e.num = ?`, num)
	return state.First(all, err, fmt.Sprintf("proposal %d", num))
}

// A Filter chooses enrichments of a destination; what is empty chooses all.
type Filter struct {
	States   []State
	Kind     Kind
	Language string
	Run      string // id of the run that asked last
}

// Enrichments lists the chosen enrichments of a destination by their numbers, each with its
// asset as it was listed last; the asset has an id only if it is not there any more.
func (s *Store) Enrichments(ctx context.Context, destination string, f Filter) iter.Seq2[Enrichable, error] {
	where, args := f.condition(destination)
	return state.Paged(s.state, 0, func(c Enrichable) int64 { return c.Enrichment.Num }, func(after int64) ([]Enrichable, error) {
		return s.page(ctx, where, append(slices.Clone(args), after, state.PageSize))
	})
}

func (f Filter) condition(destination string) (where string, args []any) {
	where, args = `WHERE e.destination = ?`, []any{destination}
	if len(f.States) > 0 {
		where += ` AND e.state IN ` + state.List(len(f.States))
		for _, st := range f.States {
			args = append(args, string(st))
		}
	}
	for _, c := range []struct{ column, value string }{{"e.kind", string(f.Kind)}, {"e.language", f.Language}, {"r.id", f.Run}} {
		if c.value != "" {
			where += ` AND ` + c.column + ` = ?`
			args = append(args, c.value)
		}
	}
	return where, args
}

func (s *Store) page(ctx context.Context, where string, args []any) ([]Enrichable, error) {
	return state.Query(ctx, s.state, "list proposals", func(rows *sql.Rows) (c Enrichable, err error) {
		var e scannedEnrichment
		if err := scanSurveyed(rows, &c.Surveyed, e.targets()...); err != nil {
			return c, err
		}
		found, err := e.enrichment()
		c.Asset, c.Enrichment = found.Asset, &found
		return c, err
	}, `SELECT coalesce(s.asset, ''), coalesce(s.category, ''), coalesce(s.category_name, ''), coalesce(s.private, 0), coalesce(s.folder, ''), coalesce(s.folder_id, ''),
		coalesce(s.name, ''), coalesce(s.extension, ''), coalesce(s.size, 0), coalesce(s.width, 0), coalesce(s.height, 0), coalesce(s.blur, ''),
		coalesce(s.description, ''), coalesce(s.tags, '[]'), coalesce(s.attributes, '{}'), coalesce(s.modified, 0), coalesce(s.url, ''),
		coalesce(s.image, ''), coalesce(s.findings, ''), coalesce(s.language, ''), d.asset IS NOT NULL, `+enrichmentColumns+`
		FROM enrichments e JOIN enrichment_runs r ON r.num = e.run
		LEFT JOIN surveyed s ON s.destination = e.destination AND s.asset = e.asset
		LEFT JOIN decorative d ON d.destination = e.destination AND d.asset = e.asset `+where+` AND e.num > ? ORDER BY e.num LIMIT ?`, args...)
}

func (s *Store) enrichments(ctx context.Context, where string, args ...any) ([]Enrichment, error) {
	return state.Query(ctx, s.state, "find proposals", func(rows *sql.Rows) (Enrichment, error) {
		var e scannedEnrichment
		if err := rows.Scan(e.targets()...); err != nil {
			return Enrichment{}, err
		}
		return e.enrichment()
	}, `SELECT `+enrichmentColumns+` FROM enrichments e JOIN enrichment_runs r ON r.num = e.run `+where, args...)
}

// enrichmentColumns has no NULL, not even where there is no enrichment.
const enrichmentColumns = `coalesce(e.num, 0), coalesce(e.destination, ''), coalesce(e.asset, ''), coalesce(e.kind, ''), coalesce(e.language, ''),
	coalesce(e.state, ''), coalesce(r.id, ''), coalesce(r.contexts, '[]'), coalesce(e.size, 0), coalesce(e.width, 0), coalesce(e.height, 0), coalesce(e.blur, ''),
	coalesce(e.description, ''), coalesce(e.tags, '[]'), coalesce(e.attribute, ''), coalesce(e.value, ''), coalesce(e.text, ''), coalesce(e.proposed_tags, '[]'),
	coalesce(e.decorative, 0), coalesce(e.edited, 0), coalesce(e.note, ''), coalesce(e.model, ''), coalesce(e.calls, 0), coalesce(e.bytes, 0),
	coalesce(e.attempts, 0), coalesce(e.class, ''), coalesce(e.error, ''), coalesce(e.flagged, ''), coalesce(e.updated_at, 0)`

// A scannedEnrichment is an enrichment as its columns are.
type scannedEnrichment struct {
	e                       Enrichment
	contexts                string
	tags, proposed, flagged string
	updated                 int64
}

func (x *scannedEnrichment) targets() []any {
	e, b, p := &x.e, &x.e.Basis, &x.e.Proposal
	return []any{&e.Num, &e.Destination, &e.Asset, &e.Kind, &e.Language, &e.State, &e.Run, &x.contexts, &b.Size, &b.Width, &b.Height, &b.Blur,
		&b.Description, &x.tags, &b.Attribute, &b.Value, &p.Text, &x.proposed, &p.Decorative, &e.Edited, &p.Note, &p.Model, &e.Calls, &e.Bytes,
		&e.Attempts, &e.Class, &e.Error, &x.flagged, &x.updated}
}

func (x *scannedEnrichment) enrichment() (Enrichment, error) {
	if x.flagged != "" {
		x.e.Flagged = strings.Split(x.flagged, ",")
	}
	x.e.Updated = time.UnixMilli(x.updated).UTC()
	if x.contexts != noContexts {
		if err := unpack(x.contexts, &x.e.Contexts); err != nil {
			return x.e, err
		}
	}
	return x.e, errors.Join(unpack(x.tags, &x.e.Basis.Tags), unpack(x.proposed, &x.e.Proposal.Tags))
}

// unpack reads what the journal has as JSON. Numbers stay as they are written: they are
// somebody else's.
func unpack(text string, into any) error {
	d := json.NewDecoder(bytes.NewReader([]byte(text)))
	d.UseNumber()
	return d.Decode(into)
}
