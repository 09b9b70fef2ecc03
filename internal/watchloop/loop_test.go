package watchloop

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	"github.com/fsnotify/fsnotify"
	"github.com/google/go-cmp/cmp"
)

// A fake sends the events of a test.
type fake struct {
	news   chan any // events and errors, until it is closed
	events chan fsnotify.Event
	errs   chan error
	done   chan struct{}
	added  []string
	refuse func(path string) error
}

func newFake(refuse func(path string) error) *fake {
	f := &fake{news: make(chan any), events: make(chan fsnotify.Event), errs: make(chan error), done: make(chan struct{}), refuse: refuse}
	go f.pass()
	return f
}

// pass forwards events. It alone closes the channels that it writes to.
func (f *fake) pass() {
	defer close(f.events)
	defer close(f.errs)
	for {
		select {
		case <-f.done:
			return
		case n := <-f.news:
			switch n := n.(type) {
			case error:
				f.errs <- n
			case fsnotify.Event:
				f.events <- n
			}
		}
	}
}

// send sends an event and reports whether it was received.
func (f *fake) send(news any) bool {
	select {
	case f.news <- news:
		return true
	case <-f.done:
		return false
	}
}

func (f *fake) Events() <-chan fsnotify.Event { return f.events }
func (f *fake) Errors() <-chan error          { return f.errs }

func (f *fake) Add(path string) error {
	if f.refuse != nil {
		if err := f.refuse(path); err != nil {
			return err
		}
	}
	f.added = append(f.added, path)
	return nil
}

func (f *fake) Close() error {
	close(f.done)
	return nil
}

func (f *fake) isClosed() bool {
	select {
	case <-f.done:
		return true
	default:
		return false
	}
}

// A world is a loop over a tree whose changes the test invents.
type world struct {
	*Loop
	root     string
	fakes    []*fake
	reported []string
	refuse   func(path string) error
	began    time.Time
	runs     []time.Duration // when they were, since the beginning
}

// newWorld returns one. Call it in a bubble.
func newWorld(t *testing.T, root string) *world {
	w := &world{root: root, began: time.Now()}
	w.Loop = New(Options{
		Root: root, Marker: ".sandbox", Rescan: 15 * time.Minute, Log: slog.New(slog.DiscardHandler),
		Report: func(text string) { w.reported = append(w.reported, text) },
	})
	w.open = func() (notifier, error) {
		f := newFake(w.refuse)
		w.fakes = append(w.fakes, f)
		return f, nil
	}
	return w
}

// run runs the loop until the last of these results. The test decides what happens during a run.
func (w *world) run(ctx context.Context, during func(number int), results ...Next) {
	w.Run(ctx, func(context.Context) Next {
		w.runs = append(w.runs, time.Since(w.began))
		n := len(w.runs)
		if during != nil {
			during(n)
		}
		if n == len(results) {
			return Stop
		}
		return results[n-1]
	})
}

// change sends a change of a file or a folder, and reports whether that is watched.
func (w *world) change(op fsnotify.Op, name string) bool {
	return w.current().send(fsnotify.Event{Op: op, Name: filepath.Join(w.root, filepath.FromSlash(name))})
}

func (w *world) current() *fake { return w.fakes[len(w.fakes)-1] }

func (w *world) wantRuns(t *testing.T, want ...time.Duration) {
	t.Helper()
	if diff := cmp.Diff(want, w.runs); diff != "" {
		t.Errorf("runs, -want +got:\n%s", diff)
	}
}

// folders creates folders. The path that it returns has no links.
func folders(t *testing.T, names ...string) string {
	t.Helper()
	root, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range names {
		if err := os.MkdirAll(filepath.Join(root, filepath.FromSlash(name)), 0o700); err != nil {
			t.Fatal(err)
		}
	}
	return root
}

