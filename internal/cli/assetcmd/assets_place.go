package assetcmd

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"iter"
	"slices"
	"strings"

	"assetferry/internal/assets"
	"assetferry/internal/cli/exit"
)

// A place is a category, or a folder in it.
type place struct {
	category assets.Category
	folder   assets.Folder // zero for the category itself
	path     string        // names, starting with the category
}

// findPlace finds a category or a folder by ID or path. Names can contain slashes: the longest
// matching category name is used.
func findPlace(ctx context.Context, c *assets.Client, text string) (place, error) {
	text = strings.TrimSuffix(text, "/")
	if text == "" {
		return place{}, exit.Usage(errors.New("PLACE is empty"), "list the categories:\n  assetferry assets categories")
	}
	var all []assets.Category
	for category, err := range c.Categories(ctx) {
		if err != nil {
			return place{}, err
		}
		all = append(all, category)
	}
	if i := slices.IndexFunc(all, func(c assets.Category) bool { return c.ID == text }); i >= 0 {
		return place{category: all[i], path: all[i].Name}, nil
	}
	for name, rest := text, ""; ; {
		same := slices.DeleteFunc(slices.Clone(all), func(c assets.Category) bool { return c.Name != name })
		category, err := only(same, "category", name, func(c assets.Category) string { return c.ID })
		if err != nil {
			return place{}, err
		}
		if category.ID != "" {
			return findFolder(ctx, c, place{category: category, path: name}, rest)
		}
		i := strings.LastIndexByte(name, '/')
		if i < 0 {
			break
		}
		rest, name = strings.TrimSuffix(name[i+1:]+"/"+rest, "/"), name[:i]
	}
	return folderByID(ctx, c, all, text)
}

// only returns the single object with a name, or none. For several, the error lists their IDs.
func only[T any](all []T, what, name string, id func(T) string) (T, error) {
	var none T
	switch len(all) {
	case 0:
		return none, nil
	case 1:
		return all[0], nil
	}
	var ids []string
	for _, one := range all {
		ids = append(ids, id(one))
	}
	return none, exit.With(exit.CodeError, fmt.Errorf("%d objects have the name of the %s %q: %s", len(all), what, name, strings.Join(ids, ", ")), "use one of these IDs instead")
}

// findFolder follows folder names down from a category.
func findFolder(ctx context.Context, c *assets.Client, at place, path string) (place, error) {
	if path == "" {
		return at, nil
	}
	for name := range strings.SplitSeq(path, "/") {
		inside, err := foldersIn(ctx, c, at)
		if err != nil {
			return place{}, err
		}
		same := slices.DeleteFunc(inside, func(f assets.Folder) bool { return f.Name != name })
		folder, err := only(same, "folder", at.path+"/"+name, func(f assets.Folder) string { return f.ID })
		switch {
		case err != nil:
			return place{}, err
		case folder.ID == "":
			return place{}, exit.With(exit.CodeError, fmt.Errorf("there is no folder %q in %s", name, at.path), "list the folders:\n  assetferry assets folders")
		}
		at = at.below(folder)
	}
	return at, nil
}

func (p place) below(f assets.Folder) place {
	return place{category: p.category, folder: f, path: p.path + "/" + f.Name}
}

// folderByID finds a folder by ID, after no name matched.
func folderByID(ctx context.Context, c *assets.Client, all []assets.Category, text string) (place, error) {
	notFound := exit.With(exit.CodeError, fmt.Errorf("there is no category or folder %q", text), "list the categories:\n  assetferry assets categories")
	f, err := c.Folder(ctx, text, 1)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return place{}, notFound
	case err != nil:
		return place{}, err
	}
	i := slices.IndexFunc(all, func(c assets.Category) bool { return c.ID == f.CategoryID })
	if i < 0 {
		return place{}, notFound
	}
	return place{category: all[i], folder: f, path: f.Name}, nil
}

// foldersIn lists the folders directly in a place.
func foldersIn(ctx context.Context, c *assets.Client, at place) ([]assets.Folder, error) {
	if at.folder.ID != "" {
		f, err := c.Folder(ctx, at.folder.ID, 1)
		return f.Folders, err
	}
	top, err := c.Folders(ctx)
	return slices.DeleteFunc(top, func(f assets.Folder) bool { return f.CategoryID != at.category.ID }), err
}

// foldersBelow yields all folders below a place, each before its subfolders. It requests one
// level at a time, because the maximum depth of the service is unknown.
func foldersBelow(ctx context.Context, c *assets.Client, at place) iter.Seq2[place, error] {
	return func(yield func(place, error) bool) {
		inside, err := foldersIn(ctx, c, at)
		if err != nil {
			yield(place{}, err)
			return
		}
		for _, f := range inside {
			below := at.below(f)
			if !yield(below, nil) {
				return
			}
			for deeper, err := range foldersBelow(ctx, c, below) {
				if !yield(deeper, err) || err != nil {
					return
				}
			}
		}
	}
}
