// Package assetcmd contains assetferry assets: commands that show the destination, and commands
// that change single assets.
package assetcmd

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"iter"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"assetferry/internal/assets"
	"assetferry/internal/cli/cmdline"
	"assetferry/internal/cli/command"
	"assetferry/internal/cli/exit"
	"assetferry/internal/event"
	"assetferry/internal/sorting"
	"assetferry/internal/ui"
)

// NewCommand returns assetferry assets.
func NewCommand(f *command.Factory) *cobra.Command {
	c := &cobra.Command{
		Use:   "assets",
		Short: "Show and change assets at the destination",
		Long: `These commands show assets at the destination. Only copy, folder, category and
quality --set change the destination. To preview a change, use --dry-run.

On a terminal, the output is a table. Otherwise, or with --json, it is JSON
Lines, with one object for each asset, category or folder. --table shows tables
in both cases.

A PLACE is the path or ID of a category or folder, such as Images or
Images/2024/spring. If several places have the same name, the error lists their
IDs.
`,
	}
	c.PersistentFlags().Bool("table", false, "show tables even if stdout is not a terminal")
	c.AddCommand(newListCommand(f), newSearchCommand(f), newRecentCommand(f), newGetCommand(f),
		newImageCommand(f), newCategoriesCommand(f), newFoldersCommand(f),
		newCopyCommand(f), newFolderCommand(f), newCategoryCommand(f), newQualityCommand(f))
	return c
}

// look wraps commands that only read from the destination.
func look(f *command.Factory, w command.Work) func(*cobra.Command, []string) error {
	return func(cmd *cobra.Command, args []string) error {
		if err := cmdline.Together(cmd, "json", "table", ""); err != nil {
			return err
		}
		table, _ := cmd.Flags().GetBool("table")
		if !table && !ui.IsTerminal(f.Stdout) && !toStdout(cmd) {
			if err := cmd.Flags().Set("json", "true"); err != nil {
				return err
			}
		}
		return f.Do(w)(cmd, args)
	}
}

// A listing selects and sorts assets.
type listing struct {
	limit      int
	sort       string
	descending bool
	deep       bool
	unordered  bool // the service does not sort
}

// sorts maps the values of --sort to those of the service.
func sorts() map[string]string {
	return map[string]string{"": "", "name": assets.ByName, "size": assets.BySize, "uploaded": assets.ByUploadedAt, "modified": assets.ByLastModifiedAt}
}

func (l *listing) addFlags(c *cobra.Command) {
	f := c.Flags()
	f.IntVar(&l.limit, "limit", 0, "show at most this `number` of assets")
	f.StringVar(&l.sort, "sort", "", "sort by this `field`: name, size, uploaded or modified (default: the order of the service)")
	f.BoolVar(&l.descending, "desc", false, "sort in descending order")
	// The error is only for a flag that does not exist.
	_ = c.RegisterFlagCompletionFunc("sort", cobra.FixedCompletions([]string{"name", "size", "uploaded", "modified"}, cobra.ShellCompDirectiveNoFileComp))
}

func (l *listing) check() error {
	if _, ok := sorts()[l.sort]; !ok {
		return exit.Usage(fmt.Errorf("--sort %q is not one of name, size, uploaded, modified", l.sort), "")
	}
	if l.limit < 0 {
		return exit.Usage(errors.New("--limit must not be negative"), "omit the flag for no limit")
	}
	return nil
}

func (l *listing) order() string {
	switch {
	case l.descending:
		return assets.Descending
	case l.sort != "":
		return assets.Ascending
	}
	return ""
}

// usualPage is the number of assets per request.
const usualPage = 50

// pageSize returns the number of assets to request.
func (l *listing) pageSize() int {
	if l.limit > 0 && l.limit < usualPage {
		return l.limit
	}
	return usualPage
}

// sorted yields the assets of several folders in one order. With a limit, it keeps little more
// than that number in memory.
func (l *listing) sorted(all iter.Seq2[found, error]) iter.Seq2[found, error] {
	return func(yield func(found, error) bool) {
		var kept []found
		for f, err := range all {
			if err != nil {
				yield(found{}, err)
				return
			}
			if kept = append(kept, f); l.limit > 0 && len(kept) >= 2*l.limit {
				sorting.Stable(kept, l.compare)
				kept = slices.Delete(kept, l.limit, len(kept))
			}
		}
		sorting.Stable(kept, l.compare)
		for _, f := range kept {
			if !yield(f, nil) {
				return
			}
		}
	}
}

