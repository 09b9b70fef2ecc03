package wordpress

import (
	"context"
	"encoding/json"
	"html"
	"io/fs"
	"net/url"
	"strconv"
	"strings"
	"time"

	"assetferry/internal/pattern"
	"assetferry/sources"
)

// Describe implements sources.Catalog. It makes at most one request.
func (s *Source) Describe(ctx context.Context, o sources.Object) (sources.Description, error) {
	all, err := s.entriesOf(ctx, o)
	if err != nil {
		return sources.Description{}, s.fail(ctx, "describe", o.Key, err)
	}
	return describe(all), nil
}

// describe returns the metadata of the oldest entry, and the URLs of all of them.
func describe(all []entry) sources.Description {
	e := all[0]
	d := sources.Description{ContentType: e.MIMEType, Fields: map[string][]string{}}
	add := func(name string, values ...string) {
		if len(values) > 0 && values[0] != "" {
			d.Fields[name] = values
		}
	}
	add("title", e.Title.plain())
	add("alt", e.Alt)
	add("caption", e.Caption.plain())
	add("description", e.Description.plain())
	add("credit", e.Details.Image.Credit)
	add("copyright", e.Details.Image.Copyright)
	add("tags", e.Details.Image.Keywords...)
	add("created", e.captured())
	if t, err := time.Parse(timeForm, e.DateGMT); err == nil {
		add("uploaded", t.Format(time.RFC3339))
	}
	if len(e.Embedded.Author) > 0 {
		add("author", e.Embedded.Author[0].Name)
	}
	var urls []string
	for _, e := range all {
		urls = append(urls, e.oldURLs()...)
	}
	add("old_url", urls...)
	return d
}

// captured returns the capture date, or "". WordPress stores the time of the camera without its
// offset, as if it was UTC.
func (e *entry) captured() string {
	seconds, err := strconv.ParseInt(strings.Trim(string(e.Details.Image.Created), `"`), 10, 64)
	if err != nil || seconds <= 0 {
		return ""
	}
	return time.Unix(seconds, 0).UTC().Format(timeForm)
}

var (
	// shown is what WordPress puts in front of a rendered description: the file itself.
	shown = pattern.Lazy(`(?s)^\s*(<p class="attachment">.*?</p>|<div[^>]*class="wp-(video|audio)"[^>]*>.*?</div>|<audio.*?</audio>|<video.*?</video>)`)
	ends  = pattern.Lazy(`(?i)\s*(<br\s*/?>|</p>)\s*`)
	tags  = pattern.Lazy(`<[^>]*>`)
)

// plain returns a text as it was written, or else the text of its HTML.
func (t text) plain() string {
	if t.Raw != nil {
		return *t.Raw
	}
	s := shown().ReplaceAllString(t.Rendered, "")
	s = tags().ReplaceAllString(ends().ReplaceAllString(s, "\n"), "")
	return strings.TrimSpace(html.UnescapeString(s))
}

// entriesOf returns the entries of an object, if they have the listed version: from the last
// listing, or from the site.
func (s *Source) entriesOf(ctx context.Context, o sources.Object) (all []entry, err error) {
	if ctx.Err() != nil {
		return nil, context.Cause(ctx)
	}
	if all, err := s.remembered(o); err != nil || all != nil {
		return all, err
	}
	return s.request(ctx, o)
}

// remembered returns the entries of an object in the last listing; nil if it has another version.
func (s *Source) remembered(o sources.Object) (all []entry, err error) {
	l, release := s.use()
	defer func() {
		if e := release(); err == nil {
			err = e
		}
	}()
	if l == nil {
		return nil, nil
	}
	same, err := l.index.Find(o.Key)
	if err != nil {
		return nil, err
	}
	all = entriesIn(same)
	if t := tagOf(o); len(all) == 0 || idsOf(all) != t.ids || metadataVersion(all) != t.metadata {
		return nil, nil
	}
	return all, nil
}

// request requests the entries of an object from the site.
func (s *Source) request(ctx context.Context, o sources.Object) ([]entry, error) {
	t := tagOf(o)
	if t.ids == "" || strings.Trim(t.ids, "0123456789,") != "" {
		return nil, sources.ErrChanged
	}
	query := s.query()
	query.Set("include", t.ids)
	query.Set("per_page", "100")
	query.Set("orderby", "id")
	query.Set("order", "asc")
	var items []json.RawMessage
	if err := s.client.Get(ctx, mediaRoute, query, &items); err != nil {
		return nil, err
	}
	var all []entry
	for _, item := range items {
		e, err := decode(item)
		if err != nil {
			return nil, err
		}
		all = append(all, e)
	}
	first, _, _ := strings.Cut(t.ids, ",")
	switch {
	case len(all) == 0:
		return nil, fs.ErrNotExist
	case strconv.FormatInt(all[0].ID, 10) != first || metadataVersion(all) != t.metadata:
		return nil, sources.ErrChanged
	}
	return all, nil
}

// query returns the parameters of a request for entries. Only an account that may edit them gets
// texts as they were written, and private entries, as the library in WordPress shows them.
func (s *Source) query() url.Values {
	query := url.Values{"_fields": {fields}, "_embed": {"author"}}
	if s.client.HasPassword() {
		query.Set("context", "edit")
		query.Set("status", "inherit,private")
	}
	return query
}
