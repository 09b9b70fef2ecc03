package urlcmd

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"assetferry/internal/cli/command"
	"assetferry/internal/cli/exit"
	"assetferry/internal/event"
	"assetferry/internal/oldurl"
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

// NewRewriteCommand makes assetferry rewrite.
func NewRewriteCommand(f *command.Factory) *cobra.Command {
	var job rewriteJob
	c := &cobra.Command{
		Use:   "rewrite PATH...",
		Short: "Replace old URLs with new ones in files",
		Long: `Rewrite finds old URLs in files and folders, and shows each replacement. --write
replaces the URLs. A file is replaced completely or not at all. The originals go
to a backup directory in the state folder or in --backup-dir, never beside the
files, where a web server would deliver them. --restore puts them back.

New URLs come from the state database: --old-prefix and the configuration
describe the old ones. Or they come from a file of assetferry urls, with --map.

PATH - rewrites stdin to stdout:

  mysqldump old | assetferry rewrite --old-prefix http://a.org/f/ - | mysql new

At the end, rewrite lists old URLs without a match, and counts assets that no
file refers to; --unused lists those. For file types, queries and fragments, see
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
		RunE: f.Do(func(ctx context.Context, cmd *cobra.Command, args []string) error {
			if err := job.contradiction(cmd, args, f.Out.JSON()); err != nil {
				return err
			}
			if job.restore != "" {
				return restore(ctx, f, job)
			}
			return rewriteFiles(ctx, f, cmd, args, job)
		}),
	}
	flags := c.Flags()
	flags.BoolVar(&job.write, "write", false, "replace the URLs, and back up each original")
	flags.StringVar(&job.backupDir, "backup-dir", "", "keep originals below this `directory` (default: under $XDG_STATE_HOME)")
	flags.BoolVar(&job.backupInside, "accept-backup-inside", false, "override: allow a backup directory inside a PATH")
	flags.StringVar(&job.restore, "restore", "", "restore the originals from this backup `directory`")
	flags.StringArrayVar(&job.prefixes, "old-prefix", nil, "`URL` or path that old URLs begin with (repeatable)")
	flags.StringVar(&job.addressMap, "map", "", "read the redirect map from this `file`: .tsv, .csv or .jsonl from assetferry urls")
	flags.BoolVar(&job.all, "all", false, "search all files of a folder, not only text file types")
	flags.IntVar(&job.changes, "changes", changesShown, "show this `number` of changes per file; 0 shows all")
	flags.BoolVar(&job.unused, "unused", false, "list the assets that no file refers to")
	flags.String("run", "", "only objects that the run with this `ID` uploaded or adopted")
	flags.String("source", "", "only objects from the source with this `name`")
	return c
}

// contradiction refuses switches that do not go together.
func (j rewriteJob) contradiction(cmd *cobra.Command, args []string, json bool) error {
	stdin := slices.Contains(args, "-")
	switch {
	case !j.write && (cmd.Flags().Changed("backup-dir") || j.backupInside):
		return exit.Usage(errors.New("--backup-dir and --accept-backup-inside are for --write, and nothing is written without it"), "add --write, or leave them out")
	case stdin && len(args) > 1:
		return exit.Usage(errors.New("- is stdin, and goes with no other PATH"), "rewrite files in a call of their own")
	case stdin && j.write:
		return exit.Usage(errors.New("--write is for files, and what comes from stdin goes to stdout"), "leave --write out")
	case stdin && (json || j.unused):
		return exit.Usage(errors.New("--json and --unused want stdout, which the rewritten text takes"), "rewrite a file instead")
	case j.changes < 0:
		return exit.Usage(errors.New("--changes must be at least 0"), "")
	}
	if j.restore != "" {
		for _, name := range []string{"map", "old-prefix", "run", "source", "all", "unused", "changes"} {
			if cmd.Flags().Changed(name) {
				return exit.Usage(fmt.Errorf("--restore puts files back as they were, and --%s is for rewriting them", name), "leave one of them out")
			}
		}
	}
	if j.addressMap != "" {
		for _, name := range []string{"old-prefix", "run", "source"} {
			if cmd.Flags().Changed(name) {
				return exit.Usage(fmt.Errorf("--%s is for the journal, and --map is read instead of it", name), "leave one of them out")
			}
		}
	}
	return nil
}

// rewriteFiles rewrites files, or stdin.
func rewriteFiles(ctx context.Context, f *command.Factory, cmd *cobra.Command, args []string, job rewriteJob) (err error) {
	f.Summary = &event.Summary{Command: "rewrite", Rewritten: &event.Rewritten{Kept: event.Counts{}}}
	redirects, err := openRewriteRedirects(ctx, f, cmd, job)
	if err != nil {
		return err
	}
	f.CloseLater(redirects.Close)
	r, err := rewrite.New(redirects, redirects.Old(), slices.Concat(redirects.Assets().Current(), redirects.Others()))
	if err != nil {
		return exit.Usage(err, "rewrite part of the files with a map of its own, made with urls and --map")
	}
	w := &rewriting{Factory: f, job: job}
	w.session = rewrite.NewSession(r, f.Summary.Rewritten, w)
	w.session.All, w.session.Excerpts = job.all, !f.Out.JSON()
	if job.write {
		if w.session.Backup, err = newBackup(f, job, rewrite.WrittenFolders(args, job.backupDir != "")); err != nil {
			return err
		}
	}
	if args[0] == "-" {
		err = w.session.Stream(ctx, w.Stdin, w.Stdout)
	} else {
		err = cmp.Or(w.session.Files(ctx, args), f.Out.Err())
	}
	if err != nil {
		return err
	}
	if err := w.tell(args, redirects); err != nil {
		return err
	}
	if w.session.Counts.Failed > 0 || w.session.Counts.Kept[rewrite.WrongLength]+w.session.Counts.Kept[rewrite.TooLong] > 0 {
		return exit.Said(exit.CodeItems)
	}
	return nil
}

// openRewriteRedirects opens the redirects that texts are rewritten with.
func openRewriteRedirects(ctx context.Context, f *command.Factory, cmd *cobra.Command, job rewriteJob) (rewrite.Redirects, error) {
	if job.addressMap != "" {
		return rewrite.OpenMapFile(job.addressMap)
	}
	rules, err := rewriteRules(f, job.prefixes)
	if err != nil {
		return nil, err
	}
	store, err := f.ReadState(ctx)
	if err != nil {
		return nil, err
	}
	pairs, err := store.Pairs(ctx)
	if err != nil {
		return nil, err
	}
	m, err := openRedirects(ctx, f, cmd, store, pairs)
	if err != nil {
		return nil, err
	}
	return rewrite.OpenState(ctx, m, rules)
}

// rewriteRules are those by which old addresses were built. Other than for a map, it must
// be said what they begin with: a key alone is no address.
func rewriteRules(f *command.Factory, prefixes []string) ([]*oldurl.Template, error) {
	if len(prefixes) == 0 && len(f.Settings.Addresses) == 0 {
		return nil, exit.Usage(errors.New("it is not said what old addresses begin with"),
			"say it with --old-prefix, like https://old.example.com/files/, or with addresses in assetferry.yaml, or give a --map")
	}
	if len(prefixes) == 0 {
		return f.Settings.Addresses, nil
	}
	var all []*oldurl.Template
	for _, text := range prefixes {
		rules, err := f.AddressRules(text)
		if err != nil {
			return nil, err
		}
		all = append(all, rules...)
	}
	return all, nil
}

// A rewriting shows what a session does.
type rewriting struct {
	*command.Factory
	session *rewrite.Session
	job     rewriteJob
	left    int
	shown   int // hunks of the text
}

// Skipped implements rewrite.Observer.
func (w *rewriting) Skipped(f rewrite.File, removed bool) {
	switch {
	case removed:
		w.Out.Notef("Removed what a rewrite left behind that was interrupted: %s", ui.Sanitize(f.Path))
	case f.Skip == rewrite.SkipDraft || w.Out.Verbose():
		w.Out.Notef("Left out: %s: %s", ui.Sanitize(f.Path), f.Skip)
	}
}

// Failed implements rewrite.Observer.
func (w *rewriting) Failed(path string, err error) {
	w.Out.Notef("Left as it is: %s: %v", ui.Sanitize(path), err)
}

// Replaced implements rewrite.Observer.
func (w *rewriting) Replaced(path, original string) {
	w.Out.Printf("%s: the original is %s", ui.Sanitize(path), ui.Sanitize(original))
}

// Restored implements rewrite.Observer.
func (w *rewriting) Restored(path string) { w.Out.Printf("%s", ui.Sanitize(path)) }

// Spot implements rewrite.Observer.
func (w *rewriting) Spot(name string, s rewrite.Spot) {
	if s.Kind == rewrite.Left {
		if w.left++; leftText[s.Why] != "" && (w.left <= toldBriefly || w.Out.Verbose()) {
			w.Out.Notef("Left as it is: %s:%d: %s %s", ui.Sanitize(name), s.Line, ui.Sanitize(s.Address), leftText[s.Why])
		}
	}
	if s.New != nil {
		w.Out.Event("change", event.Change{File: name, Line: s.Line, Old: string(s.Old), New: string(s.New), URL: s.Address})
	}
}

// Hunk implements rewrite.Observer. It shows a changed line as unified diff does.
func (w *rewriting) Hunk(name string, h rewrite.Hunk) error {
	if w.shown++; w.job.changes > 0 && w.shown > w.job.changes {
		return nil
	}
	if w.shown == 1 {
		w.Out.Printf("--- %s\n+++ %s", ui.Sanitize(name), ui.Sanitize(name))
	}
	w.Out.Printf("@@ -%d +%d @@\n-%s\n+%s", h.Line, h.Line, ui.Sanitize(h.Old), ui.Sanitize(h.New))
	return w.Out.Err()
}

// Done implements rewrite.Observer.
func (w *rewriting) Done(name string) {
	if hidden := w.shown - w.job.changes; w.job.changes > 0 && hidden > 0 {
		w.Out.Printf("… and %s more in %s; --changes 0 shows all", ui.Counted(int64(hidden), "changed line"), ui.Sanitize(name))
	}
	w.shown = 0
}

// leftText says why an old address stays.
var leftText = map[string]string{
	rewrite.WrongLength: "is in a serialized string whose length was wrong before",
	rewrite.TooLong:     "is in a serialized string of more than 16 MB",
}

// toldBriefly is how many addresses that match nothing are told without --verbose.
const toldBriefly = 20

// tell tells what was found in all.
func (w *rewriting) tell(args []string, redirects rewrite.Redirects) error {
	c := w.session.Counts
	say := w.Out.Printf
	if args[0] == "-" {
		say = w.Out.Notef
	}
	does := "would change"
	if w.job.write || args[0] == "-" {
		does = "changed"
	}
	what := fmt.Sprintf("%s of %s", ui.Count(c.Changed), ui.Counted(c.Files, "file"))
	if args[0] == "-" {
		what = "The text"
	}
	say("%s %s: %s%s.", what, does, ui.CountedAs(c.Replaced, "address", "addresses"), lengthsTold(c.Lengths))
	if c.Current > 0 {
		say("New already: %s.", ui.CountedAs(c.Current, "address", "addresses"))
	}
	for _, l := range redirect.LeftOutReasons() {
		if n := c.Kept[l.Reason]; n > 0 {
			say("Left as they are: %s %s.", ui.Count(n), l.Text)
		}
	}
	if n := c.Kept[rewrite.WrongLength] + c.Kept[rewrite.TooLong]; n > 0 {
		say("Left as they are: %s in serialized strings of which the length is wrong, or which are too long.", ui.Count(n))
	}
	w.tellSkipped(say)
	w.tellUnmatched(say)
	if err := w.tellUnused(say, redirects); err != nil {
		return err
	}
	if c.Changed > 0 && !w.job.write && args[0] != "-" {
		w.Out.Notef("Nothing was written. Try: the same with --write, which keeps the originals in a backup directory")
	}
	w.tellBackup()
	if w.job.addressMap == "" && c.Replaced+c.Current > 0 {
		tellPassing(w.Factory, "links")
	}
	if c.Failed > 0 {
		w.Out.Notef("%s could not be read or written, told above.", ui.Counted(c.Failed, "file"))
	}
	return nil
}

func lengthsTold(n int64) string {
	if n == 0 {
		return ""
	}
	return fmt.Sprintf(", and %s of serialized strings", ui.Counted(n, "length"))
}

// tellSkipped counts the files that were left out.
func (w *rewriting) tellSkipped(say func(string, ...any)) {
	var all []string
	for _, s := range [...]struct{ reason, one, many string }{
		{rewrite.SkipLink, "symbolic link", "symbolic links"},
		{rewrite.SkipBinary, "binary file", "binary files"},
		{rewrite.SkipKept, "original that was kept (.orig)", "originals that were kept (.orig)"},
	} {
		if n := w.session.Skipped[s.reason]; n > 0 {
			all = append(all, ui.CountedAs(n, s.one, s.many))
		}
	}
	if len(all) > 0 {
		say("Left out: %s; --verbose names them.", strings.Join(all, ", "))
	}
}

// tellUnmatched lists the old addresses that match nothing, those that occur most often
// first.
func (w *rewriting) tellUnmatched(say func(string, ...any)) {
	if w.session.Counts.Unmatched == 0 {
		return
	}
	all := w.session.Unmatched()
	more := ""
	if len(all) == rewrite.MaxUnmatched {
		more = " or more"
	}
	say("Match nothing: %s%s, found %s.", ui.CountedAs(int64(len(all)), "old address", "old addresses"), more, ui.Counted(w.session.Counts.Unmatched, "time"))
	for n, u := range all {
		w.Out.Event("unmatched_url", event.UnmatchedURL{URL: u.URL, File: u.File, Line: u.Line, Times: u.Times})
		if n < toldBriefly || w.Out.Verbose() {
			say("  %s (%s:%d, %s)", ui.Sanitize(u.URL), ui.Sanitize(u.File), u.Line, ui.Counted(u.Times, "time"))
		}
	}
	if len(all) > toldBriefly && !w.Out.Verbose() {
		say("  and %s more; --verbose lists them", ui.Count(int64(len(all)-toldBriefly)))
	}
}

// tellUnused tells which assets nothing refers to.
func (w *rewriting) tellUnused(say func(string, ...any), redirects rewrite.Redirects) error {
	for r, err := range redirects.Unmet {
		if err != nil {
			return err
		}
		w.session.Counts.Unused++
		if w.job.unused {
			w.Out.Event("unused", event.Unused{Name: r.Old, URL: r.New})
			say("Unused: %s -> %s", ui.Sanitize(r.Old), ui.Sanitize(r.New))
		}
	}
	if w.session.Counts.Unused > 0 {
		hint := ""
		if !w.job.unused {
			hint = "; --unused lists them"
		}
		say("Nothing here refers to %s of %s%s.", ui.Count(w.session.Counts.Unused), ui.Counted(int64(redirects.Assets().Count()), "asset"), hint)
	}
	return nil
}
