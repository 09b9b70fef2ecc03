// Package enrichment stores audits, requests, answers, decisions and changes for the AI content
// service in the state database. Like in package state, each method that writes is one
// transaction, which fails if this process has lost the database.
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

// A Store stores enrichments in a state database.
type Store struct{ state *state.Store }

// In returns the enrichments of a state database.
func In(s *state.Store) *Store { return &Store{s} }

// A Kind is the kind of a proposal.
type Kind string

// The kinds: a description with tags, a correction of the description, and a translation of the
// description.
const (
	KindDescribe  Kind = "describe"
	KindReview    Kind = "review"
	KindTranslate Kind = "translate"
)

// A State is the state of an enrichment.
type State string

// The states of an enrichment. At the start of a process, asking and applying are left by an
// interrupted process. Refused means that moderation flagged it. Conflict means that another
// user changed the asset.
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

// An Enrichment is a proposal for an asset with its state. Each destination, asset, kind and
// language has one.
type Enrichment struct {
	Num         int64
	Destination string
	Asset       string
	Kind        Kind
	Language    string
	State       State
	Run         string   // ID of the run with the last request
	Contexts    []string // of that run

	Basis    Basis
	Proposal Proposal // empty in the first states; see the schema
	Edited   bool     // a person changed the proposal

	Calls    int   // billed requests in all attempts
	Bytes    int64 // of images sent in all attempts
	Attempts int
	Class    string   // of Error
	Error    string   // of the last attempt, or the reason of a conflict
	Flagged  []string // categories of moderation
	Updated  time.Time
}

// A Basis is the asset at the time of the request.
type Basis struct {
	Size          int64
	Width, Height int
	Blur          string
	Description   string
	Tags          []string
	Attribute     string // custom attribute for the text; "" for the description
	Value         string // of the attribute
}

// A Proposal is a proposal of the service, or its edited version.
type Proposal struct {
	Text       string // for the description or the attribute
	Tags       []string
	Decorative bool   // the service considers the image decorative
	Note       string // for people, for example that the text was shortened
	Model      string
}

// Enrichment returns an enrichment by its number, or ErrNotFound.
func (s *Store) Enrichment(ctx context.Context, num int64) (Enrichment, error) {
	all, err := s.enrichments(ctx, `WHERE e.num = ?`, num)
	return state.First(all, err, fmt.Sprintf("proposal %d", num))
}

// A Filter selects enrichments of a destination; empty fields select all.
type Filter struct {
	States   []State
	Kind     Kind
	Language string
	Run      string // ID of the run with the last request
}

// Enrichments lists the selected enrichments of a destination by number, each with its audited
// asset. A deleted asset only has its ID.
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
		var e enrichmentRow
		if c.AuditedAsset, err = scanAsset(rows, enrichmentTable.Targets(&e)...); err != nil {
			return c, err
		}
		found, err := e.enrichment()
		c.Asset, c.Enrichment = found.Asset, &found
		return c, err
	}, `SELECT `+auditedOrNone+`, `+enrichmentColumns+`
		FROM enrichments e JOIN enrichment_runs r ON r.num = e.run
		LEFT JOIN audited s ON s.destination = e.destination AND s.asset = e.asset
		LEFT JOIN decorative d ON d.destination = e.destination AND d.asset = e.asset `+where+` AND e.num > ? ORDER BY e.num LIMIT ?`, args...)
}

func (s *Store) enrichments(ctx context.Context, where string, args ...any) ([]Enrichment, error) {
	return state.Query(ctx, s.state, "find proposals", func(rows *sql.Rows) (Enrichment, error) {
		var e enrichmentRow
		if err := rows.Scan(enrichmentTable.Targets(&e)...); err != nil {
			return Enrichment{}, err
		}
		return e.enrichment()
	}, `SELECT `+enrichmentColumns+` FROM enrichments e JOIN enrichment_runs r ON r.num = e.run `+where, args...)
}

// An enrichmentRow is an enrichment as a row.
type enrichmentRow struct {
	Enrichment
	run                int64 // only written
	text, proposedTags any   // only written; nil without a proposal
	proposed           string
	contexts           string
	tags, flagged      string
	updated            int64
}

