package ckbox

import (
	"context"
	"strings"
	"sync"

	"assetferry/internal/assets"
)

// places caches the names of containers for lookups of single assets. A listing updates them.
type places struct {
	mu         sync.Mutex
	categories map[string]assets.Category
	folders    map[string]folder
}

type folder struct{ name, parent string }

func (p *places) addCategory(c assets.Category) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.categories == nil {
		p.categories = map[string]assets.Category{}
	}
	p.categories[c.ID] = c
}

func (p *places) addFolder(f assets.Folder, parent string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.folders == nil {
		p.folders = map[string]folder{}
	}
	p.folders[f.ID] = folder{segment(f.Name), parent}
}

func (p *places) category(id string) (assets.Category, bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	c, ok := p.categories[id]
	return c, ok
}

func (p *places) folder(id string) (folder, bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	f, ok := p.folders[id]
	return f, ok
}

// category returns a category by ID.
func (s *Source) category(ctx context.Context, id string) (assets.Category, error) {
	if c, ok := s.places.category(id); ok {
		return c, nil
	}
	for c, err := range s.service.Categories(ctx) {
		if err != nil {
			return c, err
		}
		s.places.addCategory(c)
	}
	if c, ok := s.places.category(id); ok {
		return c, nil
	}
	return assets.Category{}, &movedError{"category " + id}
}

// path returns the names of the parent folders of an asset, separated by slashes.
func (s *Source) path(ctx context.Context, id string) (string, error) {
	var names []string
	for id != "" {
		f, ok := s.places.folder(id)
		if !ok {
			found, err := s.service.Folder(ctx, id, 1)
			if err != nil {
				return "", moved("folder "+id, err)
			}
			s.places.addFolder(found, found.ParentID)
			f = folder{segment(found.Name), found.ParentID}
		}
		names = append([]string{f.name}, names...)
		id = f.parent
	}
	return strings.Join(names, "/"), nil
}
