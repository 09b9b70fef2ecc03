package urlcmd

import (
	"context"
	"maps"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"assetferry/internal/cli/cmdline"
	"assetferry/internal/cli/command"
	"assetferry/internal/cli/exit"
	"assetferry/internal/event"
	"assetferry/internal/rewrite"
	"assetferry/internal/ui"
	"assetferry/internal/wordpress"
	"assetferry/internal/wordpress/blocks"
	"assetferry/internal/wordpress/posts"
)

// isSite reports whether a path is the URL of a WordPress site.
func isSite(path string) bool {
	scheme, _, isURL := strings.Cut(path, "://")
	return isURL && slices.Contains(wordpress.Schemes[:], scheme)
}

// openSite opens the API of a site with an application password.
func openSite(ctx context.Context, f *command.Factory, site string, write bool) (*wordpress.Client, error) {
	client, err := f.WordPress(ctx, site, write)
	if err == nil && !client.HasPassword() {
		err = posts.ErrNoPassword
	}
	return client, err
}

// rewriteSite rewrites the posts of a WordPress site.
func rewriteSite(ctx context.Context, f *command.Factory, cmd *cobra.Command, site string, job rewriteJob) error {
	f.Summary = &event.Summary{Command: "rewrite", Rewritten: &event.Rewritten{Kept: event.Counts{}}}
	client, err := openSite(ctx, f, site, job.write)
	if err != nil {
		return err
	}
	if job.mapFile == "" && len(job.prefixes) == 0 && len(f.Settings.OldURLs) == 0 {
		prefix, err := posts.UploadsURL(ctx, client)
		if err != nil {
			return siteError(err)
		}
		if prefix != "" {
			job.prefixes = []string{prefix}
		}
	}
	redirects, m, err := openRewriteRedirects(ctx, f, cmd, job, client.URL().String())
	if err != nil {
		return err
	}
	f.CloseLater(redirects.Close)
	sizes := rewrite.WithSizes(ctx, redirects, m)
	w, err := newRewriting(f, job, sizes)
	if err != nil {
		return err
	}
	w.unit = "post"
	if job.write {
		if w.session.Backup, err = newBackup(f, job, nil); err != nil {
			return err
		}
		f.Out.Notef("WordPress cannot lock posts through its API: if an editor saves a post at the same moment, that version is only in the revisions.")
	}
	err = siteError(posts.New(client, client.URL().String(), w.session, sizes, w).Rewrite(ctx))
	if err != nil {
		w.printBackup()
		return err
	}
	if err := w.printResult([]string{site}, sizes); err != nil {
		return err
	}
	w.printSite()
	if c := w.session.Counts; c.Failed > 0 || len(c.Unreached) > 0 || c.Kept[rewrite.WrongLength]+c.Kept[rewrite.TooLong]+c.IDsKept[blocks.Gallery]+c.IDsKept[blocks.ByID] > 0 {
		return exit.Said(exit.CodeItems)
	}
	return nil
}

// restoreSite restores the posts of a WordPress site.
func restoreSite(ctx context.Context, w *rewriting, site string) error {
	client, err := openSite(ctx, w.Factory, site, w.job.write)
	if err != nil {
		return err
	}
	w.Out.Notef("Site: %s", ui.Sanitize(site))
	return siteError(posts.New(client, site, w.session, nil, w).Restore(ctx, w.job.restore))
}

// siteError adds the exit code of errors about credentials.
func siteError(err error) error {
	if posts.IsAuth(err) {
		return exit.With(exit.CodeAuth, err, exit.HintOf(err))
	}
	return err
}

// Kept implements posts.Observer.
func (w *rewriting) Kept(name string, l blocks.Left) {
	w.Out.Event("kept_reference", event.KeptReference{File: name, Name: l.What, Reason: l.Why})
	if w.kept++; w.kept <= listedBriefly || w.Out.Verbose() {
		w.Out.Notef("Unchanged: %s: %s %s", ui.Sanitize(name), ui.Sanitize(l.What), referenceText[l.Why])
	}
}

// referenceText has the reasons why a reference by ID stays.
var referenceText = map[string]string{
	blocks.Unbalanced: "is a block without its beginning or end",
	blocks.Invalid:    "is a block with invalid attributes",
	blocks.Foreign:    "is a block of a plugin or theme, and keeps its ID; its URLs are replaced",
	blocks.Mixed:      "has files without an asset, and keeps its IDs; its URLs are replaced",
	blocks.Gallery:    "is a shortcode that could look different as HTML: convert it to blocks in the editor",
	blocks.ByID:       "is a shortcode that shows local files by their ID",
}

// Unreached implements posts.Observer.
func (w *rewriting) Unreached(name, kind string) {
	w.Out.Event("unreached", event.Unreached{File: name, Reason: kind})
	if w.Out.Verbose() {
		w.Out.Notef("Unreached: %s: %s", ui.Sanitize(name), unreachedText(kind))
	}
}

func unreachedText(kind string) string {
	switch kind {
	case posts.Widgets:
		return "widgets"
	case posts.CustomFields:
		return "custom fields"
	}
	return "built with " + strings.ReplaceAll(kind, "_", " ")
}

// printSite prints references that rewrite does not change.
func (w *rewriting) printSite() {
	c := w.session.Counts
	for _, text := range [...]struct{ name, one, many string }{
		{posts.FeaturedImages, "post has a featured image", "posts have a featured image"},
		{posts.SiteIcon, "site icon", "site icons"},
		{posts.SiteLogo, "site logo", "site logos"},
	} {
		if n := c.Local[text.name]; n > 0 {
			w.Out.Printf("Local: %s; WordPress needs these files.", ui.CountedAs(n, text.one, text.many))
		}
	}
	for _, kind := range slices.Sorted(maps.Keys(c.Unreached)) {
		unit := "post"
		if kind == posts.Widgets {
			unit = "widget"
		}
		w.Out.Printf("Unreached: %s (%s).", ui.Counted(c.Unreached[kind], unit), unreachedText(kind))
	}
	if len(c.Unreached) > 0 {
		args := []string{"-"}
		if w.job.mapFile != "" {
			args = []string{"--map", w.job.mapFile, "-"}
		}
		for _, p := range w.job.prefixes {
			args = append([]string{"--old-prefix", p}, args...)
		}
		w.Out.Notef("The REST API does not reach this content. On the server, with WP-CLI:\n  wp db export --tables=wp_postmeta,wp_options - > old.sql\n  %s < old.sql > new.sql\n  wp db import new.sql",
			cmdline.Line("rewrite", args))
	}
}