// enrichmentTable contains the columns of an enrichment e and of the run r with the last
// request. No column returns NULL, even without an enrichment.
var enrichmentTable = state.Columns[enrichmentRow]{
	{Name: "num", Read: `coalesce(e.num, 0)`, Into: func(r *enrichmentRow) any { return &r.Num }},
	{Name: "destination", Read: `coalesce(e.destination, '')`, Value: func(r *enrichmentRow) any { return r.Destination }, Into: func(r *enrichmentRow) any { return &r.Destination }},
	{Name: "asset", Read: `coalesce(e.asset, '')`, Value: func(r *enrichmentRow) any { return r.Asset }, Into: func(r *enrichmentRow) any { return &r.Asset }},
	{Name: "kind", Read: `coalesce(e.kind, '')`, Value: func(r *enrichmentRow) any { return string(r.Kind) }, Into: func(r *enrichmentRow) any { return &r.Kind }},
	{Name: "language", Read: `coalesce(e.language, '')`, Value: func(r *enrichmentRow) any { return r.Language }, Into: func(r *enrichmentRow) any { return &r.Language }},
	{Name: "state", Read: `coalesce(e.state, '')`, Value: func(r *enrichmentRow) any { return string(r.State) }, Into: func(r *enrichmentRow) any { return &r.State }},
	{Name: "run", Read: `coalesce(r.id, '')`, Value: func(r *enrichmentRow) any { return r.run }, Into: func(r *enrichmentRow) any { return &r.Run }},
	{Name: "contexts", Read: `coalesce(r.contexts, '[]')`, Into: func(r *enrichmentRow) any { return &r.contexts }},
	{Name: "size", Read: `coalesce(e.size, 0)`, Value: func(r *enrichmentRow) any { return r.Basis.Size }, Into: func(r *enrichmentRow) any { return &r.Basis.Size }},
	{Name: "width", Read: `coalesce(e.width, 0)`, Value: func(r *enrichmentRow) any { return r.Basis.Width }, Into: func(r *enrichmentRow) any { return &r.Basis.Width }},
	{Name: "height", Read: `coalesce(e.height, 0)`, Value: func(r *enrichmentRow) any { return r.Basis.Height }, Into: func(r *enrichmentRow) any { return &r.Basis.Height }},
	{Name: "blur", Read: `coalesce(e.blur, '')`, Value: func(r *enrichmentRow) any { return r.Basis.Blur }, Into: func(r *enrichmentRow) any { return &r.Basis.Blur }},
	{Name: "description", Read: `coalesce(e.description, '')`, Value: func(r *enrichmentRow) any { return r.Basis.Description }, Into: func(r *enrichmentRow) any { return &r.Basis.Description }},
	{Name: "tags", Read: `coalesce(e.tags, '[]')`, Value: func(r *enrichmentRow) any { return r.tags }, Into: func(r *enrichmentRow) any { return &r.tags }},
	{Name: "attribute", Read: `coalesce(e.attribute, '')`, Value: func(r *enrichmentRow) any { return r.Basis.Attribute }, Into: func(r *enrichmentRow) any { return &r.Basis.Attribute }},
	{Name: "value", Read: `coalesce(e.value, '')`, Value: func(r *enrichmentRow) any { return r.Basis.Value }, Into: func(r *enrichmentRow) any { return &r.Basis.Value }},
	{Name: "text", Read: `coalesce(e.text, '')`, Value: func(r *enrichmentRow) any { return r.text }, Into: func(r *enrichmentRow) any { return &r.Proposal.Text }},
	{Name: "proposed_tags", Read: `coalesce(e.proposed_tags, '[]')`, Value: func(r *enrichmentRow) any { return r.proposedTags }, Into: func(r *enrichmentRow) any { return &r.proposed }},
	{Name: "decorative", Read: `coalesce(e.decorative, 0)`, Value: func(r *enrichmentRow) any { return r.Proposal.Decorative }, Into: func(r *enrichmentRow) any { return &r.Proposal.Decorative }},
	{Name: "edited", Read: `coalesce(e.edited, 0)`, Into: func(r *enrichmentRow) any { return &r.Edited }},
	{Name: "note", Read: `coalesce(e.note, '')`, Value: func(r *enrichmentRow) any { return r.Proposal.Note }, Into: func(r *enrichmentRow) any { return &r.Proposal.Note }},
	{Name: "model", Read: `coalesce(e.model, '')`, Value: func(r *enrichmentRow) any { return r.Proposal.Model }, Into: func(r *enrichmentRow) any { return &r.Proposal.Model }},
	{Name: "calls", Read: `coalesce(e.calls, 0)`, Into: func(r *enrichmentRow) any { return &r.Calls }},
	{Name: "bytes", Read: `coalesce(e.bytes, 0)`, Into: func(r *enrichmentRow) any { return &r.Bytes }},
	{Name: "attempts", Read: `coalesce(e.attempts, 0)`, Value: func(r *enrichmentRow) any { return r.Attempts }, Into: func(r *enrichmentRow) any { return &r.Attempts }},
	{Name: "class", Read: `coalesce(e.class, '')`, Value: func(r *enrichmentRow) any { return r.Class }, Into: func(r *enrichmentRow) any { return &r.Class }},
	{Name: "error", Read: `coalesce(e.error, '')`, Value: func(r *enrichmentRow) any { return r.Error }, Into: func(r *enrichmentRow) any { return &r.Error }},
	{Name: "flagged", Read: `coalesce(e.flagged, '')`, Value: func(r *enrichmentRow) any { return strings.Join(r.Flagged, ",") }, Into: func(r *enrichmentRow) any { return &r.flagged }},
	{Name: "updated_at", Read: `coalesce(e.updated_at, 0)`, Value: func(r *enrichmentRow) any { return r.updated }, Into: func(r *enrichmentRow) any { return &r.updated }},
}

// SQL of statements on enrichments.
var (
	askedColumns = enrichmentTable.Only("destination", "asset", "kind", "language", "state", "run", "size", "width", "height", "blur", "description",
		"tags", "attribute", "value", "model", "attempts", "updated_at")
	answeredColumns = enrichmentTable.Only("state", "text", "proposed_tags", "decorative", "note", "model", "class", "error", "flagged", "updated_at")

	enrichmentColumns = enrichmentTable.Reads()
)

func (x *enrichmentRow) enrichment() (Enrichment, error) {
	e := &x.Enrichment
	if x.flagged != "" {
		e.Flagged = strings.Split(x.flagged, ",")
	}
	e.Updated = time.UnixMilli(x.updated).UTC()
	if x.contexts != noContexts {
		if err := unpack(x.contexts, &e.Contexts); err != nil {
			return *e, err
		}
	}
	err := errors.Join(unpack(x.tags, &e.Basis.Tags), unpack(x.proposed, &e.Proposal.Tags))
	return *e, err
}

// unpack decodes JSON of the state database. Numbers keep their text.
func unpack(text string, into any) error {
	d := json.NewDecoder(bytes.NewReader([]byte(text)))
	d.UseNumber()
	return d.Decode(into)
}
