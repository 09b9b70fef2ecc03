package library

import "net/http"

// newest is the number of assets in "Recently added".
const newest = 12

// workspaces shows all workspaces, or redirects to the only one.
func (p *Pages) workspaces(r *http.Request) (view, error) {
	l := listingOf(r, Order{})
	found, err := list(l, p.places.Workspaces)
	if err != nil {
		return view{}, err
	}
	if l.Total == 1 {
		return p.workspaceView(r, found[0])
	}
	return view{Title: "Workspaces", Body: struct {
		List       *listing
		Workspaces []Workspace
	}{l, found}}, nil
}

func (p *Pages) workspace(r *http.Request) (view, error) {
	w, err := p.places.Workspace(r.PathValue("id"))
	if err != nil {
		return view{}, err
	}
	return p.workspaceView(r, w)
}

func (p *Pages) workspaceView(r *http.Request, w Workspace) (view, error) {
	l := listingOf(r, Order{})
	categories, err := list(l, func(s Span) ([]Category, int, error) { return p.places.Categories(w.ID, s) })
	if err != nil {
		return view{}, err
	}
	arrived, err := p.assets.Newest(w.ID, newest)
	if err != nil {
		return view{}, err
	}
	return view{Title: w.Name, Template: "workspace", Workspace: w.Ref, Body: struct {
		List       *listing
		Workspace  Workspace
		Categories []Category
		Newest     []Asset
	}{l, w, categories, arrived}}, nil
}

// A placeBody is a category or a folder with its direct content, folders first.
type placeBody struct {
	Name     string
	Category Category // zero for a folder
	Folder   Folder   // zero for a category
	List     *listing
	Folders  []Folder
	Assets   []Asset
	// Totals over all pages.
	FoldersTotal, AssetsTotal int
}

func (p *Pages) category(r *http.Request) (view, error) {
	c, err := p.places.Category(r.PathValue("id"))
	if err != nil {
		return view{}, err
	}
	b := placeBody{Name: c.Name, Category: c}
	return p.placeView(r, c.Workspace, trail(c.Workspace, Ref{}, nil), Place{Category: c.ID}, b)
}

func (p *Pages) folder(r *http.Request) (view, error) {
	f, err := p.places.Folder(r.PathValue("id"))
	if err != nil {
		return view{}, err
	}
	b := placeBody{Name: f.Name, Folder: f}
	return p.placeView(r, f.Workspace, trail(f.Workspace, f.Category, f.Around), Place{f.Category.ID, f.ID}, b)
}

func (p *Pages) placeView(r *http.Request, workspace Ref, around []Link, at Place, b placeBody) (view, error) {
	b.List = listingOf(r, Order{By: ByName})
	err := b.List.read(func(s Span) (total int, err error) {
		if b.Folders, b.FoldersTotal, err = p.places.Folders(at, b.List.Order, s); err != nil {
			return 0, err
		}
		s = Span{max(0, s.Offset-b.FoldersTotal), s.Limit - len(b.Folders)}
		b.Assets, b.AssetsTotal, err = p.assets.Assets(at, b.List.Order, s)
		return b.FoldersTotal + b.AssetsTotal, err
	})
	return view{Title: b.Name, Workspace: workspace, Trail: around, Body: b}, err
}

// allFolders shows all folders of a category as one list.
func (p *Pages) allFolders(r *http.Request) (view, error) {
	c, err := p.places.Category(r.PathValue("id"))
	if err != nil {
		return view{}, err
	}
	l := listingOf(r, Order{})
	found, err := list(l, func(s Span) ([]Folder, int, error) { return p.places.FolderTree(c.ID, s) })
	return view{
		Title: "All folders in " + c.Name, Workspace: c.Workspace, Trail: trail(c.Workspace, c.Ref, nil),
		Body: struct {
			List     *listing
			Category Category
			Folders  []Folder
		}{l, c, found},
	}, err
}
