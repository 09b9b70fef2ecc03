package state

import (
	"database/sql"
	"fmt"
	"testing"

	"assetferry/internal/test/holdings"
)

// TestHoldings verifies that every column of the schema belongs to one kind of data of the help
// topic, and that every listed column exists.
func TestHoldings(t *testing.T) {
	s := newStore(t)
	columns, err := query(t.Context(), s.r, "read schema", func(rows *sql.Rows) (c [2]string, err error) {
		return c, rows.Scan(&c[0], &c[1])
	}, `SELECT t.name, c.name FROM sqlite_schema t, pragma_table_info(t.name) c WHERE t.type = 'table'`)
	must(t, err)
	if len(columns) < 250 {
		t.Fatalf("there are only %d columns", len(columns))
	}
	there := map[string]bool{}
	for _, c := range columns {
		there[c[0]+"."+c[1]] = true
		kinds := 0
		for _, h := range holdings.Kinds() {
			if h.Has(c[0], c[1]) {
				kinds++
			}
		}
		if kinds != 1 {
			t.Errorf("%s.%s is of %d kinds of data, want one: see internal/test/holdings", c[0], c[1], kinds)
		}
	}
	for _, h := range holdings.Kinds() {
		for table, names := range h.Columns {
			for _, name := range names {
				if !there[table+"."+name] {
					t.Errorf("there is no %s", fmt.Sprint(table, ".", name))
				}
			}
		}
	}
}
