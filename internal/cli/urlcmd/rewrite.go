package urlcmd

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"runtime/debug"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"assetferry/internal/cli/command"
	"assetferry/internal/cli/exit"
	"assetferry/internal/event"
	"assetferry/internal/oldurl"
	"assetferry/internal/redirect"
	"assetferry/internal/rewrite"
	"assetferry/internal/ui"
	"assetferry/state"
)

// A rewriteJob holds the flags of rewrite.
type rewriteJob struct {
	write, all, unused bool
	changes            int // shown per file
	mapFile            string
	prefixes           []string
	backupDir, restore string
	backupInside       bool
}

// changesShown is the default of --changes.
const changesShown = 50

// NewRewriteCommand makes assetferry rewrite.
func NewRewriteCommand(f *command.Factory) *cobra.Command {
	var job rewriteJob
	c := &cobra.Command{
		Use:   "rewrite PATH...",
		Short: "Replace old URLs with new URLs in files",
		Long: `Rewrite finds old URLs in files and folders, and shows each replacement. --write
replaces the URLs. A file is replaced completely or not at all. The originals
are kept in a backup folder, never beside the files, where a web server would
deliver them. --backup-dir names another folder. --restore restores the
originals.

New URLs come from the state database. --old-prefix and the configuration
describe the old URLs. Alternatively, --map reads both from a file that
assetferry urls wrote.

If PATH is -, rewrite reads stdin and writes to stdout:

  mysqldump old | assetferry rewrite --old-prefix http://a.org/f/ - | mysql new

If PATH is the URL of a WordPress site, rewrite changes the posts and pages of
the site through its REST API:

  assetferry rewrite wordpress+https://www.example.com

At the end, rewrite lists old URLs without a match. It also counts assets that
no file refers to, and --unused lists these assets. For file types, queries and
fragments, see assetferry help rewrite.
`,
		Example: `  assetferry rewrite --old-prefix https://old.example.com/files/ content
  assetferry rewrite --old-prefix https://old.example.com/files/ content --write
  assetferry rewrite --map urls.tsv --write blog.sql
  assetferry rewrite --restore DIR --write`,
		Args: func(_ *cobra.Command, args []string) error {
			switch {
			case job.restore != "" && len(args) > 0:
				return errors.New("rewrite: --restore restores all files of a backup and takes no PATH")
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
			if isSite(args[0]) {
				return rewriteSite(ctx, f, cmd, args[0], job)
			}
			return rewriteFiles(ctx, f, cmd, args, job)
		}),
	}
	job.addFlags(c.Flags())
	return c
}

func (j *rewriteJob) addFlags(flags *pflag.FlagSet) {
	flags.BoolVar(&j.write, "write", false, "replace the URLs, and back up each original")
	flags.StringVar(&j.backupDir, "backup-dir", "", "keep originals below this `folder` (default: under $XDG_STATE_HOME)")
	flags.BoolVar(&j.backupInside, "accept-backup-inside", false, "override: allow a backup folder inside a PATH")
	flags.StringVar(&j.restore, "restore", "", "restore the originals from this backup `folder`")
	flags.StringArrayVar(&j.prefixes, "old-prefix", nil, "`URL` or path that old URLs begin with (repeatable)")
	flags.StringVar(&j.mapFile, "map", "", "read the redirect map from this `file`: .tsv, .csv or .jsonl from assetferry urls")
	flags.BoolVar(&j.all, "all", false, "search all files of a folder, not only text files")
	flags.IntVar(&j.changes, "changes", changesShown, "show this `number` of changes per file; 0 shows all")
	flags.BoolVar(&j.unused, "unused", false, "list the assets that no file refers to")
	flags.String("run", "", "use only objects that the run with this `ID` uploaded or adopted")
	flags.String("source", "", "use only objects from the source with this `name`")
}

