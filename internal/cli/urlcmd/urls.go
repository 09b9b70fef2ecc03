// Package urlcmd holds the commands about old and new URLs: urls lists and verifies them,
// rewrite replaces them in content files.
package urlcmd

import (
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"assetferry/internal/cli/cmdline"
	"assetferry/internal/cli/command"
	"assetferry/internal/cli/exit"
	"assetferry/internal/config"
	"assetferry/internal/event"
	"assetferry/internal/oldurl"
	"assetferry/internal/redirect"
	"assetferry/internal/ui"
	"assetferry/migrate"
	"assetferry/state"
)

// checkedURLs is the default of --sample.
const checkedURLs = 200

// A urlsJob holds the flags of urls.
type urlsJob struct {
	format, prefix, output string

	check, all bool
	sample     int
}

// NewURLsCommand makes assetferry urls.
func NewURLsCommand(f *command.Factory) *cobra.Command {
	var job urlsJob
	c := &cobra.Command{
		Use:   "urls",
		Short: "Write the redirect map from old to new URLs",
		Long:  urlsHelp,
		Example: `  assetferry urls --old-prefix https://old.example.com/files/ > urls.tsv
  assetferry urls --old-prefix /files/ --format nginx --output assetferry.conf
  assetferry urls --format netlify --output _redirects
  assetferry urls --check`,
		Args: cobra.NoArgs,
		RunE: f.Do(func(ctx context.Context, cmd *cobra.Command, _ []string) error {
			if err := job.contradiction(cmd, f.Out.JSON()); err != nil {
				return err
			}
			if job.check {
				return checkURLs(ctx, f, cmd, job)
			}
			return writeURLs(ctx, f, cmd, job)
		}),
	}
	flags := c.Flags()
	flags.StringVar(&job.format, "format", "tsv", "`name` of a format above")
	flags.StringVar(&job.prefix, "old-prefix", "", "`URL` or path that old URLs begin with (default: the configured templates, or /)")
	flags.StringVar(&job.output, "output", "", "write the map to this `file`; - is stdout")
	flags.String("run", "", "use only objects that the run with this `ID` uploaded or adopted")
	flags.String("source", "", "use only objects from the source with this `name`")
	cmdline.Setting(flags, "wave", "use only objects of the wave with this `name`")
	flags.BoolVar(&job.check, "check", false, "check that new URLs lead to their assets")
	flags.IntVar(&job.sample, "sample", checkedURLs, "with --check: `number` of URLs to check")
	flags.BoolVar(&job.all, "all", false, "with --check: check every URL")
	flags.StringP("concurrency", "j", "", fmt.Sprintf("with --check: maximum `number` of requests at the same time (default %d)", migrate.DefaultConcurrency))
	// It fails only for an unknown flag or a second registration.
	_ = c.RegisterFlagCompletionFunc("format", cobra.FixedCompletions(redirect.Formats(), cobra.ShellCompDirectiveNoFileComp))
	return c
}

// contradiction returns an error for flags that cannot be used together.
func (j urlsJob) contradiction(cmd *cobra.Command, json bool) error {
	others, what := []string{"sample", "all", "concurrency"}, "needs --check"
	if j.check {
		others, what = []string{"format", "old-prefix", "output"}, "cannot be used with --check, which writes no map"
	}
	for _, name := range others {
		if cmd.Flags().Changed(name) {
			return exit.Usage(fmt.Errorf("--%s %s", name, what), fmt.Sprintf("remove --%s, or run urls twice", name))
		}
	}
	switch {
	case !slices.Contains(redirect.Formats(), j.format):
		return exit.Usage(fmt.Errorf("--format %s: unknown format", j.format), "use one of "+strings.Join(redirect.Formats(), ", "))
	case json && j.toStdout() && cmd.Flags().Changed("format") && j.format != "json":
		return exit.Usage(fmt.Errorf("--json and --format %s both write to stdout", j.format), "add --output FILE")
	case j.format == cloudFront && j.output != "" && j.output == j.functionFile():
		return exit.Usage(fmt.Errorf("--output %s: the function is written to this file", ui.Sanitize(j.output)), "name the file of the data, such as assetferry.json")
	case j.sample < 1:
		return exit.Usage(errors.New("--sample must be at least 1"), "")
	}
	return cmdline.Together(cmd, "sample", "all", "--all requests every URL")
}

