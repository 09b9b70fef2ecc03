package main

import (
	"bufio"
	"context"
	"encoding/csv"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"iter"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"assetferry/internal/addresses"
	"assetferry/internal/rewrite"
	"assetferry/internal/ui"
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

// A mapBook is a file with old and new addresses.
type mapBook struct{ *rewrite.Map }

func (mapBook) Others() []string { return nil }

// openMap reads a map as urls writes it.
func openMap(name string) (_ book, err error) {
	f, err := os.Open(name)
	if err != nil {
		return nil, usage(fmt.Errorf("open map: %w", err), "assetferry urls writes one")
	}
	defer func() { err = errors.Join(err, f.Close()) }()
	read, first := readTSV, 1
	switch strings.ToLower(filepath.Ext(name)) {
	case ".csv":
		read, first = readCSV, 2
	case ".json", ".jsonl", ".ndjson":
		read = readJSON
	}
	m, err := rewrite.NewMap(read(name, f))
	if e, ok := errors.AsType[*rewrite.RowError](err); ok {
		return nil, usage(fmt.Errorf("%s:%d: %w", ui.Sanitize(name), first+e.Row-1, err), "write the map again with assetferry urls and --old-prefix, or correct that line")
	}
	if err != nil {
		return nil, err
	}
	return mapBook{m}, nil
}

// mapMistake is a line of a map that cannot be read.
func mapMistake(name string, line int, msg string) error {
	return usage(fmt.Errorf("%s:%d: %s", ui.Sanitize(name), line, msg), "write the map with assetferry urls")
}

func readTSV(name string, from io.Reader) iter.Seq2[rewrite.Row, error] {
	return func(yield func(rewrite.Row, error) bool) {
		lines := bufio.NewScanner(from)
		lines.Buffer(nil, 1<<20)
		for n := 1; lines.Scan(); n++ {
			old, new, ok := strings.Cut(lines.Text(), "\t")
			if !ok {
				yield(rewrite.Row{}, mapMistake(name, n, "there is no tab between an old and a new address"))
				return
			}
			new, _, _ = strings.Cut(new, "\t")
			if !yield(rewrite.Row{Old: old, New: new}, nil) {
				return
			}
		}
		if err := lines.Err(); err != nil {
			yield(rewrite.Row{}, fmt.Errorf("read map %s: %w", name, err))
		}
	}
}

func readCSV(name string, from io.Reader) iter.Seq2[rewrite.Row, error] {
	return func(yield func(rewrite.Row, error) bool) {
		rows := csv.NewReader(from)
		rows.ReuseRecord = true
		head, err := rows.Read()
		old, new := slices.Index(head, "old"), slices.Index(head, "new")
		if err == nil && (old < 0 || new < 0) {
			err = mapMistake(name, 1, `the first line does not name the columns "old" and "new"`)
		}
		for err == nil {
			row, rerr := rows.Read()
			if errors.Is(rerr, io.EOF) {
				return
			}
			if err = rerr; err == nil && !yield(rewrite.Row{Old: row[old], New: row[new]}, nil) {
				return
			}
		}
		if e, ok := errors.AsType[*csv.ParseError](err); ok {
			err = mapMistake(name, e.Line, fmt.Sprintf("column %d: %v", e.Column, e.Err))
		}
		yield(rewrite.Row{}, err)
	}
}

func readJSON(name string, from io.Reader) iter.Seq2[rewrite.Row, error] {
	return func(yield func(rewrite.Row, error) bool) {
		lines := bufio.NewScanner(from)
		lines.Buffer(nil, 1<<20)
		for n := 1; lines.Scan(); n++ {
			var row addresses.Row
			if err := json.Unmarshal(lines.Bytes(), &row); err != nil {
				yield(rewrite.Row{}, mapMistake(name, n, err.Error()))
				return
			}
			if !yield(rewrite.Row{Old: row.Old, New: row.New}, nil) {
				return
			}
		}
		if err := lines.Err(); err != nil {
			yield(rewrite.Row{}, fmt.Errorf("read map %s: %w", name, err))
		}
	}
}

// A journalBook is what a journal knows of the addresses of a source at a destination. What
// can be listed is copied into a map, which answers a hundred times as fast as the journal;
// that is asked for the rest: images in sizes that nobody knows, and what must stay.
type journalBook struct {
	*rewrite.Map
	ctx    context.Context
	m      *mapping
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
	m, err := a.openMapping(ctx, cmd, journal, pairs)
	if err == nil {
		err = m.build(ctx, rules)
	}
	if err != nil {
		return nil, err
	}
	b := &journalBook{ctx: ctx, m: m, recent: map[string]rewrite.Verdict{}}
	for _, r := range rules {
		b.old = append(b.old, r.Beginning())
	}
	for _, begin := range m.finder.Beginnings() {
		if !slices.Contains(b.old, begin) && begin != "/" {
			b.others = append(b.others, begin)
		}
	}
	b.Map, err = rewrite.NewMap(m.rows(ctx))
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

// rows yields what can be listed.
func (m *mapping) rows(ctx context.Context) iter.Seq2[rewrite.Row, error] {
	return func(yield func(rewrite.Row, error) bool) {
		for l, err := range m.all(ctx) {
			if err == nil && (l.left != "" || !rewrite.CanBeFound(l.Old)) {
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
func (a *app) rewriteRules(prefixes []string) ([]*addresses.Template, error) {
	if len(prefixes) == 0 && len(a.settings.Addresses) == 0 {
		return nil, usage(errors.New("it is not said what old addresses begin with"),
			"say it with --old-prefix, like https://old.example.com/files/, or with addresses in assetferry.yaml, or give a --map")
	}
	if len(prefixes) == 0 {
		return a.settings.Addresses, nil
	}
	var all []*addresses.Template
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
	found, err := b.m.finder.Find(b.ctx, address)
	if errors.Is(err, addresses.ErrUnknown) {
		return rewrite.Verdict{}, nil
	}
	if err != nil {
		return rewrite.Verdict{}, err
	}
	if path, _, hasQuery := strings.Cut(address, "?"); hasQuery {
		// The finder leaves out what it does not know; how much of the text that is,
		// only the rewriter can tell.
		without, err := b.m.finder.Find(b.ctx, path)
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
