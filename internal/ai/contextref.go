package ai

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"slices"
	"strings"
)

// ErrContext says that there is no such context, or nothing in it that was referred to. The
// codes by which it is known are guesses.
var ErrContext = errors.New("no such context")

// A ContextRef refers to a context: to all of its prompts and files, or to one of them. The
// service reads what is in it on every call; a request holds the reference only.
type ContextRef struct {
	ID       string
	FileID   string // of one file; empty: all
	PromptID string // of one prompt; empty: all
}

// ParseContextRef reads a reference written like ID, ID/file/FILEID or ID/prompt/PROMPTID.
func ParseContextRef(text string) (ContextRef, error) {
	parts := strings.Split(text, "/")
	for _, part := range parts {
		if part == "" || strings.TrimSpace(part) != part {
			return ContextRef{}, fmt.Errorf("%q is not of the form ID, ID/prompt/PROMPTID or ID/file/FILEID", text)
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
	return ContextRef{}, fmt.Errorf("%q is not of the form ID, ID/prompt/PROMPTID or ID/file/FILEID", text)
}

// String is what [ParseContextRef] reads.
func (r ContextRef) String() string {
	switch {
	case r.FileID != "":
		return r.ID + "/file/" + r.FileID
	case r.PromptID != "":
		return r.ID + "/prompt/" + r.PromptID
	}
	return r.ID
}

// Item is the reference as a part of a request.
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

// FindContexts finds those contexts that are referred to, in the same order, among those that
// our token may use. The error satisfies errors.Is(err, ErrContext) where one is not there, or
// says that it lacks the prompt or the file. Where the service does not say what a context
// holds, only a call tells.
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

// has makes sure that what is referred to is there, as far as the service says.
func (v *Context) has(ref ContextRef) error {
	switch {
	case v.ID == "":
		return fmt.Errorf("%w that our token may use: %q", ErrContext, ref.ID)
	case ref.PromptID != "" && v.Prompts != nil && !slices.ContainsFunc(v.Prompts, func(p Prompt) bool { return p.ID == ref.PromptID }):
		return fmt.Errorf("%w: %s (%s) has no prompt %q", ErrContext, v.ID, v.Name, ref.PromptID)
	case ref.FileID != "" && v.Files != nil && !slices.ContainsFunc(v.Files, func(f StoredFile) bool { return f.ID == ref.FileID }):
		return fmt.Errorf("%w: %s (%s) has no file %q", ErrContext, v.ID, v.Name, ref.FileID)
	}
	return nil
}
