package records

import (
	"database/sql"
	"fmt"

	"assetferry/internal/sandbox/naming"
	"assetferry/internal/sandbox/store"
)

const namesakes = ` FROM assets WHERE category_id = ? AND folder_id IS ? AND normal = ? AND folded = ?
	AND trashed_at IS NULL AND id <> ?`

// IsTaken reports whether another asset in the same place has the same name.
func IsTaken(s *store.Session, a Asset) (is bool, err error) {
	err = s.Row("SELECT EXISTS (SELECT 1"+namesakes+")", a.AsNamesake(), &is)
	return is, err
}

// NamesakesOf returns other assets with the same name in the same place.
func NamesakesOf(s *store.Session, a Asset) (ids []string, err error) {
	err = s.Rows("SELECT id"+namesakes, a.AsNamesake(), func(r *sql.Rows) error {
		var id string
		err := r.Scan(&id)
		ids = append(ids, id)
		return err
	})
	return ids, err
}

// FreeName returns the first unused name of "name (1)", "name (2)" and so on. There may be
// thousands, so it searches with growing steps and then by bisection.
func FreeName(s *store.Session, a Asset) (string, error) {
	of := a.Name
	taken, free := 0, 1
	for {
		a.Name = Numbered(of, free)
		is, err := IsTaken(s, a)
		if err != nil {
			return "", err
		}
		if !is {
			break
		}
		taken, free = free, 2*free
	}
	for free-taken > 1 {
		middle := (taken + free) / 2
		a.Name = Numbered(of, middle)
		is, err := IsTaken(s, a)
		if err != nil {
			return "", err
		}
		if is {
			taken = middle
		} else {
			free = middle
		}
	}
	return Numbered(of, free), nil
}

// Numbered appends a number to a name within the maximum length.
func Numbered(name string, n int) string {
	suffix := fmt.Sprintf(" (%d)", n)
	runes := []rune(name)
	return string(runes[:min(len(runes), naming.MaxName-len(suffix))]) + suffix
}
