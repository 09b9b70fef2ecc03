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
	"assetferry/internal/faultpoint"
	"assetferry/internal/retry"
	"assetferry/state"
)

// structure gives the categories and folders that items go to. What is there is
// adopted by name, what is missing is made once, however many workers want it at
// once. The journal has an intent of each while it is being made, so that another
// process looks long enough for one whose answer was lost.
type structure struct {
	*Applier
	tree   *tree
	flight singleflight.Group

	wanted     []NewCategory     // by the plan
	categories map[string]string // wanted name -> id

	mu      sync.Mutex
	folders map[string]map[string]string // category -> path -> id
	lost    map[state.PlaceKey]time.Time // asked for without an answer; until when it may show up
	shared  map[state.PlaceKey]bool      // see share
}

func newStructure(ctx context.Context, a *Applier) (*structure, error) {
	s := &structure{
		Applier: a, tree: newTree(a.Dest), categories: map[string]string{},
		folders: map[string]map[string]string{}, lost: map[state.PlaceKey]time.Time{}, shared: map[state.PlaceKey]bool{},
	}
	if err := json.Unmarshal(a.run.Categories, &s.wanted); err != nil {
		return nil, fmt.Errorf("read plan: %w", err)
	}
	intents, err := a.Journal.Intents(ctx, a.run.Pair.Destination)
	for place, at := range intents {
		s.lost[place] = a.formerEnd(at).Add(a.patience(false))
	}
	return s, err
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
	place := state.PlaceKey{Category: newPrefix + c.Name}
	id, made, err := s.make(ctx, place, making{
		look:   func() (string, error) { return s.findCategory(ctx, c) },
		forget: func() {},
		create: func() (string, error) {
			return s.Write.CreateCategory(ctx, assets.NewCategory{Name: c.Name, Extensions: c.Extensions, Private: c.Private})
		},
	})
	if err != nil {
		return err
	}
	faultpoint.Hit(faultpoint.CategoryMade)
	s.categories[c.Name] = id
	if made {
		if err := saveCategories(ctx, s.Journal, s.run.Pair.Destination, []assets.Category{{ID: id, Name: c.Name, Private: c.Private}}); err != nil {
			return &journalError{err}
		}
		if err := s.Journal.SaveOurs(ctx, s.run.Pair.ID, id, ""); err != nil {
			return &journalError{err}
		}
	}
	return s.forgetIntent(ctx, place)
}

// findCategory looks for a category of that name that allows all the extensions and is
// not public if it must not be, and gives "" if there is none.
func (s *structure) findCategory(ctx context.Context, want NewCategory) (string, error) {
	there, err := categories(ctx, s.Dest)
	if err != nil {
		return "", err
	}
	if err := saveCategories(ctx, s.Journal, s.run.Pair.Destination, there); err != nil {
		return "", &journalError{err}
	}
	for _, c := range there {
		lacks := func(e string) bool { return !allows(c.Extensions, e) }
		if norm.NFC.String(c.Name) == norm.NFC.String(want.Name) && (c.Private || !want.Private) && !slices.ContainsFunc(want.Extensions, lacks) {
			return c.ID, nil
		}
	}
	return "", nil
}

// idOf gives the id of a category, "" for one that was not made.
func (s *structure) idOf(category string) string {
	if name, wanted := strings.CutPrefix(category, newPrefix); wanted {
		return s.categories[name]
	}
	return category
}

// container gives the ids of a place, making its folders if they are missing.
func (s *structure) container(ctx context.Context, category, folder string) (container, error) {
	c := container{category: s.idOf(category)}
	if c.category == "" {
		return c, fmt.Errorf("category %q was not made", category)
	}
	if err := s.share(ctx, state.PlaceKey{Category: c.category, Path: folder}); err != nil {
		return c, err
	}
	var err error
	c.folder, err = s.folder(ctx, c.category, folder)
	return c, err
}

// share has other sources look into a place before they send something there: their
// plans may be newer than ours.
func (s *structure) share(ctx context.Context, p state.PlaceKey) error {
	s.mu.Lock()
	shared := s.shared[p]
	s.mu.Unlock()
	if shared {
		return nil
	}
	if err := s.Journal.ForgetOursOfOthers(ctx, s.run.Pair, []state.PlaceKey{p}); err != nil {
		return &journalError{err}
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.shared[p] = true
	return nil
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
			err = s.Journal.SaveNewFolder(ctx, s.run.Pair, category, dir, id)
		} else {
			err = s.Journal.SaveFolder(ctx, s.run.Pair.Destination, category, dir, id)
		}
		if err != nil {
			return "", &journalError{err}
		}
		faultpoint.Hit(faultpoint.FolderSaved)
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

func isJournalError(err error) bool {
	_, is := errors.AsType[*journalError](err)
	return is
}

// known gives the folders of a category that the journal knows.
func (s *structure) known(ctx context.Context, category string) (map[string]string, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.folders[category] == nil {
		paths, err := s.Journal.Folders(ctx, s.run.Pair.Destination, category)
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
	return s.make(ctx, state.PlaceKey{Category: category, Path: dir}, making{
		look:   func() (string, error) { return s.tree.child(ctx, l, name) },
		forget: func() { s.tree.forget(l) },
		create: func() (string, error) {
			f := assets.NewFolder{Name: name, ParentID: parent}
			if parent == "" {
				f.CategoryID = category
			}
			id, err := s.Write.CreateFolder(ctx, f)
			if err == nil {
				faultpoint.Hit(faultpoint.FolderMade)
				s.tree.add(l, name, id)
			}
			return id, err
		},
	})
}
