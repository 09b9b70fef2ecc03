// Package watchloop repeats a function: after changes in a folder tree, and after a time.
//
// Change events are hints. They can be lost, late or duplicated, and a network file system sends
// none for changes by other machines. So an event only starts the next run earlier, and each run
// lists the whole tree. The watch is set up again before each run, so that no error lasts. Without
// a watch, runs start by time only.
package watchloop

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"os"
	"path/filepath"
	"sync"
	"syscall"
	"time"

	"github.com/fsnotify/fsnotify"
)

const (
	// quiet is the time without changes before a run starts, so that the copy of a folder is
	// complete.
	quiet = 2 * time.Second
	// patience is the longest wait for quiet.
	patience = 30 * time.Second
)

// A Next defines the event that starts the next run.
type Next int

const (
	// AfterChange starts the next run after a change or at the time of the rescan.
	AfterChange Next = iota
	// AfterRescan starts the next run at the time of the rescan, whatever changes before.
	AfterRescan
	// Stop starts no other run.
	Stop
)

// Options configure a Loop.
type Options struct {
	Root   string        // of the watched tree; empty: runs start by time only
	Marker string        // a file that excludes its folder from the tree
	Rescan time.Duration // from the end of a run to the next one without changes
	Report func(string)  // shows a message; each is shown once
	Log    *slog.Logger
}

// A Loop repeats runs.
type Loop struct {
	o     Options
	open  func() (notifier, error)
	hints chan string // paths of changes; holds one

	mu     sync.Mutex
	ignore ignored

	reported map[string]bool // messages that were shown, by format
	off      bool            // the watch failed permanently
}

// New returns a Loop.
func New(o Options) *Loop {
	return &Loop{o: o, open: openNotifier, hints: make(chan string, 1), reported: map[string]bool{}}
}

// Ignore adds files and folders whose changes are ignored, such as the files that the runs write.
// They need not exist.
func (l *Loop) Ignore(paths []string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.ignore.add(paths)
}

func (l *Loop) ignores(path string) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.ignore.has(path)
}

// Run calls run at once and then again, until one call returns Stop or the context is done during
// a wait.
func (l *Loop) Run(ctx context.Context, run func(context.Context) Next) {
	for {
		stop := l.watch()
		next := run(ctx)
		continues := next != Stop && l.wait(ctx, next)
		stop()
		if !continues {
			return
		}
	}
}

// wait waits for the next run and reports whether there is one. A change during the last run may
// have been too late for it. Its hint is in the channel already.
func (l *Loop) wait(ctx context.Context, v Next) bool {
	rescan := time.NewTimer(l.o.Rescan)
	defer rescan.Stop()
	var ended, latest <-chan time.Time
	first := "" // path of the first change
	for {
		select {
		case <-ctx.Done():
			return false
		case <-rescan.C:
			l.o.Log.Debug("next run", "why", "time")
			return true
		case hint := <-l.hints:
			if v == AfterRescan {
				continue
			}
			ended = time.After(quiet)
			if latest == nil {
				first, latest = hint, time.After(patience)
			}
		case <-ended:
			l.o.Log.Debug("next run", "why", "change", "first", first)
			return true
		case <-latest:
			l.o.Log.Debug("next run", "why", "continuous changes", "first", first)
			return true
		}
	}
}

// hint starts the next run earlier.
func (l *Loop) hint(of string) {
	select {
	case l.hints <- of:
	default: // the channel contains one already
	}
}

// watch watches the tree until stop is called. If that is impossible, runs start by time only.
func (l *Loop) watch() (stop func()) {
	none := func() {}
	if l.o.Root == "" || l.off {
		return none
	}
	root, err := filepath.Abs(l.o.Root) // so that events and ignored paths have the same form
	if err == nil {
		root, err = filepath.EvalSymlinks(root)
	}
	if err != nil { // the run reports it, and the root may be back at the next one
		return none
	}
	if isRemote(root) {
		l.report("%s is on a network file system. Changes by other machines are found every %v.", l.o.Root, l.o.Rescan)
	}
	n, err := l.open()
	if err != nil {
		l.giveUp(err)
		return none
	}
	t := &tree{Loop: l, notifier: n, folders: map[string]bool{}}
	if err := t.add(root); err != nil {
		l.giveUp(errors.Join(err, n.Close()))
		return none
	}
	done := make(chan error)
	go func() { done <- t.follow() }()
	return func() {
		closed := n.Close()
		if err := errors.Join(<-done, closed); err != nil {
			l.giveUp(err)
		}
	}
}

