package sandbox

import (
	"crypto/rand"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"assetferry/internal/sandbox/datadir"
	"assetferry/internal/sandbox/library"
	"assetferry/internal/sandbox/records"
	"assetferry/internal/sandbox/store"
)

// shelves let the library page read what is stored, of all environments.
type shelves struct{ server *Server }

// openLibrary makes what browsers see of the sandbox, unless that is switched off.
func (s *Server) openLibrary() error {
	if !s.options.Library {
		return nil
	}
	secret, err := s.librarySecret()
	if err != nil {
		return fmt.Errorf("library page: %w", err)
	}
	s.access = library.NewAccess(secret, s.options.Dir != "")
	s.library = library.New(shelves{s}, shelves{s}, s.access, s.options.Log)
	return nil
}

// librarySecret is what the cookie of the page holds: the same after a restart where
// everything else is.
func (s *Server) librarySecret() (string, error) {
	if s.options.Dir == "" {
		return rand.Text(), nil
	}
	path := filepath.Join(s.options.Dir, "library.key")
	text, err := os.ReadFile(path)
	if secret := strings.TrimSpace(string(text)); err == nil && len(secret) >= len(rand.Text()) {
		return secret, nil
	} else if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return "", err
	}
	secret := rand.Text() // nobody else is here: the folder is locked
	return secret, datadir.WritePrivate(path, secret+"\n")
}

// LibraryURL returns the address of the library page, for a sandbox that listens at an
// address, with a new key that opens it once. It is empty where the page is switched off.
func (s *Server) LibraryURL(base string) string {
	if s.library == nil {
		return ""
	}
	return base + library.Path(s.access.NewKey())
}

// look reads for the page. What is not there has the page's own word.
func (sh shelves) look(what string, do func(*store.Session) error) error {
	err := sh.server.store.Read(do)
	if errors.Is(err, store.ErrNotThere) {
		return fmt.Errorf("%s: %w", what, library.ErrNotThere)
	}
	if err != nil {
		return fmt.Errorf("look at %s: %w", what, err)
	}
	return nil
}

func (sh shelves) Workspaces(s library.Span) (found []library.Workspace, total int, err error) {
	all := sh.server.workspaces.All()
	from := min(s.Offset, len(all))
	err = sh.look("workspaces", func(ses *store.Session) error {
		for _, w := range all[from:min(from+s.Limit, len(all))] {
			shown, err := shelvedWorkspace(ses, w)
			if err != nil {
				return err
			}
			found = append(found, shown)
		}
		return nil
	})
	return found, len(all), err
}

func (sh shelves) Workspace(id string) (shown library.Workspace, err error) {
	err = sh.look("workspace "+id, func(ses *store.Session) error {
		w, ok := sh.server.workspaces.Get(id)
		if !ok {
			return store.ErrNotThere
		}
		shown, err = shelvedWorkspace(ses, w)
		return err
	})
	return shown, err
}

func (sh shelves) Categories(workspace string, s library.Span) (found []library.Category, total int, err error) {
	err = sh.look("categories of "+workspace, func(ses *store.Session) error {
		ids, err := records.CategoryIDs(ses, records.Rights{All: true}, workspace)
		if err != nil {
			return err
		}
		total = len(ids)
		from := min(s.Offset, total)
		for _, id := range ids[from:min(from+s.Limit, total)] {
			c, err := sh.category(ses, id)
			if err != nil {
				return err
			}
			found = append(found, c)
		}
		return nil
	})
	return found, total, err
}

func (sh shelves) Category(id string) (c library.Category, err error) {
	err = sh.look("category "+id, func(ses *store.Session) error {
		c, err = sh.category(ses, id)
		return err
	})
	return c, err
}

func (sh shelves) category(ses *store.Session, id string) (library.Category, error) {
	c, err := records.SelectCategory(ses, id)
	if err != nil {
		return library.Category{}, err
	}
	shown := library.Category{
		Ref: library.Ref{ID: c.ID, Name: c.Name}, Workspace: sh.workspaceRef(c.Workspace), Extensions: c.Extensions, Private: c.Private,
	}
	shown.Folders, shown.Assets, shown.Bytes, err = measureCategory(ses, id)
	return shown, err
}

func (sh shelves) workspaceRef(id string) library.Ref {
	w, _ := sh.server.workspaces.Get(id)
	return library.Ref{ID: id, Name: w.Name}
}

func (sh shelves) Folder(id string) (shown library.Folder, err error) {
	err = sh.look("folder "+id, func(ses *store.Session) error {
		f, err := records.SelectFolder(ses, id)
		if err != nil {
			return err
		}
		shown, err = shelvedFolder(ses, f)
		if err != nil {
			return err
		}
		c, err := records.SelectCategory(ses, f.Category)
		shown.Category, shown.Private, shown.Workspace = library.Ref{ID: c.ID, Name: c.Name}, c.Private, sh.workspaceRef(c.Workspace)
		return err
	})
	return shown, err
}

func (sh shelves) Folders(in library.Place, o library.Order, s library.Span) (found []library.Folder, total int, err error) {
	err = sh.look("folders", func(ses *store.Session) error {
		found, total, err = shelvedFolders(ses, in, o, s)
		return err
	})
	return found, total, err
}

func (sh shelves) FolderTree(category string, s library.Span) (found []library.Folder, total int, err error) {
	err = sh.look("folders", func(ses *store.Session) error {
		found, total, err = shelvedTree(ses, category, s)
		return err
	})
	return found, total, err
}