func (w *world) watched(t *testing.T) []string {
	t.Helper()
	var names []string
	for _, path := range w.current().added {
		name, err := filepath.Rel(w.root, path)
		if err != nil {
			t.Fatal(err)
		}
		names = append(names, filepath.ToSlash(name))
	}
	return names
}

func TestRuns(t *testing.T) {
	const m = time.Minute
	tests := []struct {
		name    string
		changes func(w *world) // after the first run
		results []Next
		want    []time.Duration
	}{
		{"by the clock", nil, []Next{AfterChange, AfterChange, Stop}, []time.Duration{0, 15 * m, 30 * m}},
		{"ends at once", nil, []Next{Stop}, []time.Duration{0}},
		{"a change", func(w *world) {
			time.Sleep(m)
			w.change(fsnotify.Write, "a.jpg")
		}, []Next{AfterChange, AfterChange, Stop}, []time.Duration{0, m + quiet, m + quiet + 15*m}},
		{"changes that end", func(w *world) {
			for range 5 {
				time.Sleep(time.Second)
				w.change(fsnotify.Create, "a.jpg")
			}
		}, []Next{AfterChange, Stop}, []time.Duration{0, 5*time.Second + quiet}},
		{"changes that do not end", func(w *world) {
			time.Sleep(time.Second)
			for first := w.current(); first.send(fsnotify.Event{Op: fsnotify.Write, Name: "a.jpg"}); {
				time.Sleep(time.Second)
			}
		}, []Next{AfterChange, Stop}, []time.Duration{0, time.Second + patience}},
		{"what is of no concern", func(w *world) {
			time.Sleep(time.Second)
			w.change(fsnotify.Chmod, "a.jpg")
			w.change(fsnotify.Write, "b") // the folder
			w.change(fsnotify.Write, "journal.db-wal")
			w.change(fsnotify.Create, "box/objects/1")
			w.change(fsnotify.Create, ".m.prom-ABC")
			w.current().send(fsnotify.Event{})
		}, []Next{AfterChange, Stop}, []time.Duration{0, 15 * m}},
		{"like it, but of concern", func(w *world) {
			time.Sleep(time.Second)
			w.change(fsnotify.Remove, "b/.m.prom-ABC")
		}, []Next{AfterChange, Stop}, []time.Duration{0, time.Second + quiet}},
		{"too much at once", func(w *world) {
			time.Sleep(time.Second)
			w.current().send(fsnotify.ErrEventOverflow)
		}, []Next{AfterChange, Stop}, []time.Duration{0, time.Second + quiet}},
		{"a change in a pause", func(w *world) {
			time.Sleep(m)
			w.change(fsnotify.Write, "a.jpg")
			w.change(fsnotify.Write, "a.jpg")
		}, []Next{AfterRescan, Stop}, []time.Duration{0, 15 * m}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			root := folders(t, "b", "box")
			synctest.Test(t, func(t *testing.T) {
				w := newWorld(t, root)
				w.Ignore([]string{filepath.Join(root, "journal.db-wal"), filepath.Join(root, "box"), filepath.Join(root, "m.prom")})
				done := make(chan struct{})
				w.run(t.Context(), func(number int) {
					if number == 1 && tt.changes != nil {
						go func() { defer close(done); tt.changes(w) }()
					}
				}, tt.results...)
				if tt.changes != nil {
					<-done
				}
				w.wantRuns(t, tt.want...)
				for n, f := range w.fakes {
					if !f.isClosed() {
						t.Errorf("watch %d was left open", n)
					}
				}
				if w.reported != nil {
					t.Errorf("reported %q", w.reported)
				}
			})
		})
	}
}

// TestChangeDuringRun: a change that is too late for a run is found by the next one.
func TestChangeDuringRun(t *testing.T) {
	root := folders(t)
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, root)
		w.run(t.Context(), func(number int) {
			if number == 1 {
				w.change(fsnotify.Create, "a.jpg")
				time.Sleep(time.Hour)
			}
		}, AfterChange, AfterChange, Stop)
		w.wantRuns(t, 0, time.Hour+quiet, time.Hour+quiet+15*time.Minute)
	})
}

