package records

import (
	"encoding/json"
	"strings"
	"time"

	"golang.org/x/text/cases"
	"golang.org/x/text/unicode/norm"

	"assetferry/internal/sandbox/store"
)

// foldTogether is the number of assets per transaction, so that other requests can run between.
const foldTogether = 2000

// Conditions are parts of a WHERE clause with their values.
type Conditions struct {
	sql  []string
	args []any
}

func (cs *Conditions) Add(sql string, args ...any) {
	cs.sql = append(cs.sql, sql)
	cs.args = append(cs.args, args...)
}

func (cs *Conditions) Within(column string, p Period) {
	if p.GTE != nil {
		cs.Add(column+" >= ?", store.Millis(*p.GTE))
	}
	if p.LTE != nil {
		cs.Add(column+" <= ?", store.Millis(*p.LTE))
	}
}

func SelectMatches(s *store.Session, cs Conditions, order string, limit, offset int) ([]Asset, int, error) {
	from := " FROM assets WHERE trashed_at IS NULL AND " + strings.Join(cs.sql, " AND ")
	return pageOfAssets(s, from, order, cs.args, limit, offset)
}

// FoldAssets prepares all assets for searches.
func FoldAssets(st *store.Store) error {
	for {
		var stale []Asset
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

func selectUnfolded(s *store.Session) ([]Asset, error) {
	return ReadAssets(s, " FROM assets WHERE searchable IS NULL ORDER BY seq LIMIT ?", []any{foldTogether})
}

// foldAgain stores the text for searches. Assets that changed meanwhile are left for the next
// round.
func foldAgain(s *store.Session, all []Asset) error {
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

// A Period includes both ends; a missing end is open.
type Period struct{ GTE, LTE *time.Time }

func JsonArray(values []string) string {
	text, err := json.Marshal(append([]string{}, values...)) // never null
	if err != nil {
		panic(err) // strings can always be encoded
	}
	return string(text)
}

// FoldText returns text for comparisons that ignore case, also beyond ASCII, and the encoding
// of accents.
func FoldText(s string) string { return norm.NFC.String(cases.Fold().String(norm.NFC.String(s))) }