func (j urlsJob) toStdout() bool { return j.output == "" || j.output == "-" }

// writeURLs writes the map.
func writeURLs(ctx context.Context, f *command.Factory, cmd *cobra.Command, job urlsJob) error {
	f.Summary = &event.Summary{Command: "urls", URLs: &event.URLs{}}
	rules, err := f.OldURLTemplates(job.prefix)
	if err == nil {
		err = job.checkHosts(rules)
	}
	if err != nil {
		return err
	}
	store, err := f.ReadState(ctx)
	if err != nil {
		return err
	}
	pairs, err := store.Pairs(ctx)
	if err != nil {
		return err
	}
	m, err := openRedirects(ctx, f, cmd, store, pairs)
	if err != nil {
		return err
	}
	for _, path := range []string{job.output, job.functionFile()} {
		if err := command.ApartFrom(path, f.Summary.Source); err != nil {
			return err
		}
	}
	format, _ := redirect.FormatOf(job.format)
	m.Images, m.PathsOnly = format.Images, format.PathsOnly
	if f.Out.JSON() && job.toStdout() { // events
		m.Images, m.PathsOnly = true, false
	}
	if err := m.Build(ctx, rules); err != nil {
		return err
	}
	t, err := writeMap(ctx, f, m, job)
	if err != nil {
		return err
	}
	*f.Summary.URLs = event.URLs{Written: t.Written, Verified: t.Verified, Omitted: t.Omitted}
	printMapResult(f, t, job)
	printTaken(f, t)
	printUnlisted(f, rules)
	return nil
}

// writeMap writes the map to its file or to stdout, and the function that a format needs to a second
// file.
func writeMap(ctx context.Context, f *command.Factory, m *redirect.Map, job urlsJob) (t redirect.Tally, err error) {
	switch {
	case job.toStdout() && f.Out.JSON():
		return m.WriteTo(ctx, events{f.Out})
	case job.toStdout():
		return m.Write(ctx, f.Stdout, job.format)
	}
	err = command.WriteNew(job.output, true, func(w io.Writer) (err error) {
		t, err = m.Write(ctx, w, job.format)
		return err
	})
	if function := job.functionFile(); err == nil && function != "" {
		err = command.WriteNew(function, true, func(w io.Writer) error {
			_, err := io.WriteString(w, redirect.CloudFrontFunction())
			return err
		})
	}
	return t, err
}

// events writes rows as JSON events.
type events struct{ out *ui.Out }

func (e events) Write(r redirect.Row) error {
	r = r.Clean()
	e.out.Event("redirect", event.Redirect{Old: r.Old, New: r.New, Key: r.Key, AssetID: r.AssetID, Size: r.Size, Verified: r.Verified,
		Images: r.Images, Kind: string(r.Kind), Width: r.Width})
	return e.out.Err()
}

func (events) Close() error { return nil }

// printMapResult prints the number of written, verified and omitted URLs.
func printMapResult(f *command.Factory, t redirect.Tally, job urlsJob) {
	where := ""
	if !job.toStdout() {
		where = " in " + ui.Sanitize(job.output)
	}
	switch {
	case t.Written > 0:
		f.Out.Notef("%s%s, %s verified.", ui.Counted(t.Written, "URL"), where, ui.Count(t.Verified))
	case t.OmittedByFormat():
		f.Out.Notef("No URLs%s: --format %s omits all of them.", where, job.format)
	default:
		f.Out.Notef("No URLs%s: the state database has no asset that may be published.", where)
	}
	printOmitted(f, t)
	printFormatNotes(f, t, job)
	if t.Written > 0 {
		warnTemporary(f, "redirects")
	}
}

// warnTemporary warns if the new URLs are those of a sandbox that ended with the command.
func warnTemporary(f *command.Factory, tested string) {
	if d, err := f.Settings.Destination(); err == nil && d.Kind == config.Sandbox {
		f.Out.Notef("The new URLs are those of the built-in sandbox, which has ended.")
		f.Out.Notef("To test %s, start a sandbox that keeps running:\n  assetferry sandbox", tested)
	}
}

