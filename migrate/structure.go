package migrate

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"path"
	"slices"
	"strings"
	"sync"
	"time"

	"golang.org/x/sync/singleflight"
	"golang.org/x/text/unicode/norm"

	"assetferry/internal/assets"
	"assetferry/internal/retry"
	"assetferry/state"
)

// structure gives the categories and folders that items go to. What is there is
// adopted by name, what is missing is made once, however many workers want it at
// once. Nothing here needs an intent in the journal: a folder is made only where
// we have looked and not found it, or where we made its parent ourselves.
type structure struct {
	Deps
	write  Writer
	pair   state.Pair
	settle time.Duration // how long a lost answer may take to become visible
	tree   *tree
	flight singleflight.Group

	wanted     []NewCategory     // by the plan
	categories map[string]string // wanted name -> id

	mu      sync.Mutex
	folders map[string]map[string]string // category -> path -> id
}

func newStructure(a *Applier, run state.Run) (*structure, error) {
	s := &structure{
		Deps: a.Deps, write: a.Write, pair: run.Pair, settle: a.Settle, tree: newTree(a.Dest),
		categories: map[string]string{}, folders: map[string]map[string]string{},
	}
	if err := json.Unmarshal(run.Categories, &s.wanted); err != nil {
		return nil, fmt.Errorf("read plan: %w", err)
	}
	return s, nil
}

// A container is where an asset goes; folder is empty directly in the category.
type container struct{ category, folder string }

// makeCategories makes the categories that the plan wants and that are not there
// by now.
func (s *structure) makeCategories(ctx context.Context) error {
	for _, c := range s.wanted {
		if err := s.category(ctx, c); err != nil {
			return fmt.Errorf("make category %q: %w", c.Name, err)
		}
	}
	return nil
}

func (s *structure) category(ctx context.Context, c NewCategory) error {
	look := func() (string, error) { return s.findCategory(ctx, c) }
	id, made, err := s.make(ctx, look, func() {}, func() (string, error) {
		return s.write.CreateCategory(ctx, assets.NewCategory{Name: c.Name, Extensions: c.Extensions})
	})
	if err != nil {
		return err
	}
	s.categories[c.Name] = id
	if made {
		return s.Journal.SaveOurs(ctx, s.pair.ID, id, "")
	}
	return nil
}

// findCategory looks for a category of that name that allows all the
// extensions, and gives "" if there is none.
func (s *structure) findCategory(ctx context.Context, want NewCategory) (string, error) {
	there, err := categories(ctx, s.Dest)
	if err != nil {
		return "", err
	}
	for _, c := range there {
		lacks := func(e string) bool { return !allows(c.Extensions, e) }
		if norm.NFC.String(c.Name) == norm.NFC.String(want.Name) && !slices.ContainsFunc(want.Extensions, lacks) {
			return c.ID, nil
		}
	}
	return "", nil
}

// container gives the ids of a place, making its folders if they are missing.
func (s *structure) container(ctx context.Context, category, folder string) (container, error) {
	if name, ok := strings.CutPrefix(category, newPrefix); ok {
		id, ok := s.categories[name]
		if !ok {
			return container{}, fmt.Errorf("category %q was not made", name)
		}
		category = id
	}
	id, err := s.folder(ctx, category, folder)
	return container{category, id}, err
}

// lookup finds a place as container does, but makes nothing: what is not there
// is an fs.ErrNotExist.
func (s *structure) lookup(ctx context.Context, category, folder string) (container, error) {
	if name, ok := strings.CutPrefix(category, newPrefix); ok {
		i := slices.IndexFunc(s.wanted, func(c NewCategory) bool { return c.Name == name })
		if category = s.categories[name]; category == "" && i >= 0 {
			var err error
			if category, err = s.findCategory(ctx, s.wanted[i]); err != nil {
				return container{}, err
			}
		}
		if category == "" {
			return container{}, fmt.Errorf("category %q: %w", name, fs.ErrNotExist)
		}
	}
	known, err := s.known(ctx, category)
	if err != nil {
		return container{}, err
	}
	s.mu.Lock()
	id, ok := known[folder]
	s.mu.Unlock()
	if !ok {
		id, err = s.tree.find(ctx, category, folder)
	}
	return container{category, id}, err
}

