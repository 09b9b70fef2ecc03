package inventory

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
	"assetferry/migrate"
)

// A Tree looks up folders of the destination by path, one level at a time, and requests each level
// at most once. It only reads.
type Tree struct {
	dest   migrate.Reader
	flight singleflight.Group

	mu         sync.Mutex
	levels     map[Level]map[string]string // a level's folders: name -> id
	made       map[Level]map[string]string // folders that were added while their level was unknown
	generation int                         // increases when a level is forgotten
	forgotten  map[string]int              // by category: the generation of the last change
}

// A Level is the parent of folders: a category, or a folder in it.
type Level struct{ Category, Folder string }

// NewTree returns a tree that reads from r.
func NewTree(r migrate.Reader) *Tree {
	return &Tree{dest: r, levels: map[Level]map[string]string{}, made: map[Level]map[string]string{}, forgotten: map[string]int{}}
}

// Find returns the ID of the folder at a path within a category, "" for the
// category itself. Without such a folder it fails with fs.ErrNotExist.
func (t *Tree) Find(ctx context.Context, category, path string) (id string, err error) {
	if path == "" {
		return "", nil
	}
	for name := range strings.SplitSeq(path, "/") {
		if id, err = t.Child(ctx, Level{category, id}, name); err != nil {
			return "", err
		}
		if id == "" {
			return "", fmt.Errorf("folder %s: %w", path, fs.ErrNotExist)
		}
	}
	return id, nil
}

// Target returns the target of uploads to the folder at a path within a category. It fails as Find
// does.
func (t *Tree) Target(ctx context.Context, category, path string) (assets.Target, error) {
	folder, err := t.Find(ctx, category, path)
	if err != nil || folder == "" {
		return assets.Target{CategoryID: category}, err
	}
	return assets.Target{FolderID: folder}, nil
}

// Child returns the ID of a folder by its name, or "" if there is none; of several of that name,
// the oldest.
func (t *Tree) Child(ctx context.Context, l Level, name string) (string, error) {
	names, err := t.children(ctx, l)
	if err != nil {
		return "", err
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	return names[norm.NFC.String(name)], nil
}

// children returns the folders of a level by name. If several have the same name, it returns the
// oldest.
func (t *Tree) children(ctx context.Context, l Level) (map[string]string, error) {
	t.mu.Lock()
	names, ok := t.levels[l]
	t.mu.Unlock()
	if ok {
		return names, nil
	}
	if l.Folder == "" {
		return t.top(ctx, l)
	}
	_, err, _ := t.flight.Do(l.Folder, func() (any, error) {
		asked := t.now()
		f, err := t.dest.Folder(ctx, l.Folder, 1)
		if err != nil {
			return nil, err
		}
		t.set(l, byName(f.Folders), asked)
		return nil, nil
	})
	if err != nil {
		return nil, err
	}
	return t.children(ctx, l) // again if it was forgotten meanwhile
}

// top reads the top levels of all categories: the service has one request for
// them together.
func (t *Tree) top(ctx context.Context, l Level) (map[string]string, error) {
	_, err, _ := t.flight.Do("", func() (any, error) {
		asked := t.now()
		all, err := t.dest.Folders(ctx)
		if err != nil {
			return nil, err
		}
		in := map[string][]assets.Folder{l.Category: nil}
		for _, f := range all {
			in[f.CategoryID] = append(in[f.CategoryID], f)
		}
		for category, folders := range in {
			t.set(Level{category, ""}, byName(folders), asked)
		}
		return nil, nil
	})
	if err != nil {
		return nil, err
	}
	return t.children(ctx, l) // again if the answer was to a user with another category
}

// now returns the present generation.
func (t *Tree) now() int {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.generation
}

// set stores the answer about a level that was requested in a generation. Entries that are known
// already stay: they are as new or newer. An answer from before the level was forgotten is dropped.
func (t *Tree) set(l Level, names map[string]string, asked int) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.levels[l] != nil || t.forgotten[l.Category] > asked {
		return
	}
	for name, id := range t.made[l] {
		if names[name] == "" {
			names[name] = id
		}
	}
	delete(t.made, l)
	t.levels[l] = names
}

// Forget makes the tree request a level again.
func (t *Tree) Forget(l Level) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.advanceGeneration(l.Category)
	delete(t.levels, l)
}

// ForgetAll makes the tree request everything in a category again.
func (t *Tree) ForgetAll(category string) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.advanceGeneration(category)
	ofCategory := func(l Level, _ map[string]string) bool { return l.Category == category }
	maps.DeleteFunc(t.levels, ofCategory)
	maps.DeleteFunc(t.made, ofCategory)
}

// advanceGeneration starts a new generation. Answers about the category that were requested earlier
// are discarded.
func (t *Tree) advanceGeneration(category string) {
	t.generation++
	t.forgotten[category] = t.generation
}

// Add adds a new empty folder.
func (t *Tree) Add(l Level, name, id string) {
	t.mu.Lock()
	defer t.mu.Unlock()
	name = norm.NFC.String(name)
	if names := t.levels[l]; names != nil {
		names[name] = id
	} else { // forgotten: one folder is not all, but a late answer must not lack it
		if t.made[l] == nil {
			t.made[l] = map[string]string{}
		}
		t.made[l][name] = id
	}
	t.levels[Level{l.Category, id}] = map[string]string{}
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
