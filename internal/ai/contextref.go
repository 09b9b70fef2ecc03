package ai

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"slices"
	"strings"
)

// ErrContext reports a missing context, prompt or file. The codes for it are guesses.
var ErrContext = errors.New("no such context")

// A ContextRef refers to a context: to all of its prompts and files, or to one. A request only
// contains the reference; the service reads the current content.
type ContextRef struct {
	ID       string
	FileID   string // of a file; "": all
	PromptID string // of a prompt; "": all
}

// ParseContextRef parses ID, ID/file/FILEID or ID/prompt/PROMPTID.
func ParseContextRef(text string) (ContextRef, error) {
	parts := strings.Split(text, "/")
	for _, part := range parts {
		if part == "" || strings.TrimSpace(part) != part {
			return ContextRef{}, fmt.Errorf("%q must have the form ID, ID/prompt/PROMPTID or ID/file/FILEID", text)
		}
	}
	switch {
	case len(parts) == 1:
		return ContextRef{ID: parts[0]}, nil
	case len(parts) == 3 && parts[1] == "file":
		return ContextRef{ID: parts[0], FileID: parts[2]}, nil
	case len(parts) == 3 && parts[1] == "prompt":
		return ContextRef{ID: parts[0], PromptID: parts[2]}, nil
	}
	return ContextRef{}, fmt.Errorf("%q must have the form ID, ID/prompt/PROMPTID or ID/file/FILEID", text)
}

// String returns the form that [ParseContextRef] parses.
func (r ContextRef) String() string {
	switch {
	case r.FileID != "":
		return r.ID + "/file/" + r.FileID
	case r.PromptID != "":
		return r.ID + "/prompt/" + r.PromptID
	}
	return r.ID
}

// Item returns the reference as a part of a request.
func (r ContextRef) Item() Item {
	return Item{Type: "context", ID: r.ID, FileID: r.FileID, PromptID: r.PromptID}
}

// withContexts adds references to the content of a request.
func withContexts(content []Item, contexts []ContextRef) []Item {
	for _, ref := range contexts {
		content = append(content, ref.Item())
	}
	return content
}

// FindContexts returns the referenced contexts in the same order, if the token permits them.
// The error satisfies errors.Is(err, ErrContext) if one is missing, or lacks the prompt or
// file. If the service does not report the content of contexts, only a request can show this.
func (c *Client) FindContexts(ctx context.Context, refs []ContextRef) ([]Context, error) {
	found := make([]Context, len(refs))
	missing := len(refs)
	for v, err := range c.Contexts(ctx) {
		if errors.Is(err, fs.ErrNotExist) {
			return nil, fmt.Errorf("the service has no list of contexts at %s: %w", c.routes["Contexts"], err)
		} else if err != nil {
			return nil, err
		}
		for n, ref := range refs {
			if ref.ID == v.ID && found[n].ID == "" {
				found[n], missing = v, missing-1
			}
		}
		if missing == 0 {
			break
		}
	}
	for n, ref := range refs {
		if err := found[n].has(ref); err != nil {
			return nil, err
		}
	}
	return found, nil
}

// has checks that the referenced part exists, as far as the service reports it.
func (v *Context) has(ref ContextRef) error {
	switch {
	case v.ID == "":
		return fmt.Errorf("%w that the token may use: %q", ErrContext, ref.ID)
	case ref.PromptID != "" && v.Prompts != nil && !slices.ContainsFunc(v.Prompts, func(p Prompt) bool { return p.ID == ref.PromptID }):
		return fmt.Errorf("%w: %s (%s) has no prompt %q", ErrContext, v.ID, v.Name, ref.PromptID)
	case ref.FileID != "" && v.Files != nil && !slices.ContainsFunc(v.Files, func(f StoredFile) bool { return f.ID == ref.FileID }):
		return fmt.Errorf("%w: %s (%s) has no file %q", ErrContext, v.ID, v.Name, ref.FileID)
	}
	return nil
}
