//go:build wordpress

package rewrite

import (
	"fmt"
	"maps"
	"slices"
	"strings"
)

// A database is the rows of all tables, by table and primary key, each column by its name.
type database map[string]map[string]map[string]string

// database reads the whole database of the site.
func (s *stage) database() database {
	s.Helper()
	all := database{}
	for _, table := range s.site.SQL("SHOW TABLES") {
		var names, keys []string
		for _, column := range s.site.SQL("SHOW COLUMNS FROM " + table[0]) {
			names = append(names, column[0])
			if column[3] == "PRI" {
				keys = append(keys, column[0])
			}
		}
		rows := map[string]map[string]string{}
		for _, values := range s.site.SQL("SELECT * FROM " + table[0]) {
			row := map[string]string{}
			for n, name := range names {
				row[name] = values[n]
			}
			var key []string
			for _, name := range keys {
				key = append(key, row[name])
			}
			rows[strings.Join(key, "/")] = row
		}
		all[table[0]] = rows
	}
	return all
}

// changes lists the changed columns and the new and deleted rows, with their numbers. Rows of named
// options and metadata are listed by their names.
func (d database) changes(now database) map[string]int {
	all := map[string]int{}
	for table, rows := range now {
		for key, row := range rows {
			was, existed := d[table][key]
			if !existed {
				all[fmt.Sprintf("%s: new %s", table, kindOf(row))]++
				continue
			}
			for name, value := range row {
				if was[name] != value {
					all[strings.TrimSpace(fmt.Sprintf("%s.%s %s", table, name, row["option_name"]+row["meta_key"]))]++
				}
			}
		}
		for key, row := range d[table] {
			if rows[key] == nil {
				all[fmt.Sprintf("%s: deleted %s", table, kindOf(row))]++
			}
		}
	}
	return all
}

// kindOf returns what distinguishes the rows of a table.
func kindOf(row map[string]string) string {
	for _, name := range []string{"post_type", "option_name", "meta_key"} {
		if row[name] != "" {
			return row[name]
		}
	}
	return "row"
}

// listed returns changes as lines.
func listed(changes map[string]int) string {
	var b strings.Builder
	for _, name := range slices.Sorted(maps.Keys(changes)) {
		fmt.Fprintf(&b, "%6d %s\n", changes[name], name)
	}
	return b.String()
}
