package enrichment

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"iter"
	"time"

	"assetferry/state"
)

// A Question is a request to the AI content service, before it is sent.
type Question struct {
	Asset        string
	Kind         Kind
	Language     string
	Basis        Basis
	Conversation string // ID for the new conversation; "" without one
}

// Ask records the requests of a run before they are sent, and returns the numbers of their
// enrichments in the same order. It fails with ErrConflict if one of them is in progress.
// Earlier proposals are deleted.
func (s *Store) Ask(ctx context.Context, run Run, asked []Question) (nums []int64, err error) {
	err = s.state.Write(ctx, "note questions", func(ctx context.Context, tx *sql.Tx) error {
		nums = nil
		for _, a := range asked {
			num, err := s.ask(ctx, tx, run, a)
			if err != nil {
				return fmt.Errorf("%s: %w", a.Asset, err)
			}
			nums = append(nums, num)
		}
		return nil
	})
	return nums, err
}

// insertAsked deletes earlier proposals.
var insertAsked = `INSERT INTO enrichments (` + askedColumns.Names() + `) VALUES (` + askedColumns.Marks() + `)
	ON CONFLICT (destination, asset, kind, language) DO UPDATE SET ` + askedColumns.Only("state", "run", "size", "width", "height", "blur", "description", "tags",
	"attribute", "value", "model", "updated_at").Excluded() + `, text = NULL, proposed_tags = NULL, decorative = 0, edited = 0, note = '', class = '', error = '',
	flagged = '', attempts = CASE WHEN state IN ('failed', 'planned') THEN attempts ELSE 0 END + 1
	WHERE state NOT IN ('asking', 'applying') RETURNING num`

func (s *Store) ask(ctx context.Context, tx *sql.Tx, run Run, a Question) (num int64, err error) {
	now := s.state.Now().UnixMilli()
	row := enrichmentRow{run: run.Num, updated: now, Enrichment: Enrichment{Destination: run.Destination, Asset: a.Asset, Kind: a.Kind,
		Language: a.Language, State: Asking, Basis: a.Basis, Proposal: Proposal{Model: run.Model}, Attempts: 1}}
	if row.tags, err = packList(a.Basis.Tags); err != nil {
		return 0, err
	}
	err = tx.QueryRowContext(ctx, insertAsked, askedColumns.Values(nil, &row)...).Scan(&num)
	if errors.Is(err, sql.ErrNoRows) {
		return 0, state.ErrConflict
	} else if err != nil || a.Conversation == "" {
		return num, err
	}
	_, err = tx.ExecContext(ctx, `INSERT INTO conversations (service, id, enrichment, at) VALUES (?, ?, ?, ?)`, run.Service, a.Conversation, num, now)
	return num, err
}

// An Answer is the result of a request.
type Answer struct {
	Num      int64
	State    State     // proposed, failed or refused; planned if nothing was sent; rejected without a suggestion
	Proposal *Proposal // with state proposed or rejected
	Class    string    // with state failed
	Error    string
	Flagged  []string // with state refused
	Model    string
	Calls    int // billed requests
	Bytes    int64
}

// Answer stores results, adds their cost to the run, and marks their conversations for
// deletion.
func (s *Store) Answer(ctx context.Context, run int64, answers []Answer) error {
	return s.state.Write(ctx, "record answers", func(ctx context.Context, tx *sql.Tx) error {
		for _, a := range answers {
			if err := s.answer(ctx, tx, run, a); err != nil {
				return fmt.Errorf("proposal %d: %w", a.Num, err)
			}
		}
		return nil
	})
}

func (s *Store) answer(ctx context.Context, tx *sql.Tx, run int64, a Answer) error {
	row := enrichmentRow{updated: s.state.Now().UnixMilli(), Enrichment: Enrichment{State: a.State, Class: a.Class, Error: a.Error, Flagged: a.Flagged}}
	if a.Proposal != nil {
		tags, err := packList(a.Proposal.Tags)
		if err != nil {
			return err
		}
		row.Proposal, row.text, row.proposedTags = *a.Proposal, a.Proposal.Text, tags
	}
	row.Proposal.Model = a.Model
	// A request that was not sent is not an attempt.
	if err := state.One(ctx, tx, `UPDATE enrichments SET `+answeredColumns.Sets()+`, calls = calls + ?, bytes = bytes + ?, attempts = attempts - ?
		WHERE num = ? AND state = 'asking'`,
		append(answeredColumns.Values(nil, &row), a.Calls, a.Bytes, a.State == Planned && a.Calls == 0, a.Num)...); err != nil {
		return err
	}
	if _, err := tx.ExecContext(ctx, `UPDATE enrichment_runs SET calls = calls + ?, bytes = bytes + ? WHERE num = ?`, a.Calls, a.Bytes, run); err != nil {
		return err
	}
	_, err := tx.ExecContext(ctx, `UPDATE conversations SET spent = 1 WHERE enrichment = ?`, a.Num)
	return err
}

