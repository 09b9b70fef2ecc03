package apply

import (
	"context"
	"encoding/json"
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
	"assetferry/internal/clock"
	"assetferry/internal/faultpoint"
	"assetferry/migrate"
	"assetferry/migrate/inventory"
	"assetferry/state"
)

// structure finds and creates the categories and folders that items go to. Existing ones are
// adopted by name. A missing one is created once, however many workers want it. The state database
// holds an intent for each creation, so that another process waits long enough for one whose answer
// was lost.
type structure struct {
	*Applier
	tree   *inventory.Tree
	flight singleflight.Group

	wanted     []migrate.NewCategory // by the plan
	categories map[string]string     // wanted name -> id

	mu      sync.Mutex
	folders map[string]map[string]string // category -> path -> id
	lost    map[state.PlaceKey]time.Time // creations without an answer; the time until which they may become visible
	young   []youngFolder                // in the order of time
	shared  map[state.PlaceKey]bool      // see share
	failed  error                        // of the state database, in makeAhead
}

// A youngFolder was created so recently that some nodes of the service may not know it.
type youngFolder struct {
	place state.PlaceKey
	known time.Time // the time from which all nodes know it
}

func newStructure(ctx context.Context, a *Applier) (*structure, error) {
	s := &structure{
		Applier: a, tree: inventory.NewTree(a.Dest), categories: map[string]string{},
		folders: map[string]map[string]string{}, lost: map[state.PlaceKey]time.Time{}, shared: map[state.PlaceKey]bool{},
	}
	if err := json.Unmarshal(a.run.Categories, &s.wanted); err != nil {
		return nil, fmt.Errorf("read plan: %w", err)
	}
	intents, err := a.State.Intents(ctx, a.run.Pair.Destination)
	for place, at := range intents {
		s.lost[place] = a.formerEnd(at).Add(a.confirmationDelay(false))
	}
	return s, err
}

// makeCategories creates the missing categories of the plan.
func (s *structure) makeCategories(ctx context.Context) error {
	for _, c := range s.wanted {
		if err := s.category(ctx, c); err != nil {
			return fmt.Errorf("make category %q: %w", c.Name, err)
		}
	}
	return nil
}

