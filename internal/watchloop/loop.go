// Package turns does something again and again: when a tree of files has changed, and when
// some time is over.
//
// What the system tells of changes is a hint and no more. It may be lost, it may come late
// or twice, and from a network file system it comes only of what this machine does. So a
// hint never says what is to be done: it only has the whole tree looked at earlier than it
// would be anyway. That makes everything here simple. The watch is set up anew before
// each turn, so that it cannot go wrong for long; and where there is none, there are still
// the turns by the clock.
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
	// quiet is how long nothing has to change before it is looked at: whoever copies a
	// folder is better waited for.
	quiet = 2 * time.Second
	// patience is how long that is waited for at most.
	patience = 30 * time.Second
)

// A Verdict says how it goes on after a turn.
type Verdict int

const (
	// Goes on: the next turn is when something changes, or at the time of the rescan.
	Goes Verdict = iota
	// Pauses: the next turn is at the time of the rescan, whatever changes until then.
	Pauses
	// Ends: there is no next turn.
	Ends
)

// Options are the choices of New.
type Options struct {
	Root   string        // of the tree that is watched; empty: there is only the clock
	Marker string        // a file that makes the folder it is in no part of the tree
	Rescan time.Duration // between the end of a turn and the next one, if nothing changes
	Tell   func(string)  // what a person should know, each thing once
	Log    *slog.Logger
}

// A Loop takes turns.
type Loop struct {
	o     Options
	open  func() (notifier, error)
	hints chan string // of what has changed; one may wait

	mu     sync.Mutex
	ignore ignored

	told map[string]bool
	off  bool // watching is of no use any more
}

// New makes a loop.
func New(o Options) *Loop {
	return &Loop{o: o, open: openNotifier, hints: make(chan string, 1), told: map[string]bool{}}
}

// Ignore names files and folders whose changes are of no concern, such as what the turns
// write themselves. They add to each other and need not be there.
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

// Run takes turns, the first one at once, until one of them ends it or the context is
// done while it waits.
func (l *Loop) Run(ctx context.Context, turn func(context.Context) Verdict) {
	for {
		stop := l.watch()
		verdict := turn(ctx)
		goesOn := verdict != Ends && l.wait(ctx, verdict)
		stop()
		if !goesOn {
			return
		}
	}
}

// wait waits for the next turn and reports whether there is one. What has changed during
// the last turn, and may have been too late for it, is a hint that waits already.
func (l *Loop) wait(ctx context.Context, v Verdict) bool {
	rescan := time.NewTimer(l.o.Rescan)
	defer rescan.Stop()
	var settled, latest <-chan time.Time
	first := "" // that changed
	for {
		select {
		case <-ctx.Done():
			return false
		case <-rescan.C:
			l.o.Log.Debug("next run", "why", "time")
			return true
		case hint := <-l.hints:
			if v == Pauses {
				continue
			}
			settled = time.After(quiet)
			if latest == nil {
				first, latest = hint, time.After(patience)
			}
		case <-settled:
			l.o.Log.Debug("next run", "why", "change", "first", first)
			return true
		case <-latest:
			l.o.Log.Debug("next run", "why", "changes without an end", "first", first)
			return true
		}
	}
}

// hint has the next turn come earlier.
func (l *Loop) hint(of string) {
	select {
	case l.hints <- of:
	default: // one waits already
	}
}

// watch watches the tree until it is stopped. Where that is not possible, the clock is
// left.
func (l *Loop) watch() (stop func()) {
	none := func() {}
	if l.o.Root == "" || l.off {
		return none
	}
	root, err := filepath.Abs(l.o.Root) // so that what is told of and what is ignored are alike
	if err == nil {
		root, err = filepath.EvalSymlinks(root)
	}
	if err != nil { // the turn will tell, and it may be back at the next one
		return none
	}
	if isRemote(root) {
		l.tell("%s is on a network file system: what other machines change there is found every %v.", l.o.Root, l.o.Rescan)
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

// giveUp leaves it to the clock from now on.
func (l *Loop) giveUp(err error) {
	l.off = true
	remedy := ""
	if errors.Is(err, syscall.ENOSPC) {
		remedy = " The limit is fs.inotify.max_user_watches; see sysctl."
	}
	if errors.Is(err, syscall.EMFILE) {
		remedy = " The limits are fs.inotify.max_user_instances, see sysctl, and ulimit -n."
	}
	l.tell("Changes in %s cannot be watched (%v). They are found every %v instead.%s", l.o.Root, err, l.o.Rescan, remedy)
}

// tell tells a person something once.
func (l *Loop) tell(format string, args ...any) {
	if !l.told[format] {
		l.told[format] = true
		l.o.Tell(fmt.Sprintf(format, args...))
	}
}

// A tree is what is watched for a turn and until the next one.
type tree struct {
	*Loop
	notifier
	folders map[string]bool // that are watched
}

// add watches a folder and all below it. What is no folder, or not there any more, is not
// watched, nor is what cannot be read, because the source cannot read it either.
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
		case errors.Is(err, fsnotify.ErrClosed): // the next watch will begin with it
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

// follow makes hints of what is told, until the watch is closed.
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
			} else if err != nil { // too much at once, mostly: something has changed
				t.hint(err.Error())
			}
		}
	}
	return failed
}

// concerns reports whether something may have changed that is brought over. Rights do not
// matter by themselves, and some systems say of a folder that it was written when
// something in it was, which they tell, too.
func (t *tree) concerns(e fsnotify.Event) bool {
	switch {
	case e.Name == "", e.Op == fsnotify.Chmod, e.Op == fsnotify.Write && t.folders[e.Name]:
		return false
	}
	return !t.ignores(e.Name)
}

// A notifier is what tells of changes.
type notifier interface {
	Add(path string) error
	Close() error // and the channels
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
