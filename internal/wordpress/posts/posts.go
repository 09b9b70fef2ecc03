// Package posts rewrites the content of a WordPress site through its REST API: posts, pages, reusable
// blocks, templates, and other types with content.
//
// A post is changed only if it is still as it was read. Its original is stored before, and the post is
// read and compared after. The API cannot lock a post: an editor who saves it between the comparison
// and the write is overwritten.
package posts

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"iter"
	"maps"
	"net/url"
	"slices"
	"strings"

	"assetferry/internal/event"
	"assetferry/internal/hint"
	"assetferry/internal/rewrite"
	"assetferry/internal/wordpress"
	"assetferry/internal/wordpress/blocks"
)

// An API is the REST API of a site.
type API interface {
	Get(ctx context.Context, path string, query url.Values, into any) error
	Post(ctx context.Context, path string, body, into any) error
	List(ctx context.Context, path string, query url.Values) iter.Seq2[json.RawMessage, error]
	Site(ctx context.Context) (wordpress.Site, error)
	Account(ctx context.Context) (wordpress.Account, error)
}

// A Session rewrites or restores the posts of a site, and counts the results.
type Session struct {
	API     API
	Site    string           // the URL of the site, for the backup
	Session *rewrite.Session // rewrites texts; its backup is nil for a dry run
	Sizes   *rewrite.Sizes   // the lookup of the Rewriter
	Watch   Observer

	builders []builder // that the site has
	failed   error     // of a lookup within a text
}

// An Observer receives the events of a session.
type Observer interface {
	rewrite.Observer
	Kept(name string, l blocks.Left) // a reference by ID that stays
	Unreached(name, kind string)     // a post with content that the API does not reach
}

// New returns a session. The sizes may be nil to restore posts.
func New(api API, site string, texts *rewrite.Session, sizes *rewrite.Sizes, watch Observer) *Session {
	for _, c := range []*event.Counts{&texts.Counts.IDsKept, &texts.Counts.Unreached, &texts.Counts.Local} {
		*c = event.Counts{}
	}
	return &Session{API: api, Site: site, Session: texts, Sizes: sizes, Watch: watch}
}

// A postType is a type of posts.
type postType struct {
	name string // post, page, wp_block
	path string // of its route
}

// Rewrite rewrites all posts. It continues after a post that cannot be read or written, and stops if
// the site changed more of a post than its content.
func (s *Session) Rewrite(ctx context.Context) error {
	if err := s.checkAccount(ctx); err != nil {
		return err
	}
	if err := s.examine(ctx); err != nil {
		return err
	}
	types, err := s.types(ctx)
	if err != nil {
		return err
	}
	for _, t := range types {
		if err := s.all(ctx, t); err != nil {
			return err
		}
	}
	return nil
}

// unfiltered is the right to save any HTML.
const unfiltered = "unfiltered_html"

// checkAccount returns an error if the account may not save all content as it is.
func (s *Session) checkAccount(ctx context.Context) error {
	account, err := s.API.Account(ctx)
	if err != nil {
		return err
	}
	who := "the account " + account.Name
	switch has := account.Capabilities; {
	case s.Session.Backup != nil && !has[unfiltered]:
		return &RightError{who, unfiltered, removed, hintAdministrator}
	case len(has) > 0 && !has[wordpress.EditOthers]:
		return &RightError{who, wordpress.EditOthers, "WordPress would hide posts of others from it", "use an application password of an administrator or an editor"}
	}
	return nil
}

// A RightError means that an account lacks a capability.
type RightError struct{ who, right, why, hint string }

// Texts about the right unfiltered: the consequence of its lack, and the next steps, for an account without
// it, and for a site that forbids it to accounts that have it.
const (
	removed           = "WordPress would remove scripts and frames from the content"
	hintAdministrator = "use an application password of an administrator, of an editor (not in a network of sites), or of a super administrator of the network"
	hintForbidden     = "in a network of sites, use an application password of a super administrator; otherwise remove DISALLOW_UNFILTERED_HTML from wp-config.php until rewrite has ended"
)

func (e *RightError) Error() string {
	return fmt.Sprintf("%s lacks the capability %s: %s", e.who, e.right, e.why)
}

// Hint returns the next step for the user.
func (e *RightError) Hint() string { return e.hint }

