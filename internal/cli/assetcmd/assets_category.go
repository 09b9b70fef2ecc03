package assetcmd

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"assetferry/internal/assets"
	"assetferry/internal/cli/cmdline"
	"assetferry/internal/cli/command"
	"assetferry/internal/cli/exit"
	"assetferry/internal/event"
	"assetferry/internal/ui"
)

func newCategoryCommand(f *command.Factory) *cobra.Command {
	c := &cobra.Command{
		Use:   "category",
		Short: "Add file extensions to a category",
		Long: `There is one change: to let a category take further extensions. No command takes
one away from a category or deletes a category, because the service then deletes
the files in it for good.
`,
	}
	c.AddCommand(newAddExtensionCommand(f))
	return c
}

func newAddExtensionCommand(f *command.Factory) *cobra.Command {
	var ch command.Change
	c := &cobra.Command{
		Use:   "add-extension CATEGORY EXTENSION...",
		Short: "Add file extensions to a category",
		Long: `Add-extension adds extensions to a category and never removes one. CATEGORY is a
name or an ID. Upper and lower case count as equal. It needs an admin token.

The service takes only complete lists, and deletes the assets of a missing
extension for good. So the command reads the list again just before, and sends
nothing if the category changed meanwhile. It sends the request only once. Do
not edit the category by other means at the same time.
`,
		Example: `  assetferry assets category add-extension Images jxl --dry-run
  assetferry assets category add-extension Images jxl`,
		Args: cmdline.OneAndMore("CATEGORY", "EXTENSION"),
		RunE: look(f, func(ctx context.Context, _ *cobra.Command, args []string) error {
			extensions, err := extensionsFrom(args[1:])
			if err != nil {
				return err
			}
			dest, err := openToChange(ctx, f, ch)
			if err != nil {
				return err
			}
			at, err := findPlace(ctx, dest.Client, args[0])
			if err != nil {
				return err
			}
			if at.folder.ID != "" {
				return exit.Usage(fmt.Errorf("%s is a folder", args[0]), "name the category that it is in: what it takes holds for all of its folders")
			}
			return addExtensions(ctx, f, dest.Client, at.category.ID, extensions, ch)
		}),
	}
	ch.AddFlags(c)
	return c
}

// extensionsFrom reads extensions, each once, with or without the dot in front.
func extensionsFrom(args []string) (all []string, err error) {
	for _, arg := range args {
		e := strings.TrimPrefix(arg, ".")
		if e == "" || strings.ContainsAny(e, "./\\,;* \t\n") {
			return nil, exit.Usage(fmt.Errorf("EXTENSION %q is not an extension such as jpg", arg), "separate several by spaces")
		}
		if !containsFolded(all, e) {
			all = append(all, e)
		}
	}
	return all, nil
}

func containsFolded(all []string, e string) bool {
	return slices.ContainsFunc(all, func(other string) bool { return strings.EqualFold(other, e) })
}

func addExtensions(ctx context.Context, f *command.Factory, c *assets.Client, id string, extensions []string, ch command.Change) error {
	was, err := c.CategoryInUse(ctx, id)
	if err != nil {
		return err
	}
	added := slices.DeleteFunc(extensions, func(e string) bool { return containsFolded(was.Extensions, e) })
	line := event.Category{ID: was.ID, Name: was.Name, Extensions: slices.Concat(was.Extensions, added), Assets: was.AssetsCount, Private: was.Private, Added: added}
	if len(added) == 0 {
		line.State = "unchanged"
		f.Out.Printf("The category %s takes all of them already.", ui.Sanitize(was.Name))
		f.Out.Event("category", line)
		return nil
	}
	if !ch.DryRun {
		if _, err := c.AddExtensions(ctx, was, added...); err != nil {
			return addingError(err, was)
		}
	}
	line.State = ch.State()
	f.Out.Printf("The category %s %s %s, beside %s.", ui.Sanitize(was.Name), ch.Verb("now takes", "would take"), ui.Sanitize(strings.Join(added, " ")),
		ui.Counted(int64(len(was.Extensions)), "extension"))
	f.Out.Event("category", line)
	f.NoteDryRun(ch)
	return nil
}

// addingError says what to do about extensions that were not added.
func addingError(err error, c assets.Category) error {
	if _, ok := errors.AsType[*assets.ChangedError](err); ok {
		return exit.With(exit.CodeError, err, "look at it with assetferry assets categories, then run the same command again")
	}
	if used, ok := errors.AsType[*assets.InUseError](err); ok {
		return exit.With(exit.CodeSafetyCheck, fmt.Errorf("category %s has files of extensions that it does not take, which would be deleted for good: %s; nothing was sent", c.Name, strings.Join(used.Extensions, ", ")),
			"add these extensions in the same call")
	}
	if errors.Is(err, assets.ErrUnconfirmed) {
		return exit.With(exit.CodeItems, err, "run the same command again: it looks first, and adds what is missing")
	}
	return err
}
