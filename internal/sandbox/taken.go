package sandbox

import (
	"database/sql"
	"fmt"
	"net/http"
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
	at, err := s.target(c, in.Target)
	if err != nil {
		return err
	}
	taken := []string{}
	err = s.store.read(func(ses *session) error {
		for _, file := range in.Names {
			a := asset{Category: at.category, Folder: at.folder}
			a.Name, a.Extension = splitName(file)
			namesakes, err := namesakesOf(ses, a)
			if err != nil {
				return err
			}
			if len(namesakes) > 0 {
				taken = append(taken, file)
			}
		}
		return nil
	})
	if err != nil {
		return fmt.Errorf("look for %d names: %w", len(in.Names), err)
	}
	return c.reply(http.StatusOK, taken)
}

// namesakesOf gives the other assets that have an asset's name, where it is.
func namesakesOf(s *session, a asset) (ids []string, err error) {
	err = s.rows(`SELECT id FROM assets WHERE category_id = ? AND folder_id IS ? AND normal = ? AND folded = ?
			AND trashed_at IS NULL AND id <> ?`,
		[]any{a.Category, orNull(a.Folder), normal(a.Name), fold(a.Extension), a.ID}, func(r *sql.Rows) error {
			var id string
			err := r.Scan(&id)
			ids = append(ids, id)
			return err
		})
	return ids, err
}

// freeName is the first of "name (1)", "name (2)" and so on that is not taken.
func freeName(s *session, a asset) (string, error) {
	name := []rune(a.Name)
	for n := 1; ; n++ {
		suffix := fmt.Sprintf(" (%d)", n)
		a.Name = string(name[:min(len(name), maxName-len(suffix))]) + suffix
		namesakes, err := namesakesOf(s, a)
		if err != nil || len(namesakes) == 0 {
			return a.Name, err
		}
	}
}
