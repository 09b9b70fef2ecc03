package aiservice

import (
	"database/sql"
	"errors"
	"slices"

	"assetferry/internal/sandbox/answer"
)

// takeContext adds what an item refers to in a context: a file, a prompt, or all of it.
func (q *question) takeContext(tx *sql.Tx, environment string, item contentItem) error {
	v, err := selectContext(tx, environment, item.ID)
	switch {
	case err != nil:
		return err
	case item.FileID != "":
		f, err := selectContextFile(tx, v.seq, item.FileID)
		q.with = append(q.with, f.forAnswer())
		return err
	case item.PromptID == "":
		return q.takeWhole(tx, v)
	}
	var text string
	err = tx.QueryRow("SELECT prompt FROM prompts WHERE context = ? AND id = ?", v.seq, item.PromptID).Scan(&text)
	if errors.Is(err, sql.ErrNoRows) {
		return notFound("prompt", item.PromptID)
	}
	if q.Prompt != "" {
		text = q.Prompt + "\n\n" + text
	}
	q.Prompt = text
	return err
}

// takeWhole adds the instructions and the files of a context.
func (q *question) takeWhole(tx *sql.Tx, v contextRow) error {
	if v.Instructions != "" {
		q.history = append(q.history, v.Instructions)
	}
	return rows(tx, "SELECT "+contextFileColumns+" FROM context_files WHERE context = ? ORDER BY seq", []any{v.seq}, func(s scan) error {
		f, err := readContextFile(s)
		q.with = append(q.with, f.forAnswer())
		return err
	})
}

// takeAutomatic adds the contexts that apply by themselves.
func (q *question) takeAutomatic(tx *sql.Tx, c *call) error {
	var found []contextRow
	err := rows(tx, "SELECT "+contextColumns+" FROM contexts WHERE environment = ? ORDER BY seq", []any{c.who.environment}, func(s scan) error {
		v, err := readContext(s)
		if slices.Contains(v.AutoApply, featureConversations) {
			found = append(found, v)
		}
		return err
	})
	if err != nil {
		return err
	}
	for _, v := range found {
		if err := q.takeWhole(tx, v); err != nil {
			return err
		}
	}
	return nil
}

func (f contextFile) forAnswer() answer.Attachment {
	return answer.Attachment{Name: f.name, Type: f.mediaType, Data: f.data}
}
