package cli

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"assetferry/internal/event"
	"assetferry/internal/redirect"
	"assetferry/internal/rewrite"
	"assetferry/internal/ui"
)

// A rewriteJob is what rewrite is asked to do.
type rewriteJob struct {
	write, all, unused bool
	changes            int // shown of each file
	addressMap         string
	prefixes           []string
	backupDir, restore string
	backupInside       bool
}

// changesShown is how many places of a file rewrite shows unless it is told otherwise.
const changesShown = 50

func (a *app) rewriteCommand() *cobra.Command {
	var job rewriteJob
	c := &cobra.Command{
		Use:   "rewrite PATH...",
		Short: "Replace old addresses by new ones in content files",
		Long: `Rewrite looks for old addresses in files, and in the files of folders, and shows
what would become of them, line by line. With --write it replaces them: each
file as a whole or not at all. The originals go to a backup directory, in the
state folder or in --backup-dir, never beside the files: a web server would
deliver them. --restore puts them back.

The new addresses come from the journal: what has arrived from a source, by the
old addresses that --old-prefix and the configuration describe. Or they come
from a file with --map, as assetferry urls writes it.

With - as PATH, stdin is rewritten to stdout:

  mysqldump old | assetferry rewrite --old-prefix http://a.org/f/ - | mysql new

At the end it lists old addresses that match nothing, and says how many assets
nothing in these files refers to; --unused lists those.

What it understands, and what becomes of queries and fragments, is in
assetferry help rewrite.
`,
		Example: `  assetferry rewrite --old-prefix https://old.example.com/files/ content
  assetferry rewrite --old-prefix https://old.example.com/files/ content --write
  assetferry rewrite --map urls.tsv --write blog.sql
  assetferry rewrite --restore DIR --write`,
		Args: func(_ *cobra.Command, args []string) error {
			switch {
			case job.restore != "" && len(args) > 0:
				return errors.New("rewrite: --restore restores all files of a backup, and no PATH is needed")
			case job.restore == "" && len(args) == 0:
				return errors.New("rewrite: PATH is missing")
			}
			return nil
		},
		RunE: a.do(func(ctx context.Context, cmd *cobra.Command, args []string) error {
			if err := job.contradiction(cmd, args, a.out.JSON()); err != nil {
				return err
			}
			if job.restore != "" {
				return a.restore(ctx, job)
			}
			return a.rewrite(ctx, cmd, args, job)
		}),
	}
	f := c.Flags()
	f.BoolVar(&job.write, "write", false, "replace the files, and keep each original in a backup directory")
	f.StringVar(&job.backupDir, "backup-dir", "", "keep originals in a new folder below this `directory` (default under $XDG_STATE_HOME)")
	f.BoolVar(&job.backupInside, "accept-backup-inside", false, "let the backup directory be inside a PATH")
	f.StringVar(&job.restore, "restore", "", "put back the originals in this `directory`, which rewrite --write printed")
	f.StringArrayVar(&job.prefixes, "old-prefix", nil, "`address` or path that old addresses begin with (repeatable)")
	f.StringVar(&job.addressMap, "map", "", "take old and new addresses from this `file`: .tsv, .csv or .jsonl, as urls writes them")
	f.BoolVar(&job.all, "all", false, "look into all files of a folder, not only those with the ending of a text")
	f.IntVar(&job.changes, "changes", changesShown, "show this `number` of changed places of each file; 0 shows all")
	f.BoolVar(&job.unused, "unused", false, "list the assets that nothing in these files refers to")
	f.String("run", "", "only what the run of this `ID` brought or took over")
	f.String("source", "", "what came from the source of this `name`, as status shows it")
	return c
}

// contradiction refuses switches that do not go together.
func (j rewriteJob) contradiction(cmd *cobra.Command, args []string, json bool) error {
	stdin := slices.Contains(args, "-")
	switch {
	case !j.write && (cmd.Flags().Changed("backup-dir") || j.backupInside):
		return usage(errors.New("--backup-dir and --accept-backup-inside are for --write, and nothing is written without it"), "add --write, or leave them out")
	case stdin && len(args) > 1:
		return usage(errors.New("- is stdin, and goes with no other PATH"), "rewrite files in a call of their own")
	case stdin && j.write:
		return usage(errors.New("--write is for files, and what comes from stdin goes to stdout"), "leave --write out")
	case stdin && (json || j.unused):
		return usage(errors.New("--json and --unused want stdout, which the rewritten text takes"), "rewrite a file instead")
	case j.changes < 0:
		return usage(errors.New("--changes must be at least 0"), "")
	}
	if j.restore != "" {
		for _, name := range []string{"map", "old-prefix", "run", "source", "all", "unused", "changes"} {
			if cmd.Flags().Changed(name) {
				return usage(fmt.Errorf("--restore puts files back as they were, and --%s is for rewriting them", name), "leave one of them out")
			}
		}
	}
	if j.addressMap != "" {
		for _, name := range []string{"old-prefix", "run", "source"} {
			if cmd.Flags().Changed(name) {
				return usage(fmt.Errorf("--%s is for the journal, and --map is read instead of it", name), "leave one of them out")
			}
		}
	}
	return nil
}

