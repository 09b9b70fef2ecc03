package sandbox

import (
	"errors"
	"fmt"
	"net/http"
	"slices"
	"time"

	"assetferry/internal/sandbox/problem"
	"assetferry/internal/sandbox/standin"
	"assetferry/internal/sandbox/store"
)

// maxDepth is how deep a tree of folders is shown at most; a guess.
const maxDepth = 1000

// A folder lies in a category or in another folder of it.
type folder struct {
	ID, Name, Category, Parent string // Parent is empty at the top of a category
	Created, Updated           time.Time
	Assets                     int // directly in it
	workspace                  string
	depth                      int
}

// folderView leaves folders out where it was not asked to look, so that it is
// not mistaken for "there are none".
type folderView struct {
	ID          string         `json:"id"`
	Name        string         `json:"name"`
	CategoryID  string         `json:"categoryId"`
	ParentID    string         `json:"parentId,omitempty"`
	CreatedAt   string         `json:"createdAt"`
	UpdatedAt   string         `json:"updatedAt"`
	AssetsCount int            `json:"assetsCount"`
	Folders     *[]*folderView `json:"folders,omitempty"`
}

func (f folder) view() *folderView {
	return &folderView{
		ID: f.ID, Name: f.Name, CategoryID: f.Category, ParentID: f.Parent,
		CreatedAt: store.Timestamp(f.Created), UpdatedAt: store.Timestamp(f.Updated), AssetsCount: f.Assets,
	}
}

// folder finds one in the workspaces that the token sees. Current clients name
// no workspace where there is an ID.
func (s *Server) folder(c *call, id string) (folder, error) {
	var f folder
	err := s.store.Read(func(ses *store.Session) (err error) {
		f, err = selectFolder(ses, id)
		return err
	})
	if errors.Is(err, store.ErrNotThere) || err == nil && !c.sees(f.workspace) {
		return folder{}, noFolder(id)
	}
	if err != nil {
		return folder{}, fmt.Errorf("find folder %s: %w", id, err)
	}
	return f, c.allow(f.workspace, f.Category)
}

// folderHere finds a folder in the workspace of the call.
func (s *Server) folderHere(c *call, id string) (folder, error) {
	ws, err := c.workspace()
	if err != nil {
		return folder{}, err
	}
	f, err := s.folder(c, id)
	if err == nil && f.workspace != ws {
		return folder{}, problem.Refuse(http.StatusNotFound, "There is no folder %q in workspace %q.", id, ws)
	}
	return f, err
}

func (s *Server) createFolder(c *call) error {
	var in struct {
		Name                 string
		CategoryID, ParentID *string
	}
	if err := c.json(&in); err != nil {
		return err
	}
	if err := s.options.Profile.checkName("folder name", in.Name); err != nil {
		return err
	}
	at, err := s.parentPlace(c, in.CategoryID, in.ParentID)
	if err != nil {
		return err
	}
	f := folder{ID: standin.NewUUID(), Name: in.Name, Category: at.category, Parent: at.folder, Created: s.now()}
	f.Updated = f.Created
	err = s.store.Write(func(ses *store.Session) error {
		if err := s.options.Profile.admitFolder(ses, f); err != nil {
			return err
		}
		return insertFolder(ses, f)
	})
	if store.IsForeignKey(err) {
		return problem.Refuse(http.StatusNotFound, "The place for the folder has just been deleted.")
	}
	if err != nil {
		return fmt.Errorf("create folder in %s: %w", f.Category, err)
	}
	return c.Reply(http.StatusCreated, f.view())
}

// parentPlace finds where a new folder goes: into its parent, if it has one, whose
// category need not be repeated.
func (s *Server) parentPlace(c *call, categoryID, parentID *string) (place, error) {
	at, err := s.place(c, categoryID, parentID)
	if err == nil && at.category == "" {
		return at, problem.Refuse(http.StatusBadRequest, "A folder needs a categoryId or a parentId.")
	}
	return at, err
}

