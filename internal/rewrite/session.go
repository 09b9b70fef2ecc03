package rewrite

import (
	"bufio"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"

	"assetferry/internal/event"
	"assetferry/internal/hint"
)

// A Session rewrites files or a stream, and counts the results.
type Session struct {
	Rewriter *Rewriter
	Backup   *Backup // for the originals; nil for a dry run
	All      bool    // all files of folders, not only text files
	Excerpts bool    // show changed lines in a dry run
	Shown    int     // changed lines per text to show; 0 means all
	Watch    Observer

	Counts  *event.Rewritten
	Skipped map[string]int64 // files by reason

	unmatched map[string]*Unmatched
}

// An Observer receives the events of a session.
type Observer interface {
	Skipped(f File, removed bool)
	Failed(path string, err error)
	Replaced(path, original string)
	Spot(name string, s Spot)       // a spot in a text
	Hunk(name string, h Hunk) error // a changed line, with Excerpts
	Done(name string, hidden int64) // the end of a text, with the number of changed lines beyond Shown
	Restored(path string)           // a restored file, or one to restore
}

// An Unmatched URL begins like an old URL, but has no asset.
type Unmatched struct {
	URL   string
	File  string // the first file
	Line  int64
	Times int64
}

// MaxUnmatched is how many different unmatched URLs are listed; the others are counted.
const MaxUnmatched = 10_000

// NewSession returns a session for a dry run.
func NewSession(r *Rewriter, counts *event.Rewritten, watch Observer) *Session {
	return &Session{Rewriter: r, Watch: watch, Counts: counts, Skipped: map[string]int64{}, unmatched: map[string]*Unmatched{}}
}

// Unmatched returns the old URLs without an asset, the most frequent first.
func (s *Session) Unmatched() []*Unmatched {
	all := make([]*Unmatched, 0, len(s.unmatched))
	for _, u := range s.unmatched {
		all = append(all, u)
	}
	slices.SortFunc(all, func(a, b *Unmatched) int {
		return cmp.Or(cmp.Compare(b.Times, a.Times), strings.Compare(a.URL, b.URL))
	})
	return all
}

// Stream rewrites stdin to stdout.
func (s *Session) Stream(ctx context.Context, stdin io.Reader, stdout io.Writer) error {
	from, err := Decoded(stdin)
	if err != nil {
		return fmt.Errorf("stdin: %w", err)
	}
	to := bufio.NewWriterSize(stdout, bufferSize)
	if _, err := s.Text(ctx, "-", from, to); err != nil {
		return err
	}
	return to.Flush()
}

const bufferSize = 256 << 10

// Files rewrites files one after the other. It continues after a file that cannot be read.
func (s *Session) Files(ctx context.Context, paths []string) error {
	for f, err := range Files(paths, s.All) {
		if cause := context.Cause(ctx); cause != nil {
			return cause
		}
		switch {
		case err != nil:
		case f.Skip != "":
			err = s.skip(f)
		default:
			err = s.file(ctx, f.Path)
		}
		switch {
		case err != nil && ctx.Err() != nil:
			return err
		case errors.Is(err, os.ErrNotExist) && slices.Contains(paths, f.Path):
			return hint.New(err, "check the path")
		case err != nil:
			s.Counts.Failed++
			s.Watch.Failed(f.Path, err)
		}
	}
	return nil
}

// skip skips a file, and removes an old draft.
func (s *Session) skip(f File) error {
	s.Skipped[f.Skip]++
	s.Counts.Skipped++
	removes := f.Skip == SkipDraft && s.Backup != nil
	if removes {
		if err := os.Remove(f.Path); err != nil {
			return err
		}
	}
	s.Watch.Skipped(f, removes)
	return nil
}

// file rewrites a file, or reads it in a dry run.
func (s *Session) file(ctx context.Context, path string) error {
	s.Counts.Files++
	if s.Backup == nil {
		f, err := os.Open(path)
		if err != nil {
			return err
		}
		changes, err := s.Text(ctx, path, f, nil)
		if changes {
			s.Counts.Changed++
		}
		return errors.Join(err, f.Close())
	}
	original, err := Replace(path, s.Backup, func(from io.Reader, to io.Writer) (bool, error) {
		w := bufio.NewWriterSize(to, bufferSize)
		changes, err := s.Text(ctx, path, from, w)
		if err != nil {
			return changes, err
		}
		return changes, w.Flush()
	})
	if original != "" {
		s.Counts.Changed++
		s.Counts.Backup = s.Backup.Dir()
		s.Watch.Replaced(path, original)
	}
	return err
}