// TestInterrupt: an interrupt ends the loop at once while it waits.
func TestInterrupt(t *testing.T) {
	root := folders(t)
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithTimeout(t.Context(), 16*time.Minute)
		defer cancel()
		w := newWorld(t, root)
		w.run(ctx, nil, AfterChange, AfterChange, AfterChange, Stop)
		w.wantRuns(t, 0, 15*time.Minute)
		if took := time.Since(w.began); took != 16*time.Minute {
			t.Errorf("it ended after %v", took)
		}
	})
}

// TestWatches: all folders are watched, also new ones.
func TestWatches(t *testing.T) {
	root := folders(t, "a/b/c", "box/objects", "own/deep", "z")
	if err := os.WriteFile(filepath.Join(root, "box", ".sandbox"), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(root, "z", "file"), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, root)
		w.Ignore([]string{filepath.Join(root, "own")})
		w.run(t.Context(), func(number int) {
			if number > 1 {
				return
			}
			if err := os.MkdirAll(filepath.Join(root, "new", "below"), 0o700); err != nil {
				t.Error(err)
			}
			w.change(fsnotify.Create, "new")
			w.change(fsnotify.Create, "z/file")
			w.change(fsnotify.Create, "gone already")
			synctest.Wait()
			if diff := cmp.Diff([]string{".", "a", "a/b", "a/b/c", "z", "new", "new/below"}, w.watched(t)); diff != "" {
				t.Errorf("-want +got:\n%s", diff)
			}
		}, AfterChange, Stop)
		if diff := cmp.Diff([]string{".", "a", "a/b", "a/b/c", "new", "new/below", "z"}, w.watched(t)); diff != "" {
			t.Errorf("in the next run, -want +got:\n%s", diff)
		}
	})
}

// TestNoMoreWatches: without watches, runs start by time, and that is reported once.
func TestNoMoreWatches(t *testing.T) {
	full := func(path string) error {
		if strings.HasSuffix(path, "b") {
			return syscall.ENOSPC
		}
		return nil
	}
	for name, tt := range map[string]struct {
		prepare func(*world)
		during  func(*world)
		want    string
		opened  int
	}{
		"of folders":     {func(w *world) { w.refuse = full }, nil, "fs.inotify.max_user_watches", 1},
		"of a new one":   {nil, func(w *world) { w.fakes[0].refuse = full; w.change(fsnotify.Create, "b"); synctest.Wait() }, "fs.inotify.max_user_watches", 1},
		"at all":         {func(w *world) { w.open = func() (notifier, error) { return nil, syscall.EMFILE } }, nil, "max_user_instances", 0},
		"on this system": {func(w *world) { w.open = func() (notifier, error) { return nil, errors.New("not supported") } }, nil, "not supported", 0},
	} {
		t.Run(name, func(t *testing.T) {
			root := folders(t, "a", "b", "c")
			synctest.Test(t, func(t *testing.T) {
				w := newWorld(t, root)
				if tt.prepare != nil {
					tt.prepare(w)
				}
				w.run(t.Context(), func(number int) {
					if number == 1 && tt.during != nil {
						tt.during(w)
					}
				}, AfterRescan, AfterChange, AfterChange, Stop)
				w.wantRuns(t, 0, 15*time.Minute, 30*time.Minute, 45*time.Minute)
				if len(w.reported) != 1 || !strings.Contains(w.reported[0], tt.want) || !strings.Contains(w.reported[0], "every 15m") {
					t.Errorf("reported %q", w.reported)
				}
				if len(w.fakes) != tt.opened || slices.ContainsFunc(w.fakes, func(f *fake) bool { return !f.isClosed() }) {
					t.Errorf("%d watches, or one is open", len(w.fakes))
				}
			})
		})
	}
}