func (l *listing) compare(a, b found) int {
	if l.descending {
		a, b = b, a
	}
	switch l.sort {
	case "name":
		return strings.Compare(a.Filename(), b.Filename())
	case "size":
		return cmp.Compare(a.Size, b.Size)
	case "modified":
		return a.LastModifiedAt.Compare(b.LastModifiedAt)
	}
	return a.UploadedAt.Compare(b.UploadedAt)
}

func newListCommand(f *command.Factory) *cobra.Command {
	var l listing
	c := &cobra.Command{
		Use:   "ls PLACE",
		Short: "List the assets in a category or a folder",
		Long: `Ls lists the assets directly in a category or a folder. --recursive also lists
the assets in subfolders.
`,
		Args: cmdline.One("PLACE"),
		RunE: look(f, func(ctx context.Context, _ *cobra.Command, args []string) error {
			if err := l.check(); err != nil {
				return err
			}
			dest, err := f.OpenDestination(ctx, true)
			if err != nil {
				return err
			}
			at, err := findPlace(ctx, dest.Client, args[0])
			if err != nil {
				return err
			}
			l.unordered = dest.Profile.ListOrder == "ignored"
			all := assetsIn(ctx, dest.Client, at, l)
			if (l.deep || l.unordered) && l.order() != "" {
				all = l.sorted(all) // the service sorts each folder separately, if at all
			}
			n, bytes, err := showAssets(f, all, l.limit)
			if err != nil {
				return err
			}
			below := ""
			if n == 0 && !l.deep {
				if below, err = noteBelow(ctx, dest.Client, at); err != nil {
					return err
				}
			}
			f.Out.Notef("%s, %s%s", ui.Counted(n, "asset"), ui.Bytes(bytes), below)
			return nil
		}),
	}
	l.addFlags(c)
	c.Flags().BoolVarP(&l.deep, "recursive", "r", false, "also list the assets in subfolders")
	return c
}

// noteBelow prints a hint if only subfolders contain assets.
func noteBelow(ctx context.Context, c *assets.Client, at place) (string, error) {
	inside, err := foldersIn(ctx, c, at)
	if err != nil || len(inside) == 0 {
		return "", err
	}
	return fmt.Sprintf("; %s below (to include their assets: --recursive)", ui.Counted(int64(len(inside)), "folder")), nil
}

// A found is an asset with the path of its folder, if known.
type found struct {
	assets.Asset
	folder string
}

// assetsIn yields the assets of a place, optionally with those in subfolders.
func assetsIn(ctx context.Context, c *assets.Client, at place, l listing) iter.Seq2[found, error] {
	return func(yield func(found, error) bool) {
		if !yieldAll(ctx, c, at, l, yield) || !l.deep {
			return
		}
		for below, err := range foldersBelow(ctx, c, at) {
			if err != nil {
				yield(found{}, err)
				return
			}
			if !yieldAll(ctx, c, below, l, yield) {
				return
			}
		}
	}
}

// yieldAll yields the assets directly in a place, and reports whether to continue.
func yieldAll(ctx context.Context, c *assets.Client, at place, l listing, yield func(found, error) bool) bool {
	o := assets.ListOptions{SortBy: sorts()[l.sort], Order: l.order(), PageSize: l.pageSize()}
	if o.FolderID = at.folder.ID; o.FolderID == "" {
		o.CategoryID = at.category.ID
		o.PageSize = usualPage // most of them may be in folders
	}
	n := 0
	for asset, err := range c.List(ctx, o) {
		if !yield(found{asset, at.path}, err) || err != nil {
			return false
		}
		if n++; n == l.limit && !(l.unordered && l.order() != "") {
			break
		}
	}
	return true
}

