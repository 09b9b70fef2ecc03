package aiservice

import (
	"database/sql"
	"errors"
	"fmt"
	"slices"
	"strings"

	"assetferry/internal/sandbox/answer"
)

// The documentation of the context library says: a request of any kind refers to a context, or to
// one of its prompts or files, by an item of its content; {id} alone means all prompts and files.
// The request only stores the reference. For every call, the service adds the prompts to the
// instructions and attaches the files for the model. A context can also apply to a feature
// automatically. The prompt of a custom action or review is optional with a context.

const aContext = "context"

// The features to which contexts can apply automatically. Their names are guesses.
const (
	featureConversations = "conversations"
	featureActions       = "actions"
	featureReviews       = "reviews"
	featureDocuments     = "documents"
)

func features() []string {
	return []string{featureConversations, featureActions, featureReviews, featureDocuments}
}

// knowledge is the input that contexts add to a request.
type knowledge struct {
	instructions []string
	files        []answer.Attachment
	taken        map[string]bool // by kind and ID, because several items may refer to the same part
}

// know reads the contexts in the content of a request, and those that apply to a feature
// automatically.
func (s *Server) know(c *call, feature string, content []contentItem) (k knowledge, named bool, err error) {
	err = s.store.do(func(tx *sql.Tx) error {
		for _, item := range content {
			if item.Type != aContext {
				continue
			}
			if err := k.add(tx, c.who.environment, item); err != nil {
				return err
			}
		}
		named = len(k.instructions) > 0
		return k.addAutomatic(tx, c.who.environment, feature)
	})
	return k, named, err
}

// hasContext reports whether content refers to a context.
func hasContext(content []contentItem) bool {
	return slices.ContainsFunc(content, func(i contentItem) bool { return i.Type == aContext })
}

// permitContexts refuses a token without permission for the contexts in the content. Automatic
// contexts need no scope.
func (c *call) permitContexts(content []contentItem) error {
	if !hasContext(content) {
		return nil
	}
	return c.who.need([]string{readContexts})
}

// add adds the part of a context that an item refers to: a file, a prompt, or everything.
func (k *knowledge) add(tx *sql.Tx, environment string, item contentItem) error {
	v, err := selectContext(tx, environment, item.ID)
	switch {
	case err != nil:
		return err
	case item.FileID != "":
		f, err := selectContextFile(tx, v.seq, item.FileID)
		if err == nil {
			k.addFile(f)
		}
		return err
	case item.PromptID != "":
		p, err := readPrompt(tx.QueryRow("SELECT "+promptColumns+" FROM prompts WHERE context = ? AND id = ?", v.seq, item.PromptID).Scan)
		if errors.Is(err, sql.ErrNoRows) {
			return notFound("prompt", item.PromptID)
		}
		k.addPrompt(p)
		return err
	}
	return k.addWhole(tx, v)
}

// addWhole adds all prompts and files of a context.
func (k *knowledge) addWhole(tx *sql.Tx, v contextRow) error {
	if v.Instructions != "" && k.isNew("context", v.ID) {
		k.instructions = append(k.instructions, v.Instructions)
	}
	err := rows(tx, "SELECT "+promptColumns+" FROM prompts WHERE context = ? ORDER BY seq", []any{v.seq}, func(s scan) error {
		p, err := readPrompt(s)
		k.addPrompt(p)
		return err
	})
	if err != nil {
		return err
	}
	return rows(tx, "SELECT "+contextFileColumns+" FROM context_files WHERE context = ? ORDER BY seq", []any{v.seq}, func(s scan) error {
		f, err := readContextFile(s)
		k.addFile(f)
		return err
	})
}

// addAutomatic adds the contexts that apply to a feature automatically.
func (k *knowledge) addAutomatic(tx *sql.Tx, environment, feature string) error {
	var found []contextRow
	err := rows(tx, "SELECT "+contextColumns+" FROM contexts WHERE environment = ? ORDER BY seq", []any{environment}, func(s scan) error {
		v, err := readContext(s)
		if slices.Contains(v.AutoApply, feature) {
			found = append(found, v)
		}
		return err
	})
	if err != nil {
		return err
	}
	for _, v := range found {
		if err := k.addWhole(tx, v); err != nil {
			return err
		}
	}
	return nil
}