// giveUp turns the watch off: from now on, runs start by time only.
func (l *Loop) giveUp(err error) {
	l.off = true
	remedy := ""
	if errors.Is(err, syscall.ENOSPC) {
		remedy = " Raise the limit fs.inotify.max_user_watches with sysctl."
	}
	if errors.Is(err, syscall.EMFILE) {
		remedy = " Raise the limit fs.inotify.max_user_instances with sysctl, or ulimit -n."
	}
	l.report("Cannot watch %s for changes (%v). Changes are found every %v instead.%s", l.o.Root, err, l.o.Rescan, remedy)
}

// report shows a message once.
func (l *Loop) report(format string, args ...any) {
	if !l.reported[format] {
		l.reported[format] = true
		l.o.Report(fmt.Sprintf(format, args...))
	}
}

// A tree is the watch during a run and until the next one.
type tree struct {
	*Loop
	notifier
	folders map[string]bool // watched ones
}

// add watches a folder and all folders below it. It skips paths that no longer exist, and folders
// that cannot be read, because the source cannot read them either.
func (t *tree) add(path string) error {
	return filepath.WalkDir(path, func(path string, d fs.DirEntry, err error) error {
		switch {
		case errors.Is(err, fs.ErrNotExist), errors.Is(err, fs.ErrPermission):
			return nil
		case err != nil:
			return err
		case !d.IsDir():
			return nil
		case t.ignores(path), t.isMarked(path):
			return fs.SkipDir
		}
		err = t.notifier.Add(path)
		switch {
		case errors.Is(err, fsnotify.ErrClosed): // the next watch begins with it
			return fs.SkipAll
		case errors.Is(err, fs.ErrNotExist), errors.Is(err, fs.ErrPermission):
			return nil
		}
		t.folders[path] = true
		return err
	})
}

func (t *tree) isMarked(path string) bool {
	if t.o.Marker == "" {
		return false
	}
	_, err := os.Lstat(filepath.Join(path, t.o.Marker))
	return err == nil
}

// follow turns events into hints until the watch is closed.
func (t *tree) follow() (failed error) {
	events, errs := t.Events(), t.Errors()
	for events != nil || errs != nil {
		select {
		case e, ok := <-events:
			if !ok {
				events = nil
			} else if t.concerns(e) {
				t.hint(e.Name)
				if e.Has(fsnotify.Create) && failed == nil {
					failed = t.add(e.Name)
				}
			}
		case err, ok := <-errs:
			if !ok {
				errs = nil
			} else if err != nil { // mostly an overflow: something has changed
				t.hint(err.Error())
			}
		}
	}
	return failed
}

// concerns reports whether an event may change what is uploaded. Changes of permissions do not.
// Some systems report a write to a folder in addition to the change of a file in it.
func (t *tree) concerns(e fsnotify.Event) bool {
	switch {
	case e.Name == "", e.Op == fsnotify.Chmod, e.Op == fsnotify.Write && t.folders[e.Name]:
		return false
	}
	return !t.ignores(e.Name)
}

// A notifier sends events of changes.
type notifier interface {
	Add(path string) error
	Close() error // closes the channels, too
	Events() <-chan fsnotify.Event
	Errors() <-chan error
}

type system struct{ *fsnotify.Watcher }

func (s system) Events() <-chan fsnotify.Event { return s.Watcher.Events }
func (s system) Errors() <-chan error          { return s.Watcher.Errors }

func openNotifier() (notifier, error) {
	w, err := fsnotify.NewWatcher()
	if err != nil {
		return nil, err
	}
	return system{w}, nil
}
