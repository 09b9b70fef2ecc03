package cli

import (
	"context"
	"errors"
	"iter"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"assetferry/internal/oldurl"
	"assetferry/internal/redirect"
	"assetferry/internal/rewrite"
)

// A book is what rewrite looks addresses up in.
type book interface {
	rewrite.Book
	Old() []string           // what old addresses begin with
	Others() []string        // what others begin with that may be old ones, or not
	Assets() *rewrite.Assets // those that it leads to
	Unmet(yield func(rewrite.Row, error) bool)
}

func (a *app) openBook(ctx context.Context, cmd *cobra.Command, job rewriteJob) (book, error) {
	if job.addressMap != "" {
		return openMap(job.addressMap)
	}
	return a.openJournalBook(ctx, cmd, job.prefixes)
}

// A journalBook is what a journal knows of the addresses of a source at a destination. What
// can be listed is copied into a map, which answers a hundred times as fast as the journal;
// that is asked for the rest: images in sizes that nobody knows, and what must stay.
type journalBook struct {
	*rewrite.Map
	ctx    context.Context
	m      *redirect.Map
	old    []string
	others []string
	recent map[string]rewrite.Verdict
}

// recentAddresses is how many answers of the journal are kept.
const recentAddresses = 100_000

func (a *app) openJournalBook(ctx context.Context, cmd *cobra.Command, prefixes []string) (book, error) {
	rules, err := a.rewriteRules(prefixes)
	if err != nil {
		return nil, err
	}
	journal, err := a.readJournal(ctx)
	if err != nil {
		return nil, err
	}
	pairs, err := journal.Pairs(ctx)
	if err != nil {
		return nil, err
	}
	m, err := a.openRedirects(ctx, cmd, journal, pairs)
	if err == nil {
		err = m.Build(ctx, rules)
	}
	if err != nil {
		return nil, err
	}
	b := &journalBook{ctx: ctx, m: m, recent: map[string]rewrite.Verdict{}}
	for _, r := range rules {
		b.old = append(b.old, r.Beginning())
	}
	for _, begin := range m.Finder().Beginnings() {
		if !slices.Contains(b.old, begin) && begin != "/" {
			b.others = append(b.others, begin)
		}
	}
	b.Map, err = rewrite.NewMap(listed(ctx, m))
	if e, ok := errors.AsType[*rewrite.RowError](err); ok {
		return nil, usage(e, "assetferry urls lists old and new addresses; correct --old-prefix or the addresses in assetferry.yaml")
	}
	if err != nil {
		return nil, err
	}
	b.addPaths()
	return b, nil
}

// addPaths adds what addresses without a host begin with, of which rules or the journal say
// only that they are paths. Where rules build them, those that nobody knows are told.
func (b *journalBook) addPaths() {
	list := &b.others
	if slices.Contains(b.old, "/") {
		list = &b.old
	}
	for _, begin := range b.Map.Old() {
		if !strings.HasPrefix(begin, "//") {
			*list = append(*list, begin)
		}
	}
}

// listed yields what can be listed.
func listed(ctx context.Context, m *redirect.Map) iter.Seq2[rewrite.Row, error] {
	return func(yield func(rewrite.Row, error) bool) {
		for l, err := range m.All(ctx) {
			if err == nil && (l.Left != "" || !rewrite.CanBeFound(l.Old)) {
				continue
			}
			if !yield(rewrite.Row{Old: l.Old, New: l.New}, err) {
				return
			}
		}
	}
}

// rewriteRules are those by which old addresses were built. Other than for a map, it must
// be said what they begin with: a key alone is no address.
func (a *app) rewriteRules(prefixes []string) ([]*oldurl.Template, error) {
	if len(prefixes) == 0 && len(a.settings.Addresses) == 0 {
		return nil, usage(errors.New("it is not said what old addresses begin with"),
			"say it with --old-prefix, like https://old.example.com/files/, or with addresses in assetferry.yaml, or give a --map")
	}
	if len(prefixes) == 0 {
		return a.settings.Addresses, nil
	}
	var all []*oldurl.Template
	for _, text := range prefixes {
		rules, err := a.addressRules(text)
		if err != nil {
			return nil, err
		}
		all = append(all, rules...)
	}
	return all, nil
}

// Old implements book.
func (b *journalBook) Old() []string { return b.old }

// Others implements book.
func (b *journalBook) Others() []string { return b.others }

// Find implements rewrite.Book.
func (b *journalBook) Find(address string) (rewrite.Verdict, error) {
	v, err := b.Map.Find(address)
	if err != nil || v.Kind != rewrite.Unknown {
		return v, err
	}
	if v, known := b.recent[address]; known {
		return v, nil
	}
	if v, err = b.find(address); err != nil {
		return v, err
	}
	if len(b.recent) == recentAddresses {
		clear(b.recent)
	}
	b.recent[address] = v
	return v, nil
}

func (b *journalBook) find(address string) (rewrite.Verdict, error) {
	found, err := b.m.Finder().Find(b.ctx, address)
	if errors.Is(err, oldurl.ErrUnknown) {
		return rewrite.Verdict{}, nil
	}
	if err != nil {
		return rewrite.Verdict{}, err
	}
	if path, _, hasQuery := strings.Cut(address, "?"); hasQuery {
		// The finder leaves out what it does not know; how much of the text that is,
		// only the rewriter can tell.
		without, err := b.m.Finder().Find(b.ctx, path)
		if err == nil && without.Key == found.Key && without.New == found.New {
			return rewrite.Verdict{}, nil
		}
	}
	b.Assets().Meet(rewrite.Canonical(found.New))
	if found.Left != "" {
		return rewrite.Verdict{Kind: rewrite.Left, Why: found.Left}, nil
	}
	return rewrite.Verdict{Kind: rewrite.Replaced, New: found.New}, nil
}