// Text rewrites a text and counts the results. Without a writer it shows the changes.
func (s *Session) Text(ctx context.Context, name string, from io.Reader, to io.Writer) (changes bool, err error) {
	t := &textSink{Session: s, name: name, to: to}
	if to == nil && s.Excerpts {
		t.excerpts = NewExcerpts(func(h Hunk) error { return s.Watch.Hunk(name, h) })
		t.excerpts.Most = s.Shown
	}
	if err := s.Rewriter.Rewrite(interruptible{ctx, from}, t); err != nil {
		return t.changes, err
	}
	hidden := int64(0)
	if t.excerpts != nil {
		err, hidden = t.excerpts.Close(), t.excerpts.Hidden
	}
	s.Watch.Done(name, hidden)
	return t.changes, err
}

// An interruptible reads until its context ends.
type interruptible struct {
	ctx context.Context
	io.Reader
}

func (i interruptible) Read(p []byte) (int, error) {
	if err := context.Cause(i.ctx); err != nil {
		return 0, err
	}
	return i.Reader.Read(p)
}

// A textSink writes and shows a text, and counts its spots.
type textSink struct {
	*Session
	name     string
	to       io.Writer // nil in a dry run
	excerpts *Excerpts
	changes  bool
}

// Keep implements Sink.
func (t *textSink) Keep(text []byte) error {
	if t.to != nil {
		if _, err := t.to.Write(text); err != nil {
			return err
		}
	}
	if t.excerpts != nil {
		return t.excerpts.Keep(text)
	}
	return nil
}

// Spot implements Sink.
func (t *textSink) Spot(spot Spot) error {
	t.count(spot)
	if spot.New == nil {
		t.Watch.Spot(t.name, spot)
		return nil
	}
	t.changes = true
	if t.to != nil {
		if _, err := t.to.Write(spot.New); err != nil {
			return err
		}
	}
	t.Watch.Spot(t.name, spot)
	if t.excerpts != nil {
		return t.excerpts.Spot(spot)
	}
	return nil
}

func (t *textSink) count(spot Spot) {
	switch spot.Kind {
	case Replaced:
		t.Counts.Replaced++
	case Length:
		t.Counts.Lengths++
	case Current:
		t.Counts.Current++
	case Left:
		t.Counts.Kept[spot.Why]++
	case Unknown:
		t.Counts.Unmatched++
		u := t.unmatched[spot.URL]
		if u == nil {
			if len(t.unmatched) == MaxUnmatched {
				return
			}
			u = &Unmatched{URL: spot.URL, File: t.name, Line: spot.Line}
			t.unmatched[spot.URL] = u
		}
		u.Times++
	}
}

// Restore compares files with their originals in a backup. Unless it is a dry run, it restores the
// originals, and keeps the replaced files in another backup. It returns ErrNoBackup if a folder is not
// a backup.
func (s *Session) Restore(ctx context.Context, dir string) error {
	for o, err := range Originals(dir) {
		if cause := context.Cause(ctx); cause != nil {
			return cause
		}
		if errors.Is(err, ErrNoBackup) {
			return err
		}
		if err == nil {
			err = s.restoreFile(o)
		}
		if err != nil {
			s.Counts.Failed++
			s.Watch.Failed(o.Path, err)
		}
	}
	return nil
}

func (s *Session) restoreFile(o Original) error {
	s.Counts.Files++
	differs, err := o.Differs()
	if err != nil || !differs {
		return err
	}
	if s.Backup != nil {
		replaced, err := o.Restore(s.Backup)
		if err != nil {
			return err
		}
		if replaced != "" {
			s.Counts.Backup = s.Backup.Dir()
		}
	}
	s.Counts.Changed++
	s.Watch.Restored(o.Path)
	return nil
}
