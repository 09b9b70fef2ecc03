package sandbox

import (
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"unicode/utf8"

	"assetferry/internal/sandbox/naming"
	"assetferry/internal/sandbox/problem"
	"assetferry/internal/sandbox/records"
	"assetferry/internal/sandbox/standin"
	"assetferry/internal/sandbox/store"
)

func (s *Server) listCategories(c *call) error      { return s.replyCategories(c, false) }
func (s *Server) listCategoriesInUse(c *call) error { return s.replyCategories(c, true) }

func (s *Server) replyCategories(c *call, inUse bool) error {
	ws, err := c.workspace()
	if err != nil {
		return err
	}
	limit, offset, err := c.page()
	if err != nil {
		return err
	}
	r, err := c.rights(ws)
	if err != nil {
		return err
	}
	out := list[records.CategoryView]{Items: []records.CategoryView{}, Offset: offset, Limit: limit}
	err = s.store.Read(func(ses *store.Session) (err error) {
		out.Items, out.TotalCount, err = records.SelectCategories(ses, r, ws, limit, offset, inUse)
		return err
	})
	if err != nil {
		return fmt.Errorf("list categories of %s: %w", ws, err)
	}
	return c.Reply(http.StatusOK, out)
}

func (s *Server) getCategory(c *call) error {
	cat, err := s.category(c, c.args[0])
	if err != nil {
		return err
	}
	return s.replyCategory(c, cat)
}

// replyCategory responds with a category and the number of its assets.
func (s *Server) replyCategory(c *call, cat records.Category) error {
	out := cat.View()
	err := s.store.Read(func(ses *store.Session) (err error) {
		out.AssetsCount, err = records.CountCategory(ses, cat.ID)
		return err
	})
	if err != nil {
		return fmt.Errorf("count assets of category %s: %w", cat.ID, err)
	}
	return c.Reply(http.StatusOK, out)
}

// category returns a category of the workspace of the call.
func (s *Server) category(c *call, id string) (records.Category, error) {
	if _, err := s.categoryPlace(c, id); err != nil {
		return records.Category{}, err
	}
	var cat records.Category
	err := s.store.Read(func(ses *store.Session) (err error) {
		cat, err = records.SelectCategory(ses, id)
		return err
	})
	if errors.Is(err, store.ErrNotThere) { // deleted meanwhile
		return records.Category{}, noCategory(id)
	}
	if err != nil {
		return records.Category{}, fmt.Errorf("find category %s: %w", id, err)
	}
	return cat, nil
}

func noCategory(id string) *problem.Problem {
	return problem.Refuse(http.StatusNotFound, "There is no category %q.", id)
}

// categoryPlace checks that a category is in the workspace of the call.
func (s *Server) categoryPlace(c *call, id string) (records.Place, error) {
	ws, err := c.workspace()
	if err != nil {
		return records.Place{}, err
	}
	var of string
	err = s.store.Read(func(ses *store.Session) error {
		return store.NotThere(ses.Row("SELECT workspace_id FROM categories WHERE id = ?", []any{id}, &of))
	})
	if errors.Is(err, store.ErrNotThere) || err == nil && of != ws {
		return records.Place{}, problem.Refuse(http.StatusNotFound, "There is no category %q in workspace %q.", id, ws)
	}
	if err != nil {
		return records.Place{}, fmt.Errorf("find category %s: %w", id, err)
	}
	return records.Place{Workspace: ws, Category: id}, c.allow(ws, id)
}

// categoryBody is the body for creating and updating; other fields are ignored.
type categoryBody struct {
	Name       string
	Extensions []string
	IsPrivate  bool
}

func (s *Server) categoryBody(c *call) (categoryBody, error) {
	var in categoryBody
	if err := c.json(&in); err != nil {
		return in, err
	}
	return in, s.checkCategory(c, in)
}

func (s *Server) checkCategory(c *call, in categoryBody) error {
	if err := s.options.Profile.CheckName("category name", in.Name); err != nil {
		return err
	}
	if n := len(in.Extensions); n == 0 || n > naming.MaxExtensions {
		return problem.Refuse(http.StatusBadRequest, "A category needs 1 to %d extensions, not %d.", naming.MaxExtensions, n)
	}
	if err := checkExtensions(in.Extensions); err != nil {
		return err
	}
	return s.checkAdmitted(c, in.Extensions...)
}