// contradiction returns an error for flags that cannot be used together.
func (j rewriteJob) contradiction(cmd *cobra.Command, args []string, json bool) error {
	stdin := slices.Contains(args, "-")
	switch {
	case !j.write && (cmd.Flags().Changed("backup-dir") || j.backupInside):
		return exit.Usage(errors.New("--backup-dir and --accept-backup-inside need --write"), "add --write, or remove these flags")
	case stdin && len(args) > 1:
		return exit.Usage(errors.New("PATH -: stdin cannot be combined with files"), "rewrite the files with a second command")
	case stdin && j.write:
		return exit.Usage(errors.New("--write is for files: text from stdin goes to stdout"), "remove --write")
	case stdin && (json || j.unused):
		return exit.Usage(errors.New("--json and --unused cannot be used with stdin: stdout is the rewritten text"), "rewrite a file instead")
	case slices.ContainsFunc(args, isSite) && (len(args) > 1 || j.all):
		return exit.Usage(errors.New("a WordPress site cannot be combined with other paths or with --all"), "rewrite the files with a second command")
	case j.changes < 0:
		return exit.Usage(errors.New("--changes must be at least 0"), "")
	}
	return j.excluded(cmd)
}

// excluded returns an error for flags that --restore or --map excludes.
func (j rewriteJob) excluded(cmd *cobra.Command) error {
	if j.restore != "" {
		for _, name := range []string{"map", "old-prefix", "run", "source", "all", "unused", "changes"} {
			if cmd.Flags().Changed(name) {
				return exit.Usage(fmt.Errorf("--restore and --%s cannot be used together", name), "remove one of them")
			}
		}
	}
	if j.mapFile != "" {
		for _, name := range []string{"old-prefix", "run", "source"} {
			if cmd.Flags().Changed(name) {
				return exit.Usage(fmt.Errorf("--map and --%s cannot be used together: the map replaces the state database", name), "remove one of them")
			}
		}
	}
	return nil
}

// garbagePercent is the memory for garbage, in per cent of the used memory.
const garbagePercent = 40

// rewriteFiles rewrites files, or stdin.
func rewriteFiles(ctx context.Context, f *command.Factory, cmd *cobra.Command, args []string, job rewriteJob) (err error) {
	f.Summary = &event.Summary{Command: "rewrite", Rewritten: &event.Rewritten{Kept: event.Counts{}}}
	// Most of the memory is the index of the map, which has no pointers: collecting garbage is cheap.
	defer debug.SetGCPercent(debug.SetGCPercent(garbagePercent))
	redirects, _, err := openRewriteRedirects(ctx, f, cmd, job, "")
	if err != nil {
		return err
	}
	f.CloseLater(redirects.Close)
	w, err := newRewriting(f, job, redirects)
	if err != nil {
		return err
	}
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
	if err := w.printResult(args, redirects); err != nil {
		return err
	}
	if w.session.Counts.Failed > 0 || w.session.Counts.Kept[rewrite.WrongLength]+w.session.Counts.Kept[rewrite.TooLong] > 0 {
		return exit.Said(exit.CodeItems)
	}
	return nil
}

// newRewriting returns a dry run with redirects.
func newRewriting(f *command.Factory, job rewriteJob, redirects rewrite.Redirects) (*rewriting, error) {
	r, err := rewrite.New(redirects, redirects.Old(), slices.Concat(redirects.Assets().Current(), redirects.Others()))
	if err != nil {
		return nil, exit.Usage(err, "split the redirect map, and rewrite the files once for each part, with --map FILE. To write the map:\n  assetferry urls --output urls.tsv")
	}
	w := &rewriting{Factory: f, job: job, unit: "file"}
	w.session = rewrite.NewSession(r, f.Summary.Rewritten, w)
	w.session.All, w.session.Excerpts, w.session.Shown = job.all, !f.Out.JSON(), job.changes
	return w, nil
}

// openRewriteRedirects opens the redirects from --map or from the state database, and returns the
// map of the latter. With a site, it chooses the objects of that source.
func openRewriteRedirects(ctx context.Context, f *command.Factory, cmd *cobra.Command, job rewriteJob, site string) (rewrite.Redirects, *redirect.Map, error) {
	if job.mapFile != "" {
		r, err := rewrite.OpenMapFile(job.mapFile)
		return r, nil, err
	}
	store, err := f.ReadState(ctx)
	if err != nil {
		return nil, nil, err
	}
	pairs, err := store.Pairs(ctx)
	if err != nil {
		return nil, nil, err
	}
	isOf := func(p state.Pair) bool { return p.Source == site }
	if !cmd.Flags().Changed("run") && !cmd.Flags().Changed("source") && slices.ContainsFunc(pairs, isOf) {
		pairs = slices.DeleteFunc(pairs, func(p state.Pair) bool { return !isOf(p) })
	}
	m, err := openRedirects(ctx, f, cmd, store, pairs)
	if err != nil {
		return nil, nil, err
	}
	var rules []*oldurl.Template // a site gives all its URLs, and may have none
	if site == "" || len(job.prefixes)+len(f.Settings.OldURLs) > 0 {
		if rules, err = rewriteRules(f, job.prefixes); err != nil {
			return nil, nil, err
		}
	}
	r, err := rewrite.OpenState(ctx, m, rules)
	return r, m, err
}

