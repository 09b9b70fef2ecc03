package records

import (
	"database/sql"
	"encoding/json"

	"assetferry/internal/sandbox/store"
)

func InsertGroup(s *store.Session, g Group) error {
	_, err := s.Exec("INSERT INTO groups (id, workspace_id, name, is_default) VALUES (?, ?, ?, ?)",
		g.ID, g.Workspace, g.Name, g.Default)
	return err
}

func SelectGroup(s *store.Session, id string) (Group, error) {
	g := Group{ID: id}
	err := s.Row("SELECT workspace_id, name, is_default FROM groups WHERE id = ?", []any{id}, &g.Workspace, &g.Name, &g.Default)
	return g, store.NotThere(err)
}

// SelectGroups lists the groups of a workspace in order of creation.
func SelectGroups(s *store.Session, workspace string) (all []Group, err error) {
	err = s.Rows("SELECT id, name, is_default FROM groups WHERE workspace_id = ? ORDER BY seq", []any{workspace},
		func(r *sql.Rows) error {
			g := Group{Workspace: workspace}
			err := r.Scan(&g.ID, &g.Name, &g.Default)
			all = append(all, g)
			return err
		})
	return all, err
}

func InsertGrant(s *store.Session, g Grant) error {
	categories, granted, err := g.columns()
	if err != nil {
		return err
	}
	_, err = s.Exec("INSERT INTO permissions (id, group_id, categories, granted) VALUES (?, ?, ?, ?)",
		g.ID, g.Group, categories, granted)
	return err
}

func UpdateGrant(s *store.Session, g Grant) error {
	categories, granted, err := g.columns()
	if err != nil {
		return err
	}
	return s.Change("UPDATE permissions SET categories = ?, granted = ? WHERE id = ?", categories, granted, g.ID)
}

// SelectGrants lists the grants of a workspace in order of creation.
func SelectGrants(s *store.Session, workspace string) ([]Grant, error) {
	return grantsWhere(s, "g.workspace_id = ?", workspace)
}

// SelectGrantsFor lists the grants of some groups of a workspace, or of the default group.
// Unknown groups have none: a guess.
func SelectGrantsFor(s *store.Session, workspace string, groups []string) ([]Grant, error) {
	if len(groups) == 0 {
		return grantsWhere(s, "g.workspace_id = ? AND g.is_default", workspace)
	}
	ids, err := json.Marshal(groups)
	if err != nil {
		return nil, err
	}
	return grantsWhere(s, "g.workspace_id = ? AND g.id IN (SELECT value FROM json_each(?))", workspace, string(ids))
}

func grantsWhere(s *store.Session, where string, args ...any) (all []Grant, err error) {
	err = s.Rows(`SELECT p.id, p.group_id, p.categories, p.granted
		FROM permissions p JOIN groups g ON g.id = p.group_id WHERE `+where+" ORDER BY p.seq", args, func(r *sql.Rows) error {
		var g Grant
		var categories, granted []byte
		if err := r.Scan(&g.ID, &g.Group, &categories, &granted); err != nil {
			return err
		}
		if err := json.Unmarshal(categories, &g.Categories); err != nil {
			return err
		}
		all = append(all, g)
		return json.Unmarshal(granted, &all[len(all)-1].Granted)
	})
	return all, err
}
