package posts

import (
	"context"
	"errors"
	"fmt"

	"assetferry/internal/ui"
	"assetferry/internal/wordpress/blocks"
)

// A DifferenceError means that a post was not as expected after it was written. The run stops.
type DifferenceError struct {
	Name     string // of the post
	Field    string // that differs; empty if the post could not be read
	Restored bool   // the post has its former content again
	Original string // the file with the former content
	err      error  // of the attempt to read or to restore it
}

func (e *DifferenceError) Error() string {
	text := fmt.Sprintf("%s: after the write, the field %q is not as expected", ui.Sanitize(e.Name), e.Field)
	switch {
	case e.Field == "":
		text = fmt.Sprintf("%s: the post could not be read after the write, and may have its new content", ui.Sanitize(e.Name))
	case e.Restored:
		return text + "; the former content is restored"
	default:
		text += "; restoring the former content failed"
	}
	if e.err != nil {
		text += ": " + e.err.Error()
	}
	return text
}

// Unwrap returns the error of the attempt to read the post or to restore it, or nil.
func (e *DifferenceError) Unwrap() error { return e.err }

// Hint returns the next step for the user.
func (e *DifferenceError) Hint() string {
	switch {
	case e.Field == "":
		return "run rewrite again: it continues, and the original is in " + e.Original
	case e.Restored:
		return "find the plugin that changes posts when they are saved, and exclude this site or deactivate the plugin; the original is also in " + e.Original
	}
	return "compare the post with its original, and restore it in the editor if needed; the original is in " + e.Original
}

// replace changes the content of a post that was listed, and returns the file with the original.
func (s *Session) replace(ctx context.Context, p *post, text string) (original string, err error) {
	before, err := s.read(ctx, p.kind, p.path())
	if err != nil {
		return "", err
	}
	if err := p.sameAs(before); err != nil {
		return "", err
	}
	if before.isFiltered() {
		return "", &RightError{"the account", unfiltered, removed, hintForbidden}
	}
	if original, err = s.keep(before, text); err != nil {
		return "", err
	}
	return original, s.put(ctx, before, text, original)
}

// put writes the content of a post, reads the post again, and restores the content if anything else
// changed. An interrupt does not stop it midway.
func (s *Session) put(ctx context.Context, before *post, text, original string) error {
	ctx = context.WithoutCancel(ctx)
	failed := s.API.Post(ctx, before.path(), contentOf(text), nil)
	after, err := s.read(ctx, before.kind, before.path())
	if err != nil {
		return &DifferenceError{Name: before.name(), Original: original, err: errors.Join(failed, err)}
	}
	field := before.difference(after)
	if blocks.Comparable(*after.Content.Raw) != blocks.Comparable(text) {
		field = "content"
	}
	if field == "" { // even if the response was lost
		return nil
	}
	if failed != nil && *after.Content.Raw == *before.Content.Raw && after.Modified == before.Modified {
		return failed
	}
	e := &DifferenceError{Name: before.name(), Field: field, Original: original}
	e.Restored, e.err = s.revert(ctx, before)
	return e
}

// revert writes the former content of a post.
func (s *Session) revert(ctx context.Context, before *post) (done bool, err error) {
	if err := s.API.Post(ctx, before.path(), contentOf(*before.Content.Raw), nil); err != nil {
		return false, err
	}
	after, err := s.read(ctx, before.kind, before.path())
	return err == nil && blocks.Comparable(*after.Content.Raw) == blocks.Comparable(*before.Content.Raw), err
}

func contentOf(text string) map[string]string { return map[string]string{"content": text} }