// rewriteRules returns the templates of old URLs. Unlike urls, rewrite has no default: a
// key without a prefix cannot be found in a text.
func rewriteRules(f *command.Factory, prefixes []string) ([]*oldurl.Template, error) {
	if len(prefixes) == 0 && len(f.Settings.OldURLs) == 0 {
		return nil, exit.Usage(errors.New("the beginning of old URLs is missing"),
			"add --old-prefix https://old.example.com/files/, old_urls in assetferry.yaml, or --map FILE")
	}
	if len(prefixes) == 0 {
		return f.Settings.OldURLs, nil
	}
	var all []*oldurl.Template
	for _, text := range prefixes {
		rules, err := f.OldURLTemplates(text)
		if err != nil {
			return nil, err
		}
		all = append(all, rules...)
	}
	return all, nil
}

// A rewriting prints the events of a session.
type rewriting struct {
	*command.Factory
	session *rewrite.Session
	job     rewriteJob
	unit    string // file or post
	kept    int    // old URLs that stay
	shown   string // the text of the last hunk
}

// Skipped implements rewrite.Observer.
func (w *rewriting) Skipped(f rewrite.File, removed bool) {
	switch {
	case removed:
		w.Out.Notef("Removed: %s: draft of an interrupted rewrite", ui.Sanitize(f.Path))
	case f.Skip == rewrite.SkipDraft || w.Out.Verbose():
		w.Out.Notef("Skipped: %s: %s", ui.Sanitize(f.Path), f.Skip)
	}
}

// Failed implements rewrite.Observer.
func (w *rewriting) Failed(path string, err error) {
	w.Out.Notef("Unchanged: %s: %v", ui.Sanitize(path), err)
}

// Replaced implements rewrite.Observer.
func (w *rewriting) Replaced(path, original string) {
	w.Out.Printf("%s: original in %s", ui.Sanitize(path), ui.Sanitize(original))
}

// Restored implements rewrite.Observer.
func (w *rewriting) Restored(path string) { w.Out.Printf("%s", ui.Sanitize(path)) }

// Spot implements rewrite.Observer.
func (w *rewriting) Spot(name string, s rewrite.Spot) {
	if s.Kind == rewrite.Left {
		if w.kept++; keptText[s.Why] != "" && (w.kept <= listedBriefly || w.Out.Verbose()) {
			w.Out.Notef("Unchanged: %s:%d: %s %s", ui.Sanitize(name), s.Line, ui.Sanitize(s.URL), keptText[s.Why])
		}
	}
	if s.New != nil && w.Out.JSON() {
		w.Out.Event("change", event.Change{File: name, Line: s.Line, Old: string(s.Old), New: string(s.New), URL: s.URL})
	}
}

// Hunk implements rewrite.Observer. It prints a changed line in the format of unified diff.
func (w *rewriting) Hunk(name string, h rewrite.Hunk) error {
	if w.shown != name {
		w.Out.Printf("--- %s\n+++ %s", ui.Sanitize(name), ui.Sanitize(name))
	}
	w.shown = name
	w.Out.Printf("@@ -%d +%d @@\n-%s\n+%s", h.Line, h.Line, ui.Sanitize(h.Old), ui.Sanitize(h.New))
	return w.Out.Err()
}

// Done implements rewrite.Observer.
func (w *rewriting) Done(name string, hidden int64) {
	if hidden > 0 {
		w.Out.Printf("… and %s more in %s; --changes 0 shows all", ui.Counted(hidden, "changed line"), ui.Sanitize(name))
	}
}

// keptText has the reasons why an old URL stays.
var keptText = map[string]string{
	rewrite.WrongLength: "is in a serialized string whose length was already wrong",
	rewrite.TooLong:     "is in a serialized string of more than 16 MB",
}

// listedBriefly is how many URLs are listed without --verbose.
const listedBriefly = 20

