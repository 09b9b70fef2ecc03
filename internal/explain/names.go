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

// names are what an object is known by besides its key.
type names struct {
	former, aliases []sources.Key
	addresses       []oldurl.Old
}

// shownAddresses is how many old addresses of an object are shown.
const shownAddresses = 20

// namesOf gives a mapping of a pair with the rules of the configuration.
func (e *Explainer) namesOf(ctx context.Context, p state.Pair) (*redirect.Map, error) {
	m, err := redirect.Open(ctx, e.Store, p, 0)
	if err != nil {
		return nil, err
	}
	return m, m.Build(ctx, e.Rules)
}

// followed looks for the object that goes by another key than the one of a history without
// a receipt, or that had it as an address. Without one it gives the History as it is.
func (e *Explainer) followed(ctx context.Context, h History) (History, error) {
	m, err := e.namesOf(ctx, h.pair)
	if err != nil {
		return h, err
	}
	var key sources.Key
	if asked := string(h.key); config.IsAddress(asked) {
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

// loadNames finds out what an object was known by.
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
	if !e.HasRules { // all addresses would be a slash and a key
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

// texts are keys as they are shown, and looked for among old addresses.
func texts(keys []sources.Key) []string {
	all := make([]string, len(keys))
	for n, key := range keys {
		all[n] = string(key)
	}
	return all
}

// add adds the old addresses that an object has because of something it is known by.
func (n *names) add(ctx context.Context, m *redirect.Map, h History, as string, kind oldurl.Kind) error {
	o := oldurl.Object{Key: string(h.key), Kind: kind, URL: h.receipt.URL}
	if kind != oldurl.Given {
		found, err := m.ByKey(ctx, as)
		if err != nil || found.Key != o.Key { // another one has it
			return err
		}
		o.Images = found.Images
	}
	for old, err := range m.Finder().List(ctx, as, o) {
		if err != nil {
			return err
		}
		if old.TakenBy == "" {
			n.addresses = append(n.addresses, old)
		}
	}
	return nil
}

// addNames says what an object was known by.
func (p *Page) addNames(h History) {
	if h.by != "" {
		p.line("Was", fmt.Sprintf("%s, which leads here", h.by))
	}
	if len(h.names.former) > 0 {
		p.line("Went by", strings.Join(texts(h.names.former), ", "))
	}
	if len(h.names.aliases) > 0 {
		p.line("Also as", strings.Join(texts(h.names.aliases), ", "))
	}
	title := "Old address"
	for n, old := range h.names.addresses {
		if n == shownAddresses {
			p.line("", fmt.Sprintf("and %d more, see assetferry urls", len(h.names.addresses)-n))
			return
		}
		p.line(title, fmt.Sprintf("%s (%s)", old.Address, old.Kind))
		title = ""
	}
}