func checkExtensions(all []string) error {
	seen := make(map[string]bool)
	for _, e := range all {
		if err := checkExtension(e); err != nil {
			return err
		}
		if seen[naming.Fold(e)] {
			return problem.Refuse(http.StatusBadRequest, "The extension %q occurs twice.", e)
		}
		seen[naming.Fold(e)] = true
	}
	return nil
}

func checkExtension(e string) error {
	if e == "" || utf8.RuneCountInString(e) > naming.MaxExtension || strings.ContainsAny(e, "./\\ ") || !utf8.ValidString(e) {
		return problem.Refuse(http.StatusBadRequest, "The extension %q must have 1 to %d characters and no dot.", e, naming.MaxExtension)
	}
	return nil
}

func (s *Server) createCategory(c *call) error {
	ws, err := c.workspace()
	if err != nil {
		return err
	}
	in, err := s.categoryBody(c)
	if err != nil {
		return err
	}
	cat := records.Category{ID: standin.NewUUID(), Name: in.Name, Extensions: in.Extensions, Private: in.IsPrivate, Workspace: ws}
	err = s.store.Write(func(ses *store.Session) error {
		if err := s.options.Profile.AdmitCategory(ses, cat); err != nil {
			return err
		}
		return records.InsertCategory(ses, cat)
	})
	if store.IsForeignKey(err) { // deleted meanwhile
		return noAccess(ws)
	}
	if err != nil {
		return fmt.Errorf("create category in %s: %w", ws, err)
	}
	return c.Reply(http.StatusCreated, cat.View())
}

// updateCategory replaces all fields. As at the service, removing an extension deletes its
// assets permanently.
func (s *Server) updateCategory(c *call) error {
	cat, err := s.category(c, c.args[0])
	if err != nil {
		return err
	}
	in, err := s.categoryBody(c)
	if err != nil {
		return err
	}
	cat.Name, cat.Extensions, cat.Private = in.Name, in.Extensions, in.IsPrivate
	err = s.store.Write(func(ses *store.Session) error {
		if err := s.options.Profile.AdmitCategory(ses, cat); err != nil {
			return err
		}
		return records.UpdateCategory(ses, cat)
	})
	if errors.Is(err, store.ErrNotThere) { // deleted meanwhile
		return noCategory(cat.ID)
	}
	if err != nil {
		return fmt.Errorf("update category %s: %w", cat.ID, err)
	}
	return s.replyCategory(c, cat)
}

// orderCategories sets the order of all categories in the workspace. The body is a guess.
func (s *Server) orderCategories(c *call) error {
	ws, err := c.workspace()
	if err != nil {
		return err
	}
	var in struct{ CategoriesIDs []string }
	if err := c.json(&in); err != nil {
		return err
	}
	err = s.store.Write(func(ses *store.Session) error {
		ids, err := records.CategoryIDs(ses, records.Rights{All: true}, ws)
		if err != nil {
			return err
		}
		if !slices.Equal(slices.Sorted(slices.Values(ids)), slices.Sorted(slices.Values(in.CategoriesIDs))) {
			return problem.Refuse(http.StatusBadRequest, "categoriesIds must contain all categories of the workspace, each once.")
		}
		return records.SetOrder(ses, in.CategoriesIDs)
	})
	if err != nil {
		return fmt.Errorf("order categories of %s: %w", ws, err)
	}
	return c.Done()
}

// deleteCategory permanently deletes all assets in the category.
func (s *Server) deleteCategory(c *call) error {
	cat, err := s.category(c, c.args[0])
	if err != nil {
		return err
	}
	err = s.store.Write(func(ses *store.Session) error {
		return ses.Change("DELETE FROM categories WHERE id = ?", cat.ID)
	})
	if errors.Is(err, store.ErrNotThere) { // deleted by another request
		return noCategory(cat.ID)
	}
	if err != nil {
		return fmt.Errorf("delete category %s: %w", cat.ID, err)
	}
	return c.Done()
}