// IsAuth reports that the error concerns the permissions of the credentials.
func (e *RightError) IsAuth() bool { return true }

// Types whose content is something else, or which have none.
var otherTypes = [...]string{"attachment", "nav_menu_item", "wp_global_styles", "wp_font_family", "wp_font_face"}

// types returns the types that the account may edit.
func (s *Session) types(ctx context.Context) (all []postType, err error) {
	var found map[string]struct {
		RestBase  string `json:"rest_base"`
		Namespace string `json:"rest_namespace"`
	}
	if err := s.API.Get(ctx, "/wp/v2/types", url.Values{"context": {"edit"}}, &found); err != nil {
		return nil, err
	}
	for _, name := range slices.Sorted(maps.Keys(found)) {
		t := found[name]
		if t.RestBase == "" || slices.Contains(otherTypes[:], name) || strings.ContainsAny(t.RestBase, "(?") { // of a parent: revisions
			continue
		}
		if t.Namespace == "" {
			t.Namespace = "wp/v2"
		}
		all = append(all, postType{name, "/" + t.Namespace + "/" + t.RestBase})
	}
	return all, nil
}

// all rewrites all posts of a type.
func (s *Session) all(ctx context.Context, t postType) error {
	fields := "id,status,modified_gmt,content.raw,featured_media,meta,acf,source,wp_id"
	if len(s.builders) > 0 { // only the page shows what built it
		fields += ",content.rendered"
	}
	query := url.Values{"context": {"edit"}, "status": {"any"}, "_fields": {fields}}
	var last json.RawMessage // the ID of the last post
	for text, err := range s.API.List(ctx, t.path, query) {
		if cause := context.Cause(ctx); cause != nil {
			return cause
		}
		if wordpress.IsAuth(err) {
			s.fail(nameOf(t.path), err)
			return nil
		}
		if wordpress.IsTooLarge(err) {
			return s.after(ctx, t, last)
		}
		if err != nil {
			return err
		}
		var p post
		if err := json.Unmarshal(text, &p); err != nil {
			return hint.New(fmt.Errorf("%s: the site lists posts in an unknown form: %w", t.path, err), hintForm)
		}
		p.kind, last = t, p.ID
		if err := s.post(ctx, &p); err != nil {
			return err
		}
	}
	return nil
}

