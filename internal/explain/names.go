package explain

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"assetferry/internal/config"
	"assetferry/internal/oldurl"
	"assetferry/internal/redirect"
	"assetferry/sources"
	"assetferry/state"
)

// names contains the former keys and the URLs of an object.
type names struct {
	former, aliases []sources.Key
	urls            []oldurl.Old
}

// shownURLs is the number of old URLs that are shown.
const shownURLs = 20

// namesOf returns the redirect map of a source and destination with the configured rules.
func (e *Explainer) namesOf(ctx context.Context, p state.Pair) (*redirect.Map, error) {
	m, err := redirect.Open(ctx, e.Store, p, 0)
	if err != nil {
		return nil, err
	}
	return m, m.Build(ctx, e.Rules)
}

// followed returns the history of the object that had the requested key or old URL before. If there
// is none, it returns h.
func (e *Explainer) followed(ctx context.Context, h History) (History, error) {
	m, err := e.namesOf(ctx, h.pair)
	if err != nil {
		return h, err
	}
	var key sources.Key
	if asked := string(h.key); config.IsURL(asked) {
		found, err := m.Finder().Find(ctx, asked)
		if errors.Is(err, oldurl.ErrUnknown) {
			return h, nil
		} else if err != nil {
			return h, err
		}
		key = sources.Key(found.Key)
	} else {
		at, err := e.Store.AssetURLByKey(ctx, h.pair.ID, h.key)
		if errors.Is(err, state.ErrNotFound) {
			return h, nil
		} else if err != nil {
			return h, err
		}
		key = at.Key
	}
	now, err := e.load(ctx, h.pair, key)
	if now.by = string(h.key); !h.isEmpty() {
		now.was = &h
	}
	return now, err
}

// loadNames reads the other names of an object.
func (e *Explainer) loadNames(ctx context.Context, h *History) (err error) {
	n := &h.names
	if n.former, err = e.Store.FormerKeys(ctx, h.pair.ID, h.key); err != nil {
		return err
	}
	if n.aliases, err = e.Store.Aliases(ctx, h.pair.ID, h.key); err != nil {
		return err
	}
	given, err := e.Store.OldURLs(ctx, h.pair.ID, h.key)
	if err != nil {
		return err
	}
	m, err := e.namesOf(ctx, h.pair)
	if err != nil {
		return err
	}
	if !e.HasRules { // otherwise all old URLs would be a slash and a key
		if err := m.Build(ctx, nil); err != nil {
			return err
		}
	}
	for _, group := range []struct {
		all  []string
		kind oldurl.Kind
	}{{[]string{string(h.key)}, oldurl.Current}, {texts(n.former), oldurl.Former}, {texts(n.aliases), oldurl.Alias}, {given, oldurl.Given}} {
		for _, as := range group.all {
			if err := n.add(ctx, m, *h, as, group.kind); err != nil {
				return err
			}
		}
	}
	return nil
}

// texts returns keys as strings.
func texts(keys []sources.Key) []string {
	all := make([]string, len(keys))
	for n, key := range keys {
		all[n] = string(key)
	}
	return all
}

// add adds the old URLs of an object for one of its names.
func (n *names) add(ctx context.Context, m *redirect.Map, h History, as string, kind oldurl.Kind) error {
	key := as
	if kind == oldurl.Given {
		key = string(h.key)
	}
	found, err := m.ByKey(ctx, key)
	if err != nil || found.Key != string(h.key) { // the URL belongs to another object
		return err
	}
	o := oldurl.Object{Key: found.Key, Kind: kind, URL: h.receipt.URL, Images: found.Images}
	for old, err := range m.Finder().List(ctx, as, o) {
		if err != nil {
			return err
		}
		if old.TakenBy == "" {
			n.urls = append(n.urls, old)
		}
	}
	return nil
}

// addNames lists the other names of an object.
func (p *Page) addNames(h History) {
	if h.by != "" {
		p.line("Asked for", h.by)
	}
	if len(h.names.former) > 0 {
		p.line("Former key", strings.Join(texts(h.names.former), ", "))
	}
	if len(h.names.aliases) > 0 {
		p.line("Other keys", strings.Join(texts(h.names.aliases), ", "))
	}
	title := "Old URL"
	for n, old := range h.names.urls {
		if n == shownURLs {
			p.line("", fmt.Sprintf("and %d more: assetferry urls", len(h.names.urls)-n))
			return
		}
		p.line(title, fmt.Sprintf("%s (%s)", old.URL, old.Kind))
		title = ""
	}
}
