package sandbox

import (
	"database/sql"
	"fmt"
	"net/http"

	"assetferry/internal/sandbox/naming"
	"assetferry/internal/sandbox/records"
	"assetferry/internal/sandbox/store"
)

// namesExist gives those of several names that are taken in a place, as they were
// given: a guess.
func (s *Server) namesExist(c *call) error {
	var in struct {
		Target target
		Names  []string
	}
	if err := c.json(&in); err != nil {
		return err
	}
	if err := given("names", in.Names); err != nil {
		return err
	}
	at, err := s.target(c, in.Target)
	if err != nil {
		return err
	}
	taken := []string{}
	err = s.store.Read(func(ses *store.Session) error {
		for _, file := range in.Names {
			a := records.Asset{Category: at.Category, Folder: at.Folder}
			a.Name, a.Extension = naming.SplitName(file)
			is, err := isTaken(ses, a)
			if err != nil {
				return err
			}
			if is {
				taken = append(taken, file)
			}
		}
		return nil
	})
	if err != nil {
		return fmt.Errorf("look for %d names: %w", len(in.Names), err)
	}
	return c.Reply(http.StatusOK, taken)
}

const namesakes = ` FROM assets WHERE category_id = ? AND folder_id IS ? AND normal = ? AND folded = ?
	AND trashed_at IS NULL AND id <> ?`

// isTaken reports whether another asset has an asset's name, where it is.
func isTaken(s *store.Session, a records.Asset) (is bool, err error) {
	err = s.Row("SELECT EXISTS (SELECT 1"+namesakes+")", a.AsNamesake(), &is)
	return is, err
}

// namesakesOf gives the other assets that have an asset's name, where it is.
func namesakesOf(s *store.Session, a records.Asset) (ids []string, err error) {
	err = s.Rows("SELECT id"+namesakes, a.AsNamesake(), func(r *sql.Rows) error {
		var id string
		err := r.Scan(&id)
		ids = append(ids, id)
		return err
	})
	return ids, err
}

// freeName is one of "name (1)", "name (2)" and so on that is not taken: the first,
// if they have no gaps. There may be thousands, so it looks ahead in ever longer
// steps, and then goes back by halves to where they end.
func freeName(s *store.Session, a records.Asset) (string, error) {
	of := a.Name
	taken, free := 0, 1
	for {
		a.Name = numbered(of, free)
		is, err := isTaken(s, a)
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
		a.Name = numbered(of, middle)
		is, err := isTaken(s, a)
		if err != nil {
			return "", err
		}
		if is {
			taken = middle
		} else {
			free = middle
		}
	}
	return numbered(of, free), nil
}

// numbered is a name with a number, and no longer than names may be.
func numbered(name string, n int) string {
	suffix := fmt.Sprintf(" (%d)", n)
	runes := []rune(name)
	return string(runes[:min(len(runes), naming.MaxName-len(suffix))]) + suffix
}