// printResult prints the counts and the lists at the end.
func (w *rewriting) printResult(args []string, redirects rewrite.Redirects) error {
	c := w.session.Counts
	say := w.Out.Printf
	if args[0] == "-" {
		say = w.Out.Notef
	}
	does := "would change"
	if w.job.write || args[0] == "-" {
		does = "changed"
	}
	what := fmt.Sprintf("%s of %s", ui.Count(c.Changed), ui.Counted(c.Files, w.unit))
	if args[0] == "-" {
		what = "The text"
	}
	say("%s %s: %s%s%s.", what, does, ui.Counted(c.Replaced, "URL"), stringLengths(c.Lengths), references(c))
	if c.Current > 0 {
		say("Already new: %s.", ui.Counted(c.Current, "URL"))
	}
	for _, l := range redirect.OmissionReasons() {
		if n := c.Kept[l.Reason]; n > 0 {
			say("Unchanged: %s %s.", ui.Counted(n, "URL"), l.Text)
		}
	}
	if n := c.Kept[rewrite.WrongLength] + c.Kept[rewrite.TooLong]; n > 0 {
		say("Unchanged: %s in serialized strings with a wrong length, or of more than 16 MB.", ui.Counted(n, "URL"))
	}
	w.printSkipped(say)
	w.printUnmatched(say)
	if err := w.printUnused(say, redirects); err != nil {
		return err
	}
	if c.Changed > 0 && !w.job.write && args[0] != "-" {
		w.Out.Notef("Nothing was written. To replace the %ss, add --write; it keeps the originals.", w.unit)
	}
	w.printBackup()
	if w.job.mapFile == "" && c.Replaced+c.Current > 0 {
		warnTemporary(w.Factory, "links")
	}
	if c.Failed > 0 {
		w.Out.Notef("Failed: %s; see above.", ui.Counted(c.Failed, w.unit))
	}
	return nil
}

func stringLengths(n int64) string {
	if n == 0 {
		return ""
	}
	return fmt.Sprintf(" and %s", ui.CountedAs(n, "length of a serialized string", "lengths of serialized strings"))
}

// references counts the references of posts that were changed besides URLs.
func references(c *event.Rewritten) (text string) {
	if c.IDs > 0 {
		text += ", " + ui.CountedAs(c.IDs, "reference by ID", "references by ID")
	}
	if c.Widths > 0 {
		text += ", " + ui.CountedAs(c.Widths, "image with new widths", "images with new widths")
	}
	return text
}

// printSkipped counts the skipped files.
func (w *rewriting) printSkipped(say func(string, ...any)) {
	var all []string
	for _, s := range [...]struct{ reason, one, many string }{
		{rewrite.SkipLink, "symbolic link", "symbolic links"},
		{rewrite.SkipBinary, "binary file", "binary files"},
		{rewrite.SkipKept, "original (.orig)", "originals (.orig)"},
	} {
		if n := w.session.Skipped[s.reason]; n > 0 {
			all = append(all, ui.CountedAs(n, s.one, s.many))
		}
	}
	if len(all) > 0 {
		say("Skipped: %s; --verbose lists them.", strings.Join(all, ", "))
	}
}

// printUnmatched lists the old URLs without an asset, the most frequent first.
func (w *rewriting) printUnmatched(say func(string, ...any)) {
	if w.session.Counts.Unmatched == 0 {
		return
	}
	all := w.session.Unmatched()
	more := ""
	if len(all) == rewrite.MaxUnmatched {
		more = " or more"
	}
	say("Unmatched: %s%s without an asset, found %s.", ui.Counted(int64(len(all)), "old URL"), more, ui.Counted(w.session.Counts.Unmatched, "time"))
	for n, u := range all {
		w.Out.Event("unmatched_url", event.UnmatchedURL{URL: u.URL, File: u.File, Line: u.Line, Times: u.Times})
		if n < listedBriefly || w.Out.Verbose() {
			say("  %s (%s:%d, %s)", ui.Sanitize(u.URL), ui.Sanitize(u.File), u.Line, ui.Counted(u.Times, "time"))
		}
	}
	if len(all) > listedBriefly && !w.Out.Verbose() {
		say("  and %s more; --verbose lists them", ui.Count(int64(len(all)-listedBriefly)))
	}
}

// printUnused counts the assets that no text mentions, and lists them with --unused.
func (w *rewriting) printUnused(say func(string, ...any), redirects rewrite.Redirects) error {
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
		say("Unused: %s of %s%s.", ui.Count(w.session.Counts.Unused), ui.Counted(int64(redirects.Assets().Count()), "asset"), hint)
	}
	return nil
}