// addReferred adds the contexts in the messages of a conversation. Each call reads them again.
// Deleted ones are omitted.
func (k *knowledge) addReferred(tx *sql.Tx, environment string, v conversation) error {
	const query = `SELECT part.value ->> '$.id', coalesce(part.value ->> '$.fileId', ''), coalesce(part.value ->> '$.promptId', '')
		FROM messages, json_each(messages.body, '$.content') AS part
		WHERE messages.conversation = ? AND messages.body ->> '$.role' = 'user' AND part.value ->> '$.type' = 'context' ORDER BY messages.seq`
	var items []contentItem
	err := rows(tx, query, []any{v.seq}, func(s scan) error {
		item := contentItem{Type: aContext}
		err := s(&item.ID, &item.FileID, &item.PromptID)
		items = append(items, item)
		return err
	})
	if err != nil {
		return err
	}
	for _, item := range items {
		err := k.add(tx, environment, item)
		if _, refused := errors.AsType[*problem](err); err != nil && !refused {
			return err
		}
	}
	return nil
}

func (k *knowledge) addPrompt(p prompt) {
	if k.isNew("prompt", p.ID) {
		k.instructions = append(k.instructions, p.Prompt)
	}
}

func (k *knowledge) addFile(f contextFile) {
	if k.isNew("file", f.id) {
		k.files = append(k.files, f.forAnswer())
	}
}

// isNew reports whether a part was not added before, and records it.
func (k *knowledge) isNew(kind, id string) bool {
	name := kind + " " + id
	if k.taken[name] {
		return false
	}
	if k.taken == nil {
		k.taken = map[string]bool{}
	}
	k.taken[name] = true
	return true
}

// promptOr returns the prompt of a request, or else the text of the contexts.
func (k *knowledge) promptOr(prompt string) string {
	if strings.TrimSpace(prompt) != "" {
		return prompt
	}
	return strings.Join(k.instructions, "\n\n")
}

// text returns all instructions.
func (k *knowledge) text() string { return strings.Join(k.instructions, "\n") }

// style returns the house style in the contexts.
func (k *knowledge) style() answer.Style {
	texts := slices.Clone(k.instructions)
	for _, f := range k.files {
		if !strings.HasPrefix(f.Type, "image/") {
			texts = append(texts, answer.TextOf(f))
		}
	}
	return answer.StyleOf(texts)
}

// checkAs records mistakes in an item of content that must be of one type, or a context.
func (i contentItem) checkAs(kind, path string, wrong *issues) {
	switch i.Type {
	case kind:
		wrong.need(path+".content", i.Content)
	case aContext:
		i.check(path, wrong)
	default:
		wrong.add(path+".type", "must be %s or %s", kind, aContext)
	}
}

// checkContent records mistakes in content with items of one type and contexts.
func checkContent(content []contentItem, kind string, most int, wrong *issues) {
	n := len(ofType(content, kind))
	if n == 0 || n > most {
		wrong.add("content", "must have %s", numbered(kind, most))
	}
	for i, item := range content {
		item.checkAs(kind, fmt.Sprintf("content.%d", i), wrong)
	}
}

// numbered describes the required number of items.
func numbered(kind string, most int) string {
	if most == maxContent {
		return "a " + kind
	}
	return fmt.Sprintf("1 to %d %ss", most, kind)
}

// ofType returns the contents of the items of one type.
func ofType(content []contentItem, kind string) (all []string) {
	for _, item := range content {
		if item.Type == kind {
			all = append(all, item.Content)
		}
	}
	return all
}

func (f contextFile) forAnswer() answer.Attachment {
	return answer.Attachment{Name: f.name, Type: f.mediaType, Data: f.data}
}