func (s *structure) category(ctx context.Context, c migrate.NewCategory) error {
	place := state.PlaceKey{Category: migrate.NewPrefix + c.Name}
	id, made, err := s.create(ctx, place, creation{
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
		if err := migrate.SaveCategories(ctx, s.State, s.run.Pair.Destination, []assets.Category{{ID: id, Name: c.Name, Private: c.Private}}); err != nil {
			return migrate.NewStateError(err)
		}
		if err := s.State.SaveOurs(ctx, s.run.Pair.ID, id, ""); err != nil {
			return migrate.NewStateError(err)
		}
	}
	return s.forgetIntent(ctx, place)
}

// findCategory returns the category with the name, all extensions and the privacy, "" if there is
// none.
func (s *structure) findCategory(ctx context.Context, want migrate.NewCategory) (string, error) {
	there, err := migrate.Categories(ctx, s.Dest)
	if err != nil {
		return "", err
	}
	if err := migrate.SaveCategories(ctx, s.State, s.run.Pair.Destination, there); err != nil {
		return "", migrate.NewStateError(err)
	}
	for _, c := range there {
		lacks := func(e string) bool { return !migrate.Allows(c.Extensions, e) }
		if norm.NFC.String(c.Name) == norm.NFC.String(want.Name) && (c.Private || !want.Private) && !slices.ContainsFunc(want.Extensions, lacks) {
			return c.ID, nil
		}
	}
	return "", nil
}

// idOf returns the ID of a category, "" if it was not created.
func (s *structure) idOf(category string) string {
	if name, wanted := strings.CutPrefix(category, migrate.NewPrefix); wanted {
		return s.categories[name]
	}
	return category
}

// container returns the IDs of a place, creating its folders if they are missing.
func (s *structure) container(ctx context.Context, category, folder string) (migrate.Container, error) {
	s.mu.Lock()
	failed := s.failed
	s.mu.Unlock()
	if failed != nil {
		return migrate.Container{}, failed
	}
	c := migrate.Container{Category: s.idOf(category)}
	if c.Category == "" {
		return c, fmt.Errorf("category %q was not made", category)
	}
	if err := s.share(ctx, state.PlaceKey{Category: c.Category, Path: folder}); err != nil {
		return c, err
	}
	var err error
	c.Folder, err = s.folder(ctx, c.Category, folder)
	return c, err
}

// foldersAhead is the maximum number of places that makeAhead makes at a time. If items have more,
// each has few items, and the workers make them side by side.
const foldersAhead = 16

// makeAhead makes the places of queued items. Otherwise all workers would wait at the
// first item of a folder. Errors of the service are found again when an item is processed. Those of
// the state database end the run at the next item.
func (s *structure) makeAhead(ctx context.Context, items []state.Item) {
	made := map[state.PlaceKey]bool{}
	for _, i := range items {
		place := state.PlaceKey{Category: i.Category, Path: i.Folder}
		if i.Action != state.Create || i.Folder == "" || made[place] {
			continue
		}
		if len(made) == foldersAhead {
			return
		}
		made[place] = true
		if _, err := s.container(ctx, i.Category, i.Folder); err != nil {
			s.fail(ctx, err)
			return
		}
	}
}

// fail keeps an error of the state database, unless it only results from the end of the run.
func (s *structure) fail(ctx context.Context, err error) {
	if !migrate.IsStateError(err) || ctx.Err() != nil {
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.failed = err
}

// share makes other sources list a place before they write to it: their plans may be newer than
// ours.
func (s *structure) share(ctx context.Context, p state.PlaceKey) error {
	s.mu.Lock()
	shared := s.shared[p]
	s.mu.Unlock()
	if shared {
		return nil
	}
	if err := s.State.ForgetOursOfOthers(ctx, s.run.Pair, []state.PlaceKey{p}); err != nil {
		return migrate.NewStateError(err)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.shared[p] = true
	return nil
}

// lookup finds a place as container does, but creates nothing: a missing place is an
// fs.ErrNotExist.
func (s *structure) lookup(ctx context.Context, category, folder string) (migrate.Container, error) {
	if name, ok := strings.CutPrefix(category, migrate.NewPrefix); ok {
		i := slices.IndexFunc(s.wanted, func(c migrate.NewCategory) bool { return c.Name == name })
		if category = s.categories[name]; category == "" && i >= 0 {
			var err error
			if category, err = s.findCategory(ctx, s.wanted[i]); err != nil {
				return migrate.Container{}, err
			}
		}
		if category == "" {
			return migrate.Container{}, fmt.Errorf("category %q: %w", name, fs.ErrNotExist)
		}
	}
	known, err := s.known(ctx, category)
	if err != nil {
		return migrate.Container{}, err
	}
	s.mu.Lock()
	id, ok := known[folder]
	s.mu.Unlock()
	if !ok {
		id, err = s.tree.Find(ctx, category, folder)
	}
	return migrate.Container{Category: category, Folder: id}, err
}

// forget makes us list the folders of a category again, because one of them is missing, unless that
// was done since. A new folder may be unknown to some nodes of the service yet, so it is looked for
// until all know it.
func (s *structure) forget(ctx context.Context, c migrate.Container, dir string) error {
	known, err := s.known(ctx, c.Category)
	if err != nil {
		return err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if c.Folder != "" && known[dir] != c.Folder {
		return nil
	}
	clear(known)
	s.tree.ForgetAll(c.Category)
	for _, f := range s.young {
		if f.place.Category == c.Category {
			s.lost[f.place] = f.known
		}
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
		s.mu.Lock()
		id, ok := known[dir] // by another worker, meanwhile
		s.mu.Unlock()
		if ok {
			return id, nil
		}
		return s.saveFolder(ctx, known, category, dir)
	})
	id, _ = made.(string)
	return id, err
}

// saveFolder adopts or creates a folder, and stores it.
func (s *structure) saveFolder(ctx context.Context, known map[string]string, category, dir string) (string, error) {
	id, made, err := s.adoptOrMake(ctx, category, dir)
	if err != nil {
		return "", err
	}
	if made {
		err = s.State.SaveNewFolder(ctx, s.run.Pair, category, dir, id)
	} else {
		err = s.State.SaveFolder(ctx, s.run.Pair.Destination, category, dir, id)
	}
	if err != nil {
		return "", migrate.NewStateError(err)
	}
	faultpoint.Hit(faultpoint.FolderSaved)
	s.mu.Lock()
	defer s.mu.Unlock()
	known[dir] = id
	if made {
		s.grown()
		s.young = append(s.young, youngFolder{state.PlaceKey{Category: category, Path: dir}, clock.Now().Add(s.ConfirmTimeout)})
	}
	return id, nil
}

// grown drops the folders that are young no more.
func (s *structure) grown() {
	now := clock.Now()
	n := slices.IndexFunc(s.young, func(f youngFolder) bool { return now.Before(f.known) })
	if n < 0 {
		n = len(s.young)
	}
	s.young = slices.Delete(s.young, 0, n)
}

// known returns the folders of a category in the state database.
func (s *structure) known(ctx context.Context, category string) (map[string]string, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.folders[category] == nil {
		paths, err := s.State.Folders(ctx, s.run.Pair.Destination, category)
		if err != nil {
			return nil, migrate.NewStateError(err)
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
	l := inventory.Level{Category: category, Folder: parent}
	return s.create(ctx, state.PlaceKey{Category: category, Path: dir}, creation{
		look:   func() (string, error) { return s.tree.Child(ctx, l, name) },
		forget: func() { s.tree.Forget(l) },
		create: func() (string, error) {
			f := assets.NewFolder{Name: name, ParentID: parent}
			if parent == "" {
				f.CategoryID = category
			}
			id, err := s.Write.CreateFolder(ctx, f)
			if err == nil {
				faultpoint.Hit(faultpoint.FolderMade)
				s.tree.Add(l, name, id)
			}
			return id, err
		},
	})
}