// TestRelative: a path is the same in any form.
func TestRelative(t *testing.T) {
	root := folders(t, "photos")
	t.Chdir(root)
	if err := os.Symlink("photos", "link"); err != nil {
		t.Skip(err)
	}
	for _, from := range []string{"photos", "./link", filepath.Join(root, "photos", "..", "link")} {
		synctest.Test(t, func(t *testing.T) {
			w := newWorld(t, from)
			w.Ignore([]string{"photos/log"})
			w.root = filepath.Join(root, "photos")
			w.run(t.Context(), func(number int) {
				if number == 1 {
					w.change(fsnotify.Write, "log")
				} else {
					w.change(fsnotify.Write, "a.jpg")
				}
			}, AfterChange, AfterChange, Stop)
			w.wantRuns(t, 0, 15*time.Minute, 15*time.Minute+quiet)
		})
	}
}

// TestRootThatReappears: a root that reappears is watched again.
func TestRootThatReappears(t *testing.T) {
	root := folders(t, "mount")
	mount := filepath.Join(root, "mount")
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, mount)
		w.run(t.Context(), func(number int) {
			var err error
			switch number {
			case 1:
				err = os.Remove(mount)
			case 2:
				err = os.Mkdir(mount, 0o700)
			case 3:
				w.change(fsnotify.Create, "a.jpg")
			}
			if err != nil {
				t.Error(err)
			}
		}, AfterChange, AfterChange, AfterChange, Stop)
		w.wantRuns(t, 0, 15*time.Minute, 30*time.Minute, 30*time.Minute+quiet)
		if len(w.fakes) != 3 || w.reported != nil {
			t.Errorf("%d watches, reported %q", len(w.fakes), w.reported)
		}
	})
}

// TestWithoutRoot: without a root, runs start by time only.
func TestWithoutRoot(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, "")
		w.run(t.Context(), nil, AfterChange, Stop)
		w.wantRuns(t, 0, 15*time.Minute)
		if w.fakes != nil {
			t.Error("something is watched")
		}
	})
}

// A listener records the events of a loop.
type listener struct {
	notifier
	events chan fsnotify.Event
	heard  chan string
}

func (l listener) Events() <-chan fsnotify.Event { return l.events }

func (l listener) pass() {
	defer close(l.events)
	for e := range l.notifier.Events() {
		l.events <- e
		l.heard <- e.Name
	}
}

// TestSystem: the system sends events, also of new folders.
func TestSystem(t *testing.T) {
	root := folders(t, "a")
	heard := make(chan string, 1000)
	w := New(Options{Root: root, Rescan: time.Hour, Log: slog.New(slog.DiscardHandler), Report: func(text string) { t.Error(text) }})
	w.open = func() (notifier, error) {
		n, err := openNotifier()
		l := listener{n, make(chan fsnotify.Event), heard}
		go l.pass()
		return l, err
	}
	stop := w.watch()
	defer stop()
	path := func(name string) string { return filepath.Join(root, filepath.FromSlash(name)) }
	do := func(change error) {
		t.Helper()
		if change != nil {
			t.Fatal(change)
		}
	}
	until := func(name string) {
		t.Helper()
		for <-heard != path(name) {
		}
		<-w.hints
	}
	do(os.WriteFile(path("a/one.jpg"), []byte("one"), 0o600))
	until("a/one.jpg")
	do(os.Rename(path("a/one.jpg"), path("a/two.jpg")))
	until("a/two.jpg")
	do(os.Mkdir(path("new"), 0o700))
	until("new")
	for n, found := 0, false; !found; n++ { // until it is watched
		do(os.WriteFile(path(fmt.Sprint("new/", n)), nil, 0o600))
		select {
		case name := <-heard:
			found = filepath.Dir(name) == path("new")
		default:
		}
	}
}
