package sandbox

import (
	"fmt"
	"slices"

	"assetferry/internal/sandbox/records"
	"assetferry/internal/sandbox/standin"
	"assetferry/internal/sandbox/store"
	"assetferry/internal/sandbox/tokens"
)

// sees reports whether a token permits access to a workspace.
func (s *Server) sees(who tokens.Identity, workspace string) bool {
	if who.Role == tokens.Superadmin {
		return s.workspaces.In(who.Environment, workspace)
	}
	return slices.Contains(who.Workspaces, workspace)
}

// addWorkspace creates a workspace with its initial categories.
func (s *Server) addWorkspace(w records.Workspace) error {
	err := s.store.Write(func(ses *store.Session) error {
		err := ses.Row("INSERT INTO workspaces (id, environment, name, created_at) VALUES (?, ?, ?, ?) RETURNING seq",
			[]any{w.ID, w.Environment, w.Name, store.Millis(w.Created)}, &w.Seq)
		if err != nil {
			return err
		}
		categories, err := records.SelectTemplate(ses, w.Environment)
		if err != nil {
			return err
		}
		for _, c := range categories {
			c.ID, c.Workspace = standin.NewUUID(), w.ID
			if err := records.InsertCategory(ses, c); err != nil {
				return err
			}
		}
		g := records.Group{ID: standin.NewUUID(), Workspace: w.ID, Name: "Default group", Default: true}
		if err := records.InsertGroup(ses, g); err != nil {
			return err
		}
		return records.InsertGrant(ses, records.Everything(g.ID))
	})
	if err != nil {
		return fmt.Errorf("create workspace %s: %w", w.ID, err)
	}
	s.workspaces.Set(w)
	return nil
}
