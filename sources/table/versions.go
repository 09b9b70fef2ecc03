package table

import (
	"context"
	"fmt"
	"iter"
	"os"
	"slices"
	"strings"

	"assetferry/sources"
	"assetferry/sources/keyindex"
)

// Versioned is a table in which rows of the same key are versions of one object, by their revisions.
type Versioned struct{ *Source }

// WithVersions returns the table as a sources.Historian if its options name a column with revisions,
// else the table itself.
func (s *Source) WithVersions() sources.Source {
	if s.options.Columns[string(isRevision)] == "" {
		return s
	}
	return Versioned{s}
}

// KeepsVersions implements sources.Historian. It makes no request: any key may have several rows.
func (v Versioned) KeepsVersions(context.Context) (bool, error) { return true, nil }

// CountVersions implements sources.VersionCounter.
func (v Versioned) CountVersions(ctx context.Context) (objects, older int64, err error) {
	n, done, err := v.use(ctx, true)
	if err != nil {
		return 0, 0, v.failList(ctx, err)
	}
	for same, e := range n.index.Groups("") {
		if err = e; err == nil {
			err = context.Cause(ctx)
		}
		if err != nil {
			break
		}
		if groups := byRank(same); len(groups) > 1 && n.disorder(groups) == nil {
			objects++
			older += int64(len(groups) - 1)
		}
	}
	if e := done(); err == nil {
		err = e
	}
	if err != nil {
		return 0, 0, v.failList(ctx, err)
	}
	return objects, older, nil
}

// Versions implements sources.Historian. It makes requests as a listing of objects does: one for each
// version whose size is not in the table.
func (v Versioned) Versions(ctx context.Context, o sources.Object) iter.Seq2[sources.Object, error] {
	return sources.Sequence(ctx, func(yield func(sources.Object) error) error {
		return v.listVersions(ctx, o, yield)
	}, func(err error) error { return v.fail(ctx, "list versions of", o.Key, err) })
}

func (v Versioned) listVersions(ctx context.Context, o sources.Object, yield func(sources.Object) error) (err error) {
	n, done, err := v.use(ctx, false)
	if err != nil {
		return err
	}
	defer func() {
		if e := done(); err == nil {
			err = e
		}
	}()
	same, err := n.index.Find(o.Key)
	if err != nil {
		return err
	}
	than, _ := splitTag(o.VersionTag)
	older := olderThan(than, same)
	if len(older) == 0 {
		return nil
	}
	l := v.ahead(ctx, n, func(yield func([]keyindex.Record, error) bool) {
		for _, group := range older {
			if !yield(group, nil) {
				return
			}
		}
	})
	defer l.stop()
	for r := range l.results {
		if r.ready != nil {
			<-r.ready
		}
		switch {
		case r.err != nil:
			return r.err
		case r.serverErr != nil: // this version would never be brought
			return r.serverErr
		}
		r.object.Version = r.revision
		if err := yield(r.object); err != nil {
			return err
		}
	}
	return nil
}

// olderThan returns the rows with a lower rank, the newest first.
func olderThan(than rank, same []keyindex.Record) [][]keyindex.Record {
	return slices.DeleteFunc(byRank(same), func(group []keyindex.Record) bool {
		r, _ := cutRank(group[0].Data)
		return !r.isOf(than) || r >= than
	})
}

// IsNewer implements sources.VersionOrder by the revisions. If these cannot be compared, because the
// column was named or changed meanwhile, a version with the same size and tag is the same one.
func (v Versioned) IsNewer(version, than sources.Object) bool {
	is := rankOf(version.Version)
	was, of := splitTag(than.VersionTag)
	if is.isOf(was) {
		return is > was
	}
	_, tag := splitTag(version.VersionTag)
	return tag == "" || tag != of || version.Size != than.Size
}

// newest reads the newest row of a key. If the rows of the key have no order, the object has an
// error.
func (n *snapshot) newest(same []keyindex.Record) (entry, error) {
	if len(same) > maxRows {
		e, err := n.row(same[0])
		e.wrong = fmt.Sprintf("more than %d rows have this key", maxRows)
		return e, err
	}
	groups := byRank(same)
	if pair := n.disorder(groups); pair != nil {
		return n.unordered(pair)
	}
	first, err := n.identical(groups[0])
	for _, group := range groups[1:] {
		if err != nil || first.wrong != "" {
			break
		}
		var older entry
		if len(group) > 1 {
			older, err = n.identical(group)
			first.wrong = older.wrong
		}
	}
	return first, err
}

// disorder returns two rows that cannot be compared; nil if there are none.
func (n *snapshot) disorder(groups [][]keyindex.Record) []keyindex.Record {
	first, last := groups[0], groups[len(groups)-1]
	newest, _ := cutRank(first[0].Data)
	oldest, _ := cutRank(last[0].Data)
	if len(groups) == 1 || newest.isOf(oldest) { // the kind is the first byte, so all between are of it, too
		return nil
	}
	return []keyindex.Record{first[0], last[0]}
}

// unordered returns the entry of rows that cannot be compared.
func (n *snapshot) unordered(pair []keyindex.Record) (entry, error) {
	first, err := n.row(pair[0])
	if err != nil {
		return entry{}, err
	}
	second, err := n.row(pair[1])
	if err != nil {
		return entry{}, err
	}
	switch rank, _ := cutRank(pair[1].Data); {
	case second.revision == "":
		first.wrong = fmt.Sprintf("line %d has no revision, but line %d has the same key", second.line, first.line)
	case rank == "":
		first.wrong = fmt.Sprintf("line %d: the revision %.80q is neither a version number nor a date such as 2024-05-31", second.line, second.revision)
	default:
		first.wrong = fmt.Sprintf("lines %d and %d have this key, but only one of their revisions is a date", min(first.line, second.line), max(first.line, second.line))
	}
	return first, nil
}

// differ returns the error of rows that should be identical.
func (n *snapshot) differ(a, b entry) string {
	first, second := min(a.line, b.line), max(a.line, b.line)
	switch {
	case a.revision == "" || b.revision == "":
		return fmt.Sprintf("lines %d and %d have this key, but differ", first, second)
	case rankOf(a.revision) == "":
		return fmt.Sprintf("lines %d and %d have this key, but their revisions are neither version numbers nor dates such as 2024-05-31", first, second)
	}
	return fmt.Sprintf("lines %d and %d have this key and the revision %.80s, but differ", first, second, strings.TrimSpace(a.revision))
}

// version reads the row of an older version.
func (n *snapshot) version(same []keyindex.Record, revision string) (entry, error) {
	want := rankOf(revision)
	if n.hasRevisions() && want != "" {
		for _, group := range byRank(same) {
			if r, _ := cutRank(group[0].Data); r == want {
				return n.identical(group)
			}
		}
	}
	return entry{}, fmt.Errorf("its row was removed from the table: %w", os.ErrNotExist)
}

var (
	_ sources.Historian      = Versioned{}
	_ sources.VersionCounter = Versioned{}
	_ sources.VersionOrder   = Versioned{}
	_ sources.Catalog        = Versioned{}
)
