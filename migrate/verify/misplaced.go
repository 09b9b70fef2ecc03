package verify

import (
	"context"
	"errors"
	"io/fs"
	"path"
	"slices"
	"strings"

	"assetferry/internal/assets"
	"assetferry/migrate"
	"assetferry/state"
)

// A misplacement is the path of a folder by the state database, and its path at the destination.
type misplacement struct{ want, got string }

// misplaced finds, by their IDs, the folders of containers that are in other folders than the state
// database says. Renamed folders are not reported. It requests the top folders once, and once the
// folders in each folder that has some.
func (v *Verifier) misplaced(ctx context.Context, destination string, containers []state.Container) (map[string]misplacement, error) {
	containers = slices.DeleteFunc(containers, func(c state.Container) bool { return c.Folder == "" })
	if len(containers) == 0 {
		return nil, nil
	}
	top, err := v.Dest.Folders(ctx)
	if err != nil {
		return nil, err
	}
	found := map[string]misplacement{}
	byCategory := map[string]*folderCheck{}
	for _, c := range containers {
		check := byCategory[c.Category]
		if check == nil {
			if check, err = newFolderCheck(ctx, v.Deps, destination, c.Category, top); err != nil {
				return nil, err
			}
			byCategory[c.Category] = check
		}
		want, known := check.paths[c.Folder]
		if !known { // the folder of that path is another one by now
			continue
		}
		ok, err := check.isInPlace(ctx, want)
		if err != nil {
			return nil, err
		}
		if ok {
			continue
		}
		if got, err := check.path(ctx, c.Folder); err == nil && got != want {
			found[c.Folder] = misplacement{want, got}
		} else if err != nil && !errors.Is(err, fs.ErrNotExist) { // a missing folder is reported with each asset
			return nil, err
		}
	}
	return found, nil
}

// A folderCheck compares the folders of a category with the state database.
type folderCheck struct {
	migrate.Deps
	ids      map[string]string          // by path
	paths    map[string]string          // by ID
	inside   map[string]map[string]bool // the folders directly in one, or at the top, by their IDs
	verdicts map[string]bool            // by path
}

func newFolderCheck(ctx context.Context, d migrate.Deps, destination, category string, top []assets.Folder) (*folderCheck, error) {
	ids, err := d.State.Folders(ctx, destination, category)
	if err != nil {
		return nil, err
	}
	c := &folderCheck{Deps: d, ids: ids, paths: map[string]string{}, inside: map[string]map[string]bool{"": {}}, verdicts: map[string]bool{}}
	for path, id := range ids {
		c.paths[id] = path
	}
	for _, f := range top {
		c.inside[""][f.ID] = f.CategoryID == category
	}
	return c, nil
}

// isInPlace reports whether a folder and its parents have the parents of the state database.
func (c *folderCheck) isInPlace(ctx context.Context, at string) (bool, error) {
	if verdict, known := c.verdicts[at]; known {
		return verdict, nil
	}
	parent, ok := "", true
	if around := path.Dir(at); around != "." {
		var err error
		if ok, err = c.isInPlace(ctx, around); err != nil {
			return false, err
		}
		parent = c.ids[around]
	}
	if ok {
		inside, err := c.foldersIn(ctx, parent)
		if err != nil {
			return false, err
		}
		ok = inside[c.ids[at]]
	}
	c.verdicts[at] = ok
	return ok, nil
}

// foldersIn returns the IDs of the folders directly in one; none if that does not exist.
func (c *folderCheck) foldersIn(ctx context.Context, folder string) (map[string]bool, error) {
	if ids := c.inside[folder]; ids != nil {
		return ids, nil
	}
	f, err := c.Dest.Folder(ctx, folder, 1)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, err
	}
	ids := map[string]bool{}
	for _, inside := range f.Folders {
		ids[inside.ID] = true
	}
	c.inside[folder] = ids
	return ids, nil
}

// path returns the path of a folder by requesting its parents.
func (c *folderCheck) path(ctx context.Context, id string) (string, error) {
	var names []string
	for seen := map[string]bool{}; id != "" && !seen[id]; {
		seen[id] = true
		f, err := c.Dest.Folder(ctx, id, 1)
		if err != nil {
			return "", err
		}
		names = append([]string{f.Name}, names...)
		if id = f.ParentID; id == f.CategoryID {
			id = ""
		}
	}
	return strings.Join(names, "/"), nil
}
