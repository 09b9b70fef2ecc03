package sandbox

import (
	"strings"

	"assetferry/internal/sandbox/store"
)

// foldTogether is how many assets are folded in one change, so that others get
// their turn.
const foldTogether = 2000

// conditions are parts of a WHERE and their values.
type conditions struct {
	sql  []string
	args []any
}

func (cs *conditions) add(sql string, args ...any) {
	cs.sql = append(cs.sql, sql)
	cs.args = append(cs.args, args...)
}

func (cs *conditions) within(column string, p period) {
	if p.GTE != nil {
		cs.add(column+" >= ?", store.Millis(*p.GTE))
	}
	if p.LTE != nil {
		cs.add(column+" <= ?", store.Millis(*p.LTE))
	}
}

func selectMatches(s *store.Session, cs conditions, order string, limit, offset int) ([]asset, int, error) {
	from := " FROM assets WHERE trashed_at IS NULL AND " + strings.Join(cs.sql, " AND ")
	return pageOfAssets(s, from, order, cs.args, limit, offset)
}

// foldAssets sees to it that every asset can be searched.
func foldAssets(st *store.Store) error {
	for {
		var stale []asset
		err := st.Read(func(s *store.Session) (err error) {
			stale, err = selectUnfolded(s)
			return err
		})
		if err != nil || len(stale) == 0 {
			return err
		}
		if err := st.Write(func(s *store.Session) error { return foldAgain(s, stale) }); err != nil {
			return err
		}
	}
}

func selectUnfolded(s *store.Session) ([]asset, error) {
	return readAssets(s, " FROM assets WHERE searchable IS NULL ORDER BY seq LIMIT ?", []any{foldTogether})
}

// foldAgain writes what a search looks at. An asset that has changed since it was
// read is left for the next round.
func foldAgain(s *store.Session, all []asset) error {
	for _, a := range all {
		text, err := a.searchText()
		if err != nil {
			return err
		}
		_, err = s.Exec("UPDATE assets SET searchable = ? WHERE id = ? AND name = ? AND extension = ? AND description = ? AND tags = ? AND attributes = ?",
			text, a.ID, a.Name, a.Extension, a.Description, string(a.Tags), string(a.Attributes))
		if err != nil {
			return err
		}
	}
	return nil
}