// listFolders lists the folders at the top of all categories, without those inside: a guess,
// and a profile may say that they all come, in no tree. It is not paged, because no client
// pages it.
func (s *Server) listFolders(c *call) error {
	ws, r, err := c.here()
	if err != nil {
		return err
	}
	var found []folder
	err = s.store.Read(func(ses *store.Session) (err error) {
		found, err = selectFolders(ses, ws, s.options.Profile.Folders == "flat")
		return err
	})
	if err != nil {
		return fmt.Errorf("list folders of %s: %w", ws, err)
	}
	found = slices.DeleteFunc(found, func(f folder) bool { return !r.may(mayAccess, f.Category) })
	out := list[*folderView]{Items: []*folderView{}, TotalCount: len(found), Limit: len(found)}
	for _, f := range found {
		out.Items = append(out.Items, f.view())
	}
	return c.Reply(http.StatusOK, out)
}

// getFolder shows a folder, with what is in it down to depth. Without depth
// nothing is shown below it: a guess.
func (s *Server) getFolder(c *call) error {
	depth, err := c.number("depth", 0, 0, maxDepth)
	if err != nil {
		return err
	}
	f, err := s.folder(c, c.args[0])
	if err != nil {
		return err
	}
	var tree []folder
	err = s.store.Read(func(ses *store.Session) (err error) {
		tree, err = selectTree(ses, f.ID, depth)
		return err
	})
	if err != nil {
		return fmt.Errorf("show folder %s: %w", f.ID, err)
	}
	if len(tree) == 0 { // deleted just now
		return noFolder(f.ID)
	}
	return c.Reply(http.StatusOK, nest(tree, depth))
}

func noFolder(id string) *problem.Problem {
	return problem.Refuse(http.StatusNotFound, "There is no folder %q.", id)
}

// getBranch shows a folder like getFolder, within the folders around it: the
// outermost one is the answer, and each holds only the next. That is a guess.
func (s *Server) getBranch(c *call) error {
	depth, err := c.number("depth", 0, 0, maxDepth)
	if err != nil {
		return err
	}
	f, err := s.folder(c, c.args[0])
	if err != nil {
		return err
	}
	var tree, around []folder
	err = s.store.Read(func(ses *store.Session) (err error) {
		if around, err = selectAncestors(ses, f.ID); err != nil {
			return err
		}
		tree, err = selectTree(ses, f.ID, depth)
		return err
	})
	if err != nil {
		return fmt.Errorf("show branch of folder %s: %w", f.ID, err)
	}
	if len(tree) == 0 { // deleted just now
		return noFolder(f.ID)
	}
	branch := nest(tree, depth)
	for _, outer := range around {
		v := outer.view()
		v.Folders = &[]*folderView{branch}
		branch = v
	}
	return c.Reply(http.StatusOK, branch)
}

// nest makes a tree of folders that come parents first.
func nest(folders []folder, depth int) *folderView {
	views := make(map[string]*folderView)
	for _, f := range folders {
		v := f.view()
		if f.depth < depth {
			v.Folders = &[]*folderView{}
		}
		views[f.ID] = v
		if parent := views[f.Parent]; f.depth > 0 && parent != nil {
			*parent.Folders = append(*parent.Folders, v)
		}
	}
	return views[folders[0].ID]
}

func (s *Server) renameFolder(c *call) error {
	f, err := s.folder(c, c.args[0])
	if err != nil {
		return err
	}
	var in struct{ Name string }
	if err := c.json(&in); err != nil {
		return err
	}
	if err := s.options.Profile.checkName("folder name", in.Name); err != nil {
		return err
	}
	f.Name, f.Updated = in.Name, s.now()
	err = s.store.Write(func(ses *store.Session) error {
		if err := s.options.Profile.admitFolder(ses, f); err != nil {
			return err
		}
		return ses.Change("UPDATE folders SET name = ?, updated_at = ? WHERE id = ?", f.Name, store.Millis(f.Updated), f.ID)
	})
	if errors.Is(err, store.ErrNotThere) { // deleted just now
		return noFolder(f.ID)
	}
	if err != nil {
		return fmt.Errorf("rename folder %s: %w", f.ID, err)
	}
	return c.Reply(http.StatusOK, f.view())
}

// deleteFolder moves what is in the folder one level up and deletes only the
// folder itself.
func (s *Server) deleteFolder(c *call) error {
	f, err := s.folder(c, c.args[0])
	if err != nil {
		return err
	}
	err = s.store.Write(func(ses *store.Session) error { return dissolveFolder(ses, f) })
	if errors.Is(err, store.ErrNotThere) { // by somebody else, just now
		return noFolder(f.ID)
	}
	if err != nil {
		return fmt.Errorf("delete folder %s: %w", f.ID, err)
	}
	return c.Done()
}
