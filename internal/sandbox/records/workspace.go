package records

import (
	"cmp"
	"database/sql"
	"fmt"
	"maps"
	"slices"
	"sync"
	"time"

	"assetferry/internal/sandbox/store"
)

// A Workspace contains categories, folders and assets.
type Workspace struct {
	ID, Environment, Name string
	Created               time.Time
	AIProcessing          bool // analysis is on
	Seq                   int64
}

// Workspaces are in memory, because every token is checked against them. The store is changed
// first.
type Workspaces struct {
	Changing sync.Mutex // held while a workspace is changed in both
	mu       sync.RWMutex
	byID     map[string]Workspace
}

func LoadWorkspaces(st *store.Store) (*Workspaces, error) {
	ws := &Workspaces{byID: make(map[string]Workspace)}
	err := st.Read(func(s *store.Session) error {
		return s.Rows("SELECT seq, id, environment, name, created_at, ai_processing FROM workspaces", nil, func(r *sql.Rows) error {
			var w Workspace
			var created int64
			err := r.Scan(&w.Seq, &w.ID, &w.Environment, &w.Name, &created, &w.AIProcessing)
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

func (ws *Workspaces) Get(id string) (Workspace, bool) {
	ws.mu.RLock()
	defer ws.mu.RUnlock()
	w, ok := ws.byID[id]
	return w, ok
}

// In reports whether an environment has a workspace.
func (ws *Workspaces) In(environment, id string) bool {
	w, ok := ws.Get(id)
	return ok && w.Environment == environment
}

func (ws *Workspaces) Set(w Workspace) {
	ws.mu.Lock()
	defer ws.mu.Unlock()
	ws.byID[w.ID] = w
}

func (ws *Workspaces) Remove(id string) {
	ws.mu.Lock()
	defer ws.mu.Unlock()
	delete(ws.byID, id)
}

// All returns all workspaces in order of creation.
func (ws *Workspaces) All() []Workspace {
	ws.mu.RLock()
	defer ws.mu.RUnlock()
	return slices.SortedFunc(maps.Values(ws.byID), func(a, b Workspace) int { return cmp.Compare(a.Seq, b.Seq) })
}

// Of returns the workspaces of an environment in order of creation.
func (ws *Workspaces) Of(environment string) []Workspace {
	return slices.DeleteFunc(ws.All(), func(w Workspace) bool { return w.Environment != environment })
}

type WorkspaceView struct {
	ID                 string `json:"id"`
	Name               string `json:"name"`
	CreatedAt          string `json:"createdAt"`
	EnableAIProcessing bool   `json:"enableAIProcessing"`
}

func (w Workspace) View() WorkspaceView {
	return WorkspaceView{ID: w.ID, Name: w.Name, CreatedAt: store.Timestamp(w.Created), EnableAIProcessing: w.AIProcessing}
}
