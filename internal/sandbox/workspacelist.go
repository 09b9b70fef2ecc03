package sandbox

import (
	"cmp"
	"database/sql"
	"fmt"
	"maps"
	"slices"
	"sync"
	"time"

	"assetferry/internal/sandbox/standin"
	"assetferry/internal/sandbox/store"
	"assetferry/internal/sandbox/tokens"
)

// A workspace holds categories, folders and assets of its own.
type workspace struct {
	ID, Environment, Name string
	Created               time.Time
	AIProcessing          bool // whether analysis is switched on
	seq                   int64
}

// workspaces are all of them in memory, because every token is held against
// them. The store is changed first.
type workspaces struct {
	changing sync.Mutex // held from reading a workspace until it is changed in both
	mu       sync.RWMutex
	byID     map[string]workspace
}

func loadWorkspaces(st *store.Store) (*workspaces, error) {
	ws := &workspaces{byID: make(map[string]workspace)}
	err := st.Read(func(s *store.Session) error {
		return s.Rows("SELECT seq, id, environment, name, created_at, ai_processing FROM workspaces", nil, func(r *sql.Rows) error {
			var w workspace
			var created int64
			err := r.Scan(&w.seq, &w.ID, &w.Environment, &w.Name, &created, &w.AIProcessing)
			w.Created = store.FromMillis(created)
			ws.byID[w.ID] = w
			return err
		})
	})
	if err != nil {
		return nil, fmt.Errorf("load workspaces: %w", err)
	}
	return ws, nil
}

func (ws *workspaces) get(id string) (workspace, bool) {
	ws.mu.RLock()
	defer ws.mu.RUnlock()
	w, ok := ws.byID[id]
	return w, ok
}

// in reports whether an environment has a workspace.
func (ws *workspaces) in(environment, id string) bool {
	w, ok := ws.get(id)
	return ok && w.Environment == environment
}

func (ws *workspaces) set(w workspace) {
	ws.mu.Lock()
	defer ws.mu.Unlock()
	ws.byID[w.ID] = w
}

func (ws *workspaces) remove(id string) {
	ws.mu.Lock()
	defer ws.mu.Unlock()
	delete(ws.byID, id)
}

// all lists workspaces in the order of creation.
func (ws *workspaces) all() []workspace {
	ws.mu.RLock()
	defer ws.mu.RUnlock()
	return slices.SortedFunc(maps.Values(ws.byID), func(a, b workspace) int { return cmp.Compare(a.seq, b.seq) })
}

// of lists the workspaces of an environment in the order of creation.
func (ws *workspaces) of(environment string) []workspace {
	return slices.DeleteFunc(ws.all(), func(w workspace) bool { return w.Environment != environment })
}

// sees reports whether a token gives access to a workspace.
func (s *Server) sees(who tokens.Identity, workspace string) bool {
	if who.Role == tokens.Superadmin {
		return s.workspaces.in(who.Environment, workspace)
	}
	return slices.Contains(who.Workspaces, workspace)
}

// addWorkspace creates a workspace with the categories that each starts with.
func (s *Server) addWorkspace(w workspace) error {
	err := s.store.Write(func(ses *store.Session) error {
		err := ses.Row("INSERT INTO workspaces (id, environment, name, created_at) VALUES (?, ?, ?, ?) RETURNING seq",
			[]any{w.ID, w.Environment, w.Name, store.Millis(w.Created)}, &w.seq)
		if err != nil {
			return err
		}
		categories, err := selectTemplate(ses, w.Environment)
		if err != nil {
			return err
		}
		for _, c := range categories {
			c.ID, c.workspace = standin.NewUUID(), w.ID
			if err := insertCategory(ses, c); err != nil {
				return err
			}
		}
		g := group{ID: standin.NewUUID(), Workspace: w.ID, Name: "Default group", Default: true}
		if err := insertGroup(ses, g); err != nil {
			return err
		}
		return insertGrant(ses, everything(g.ID))
	})
	if err != nil {
		return fmt.Errorf("create workspace %s: %w", w.ID, err)
	}
	s.workspaces.set(w)
	return nil
}