// forget makes us look anew at the folders of a category, because one of them is
// not there any more, unless that has been done since.
func (s *structure) forget(ctx context.Context, c container, dir string) error {
	known, err := s.known(ctx, c.category)
	if err != nil {
		return err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if c.folder == "" || known[dir] == c.folder {
		clear(known)
		s.tree.forgetAll(c.category)
	}
	return nil
}

func (s *structure) folder(ctx context.Context, category, dir string) (string, error) {
	if dir == "" {
		return "", nil
	}
	known, err := s.known(ctx, category)
	if err != nil {
		return "", err
	}
	s.mu.Lock()
	id, ok := known[dir]
	s.mu.Unlock()
	if ok {
		return id, nil
	}
	made, err, _ := s.flight.Do(category+"/"+dir, func() (any, error) {
		id, made, err := s.adoptOrMake(ctx, category, dir)
		if err != nil {
			return "", err
		}
		if made {
			err = s.Journal.SaveNewFolder(ctx, s.pair, category, dir, id)
		} else {
			err = s.Journal.SaveFolder(ctx, s.pair.Destination, category, dir, id)
		}
		if err != nil {
			return "", &journalError{err}
		}
		s.mu.Lock()
		known[dir] = id
		s.mu.Unlock()
		return id, nil
	})
	id, _ = made.(string)
	return id, err
}

// A journalError is no item's fault: a run without its journal must stop.
type journalError struct{ error }

func (e *journalError) Unwrap() error      { return e.error }
func (e *journalError) Class() retry.Class { return retry.Fatal }

// known gives the folders of a category that the journal knows.
func (s *structure) known(ctx context.Context, category string) (map[string]string, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.folders[category] == nil {
		paths, err := s.Journal.Folders(ctx, s.pair.Destination, category)
		if err != nil {
			return nil, &journalError{err}
		}
		s.folders[category] = paths
	}
	return s.folders[category], nil
}

func (s *structure) adoptOrMake(ctx context.Context, category, dir string) (id string, made bool, err error) {
	up, name := path.Split(dir)
	parent, err := s.folder(ctx, category, strings.TrimSuffix(up, "/"))
	if err != nil {
		return "", false, err
	}
	l := level{category, parent}
	look := func() (string, error) { return s.tree.child(ctx, l, name) }
	return s.make(ctx, look, func() { s.tree.forget(l) }, func() (string, error) {
		f := assets.NewFolder{Name: name, ParentID: parent}
		if parent == "" {
			f.CategoryID = category
		}
		id, err := s.write.CreateFolder(ctx, f)
		if err == nil {
			s.tree.add(l, name, id)
		}
		return id, err
	})
}

// make looks for something and makes it if it is not there. If the answer to
// making it is lost, it looks again, at once and after the settle time, before
// it makes it once more; whether what it then finds was made by us is not known.
func (s *structure) make(ctx context.Context, look func() (string, error), forget func(), create func() (string, error)) (id string, made bool, err error) {
	id, err = look()
	if id != "" || err != nil {
		return id, false, err
	}
	const tries = 3
	for try := 1; ; try++ {
		id, err := create()
		if err == nil || !errors.Is(err, assets.ErrInDoubt) || try == tries {
			return id, true, err
		}
		for _, wait := range []time.Duration{0, s.settle} {
			if err := sleep(ctx, wait); err != nil {
				return "", false, err
			}
			forget()
			if id, err := look(); id != "" || err != nil {
				return id, false, err
			}
		}
	}
}

// sleep waits, or gives the reason why not.
func sleep(ctx context.Context, d time.Duration) error {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}