// after rewrites the posts of a type after the one with an ID. It reads each alone, because two of
// them are too large for one response.
func (s *Session) after(ctx context.Context, t postType, last json.RawMessage) error {
	isAfter := last == nil
	for text, err := range s.API.List(ctx, t.path, url.Values{"context": {"edit"}, "status": {"any"}, "_fields": {"id"}}) {
		if cause := context.Cause(ctx); cause != nil {
			return cause
		}
		if err != nil {
			return err
		}
		listed := post{kind: t}
		if err := json.Unmarshal(text, &listed); err != nil {
			return hint.New(fmt.Errorf("%s: the site lists posts in an unknown form: %w", t.path, err), hintForm)
		}
		if !isAfter {
			isAfter = bytes.Equal(listed.ID, last)
			continue
		}
		p, err := s.read(ctx, t, listed.path())
		if err == nil {
			err = s.post(ctx, p)
		} else if !isFatal(ctx, err) {
			s.Session.Counts.Files++
			s.fail(listed.name(), err)
			err = nil
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// fail counts a post that stays as it is.
func (s *Session) fail(name string, err error) {
	s.Session.Counts.Failed++
	s.Watch.Failed(name, err)
}

// post rewrites a post. It returns only errors that end the run.
func (s *Session) post(ctx context.Context, p *post) error {
	if !p.isStored() {
		return nil
	}
	if p.FeaturedMedia > 0 {
		s.Session.Counts.Local[FeaturedImages]++
	}
	s.Session.Counts.Files++
	if err := s.examinePost(p); err != nil || p.builder != "" {
		return err
	}
	err := s.rewrite(ctx, p)
	if err == nil || isFatal(ctx, err) {
		return err
	}
	s.fail(p.name(), err)
	return nil
}

// isFatal reports whether an error ends the run: another one concerns only one post.
func isFatal(ctx context.Context, err error) bool {
	_, differs := errors.AsType[*DifferenceError](err)
	_, lacks := errors.AsType[*RightError](err)
	return differs || lacks || ctx.Err() != nil || !errors.Is(err, ErrChanged) && !wordpress.IsTooLarge(err) && !isRefused(err)
}

// isRefused reports whether the site answered, and refused one post.
func isRefused(err error) bool {
	e, ok := errors.AsType[*wordpress.Error](err)
	return ok && 400 <= e.Status() && e.Status() < 500 && e.Status() != 401 && e.Status() != 429
}

// rewrite rewrites the content of a post.
func (s *Session) rewrite(ctx context.Context, p *post) error {
	if blocks.HasGallery(*p.Content.Raw) {
		rendered, err := s.read(ctx, p.kind, p.path())
		if err == nil {
			err = p.sameAs(rendered)
		}
		if err != nil {
			return err
		}
		p.Content.Rendered = rendered.Content.Rendered
	}
	text, err := s.convert(ctx, p)
	if err != nil || text == *p.Content.Raw {
		return err
	}
	if s.Session.Backup == nil {
		s.Session.Counts.Changed++
		return s.show(p.name(), *p.Content.Raw, text)
	}
	original, err := s.replace(ctx, p, text)
	if err != nil {
		return err
	}
	s.Session.Counts.Changed++
	s.Watch.Replaced(p.name(), original)
	return nil
}

// convert returns the new content of a post.
func (s *Session) convert(ctx context.Context, p *post) (string, error) {
	s.Sizes.Begin()
	text, left := blocks.ExpandGalleries(*p.Content.Raw, p.Content.Rendered, s.isKnown)
	var b strings.Builder
	if _, err := s.Session.Text(ctx, p.name(), strings.NewReader(text), &b); err != nil {
		return "", err
	}
	r := blocks.Convert(b.String(), s.widths)
	counts := s.Session.Counts
	counts.IDs += int64(r.IDs)
	counts.Widths += int64(r.Sets)
	for _, l := range slices.Concat(left, r.Left) {
		counts.IDsKept[l.Why]++
		s.Watch.Kept(p.name(), l)
	}
	return r.Text, s.failed
}

// isKnown reports whether a URL is an old or new URL of an asset.
func (s *Session) isKnown(url string) bool {
	c := rewrite.Canonical(url)
	if c == "" {
		return false
	}
	v, err := s.Sizes.Find(c)
	s.failed = errors.Join(s.failed, err)
	return v.Kind == rewrite.Replaced || v.Kind == rewrite.Current
}

// widths implements blocks.Lookup.
func (s *Session) widths(url string) (widths []blocks.Width, ok bool) {
	images, ok := s.Sizes.Asset(url)
	for _, i := range images {
		widths = append(widths, blocks.Width{Pixels: i.Width, URL: i.URL})
	}
	return widths, ok
}

// ErrNoPassword means that no application password was given: without one, the API does not show the
// content as it is stored.
var ErrNoPassword = hint.Usage(errors.New("rewriting a WordPress site needs an application password"),
	"create an application password in WordPress (Users > Profile > Application Passwords), and set ASSETFERRY_WORDPRESS_USER and ASSETFERRY_WORDPRESS_PASSWORD")

// IsAuth reports whether an error concerns the credentials or the permissions of the account.
func IsAuth(err error) bool {
	_, lacks := errors.AsType[*RightError](err)
	return lacks || wordpress.IsAuth(err)
}

// UploadsURL returns the beginning of the URLs of all files of a site, or "" if it has none.
func UploadsURL(ctx context.Context, api API) (string, error) {
	var media []struct {
		URL     string          `json:"source_url"`
		Details json.RawMessage `json:"media_details"` // a list, if a file has none
	}
	query := url.Values{"per_page": {"10"}, "_fields": {"source_url,media_details"}}
	if err := api.Get(ctx, "/wp/v2/media", query, &media); err != nil {
		return "", err
	}
	for _, m := range media {
		var details struct {
			File string `json:"file"`
		}
		if json.Unmarshal(m.Details, &details) != nil || details.File == "" {
			continue
		}
		if begin, ok := strings.CutSuffix(m.URL, details.File); ok && strings.HasSuffix(begin, "/") {
			return begin, nil
		}
	}
	return "", nil
}