// rewrite rewrites files, or stdin.
func (a *app) rewrite(ctx context.Context, cmd *cobra.Command, args []string, job rewriteJob) (err error) {
	a.summary = &event.Summary{Command: "rewrite", Rewritten: &event.Rewritten{Left: event.Counts{}}}
	book, err := a.openBook(ctx, cmd, job)
	if err != nil {
		return err
	}
	if c, ok := book.(io.Closer); ok {
		a.closeLater(c.Close)
	}
	r, err := rewrite.New(book, book.Old(), slices.Concat(book.Assets().Current(), book.Others()))
	if err != nil {
		return usage(err, "rewrite part of the files with a map of its own, made with urls and --map")
	}
	w := &rewriting{app: a, ctx: ctx, job: job, rewriter: r, unmatched: map[string]*lost{}, skipped: event.Counts{}, counts: a.summary.Rewritten}
	if job.write {
		if w.backup, err = a.newBackup(job, job.writtenFolders(args)); err != nil {
			return err
		}
	}
	if args[0] == "-" {
		err = w.stream()
	} else {
		err = w.files(args)
	}
	if err != nil {
		return err
	}
	if err := w.tell(args, book); err != nil {
		return err
	}
	if w.counts.Failed > 0 || w.counts.Left[rewrite.WrongLength]+w.counts.Left[rewrite.TooLong] > 0 {
		return &stop{code: exitItems}
	}
	return nil
}

// A rewriting is what is done to files, and what was found in them.
type rewriting struct {
	*app
	ctx       context.Context
	job       rewriteJob
	rewriter  *rewrite.Rewriter
	backup    *rewrite.Backup // nil unless files are written
	counts    *event.Rewritten
	unmatched map[string]*lost
	skipped   event.Counts // files, by reason
	left      int
}

// A lost address is an old one that matches nothing.
type lost struct {
	file  string // where it is first
	line  int64
	times int64
}

// toldUnmatched is how many different addresses that match nothing are kept; the others are
// counted.
const toldUnmatched = 10_000

// stream rewrites stdin to stdout.
func (w *rewriting) stream() error {
	from, err := rewrite.Decoded(w.stdin)
	if err != nil {
		return fmt.Errorf("stdin: %w", err)
	}
	return buffered(w.stdout, func(to io.Writer) error {
		_, err := w.text("-", from, to)
		return err
	})
}

// files rewrites files one after the other. One that cannot be read does not keep the
// others from it.
func (w *rewriting) files(paths []string) error {
	for f, err := range rewrite.Files(paths, w.job.all) {
		if cause := context.Cause(w.ctx); cause != nil {
			return cause
		}
		switch {
		case err != nil:
		case f.Skip != "":
			err = w.skip(f)
		default:
			err = w.file(f.Path)
		}
		switch {
		case err != nil && w.ctx.Err() != nil:
			return err
		case errors.Is(err, os.ErrNotExist) && slices.Contains(paths, f.Path):
			return &stop{exitError, err, "check the path"}
		case err != nil:
			w.counts.Failed++
			w.out.Notef("Left as it is: %s: %v", ui.Sanitize(f.Path), err)
		}
	}
	return w.out.Err()
}

// skip leaves a file out, and removes it if it is good for nothing.
func (w *rewriting) skip(f rewrite.File) error {
	w.skipped[f.Skip]++
	w.counts.Skipped++
	switch {
	case f.Skip == rewrite.SkipDraft && w.job.write:
		if err := os.Remove(f.Path); err != nil {
			return err
		}
		w.out.Notef("Removed what a rewrite left behind that was interrupted: %s", ui.Sanitize(f.Path))
	case f.Skip == rewrite.SkipDraft || w.out.Verbose():
		w.out.Notef("Left out: %s: %s", ui.Sanitize(f.Path), f.Skip)
	}
	return nil
}

