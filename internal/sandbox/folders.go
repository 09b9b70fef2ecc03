package sandbox

import (
	"errors"
	"fmt"
	"net/http"
	"slices"

	"assetferry/internal/sandbox/problem"
	"assetferry/internal/sandbox/records"
	"assetferry/internal/sandbox/standin"
	"assetferry/internal/sandbox/store"
)

// maxDepth is the maximum depth of a folder tree in a response; a guess.
const maxDepth = 1000

// folder returns a folder of any workspace of the token: with an ID, current clients name no
// workspace.
func (s *Server) folder(c *call, id string) (records.Folder, error) {
	var f records.Folder
	err := s.store.Read(func(ses *store.Session) (err error) {
		f, err = records.SelectFolder(ses, id)
		return err
	})
	if errors.Is(err, store.ErrNotThere) || err == nil && !c.sees(f.Workspace) {
		return records.Folder{}, noFolder(id)
	}
	if err != nil {
		return records.Folder{}, fmt.Errorf("find folder %s: %w", id, err)
	}
	return f, c.allow(f.Workspace, f.Category)
}

// folderHere returns a folder of the workspace of the call.
func (s *Server) folderHere(c *call, id string) (records.Folder, error) {
	ws, err := c.workspace()
	if err != nil {
		return records.Folder{}, err
	}
	f, err := s.folder(c, id)
	if err == nil && f.Workspace != ws {
		return records.Folder{}, problem.Refuse(http.StatusNotFound, "There is no folder %q in workspace %q.", id, ws)
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
	if err := s.options.Profile.CheckName("folder name", in.Name); err != nil {
		return err
	}
	at, err := s.parentPlace(c, in.CategoryID, in.ParentID)
	if err != nil {
		return err
	}
	f := records.Folder{ID: standin.NewUUID(), Name: in.Name, Category: at.Category, Parent: at.Folder, Created: s.now()}
	f.Updated = f.Created
	err = s.store.Write(func(ses *store.Session) error {
		if err := s.options.Profile.AdmitFolder(ses, f); err != nil {
			return err
		}
		return records.InsertFolder(ses, f)
	})
	if store.IsForeignKey(err) {
		return problem.Refuse(http.StatusNotFound, "The target of the folder was deleted.")
	}
	if err != nil {
		return fmt.Errorf("create folder in %s: %w", f.Category, err)
	}
	return c.Reply(http.StatusCreated, f.View())
}

// parentPlace returns the place of a new folder: its parent, if there is one, which implies the
// category.
func (s *Server) parentPlace(c *call, categoryID, parentID *string) (records.Place, error) {
	at, err := s.place(c, categoryID, parentID)
	if err == nil && at.Category == "" {
		return at, problem.Refuse(http.StatusBadRequest, "categoryId or parentId is required.")
	}
	return at, err
}

// listFolders lists the top-level folders of all categories without subfolders: a guess. A
// profile can select a flat list of all folders. Clients do not page this list.
func (s *Server) listFolders(c *call) error {
	ws, r, err := c.here()
	if err != nil {
		return err
	}
	var found []records.Folder
	err = s.store.Read(func(ses *store.Session) (err error) {
		found, err = records.SelectFolders(ses, ws, s.options.Profile.Folders == "flat")
		return err
	})
	if err != nil {
		return fmt.Errorf("list folders of %s: %w", ws, err)
	}
	found = slices.DeleteFunc(found, func(f records.Folder) bool { return !r.May(records.MayAccess, f.Category) })
	out := list[*records.FolderView]{Items: []*records.FolderView{}, TotalCount: len(found), Limit: len(found)}
	for _, f := range found {
		out.Items = append(out.Items, f.View())
	}
	return c.Reply(http.StatusOK, out)
}

// getFolder returns a folder with its subfolders down to depth. The default depth of 0 is a
// guess.
func (s *Server) getFolder(c *call) error {
	depth, err := c.number("depth", 0, 0, maxDepth)
	if err != nil {
		return err
	}
	f, err := s.folder(c, c.args[0])
	if err != nil {
		return err
	}
	var tree []records.Folder
	err = s.store.Read(func(ses *store.Session) (err error) {
		tree, err = records.SelectTree(ses, f.ID, depth)
		return err
	})
	if err != nil {
		return fmt.Errorf("show folder %s: %w", f.ID, err)
	}
	if len(tree) == 0 { // deleted meanwhile
		return noFolder(f.ID)
	}
	return c.Reply(http.StatusOK, nest(tree, depth))
}

func noFolder(id string) *problem.Problem {
	return problem.Refuse(http.StatusNotFound, "There is no folder %q.", id)
}

// getBranch returns a folder with its parents: the response is the outermost folder, and each
// folder contains only the next. This is a guess.
func (s *Server) getBranch(c *call) error {
	depth, err := c.number("depth", 0, 0, maxDepth)
	if err != nil {
		return err
	}
	f, err := s.folder(c, c.args[0])
	if err != nil {
		return err
	}
	var tree, around []records.Folder
	err = s.store.Read(func(ses *store.Session) (err error) {
		if around, err = records.SelectAncestors(ses, f.ID); err != nil {
			return err
		}
		tree, err = records.SelectTree(ses, f.ID, depth)
		return err
	})
	if err != nil {
		return fmt.Errorf("show branch of folder %s: %w", f.ID, err)
	}
	if len(tree) == 0 { // deleted meanwhile
		return noFolder(f.ID)
	}
	branch := nest(tree, depth)
	for _, outer := range around {
		v := outer.View()
		v.Folders = &[]*records.FolderView{branch}
		branch = v
	}
	return c.Reply(http.StatusOK, branch)
}

// nest builds a tree of folders that are sorted parents first.
func nest(folders []records.Folder, depth int) *records.FolderView {
	views := make(map[string]*records.FolderView)
	for _, f := range folders {
		v := f.View()
		if f.Depth < depth {
			v.Folders = &[]*records.FolderView{}
		}
		views[f.ID] = v
		if parent := views[f.Parent]; f.Depth > 0 && parent != nil {
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
	if err := s.options.Profile.CheckName("folder name", in.Name); err != nil {
		return err
	}
	f.Name, f.Updated = in.Name, s.now()
	err = s.store.Write(func(ses *store.Session) error {
		if err := s.options.Profile.AdmitFolder(ses, f); err != nil {
			return err
		}
		return ses.Change("UPDATE folders SET name = ?, updated_at = ? WHERE id = ?", f.Name, store.Millis(f.Updated), f.ID)
	})
	if errors.Is(err, store.ErrNotThere) { // deleted meanwhile
		return noFolder(f.ID)
	}
	if err != nil {
		return fmt.Errorf("rename folder %s: %w", f.ID, err)
	}
	return c.Reply(http.StatusOK, f.View())
}

// deleteFolder moves the content of a folder one level up and deletes the folder.
func (s *Server) deleteFolder(c *call) error {
	f, err := s.folder(c, c.args[0])
	if err != nil {
		return err
	}
	err = s.store.Write(func(ses *store.Session) error { return records.DissolveFolder(ses, f) })
	if errors.Is(err, store.ErrNotThere) { // deleted by another request
		return noFolder(f.ID)
	}
	if err != nil {
		return fmt.Errorf("delete folder %s: %w", f.ID, err)
	}
	return c.Done()
}
