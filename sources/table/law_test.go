package table_test

import (
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"testing"
	"unicode/utf8"

	"assetferry/sources"
	"assetferry/sources/sourcetest"
	"assetferry/sources/table"
)

// TestLaw runs the shared source tests for tables of each format: with all values, with sizes that
// the server provides, and with files as contents.
func TestLaw(t *testing.T) {
	for _, name := range []string{"t.csv", "t.jsonl"} {
		for _, columns := range [][]string{{"key", "url", "size", "modified", "title"}, {"key", "url"}, {"key", "path", "title"}} {
			t.Run(fmt.Sprint(name, columns), func(t *testing.T) {
				sourcetest.Run(t, func(tb testing.TB, files []sourcetest.File) sourcetest.Fixture {
					return lawful(tb, name, columns, files)
				}, sourcetest.Storable(storable), sourcetest.Many(600))
			})
		}
	}
}

// TestLawWithRevisions runs the shared tests for tables with older versions of objects.
func TestLawWithRevisions(t *testing.T) {
	for _, name := range []string{"t.csv", "t.jsonl"} {
		for _, columns := range [][]string{{"key", "url", "size", "modified", "rev"}, {"key", "url", "rev"}, {"key", "path", "rev"}} {
			t.Run(fmt.Sprint(name, columns), func(t *testing.T) {
				sourcetest.Run(t, func(tb testing.TB, files []sourcetest.File) sourcetest.Fixture {
					return lawful(tb, name, columns, files)
				}, sourcetest.Storable(storable), sourcetest.Many(600))
			})
		}
	}
}

// storable are keys that can be written into a table: texts.
func storable(keys ...sources.Key) bool {
	return !slices.ContainsFunc(keys, func(k sources.Key) bool { return !utf8.ValidString(string(k)) })
}

// lawful returns a table whose rows have the values for its columns. With a column rev, it can keep
// older versions.
func lawful(tb testing.TB, name string, columns []string, files []sourcetest.File) sourcetest.Fixture {
	m := newManager(tb, name)
	rows := map[sources.Key][][]string{}
	numbers := map[sources.Key]int{}
	version, keeps := 0, false
	fill := func(f sourcetest.File) error {
		n, ok := numbers[f.Key]
		if !ok {
			n = len(numbers)
			numbers[f.Key] = n
		}
		version++
		place := fmt.Sprintf("%d.jpg", n)
		if keeps {
			place = fmt.Sprintf("%d-%d.jpg", n, version)
		}
		row := make([]string, len(columns))
		for i, c := range columns {
			switch c {
			case "key":
				row[i] = string(f.Key)
			case "url":
				row[i] = m.put(place, f.Content)
			case "path":
				row[i] = place
				if err := os.WriteFile(filepath.Join(filepath.Dir(m.table), place), f.Content, 0o600); err != nil {
					return err
				}
			case "size":
				row[i] = fmt.Sprint(len(f.Content))
			case "modified":
				row[i] = fmt.Sprint("version ", version)
			case "title":
				row[i] = "Title of " + place
			case "rev":
				row[i] = fmt.Sprint("1.", version)
			}
		}
		if !keeps {
			rows[f.Key] = nil
		}
		rows[f.Key] = append(rows[f.Key], row)
		return nil
	}
	write := func() { m.export(columns, slices.Concat(slices.Collect(maps.Values(rows))...)...) } // in no order
	for _, f := range files {
		must(tb, fill(f))
	}
	write()
	s := m.source(func(o *table.Options) {
		if slices.Contains(columns, "rev") {
			o.Columns = table.Columns{"revision": "rev"}
		}
	})
	return sourcetest.Fixture{
		Source: s.WithVersions(),
		Put: func(f sourcetest.File) error {
			err := fill(f)
			write()
			return err
		},
		Remove: func(k sources.Key) error {
			delete(rows, k)
			write()
			return nil
		},
		KeepVersions: func() error { keeps = true; return nil },
		DropVersion: func(o sources.Object) error {
			rows[o.Key] = slices.DeleteFunc(rows[o.Key], func(row []string) bool { return slices.Contains(row, o.Version) })
			write()
			return nil
		},
		Vanish:         func() error { return os.Remove(m.table) },
		StopBackground: s.CloseIdleConnections,
	}
}