// file rewrites a file, or only reads it.
func (w *rewriting) file(path string) error {
	w.counts.Files++
	if !w.job.write {
		f, err := os.Open(path)
		if err != nil {
			return err
		}
		changes, err := w.text(path, f, nil)
		if changes {
			w.counts.Changed++
		}
		return errors.Join(err, f.Close())
	}
	original, err := rewrite.Replace(path, w.backup, func(from io.Reader, to io.Writer) (changes bool, err error) {
		err = buffered(to, func(to io.Writer) error {
			changes, err = w.text(path, from, to)
			return err
		})
		return changes, err
	})
	if original != "" {
		w.counts.Changed++
		w.counts.Backup = w.backup.Dir()
		w.out.Printf("%s: the original is %s", ui.Sanitize(path), ui.Sanitize(original))
	}
	return err
}

// text rewrites a text, and shows what changes unless it is written.
func (w *rewriting) text(name string, from io.Reader, to io.Writer) (changes bool, err error) {
	s := &rewriteSink{rewriting: w, name: name, to: to}
	if to == nil && !w.out.JSON() {
		s.excerpts = rewrite.NewExcerpts(s.show)
	}
	if err := w.rewriter.Rewrite(interruptible{w.ctx, from}, s); err != nil {
		return s.changes > 0, err
	}
	if s.excerpts != nil {
		err = s.excerpts.Close()
	}
	if hidden := s.shown - w.job.changes; w.job.changes > 0 && hidden > 0 {
		w.out.Printf("… and %s more in %s; --changes 0 shows all", count(int64(hidden), "changed line"), ui.Sanitize(name))
	}
	return s.changes > 0, err
}

// interruptible reads until its context ends.
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

// A rewriteSink writes a text, shows it, and counts what is in it.
type rewriteSink struct {
	*rewriting
	name     string
	to       io.Writer // nil: nowhere
	excerpts *rewrite.Excerpts
	changes  int
	shown    int
}

// Keep implements rewrite.Sink.
func (s *rewriteSink) Keep(text []byte) error {
	if s.to != nil {
		if _, err := s.to.Write(text); err != nil {
			return err
		}
	}
	if s.excerpts != nil {
		return s.excerpts.Keep(text)
	}
	return nil
}

// Spot implements rewrite.Sink.
func (s *rewriteSink) Spot(spot rewrite.Spot) error {
	s.count(spot)
	if spot.New == nil {
		return nil
	}
	s.changes++
	if s.to != nil {
		if _, err := s.to.Write(spot.New); err != nil {
			return err
		}
	}
	s.out.Event("change", event.Change{File: s.name, Line: spot.Line, Old: string(spot.Old), New: string(spot.New), Address: spot.Address})
	if s.excerpts != nil {
		return s.excerpts.Spot(spot)
	}
	return nil
}

func (s *rewriteSink) count(spot rewrite.Spot) {
	switch spot.Kind {
	case rewrite.Replaced:
		s.counts.Replaced++
	case rewrite.Length:
		s.counts.Lengths++
	case rewrite.Current:
		s.counts.Current++
	case rewrite.Left:
		s.counts.Left[spot.Why]++
		if s.left++; leftTold[spot.Why] != "" && (s.left <= toldBriefly || s.out.Verbose()) {
			s.out.Notef("Left as it is: %s:%d: %s %s", ui.Sanitize(s.name), spot.Line, ui.Sanitize(spot.Address), leftTold[spot.Why])
		}
	case rewrite.Unknown:
		s.counts.Unmatched++
		u := s.unmatched[spot.Address]
		if u == nil {
			if len(s.unmatched) == toldUnmatched {
				return
			}
			u = &lost{file: s.name, line: spot.Line}
			s.unmatched[spot.Address] = u
		}
		u.times++
	}
}

// show shows a changed line as unified diff does.
func (s *rewriteSink) show(h rewrite.Hunk) error {
	if s.shown++; s.job.changes > 0 && s.shown > s.job.changes {
		return nil
	}
	if s.shown == 1 {
		s.out.Printf("--- %s\n+++ %s", ui.Sanitize(s.name), ui.Sanitize(s.name))
	}
	s.out.Printf("@@ -%d +%d @@\n-%s\n+%s", h.Line, h.Line, ui.Sanitize(h.Old), ui.Sanitize(h.New))
	return s.out.Err()
}

// leftTold tells why an old address stays.
var leftTold = map[string]string{
	rewrite.WrongLength: "is in a serialized string whose length was wrong before",
	rewrite.TooLong:     "is in a serialized string of more than 16 MB",
}

// toldBriefly is how many addresses that match nothing are told without --verbose.
const toldBriefly = 20