// AbandonAsking resets the requests at a destination whose answers were lost with their
// process: requests without a conversation, or to another service. It returns their number.
// Their conversations are marked for deletion.
func (s *Store) AbandonAsking(ctx context.Context, destination, service string) (abandoned int64, err error) {
	err = s.state.Write(ctx, "abandon questions", func(ctx context.Context, tx *sql.Tx) error {
		res, err := tx.ExecContext(ctx, `UPDATE enrichments SET state = 'planned', updated_at = ? WHERE destination = ? AND state = 'asking'
			AND NOT EXISTS (SELECT 1 FROM conversations c WHERE c.enrichment = num AND NOT c.spent AND c.service = ?)`, s.state.Now().UnixMilli(), destination, service)
		if err != nil {
			return err
		}
		if abandoned, err = res.RowsAffected(); err != nil {
			return err
		}
		_, err = tx.ExecContext(ctx, `UPDATE conversations SET spent = 1 WHERE NOT spent
			AND enrichment IN (SELECT num FROM enrichments WHERE destination = ? AND state <> 'asking')`, destination)
		return err
	})
	return abandoned, err
}

// A Conversation may exist at the AI content service.
type Conversation struct {
	ID         string
	Enrichment Enrichment // subject of the conversation
	Spent      bool       // the answer is known: the conversation can be deleted
	At         time.Time  // time of the request
}

// Conversations lists the conversations that may exist at a service, by ID.
func (s *Store) Conversations(ctx context.Context, service string) iter.Seq2[Conversation, error] {
	return state.Paged(s.state, "", func(c Conversation) string { return c.ID }, func(after string) ([]Conversation, error) {
		return state.Query(ctx, s.state, "list conversations", func(rows *sql.Rows) (c Conversation, err error) {
			var e enrichmentRow
			var at int64
			if err := rows.Scan(append([]any{&c.ID, &c.Spent, &at}, enrichmentTable.Targets(&e)...)...); err != nil {
				return c, err
			}
			c.At = time.UnixMilli(at).UTC()
			c.Enrichment, err = e.enrichment()
			return c, err
		}, `SELECT c.id, c.spent, c.at, `+enrichmentColumns+` FROM conversations c JOIN enrichments e ON e.num = c.enrichment
			JOIN enrichment_runs r ON r.num = e.run WHERE c.service = ? AND c.id > ? ORDER BY c.id LIMIT ?`, service, after, state.PageSize)
	})
}

// ForgetConversation removes a conversation that was deleted at the service. An unknown one is
// ignored.
func (s *Store) ForgetConversation(ctx context.Context, service, id string) error {
	return s.state.Write(ctx, "forget conversation", func(ctx context.Context, tx *sql.Tx) error {
		_, err := tx.ExecContext(ctx, `DELETE FROM conversations WHERE service = ? AND id = ?`, service, id)
		return err
	})
}

// A Verdict is a person's decision on an enrichment.
type Verdict struct {
	Num      int64
	Accepted bool
	Proposal *Proposal // edited text and tags; nil: as proposed
}

// Judge stores decisions on enrichments of a destination. It returns the numbers that cannot be
// decided: unknown ones, those in progress or applied, and those without a proposal or text.
func (s *Store) Judge(ctx context.Context, destination string, verdicts []Verdict) (refused []int64, err error) {
	err = s.state.Write(ctx, "record decisions", func(ctx context.Context, tx *sql.Tx) error {
		refused = nil
		for _, v := range verdicts {
			switch err := s.judge(ctx, tx, destination, v); {
			case errors.Is(err, state.ErrConflict):
				refused = append(refused, v.Num)
			case err != nil:
				return fmt.Errorf("proposal %d: %w", v.Num, err)
			}
		}
		return nil
	})
	return refused, err
}

func (s *Store) judge(ctx context.Context, tx *sql.Tx, destination string, v Verdict) error {
	st := Rejected
	if v.Accepted {
		st = Accepted
	}
	now := s.state.Now().UnixMilli()
	if v.Proposal == nil {
		return state.One(ctx, tx, `UPDATE enrichments SET state = ?, updated_at = ? WHERE num = ? AND destination = ?
			AND state IN ('proposed', 'accepted', 'rejected', 'undone')`, string(st), now, v.Num, destination)
	}
	tags, err := packList(v.Proposal.Tags)
	if err != nil {
		return err
	}
	return state.One(ctx, tx, `UPDATE enrichments SET state = ?, text = ?, proposed_tags = ?, edited = edited OR text IS NOT ? OR proposed_tags IS NOT ?,
		class = '', error = '', flagged = '', updated_at = ? WHERE num = ? AND destination = ?
		AND state IN ('proposed', 'accepted', 'rejected', 'undone', 'failed', 'refused')`,
		string(st), v.Proposal.Text, tags, v.Proposal.Text, tags, now, v.Num, destination)
}