func newSearchCommand(f *command.Factory) *cobra.Command {
	var l listing
	var s assets.Search
	var in []string
	var since string
	c := &cobra.Command{
		Use:   "search PHRASE",
		Short: "Search names, tags, descriptions and custom attributes",
		Long: `Search finds assets in the workspace by the rules of the service. --since also
filters the results on this machine, because a service may ignore the date.
`,
		Args: cmdline.One("PHRASE"),
		RunE: look(f, func(ctx context.Context, _ *cobra.Command, args []string) (err error) {
			if err := l.check(); err != nil {
				return err
			}
			if since != "" {
				if s.UploadedFrom, err = time.ParseInLocation(time.DateOnly, since, time.Local); err != nil {
					return exit.Usage(fmt.Errorf("--since %q is not a date such as 2026-01-31", since), "")
				}
			}
			dest, err := f.OpenDestination(ctx, true) // the POST request is a search
			if err != nil {
				return err
			}
			for _, name := range in {
				at, err := findPlace(ctx, dest.Client, name)
				if err != nil {
					return err
				}
				if at.folder.ID != "" {
					return exit.Usage(fmt.Errorf("--in %s is a folder", name), "use a category")
				}
				s.Categories = append(s.Categories, at.category.ID)
			}
			s.Phrase, s.SortBy, s.Order = args[0], sorts()[l.sort], l.order()
			if s.UploadedFrom.IsZero() { // otherwise the total may include filtered assets
				s.PageSize = l.pageSize()
			}
			return showAll(f, withoutFolder(uploadedSince(s.UploadedFrom, dest.Client.Search(ctx, s))), l.limit)
		}),
	}
	l.addFlags(c)
	flags := c.Flags()
	flags.StringArrayVar(&in, "in", nil, "search only in this `category` (repeatable)")
	flags.StringArrayVar(&s.Extensions, "extension", nil, "search only assets with this `extension` (repeatable)")
	flags.StringArrayVar(&s.Tags, "tag", nil, "search only assets with this `tag` (repeatable)")
	flags.StringVar(&since, "since", "", "search only assets uploaded since this `date`, such as 2026-01-31")
	flags.BoolVar(&s.AI, "ai", false, "also find assets by meaning, if the service supports it")
	return c
}

// uploadedSince filters older assets, because the date filter of the service is not documented
// and may be ignored. Assets without a time are kept.
func uploadedSince(from time.Time, all iter.Seq2[assets.Asset, error]) iter.Seq2[assets.Asset, error] {
	return func(yield func(assets.Asset, error) bool) {
		for asset, err := range all {
			older := err == nil && !asset.UploadedAt.IsZero() && asset.UploadedAt.Before(from)
			if !older && !yield(asset, err) {
				return
			}
		}
	}
}

func newRecentCommand(f *command.Factory) *cobra.Command {
	var limit int
	c := &cobra.Command{
		Use:   "recent",
		Short: "List the recently used assets of a user (--user)",
		Args:  cobra.NoArgs,
		RunE: look(f, func(ctx context.Context, _ *cobra.Command, _ []string) error {
			if limit < 0 {
				return exit.Usage(errors.New("--limit must not be negative"), "omit the flag for no limit")
			}
			dest, err := f.OpenDestination(ctx, true)
			if err != nil {
				return err
			}
			return showAll(f, withoutFolder(dest.Client.Recent(ctx)), limit)
		}),
	}
	c.Flags().IntVar(&limit, "limit", 0, "show at most this `number` of assets")
	return c
}

func withoutFolder(all iter.Seq2[assets.Asset, error]) iter.Seq2[found, error] {
	return func(yield func(found, error) bool) {
		for asset, err := range all {
			if !yield(found{Asset: asset}, err) {
				return
			}
		}
	}
}

// showAll prints assets and their number.
func showAll(f *command.Factory, all iter.Seq2[found, error], limit int) error {
	n, bytes, err := showAssets(f, all, limit)
	if err == nil {
		f.Out.Notef("%s, %s", ui.Counted(n, "asset"), ui.Bytes(bytes))
	}
	return err
}

// showAssets prints assets while they arrive, so that there can be any number.
func showAssets(f *command.Factory, all iter.Seq2[found, error], limit int) (n, bytes int64, err error) {
	const layout = "%-12s  %9s  %-16s  %s"
	for hit, err := range all {
		if err != nil {
			return n, bytes, err
		}
		if n++; n == 1 {
			f.Out.Printf(layout, "ID", "Size", "Uploaded", "Name")
		}
		bytes += hit.Size
		name := hit.Filename()
		if hit.folder != "" {
			name = hit.folder + "/" + name
		}
		f.Out.Printf(layout, ui.Sanitize(hit.ID), ui.Bytes(hit.Size), ui.LocalTime(hit.UploadedAt), ui.Sanitize(name))
		f.Out.Event("asset", assetLine(hit.Asset, hit.folder))
		if limit > 0 && n >= int64(limit) {
			break
		}
	}
	return n, bytes, nil
}

