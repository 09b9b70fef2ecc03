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

// storable are keys that can be written into a table: texts.
func storable(keys ...sources.Key) bool {
	return !slices.ContainsFunc(keys, func(k sources.Key) bool { return !utf8.ValidString(string(k)) })
}

// lawful returns a table whose rows have the values for its columns.
func lawful(tb testing.TB, name string, columns []string, files []sourcetest.File) sourcetest.Fixture {
	m := newManager(tb, name)
	rows := map[sources.Key][]string{}
	numbers := map[sources.Key]int{}
	version := 0
	fill := func(f sourcetest.File) error {
		n, ok := numbers[f.Key]
		if !ok {
			n = len(numbers)
			numbers[f.Key] = n
		}
		version++
		place := fmt.Sprintf("%d.jpg", n)
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
			}
		}
		rows[f.Key] = row
		return nil
	}
	write := func() { m.export(columns, slices.Collect(maps.Values(rows))...) } // in no order
	for _, f := range files {
		must(tb, fill(f))
	}
	write()
	s := m.source()
	return sourcetest.Fixture{
		Source: s,
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
		Vanish:         func() error { return os.Remove(m.table) },
		StopBackground: s.CloseIdleConnections,
	}
}
