package posts

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/url"
	"slices"
	"strings"

	"assetferry/internal/hint"
	"assetferry/internal/wordpress"
)

// A post is a post, a page or another item with content.
type post struct {
	ID       json.RawMessage `json:"id"` // a number; a text for templates
	Status   string          `json:"status"`
	Modified string          `json:"modified_gmt"`
	Content  struct {
		Raw      *string `json:"raw"`
		Rendered string  `json:"rendered"`
	} `json:"content"`
	FeaturedMedia int             `json:"featured_media"`
	Meta          json.RawMessage `json:"meta"`
	ACF           json.RawMessage `json:"acf"`
	Source        string          `json:"source"` // of a template
	Stored        int             `json:"wp_id"`  // of a template

	kind    postType
	builder string
	fields  map[string]json.RawMessage // all of them, if it was read alone
}

// isStored reports whether the content of a post is in the database. A template without changes is a
// file of the theme.
func (p *post) isStored() bool {
	isTemplate := len(p.ID) > 0 && p.ID[0] == '"'
	return p.Content.Raw != nil && (!isTemplate || p.Source == "custom" && p.Stored > 0)
}

// id returns the ID as a text.
func (p *post) id() string {
	var text string
	if json.Unmarshal(p.ID, &text) == nil {
		return text
	}
	return string(p.ID)
}

// path returns the route of a post.
func (p *post) path() string { return p.kind.path + "/" + p.id() }

// name returns the name of a post for people.
func (p *post) name() string { return nameOf(p.path()) }

func nameOf(path string) string {
	return strings.TrimPrefix(strings.TrimPrefix(path, "/wp/v2"), "/")
}

// hintForm is the next step after a response that is not that of WordPress.
const hintForm = "a plugin probably changes the responses of the REST API: deactivate it, and run the same command again"

// read reads a post with all its fields.
func (s *Session) read(ctx context.Context, kind postType, path string) (*post, error) {
	var text json.RawMessage
	err := s.API.Get(ctx, path, url.Values{"context": {"edit"}}, &text)
	if wordpress.IsTooLarge(err) {
		return nil, fmt.Errorf("the post is too large for the API: replace its embedded images (data:) by files, or rewrite the table wp_posts in a dump: %w", err)
	}
	if err != nil {
		return nil, err
	}
	p := &post{kind: kind}
	err = json.Unmarshal(text, p)
	if err == nil {
		err = json.Unmarshal(text, &p.fields)
	}
	if err == nil && p.Content.Raw == nil {
		err = errors.New("the field content.raw is missing")
	}
	if err != nil {
		return nil, hint.New(fmt.Errorf("%s: the site does not show the post as it is stored: %w", nameOf(path), err), hintForm)
	}
	return p, nil
}

// ErrChanged means that a post is not any more as it was read.
var ErrChanged = errors.New("changed while it was read: run rewrite again")

// sameAs returns ErrChanged if a post has changed since it was listed.
func (p *post) sameAs(now *post) error {
	if *now.Content.Raw != *p.Content.Raw || now.Modified != p.Modified {
		return ErrChanged
	}
	return nil
}

// isFiltered reports whether the site says that it would remove HTML from this post. Configurations
// can forbid the right that the account has.
func (p *post) isFiltered() bool {
	var links map[string]json.RawMessage
	if json.Unmarshal(p.fields["_links"], &links) != nil {
		return false
	}
	_, mayKeep := links["wp:action-unfiltered-html"]
	_, mayPublish := links["wp:action-publish"]
	return mayPublish && !mayKeep
}

// comparedFields are the fields that a change of the content must not change.
var comparedFields = [...]string{
	"id", "type", "status", "slug", "date", "date_gmt", "author", "parent", "menu_order", "featured_media", "comment_status", "ping_status",
	"sticky", "template", "format", "password", "meta", "title", "excerpt", "wp_id", "source", "theme", "area", "link",
}

// difference returns the first field that another version of a post has changed, or "". WordPress
// sets the date of a draft at each change.
func (p *post) difference(now *post) string {
	names := slices.Clone(comparedFields[:])
	for name, value := range p.fields {
		if isNumbers(value) { // terms of a taxonomy
			names = append(names, name)
		}
	}
	for _, name := range names {
		if strings.HasPrefix(name, "date") && slices.Contains([]string{"draft", "pending", "auto-draft"}, p.Status) {
			continue
		}
		if !bytes.Equal(stored(p.fields[name]), stored(now.fields[name])) {
			return name
		}
	}
	return ""
}

// stored returns the stored form of a field, without the form that pages show.
func stored(value json.RawMessage) []byte {
	var field struct {
		Raw *string `json:"raw"`
	}
	if json.Unmarshal(value, &field) == nil && field.Raw != nil {
		return []byte(*field.Raw)
	}
	return value
}

func isNumbers(value json.RawMessage) bool {
	var all []int64
	return json.Unmarshal(value, &all) == nil && all != nil
}
