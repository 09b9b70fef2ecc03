package migrate

import (
	"context"
	"fmt"
	"io/fs"
	"maps"
	"strings"
	"sync"

	"golang.org/x/sync/singleflight"
	"golang.org/x/text/unicode/norm"

	"assetferry/internal/assets"
)

// A tree looks up folders of the destination by their path, a level at a time,
// and asks for each level at most once. It only reads.
type tree struct {
	dest   Reader
	flight singleflight.Group

	mu     sync.Mutex
	levels map[level]map[string]string // a level's folders: name -> id
}

// A level is where folders are directly: a category, or a folder of it.
type level struct{ category, folder string }

func newTree(r Reader) *tree { return &tree{dest: r, levels: map[level]map[string]string{}} }

// find gives the id of the folder at a path within a category, "" for the
// category itself. Without such a folder it fails with fs.ErrNotExist.
func (t *tree) find(ctx context.Context, category, path string) (id string, err error) {
	if path == "" {
		return "", nil
	}
	for name := range strings.SplitSeq(path, "/") {
		if id, err = t.child(ctx, level{category, id}, name); err != nil {
			return "", err
		}
		if id == "" {
			return "", fmt.Errorf("folder %s: %w", path, fs.ErrNotExist)
		}
	}
	return id, nil
}

// child gives the id of a folder by its name, or "" if there is none.
func (t *tree) child(ctx context.Context, l level, name string) (string, error) {
	names, err := t.children(ctx, l)
	if err != nil {
		return "", err
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	return names[norm.NFC.String(name)], nil
}

// children gives the folders of a level by name; of several of one name the
// oldest.
func (t *tree) children(ctx context.Context, l level) (map[string]string, error) {
	t.mu.Lock()
	names, ok := t.levels[l]
	t.mu.Unlock()
	if ok {
		return names, nil
	}
	if l.folder == "" {
		return t.top(ctx, l)
	}
	_, err, _ := t.flight.Do(l.folder, func() (any, error) {
		f, err := t.dest.Folder(ctx, l.folder, 1)
		if err != nil {
			return nil, err
		}
		t.set(l, byName(f.Folders))
		return nil, nil
	})
	if err != nil {
		return nil, err
	}
	return t.children(ctx, l)
}

// top reads the top levels of all categories: the service has one request for
// them together.
func (t *tree) top(ctx context.Context, l level) (map[string]string, error) {
	_, err, _ := t.flight.Do("", func() (any, error) {
		all, err := t.dest.Folders(ctx)
		if err != nil {
			return nil, err
		}
		in := map[string][]assets.Folder{l.category: nil}
		for _, f := range all {
			in[f.CategoryID] = append(in[f.CategoryID], f)
		}
		for category, folders := range in {
			t.set(level{category, ""}, byName(folders))
		}
		return nil, nil
	})
	if err != nil {
		return nil, err
	}
	return t.children(ctx, l) // again if the answer was to somebody with another category
}

func (t *tree) set(l level, names map[string]string) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.levels[l] = names
}

// forget makes the tree ask again about a level.
func (t *tree) forget(l level) {
	t.mu.Lock()
	defer t.mu.Unlock()
	delete(t.levels, l)
}

// forgetAll makes the tree ask again about everything in a category.
func (t *tree) forgetAll(category string) {
	t.mu.Lock()
	defer t.mu.Unlock()
	maps.DeleteFunc(t.levels, func(l level, _ map[string]string) bool { return l.category == category })
}

// add notes a folder that was just made; nothing is in it yet.
func (t *tree) add(l level, name, id string) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if names := t.levels[l]; names != nil { // else forgotten meanwhile: one name must not pass for all of them
		names[norm.NFC.String(name)] = id
	}
	t.levels[level{l.category, id}] = map[string]string{}
}

func byName(folders []assets.Folder) map[string]string {
	oldest := map[string]assets.Folder{}
	for _, f := range folders {
		name := norm.NFC.String(f.Name)
		if had, ok := oldest[name]; !ok || f.CreatedAt.Before(had.CreatedAt) {
			oldest[name] = f
		}
	}
	names := make(map[string]string, len(oldest))
	for name, f := range oldest {
		names[name] = f.ID
	}
	return names
}