func assetLine(a assets.Asset, folder string) event.Asset {
	m := a.Metadata
	l := event.Asset{
		ID: a.ID, Name: a.Filename(), Size: a.Size, MIMEType: a.MIMEType, CategoryID: a.CategoryID, FolderID: a.FolderID,
		UploadedAt: ui.UTC(a.UploadedAt), ModifiedAt: ui.UTC(a.LastModifiedAt), Tags: a.Tags, URL: a.URL, Description: m.Description,
		Attributes: m.CustomAttributes, Width: m.Width, Height: m.Height, Processing: string(m.Status),
	}
	if folder != "" {
		l.Path = folder + "/" + l.Name
	}
	return l
}

func newCategoriesCommand(f *command.Factory) *cobra.Command {
	return &cobra.Command{
		Use:   "categories",
		Short: "List the categories with their extensions",
		Args:  cobra.NoArgs,
		RunE: look(f, func(ctx context.Context, _ *cobra.Command, _ []string) error {
			dest, err := f.OpenDestination(ctx, true)
			if err != nil {
				return err
			}
			var rows [][]string
			for c, err := range dest.Client.Categories(ctx) {
				if err != nil {
					return err
				}
				name := c.Name
				if c.Private {
					name += " (private)"
				}
				rows = append(rows, []string{c.ID, ui.Count(int64(c.AssetsCount)), name, brief(c.Extensions)})
				f.Out.Event("category", event.Category{ID: c.ID, Name: c.Name, Extensions: c.Extensions, Assets: c.AssetsCount, Private: c.Private})
			}
			f.Out.Printf("%s", ui.Table([]ui.Column{{Title: "ID"}, {Title: "Assets", Right: true}, {Title: "Name"}, {Title: "Extensions"}}, rows))
			return nil
		}),
	}
}

// brief returns the first few of many words.
func brief(words []string) string {
	const some = 3
	if len(words) <= some {
		return strings.Join(words, " ")
	}
	return fmt.Sprintf("%s +%d", strings.Join(words[:some], " "), len(words)-some)
}

func newFoldersCommand(f *command.Factory) *cobra.Command {
	return &cobra.Command{
		Use:   "folders [PLACE]",
		Short: "Show the folders of all categories or below a place",
		Args:  cmdline.AtMostOne("PLACE"),
		RunE: look(f, func(ctx context.Context, _ *cobra.Command, args []string) error {
			dest, err := f.OpenDestination(ctx, true)
			if err != nil {
				return err
			}
			places, err := startingPlaces(ctx, dest.Client, args)
			if err != nil {
				return err
			}
			f.Out.Printf("%-36s  %8s  %s", "ID", "Assets", "Name")
			for _, at := range places {
				showFolder(f, at, 0)
				depth := strings.Count(at.path, "/")
				for below, err := range foldersBelow(ctx, dest.Client, at) {
					if err != nil {
						return err
					}
					showFolder(f, below, strings.Count(below.path, "/")-depth)
				}
			}
			return nil
		}),
	}
}

func startingPlaces(ctx context.Context, c *assets.Client, args []string) ([]place, error) {
	if len(args) > 0 {
		at, err := findPlace(ctx, c, args[0])
		return []place{at}, err
	}
	var all []place
	for category, err := range c.Categories(ctx) {
		if err != nil {
			return nil, err
		}
		all = append(all, place{category: category, path: category.Name})
	}
	return all, nil
}

// showFolder prints a folder, indented by its depth, or a category.
func showFolder(f *command.Factory, at place, depth int) {
	folders := at.folder
	indent := strings.Repeat("  ", depth)
	if folders.ID == "" {
		f.Out.Printf("%-36s  %8s  %s%s/", ui.Sanitize(at.category.ID), ui.Count(int64(at.category.AssetsCount)), indent, ui.Sanitize(at.category.Name))
		return
	}
	f.Out.Printf("%-36s  %8s  %s%s/", ui.Sanitize(folders.ID), ui.Count(int64(folders.AssetsCount)), indent, ui.Sanitize(folders.Name))
	f.Out.Event("folder", event.Folder{ID: folders.ID, Name: folders.Name, Path: at.path, CategoryID: folders.CategoryID, ParentID: folders.ParentID, Assets: folders.AssetsCount})
}