// tell tells what was found in all.
func (w *rewriting) tell(args []string, book book) error {
	c := w.counts
	say := w.out.Printf
	if args[0] == "-" {
		say = w.out.Notef
	}
	does := "would change"
	if w.job.write || args[0] == "-" {
		does = "changed"
	}
	what := fmt.Sprintf("%s of %s", ui.Count(c.Changed), count(c.Files, "file"))
	if args[0] == "-" {
		what = "The text"
	}
	say("%s %s: %s%s.", what, does, countOf(c.Replaced, "address", "addresses"), lengthsTold(c.Lengths))
	if c.Current > 0 {
		say("New already: %s.", countOf(c.Current, "address", "addresses"))
	}
	for _, l := range redirect.LeftOutReasons() {
		if n := c.Left[l.Reason]; n > 0 {
			say("Left as they are: %s %s.", ui.Count(n), l.Text)
		}
	}
	if n := c.Left[rewrite.WrongLength] + c.Left[rewrite.TooLong]; n > 0 {
		say("Left as they are: %s in serialized strings of which the length is wrong, or which are too long.", ui.Count(n))
	}
	w.tellSkipped(say)
	w.tellUnmatched(say)
	if err := w.tellUnused(say, book); err != nil {
		return err
	}
	if c.Changed > 0 && !w.job.write && args[0] != "-" {
		w.out.Notef("Nothing was written. Try: the same with --write, which keeps the originals in a backup directory")
	}
	w.tellBackup()
	if w.job.addressMap == "" && c.Replaced+c.Current > 0 {
		w.tellPassing("links")
	}
	if c.Failed > 0 {
		w.out.Notef("%s could not be read or written, told above.", count(c.Failed, "file"))
	}
	return nil
}

func lengthsTold(n int64) string {
	if n == 0 {
		return ""
	}
	return fmt.Sprintf(", and %s of serialized strings", count(n, "length"))
}

// tellSkipped counts the files that were left out.
func (w *rewriting) tellSkipped(say func(string, ...any)) {
	var all []string
	for _, s := range [...]struct{ reason, one, many string }{
		{rewrite.SkipLink, "symbolic link", "symbolic links"},
		{rewrite.SkipBinary, "binary file", "binary files"},
		{rewrite.SkipKept, "original that was kept (.orig)", "originals that were kept (.orig)"},
	} {
		if n := w.skipped[s.reason]; n > 0 {
			all = append(all, countOf(n, s.one, s.many))
		}
	}
	if len(all) > 0 {
		say("Left out: %s; --verbose names them.", strings.Join(all, ", "))
	}
}

// tellUnmatched lists the old addresses that match nothing, those that occur most often
// first.
func (w *rewriting) tellUnmatched(say func(string, ...any)) {
	if w.counts.Unmatched == 0 {
		return
	}
	all := make([]string, 0, len(w.unmatched))
	for address := range w.unmatched {
		all = append(all, address)
	}
	slices.SortFunc(all, func(a, b string) int {
		if n := w.unmatched[b].times - w.unmatched[a].times; n != 0 {
			return int(n)
		}
		return strings.Compare(a, b)
	})
	more := ""
	if len(all) == toldUnmatched {
		more = " or more"
	}
	say("Match nothing: %s%s, found %s.", countOf(int64(len(all)), "old address", "old addresses"), more, count(w.counts.Unmatched, "time"))
	for n, address := range all {
		u := w.unmatched[address]
		w.out.Event("unmatched", event.Unmatched{Address: address, File: u.file, Line: u.line, Times: u.times})
		if n < toldBriefly || w.out.Verbose() {
			say("  %s (%s:%d, %s)", ui.Sanitize(address), ui.Sanitize(u.file), u.line, count(u.times, "time"))
		}
	}
	if len(all) > toldBriefly && !w.out.Verbose() {
		say("  and %s more; --verbose lists them", ui.Count(int64(len(all)-toldBriefly)))
	}
}

// tellUnused tells which assets nothing refers to.
func (w *rewriting) tellUnused(say func(string, ...any), book book) error {
	for r, err := range book.Unmet {
		if err != nil {
			return err
		}
		w.counts.Unused++
		if w.job.unused {
			w.out.Event("unused", event.Unused{Name: r.Old, URL: r.New})
			say("Unused: %s -> %s", ui.Sanitize(r.Old), ui.Sanitize(r.New))
		}
	}
	if w.counts.Unused > 0 {
		hint := ""
		if !w.job.unused {
			hint = "; --unused lists them"
		}
		say("Nothing here refers to %s of %s%s.", ui.Count(w.counts.Unused), count(int64(book.Assets().Count()), "asset"), hint)
	}
	return nil
}
