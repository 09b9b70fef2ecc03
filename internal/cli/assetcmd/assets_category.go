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
		Short: "Change a category",
		Long: `Add-extension allows more extensions in a category. No command in this group
removes extensions or deletes categories, because the service would permanently
delete the files in them.
`,
	}
	c.AddCommand(newAddExtensionCommand(f))
	return c
}

func newAddExtensionCommand(f *command.Factory) *cobra.Command {
	var ch command.Change
	c := &cobra.Command{
		Use:   "add-extension CATEGORY EXTENSION...",
		Short: "Allow more extensions in a category",
		Long: `Add-extension adds allowed extensions to a category and never removes one.
CATEGORY is a name or an ID. The case of extensions does not matter. The command
needs an admin token.

The service replaces all extensions at once, and permanently deletes files whose
extension is missing. The command therefore reads the extensions immediately
before the change. If another user changed the category, nothing is sent. The
request is sent only once. Do not change the category in other ways at the same
time: a change between the reading and the request is overwritten.
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
				return exit.Usage(fmt.Errorf("%s is a folder", args[0]), "use its category: the extensions apply to all of its folders")
			}
			return addExtensions(ctx, f, dest.Client, at.category.ID, extensions, ch)
		}),
	}
	ch.AddFlags(c)
	return c
}

// extensionsFrom parses extensions with or without a dot, and removes duplicates.
func extensionsFrom(args []string) (all []string, err error) {
	for _, arg := range args {
		e := strings.TrimPrefix(arg, ".")
		if e == "" || strings.ContainsAny(e, "./\\,;* \t\n") {
			return nil, exit.Usage(fmt.Errorf("EXTENSION %q is not an extension such as jpg", arg), "separate extensions by spaces")
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
		f.Out.Printf("The category %s already allows all of these extensions.", ui.Sanitize(was.Name))
		f.Out.Event("category", line)
		return nil
	}
	if !ch.DryRun {
		if _, err := c.AddExtensions(ctx, was, added...); err != nil {
			return addingError(err, was)
		}
	}
	line.State = ch.State()
	f.Out.Printf("The category %s %s %s, in addition to %s.", ui.Sanitize(was.Name), ch.Verb("now allows", "would allow"), ui.Sanitize(strings.Join(added, " ")),
		ui.Counted(int64(len(was.Extensions)), "extension"))
	f.Out.Event("category", line)
	f.NoteDryRun(ch)
	return nil
}

// addingError adds a hint for extensions that were not added.
func addingError(err error, c assets.Category) error {
	if _, ok := errors.AsType[*assets.ChangedError](err); ok {
		return exit.With(exit.CodeError, err, "check the category, then repeat the command:\n  assetferry assets categories")
	}
	if used, ok := errors.AsType[*assets.InUseError](err); ok {
		return exit.With(exit.CodeSafetyCheck, fmt.Errorf("the category %s has files with extensions that it does not allow, which would be deleted permanently: %s; nothing was sent", c.Name, strings.Join(used.Extensions, ", ")),
			"add these extensions in the same command")
	}
	if errors.Is(err, assets.ErrUnconfirmed) {
		return exit.With(exit.CodeItems, err, "repeat the command: it checks first, and adds missing extensions")
	}
	return err
}