// printOmitted prints the number of omitted URLs by reason, with hints.
func printOmitted(f *command.Factory, t redirect.Tally) {
	for _, l := range redirect.OmissionReasons() {
		if n := t.Omitted[l.Reason]; n > 0 {
			f.Out.Notef("Omitted: %s %s.", ui.Counted(n, "URL"), l.Text)
			if l.Hint != "" {
				f.Out.Notef("Try: %s", l.Hint)
			}
		}
	}
}

// printTaken lists URLs that two objects have, with the object that they lead to.
func printTaken(f *command.Factory, t redirect.Tally) {
	for _, l := range t.Taken {
		f.Out.Notef("  %s leads to %s, not to %s", ui.Sanitize(oldurl.Clean(l.Old)), ui.Sanitize(l.TakenBy), ui.Sanitize(l.Key))
	}
	if more := t.Omitted[redirect.LeftTaken] - int64(len(t.Taken)); len(t.Taken) > 0 && more > 0 {
		f.Out.Notef("  and %s", ui.CountedAs(more, "more", "more"))
	}
}

// printUnlisted lists the templates whose URLs cannot be listed.
func printUnlisted(f *command.Factory, rules []*oldurl.Template) {
	for _, r := range rules {
		if !r.CanList() {
			f.Out.Notef("Not listed: %s has no widths; rewrite recognizes its URLs.", ui.Sanitize(r.String()))
		}
	}
}

// openRedirects opens the redirect map of the pair that the flags select.
func openRedirects(ctx context.Context, f *command.Factory, cmd *cobra.Command, store *state.Store, pairs []state.Pair) (*redirect.Map, error) {
	pair, run, err := choosePair(ctx, f, cmd, store, pairs)
	if err != nil {
		return nil, err
	}
	f.Summary.Run, f.Summary.Source, f.Summary.Destination = run.ID, pair.Source, pair.Destination
	m, err := redirect.Open(ctx, store, pair, run.Num)
	if err != nil {
		return nil, err
	}
	if cmdline.Takes(cmd, "wave") { // a job of rewrite may have one, too
		m.Wave, err = f.Wave()
		f.Summary.Wave = m.Wave.Label()
	}
	return m, err
}

// choosePair returns the pair of source and destination that --run or --source selects, and
// the run. Without flags it is the only pair with assets; the zero Pair if there is none.
func choosePair(ctx context.Context, f *command.Factory, cmd *cobra.Command, store *state.Store, pairs []state.Pair) (state.Pair, state.Run, error) {
	if cmd.Flags().Changed("run") {
		run, err := f.SelectRun(ctx, cmd, store)
		if err == nil && !slices.ContainsFunc(pairs, func(p state.Pair) bool { return p.ID == run.Pair.ID }) {
			err = exit.With(exit.CodeNoSuch, fmt.Errorf("run %s has another destination: %s", run.ID, ui.Sanitize(run.Pair.Destination)), "check --to and --workspace")
		}
		return run.Pair, run, err
	}
	source, _ := cmd.Flags().GetString("source")
	var found []state.Pair
	for _, p := range pairs {
		sum, err := store.SumReceipts(ctx, p.ID)
		if err != nil {
			return p, state.Run{}, err
		}
		if sum.Objects > 0 && (source == "" || p.Source == source) {
			found = append(found, p)
		}
	}
	switch {
	case len(found) == 1:
		return found[0], state.Run{}, nil
	case len(found) > 1:
		return state.Pair{}, state.Run{}, severalPairs(found)
	case source != "":
		return state.Pair{}, state.Run{}, exit.With(exit.CodeNoSuch, fmt.Errorf("--source %s: the state database has no asset of that source", ui.Sanitize(source)),
			"list the sources:\n  "+cmdline.Line("status", cmdline.WithValue("state", store.Path())))
	}
	return state.Pair{}, state.Run{}, nil // there is no asset
}

// severalPairs returns an error that lists the sources to choose from.
func severalPairs(pairs []state.Pair) error {
	text := "the state database has assets of several sources:"
	for _, p := range pairs {
		text += fmt.Sprintf("\n  %s -> %s", ui.Sanitize(p.Source), ui.Sanitize(p.Destination))
	}
	return exit.Usage(errors.New(text), "choose one with --source NAME or --run ID")
}
