package assetcmd

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"golang.org/x/text/unicode/norm"

	"assetferry/internal/assets"
	"assetferry/internal/cli/cmdline"
	"assetferry/internal/cli/command"
	"assetferry/internal/cli/exit"
	"assetferry/internal/event"
	"assetferry/internal/ui"
)

func newFolderCommand(f *command.Factory) *cobra.Command {
	c := &cobra.Command{
		Use:   "folder",
		Short: "Rename a folder or delete an empty folder",
		Long: `These commands change a folder at the destination. To list the folders, use
assetferry assets folders.
`,
	}
	c.AddCommand(newFolderRenameCommand(f), newFolderDeleteCommand(f))
	return c
}

func newFolderRenameCommand(f *command.Factory) *cobra.Command {
	var ch command.Change
	c := &cobra.Command{
		Use:   "rename FOLDER NAME",
		Short: "Rename a folder",
		Long: `Rename changes the name of a folder, but not its place or its content. FOLDER is
a path such as Images/2024/spring, or an ID. A name in use in the same place is
refused.

Later runs find the folder by its ID in the state database. Without a state
database, a run finds folders by name. It would create a folder with the old
name and upload its files again.
`,
		Example: `  assetferry assets folder rename Images/2024 2024-archive --dry-run
  assetferry assets folder rename Images/2024 2024-archive`,
		Args: cmdline.Both("FOLDER", "NAME"),
		RunE: look(f, func(ctx context.Context, _ *cobra.Command, args []string) error {
			if slices.Contains([]string{"", ".", ".."}, args[1]) || strings.Contains(args[1], "/") {
				return exit.Usage(fmt.Errorf("NAME %q is not valid: it is empty, has only dots, or contains a slash", args[1]), "rename does not move a folder")
			}
			dest, at, err := folderToChange(ctx, f, args[0], ch)
			if err != nil {
				return err
			}
			return renameFolder(ctx, f, dest.Client, at, args[1], ch)
		}),
	}
	ch.AddFlags(c)
	return c
}

// folderToChange opens the destination and returns the folder.
func folderToChange(ctx context.Context, f *command.Factory, text string, ch command.Change) (*command.Destination, place, error) {
	dest, err := openToChange(ctx, f, ch)
	if err != nil {
		return nil, place{}, err
	}
	at, err := findPlace(ctx, dest.Client, text)
	if err == nil && at.folder.ID == "" {
		err = exit.Usage(fmt.Errorf("%s is a category, not a folder", text), "list the folders:\n  assetferry assets folders")
	}
	return dest, at, err
}

func renameFolder(ctx context.Context, f *command.Factory, c *assets.Client, at place, name string, ch command.Change) error {
	was := at.folder.Name
	at.path = strings.TrimSuffix(at.path, was) + name
	line := folderLine(at)
	line.Name = name
	if name == was {
		line.State = "unchanged"
		f.Out.Printf("The folder already has the name %q.", ui.Sanitize(name))
		f.Out.Event("folder", line)
		return nil
	}
	taken, err := siblingCalled(ctx, c, at.folder, name)
	if err != nil {
		return err
	}
	if taken.ID != "" {
		return exit.With(exit.CodeError, fmt.Errorf("there is already a folder %q in the same place: %s", name, taken.ID), "choose another name: two folders cannot have the same name")
	}
	if !ch.DryRun {
		if err := c.RenameFolder(ctx, at.folder.ID, name); err != nil {
			return err
		}
	}
	line.PreviousName, line.State = was, ch.State()
	f.Out.Printf("The folder %q %s %q.", ui.Sanitize(was), ch.Verb("is now named", "would be named"), ui.Sanitize(name))
	f.Out.Event("folder", line)
	f.NoteDryRun(ch)
	return nil
}

// siblingCalled returns another folder with the name in the same place, or one without an ID.
func siblingCalled(ctx context.Context, c *assets.Client, f assets.Folder, name string) (assets.Folder, error) {
	var beside []assets.Folder
	var err error
	if f.ParentID == "" {
		beside, err = c.Folders(ctx)
		beside = slices.DeleteFunc(beside, func(other assets.Folder) bool { return other.CategoryID != f.CategoryID })
	} else {
		var parent assets.Folder
		parent, err = c.Folder(ctx, f.ParentID, 1)
		beside = parent.Folders
	}
	i := slices.IndexFunc(beside, func(other assets.Folder) bool {
		return other.ID != f.ID && norm.NFC.String(other.Name) == norm.NFC.String(name)
	})
	if err != nil || i < 0 {
		return assets.Folder{}, err
	}
	return beside[i], nil
}

func newFolderDeleteCommand(f *command.Factory) *cobra.Command {
	var ch command.Change
	c := &cobra.Command{
		Use:   "delete FOLDER",
		Short: "Delete an empty folder",
		Long: `Delete deletes a folder without assets or subfolders. It refuses other folders
(exit code 6). FOLDER is a path such as Images/2024/spring, or an ID. The
command asks for confirmation, unless you give --yes.

The service cannot lock a folder. If a user adds content between the check and
the deletion, the content moves one level up. Delete ignores assets in the
trash. The service decides where it restores them.
`,
		Example: `  assetferry assets folder delete Images/2024/spring -n || [ $? -eq 6 ]
  assetferry assets folder delete Images/2024/spring --yes || [ $? -eq 6 ]`,
		Args: cmdline.One("FOLDER"),
		RunE: look(f, func(ctx context.Context, _ *cobra.Command, args []string) error {
			if err := f.CanAnswer(ch); err != nil {
				return err
			}
			dest, at, err := folderToChange(ctx, f, args[0], ch)
			if err != nil {
				return err
			}
			return deleteFolder(ctx, f, dest, at, ch)
		}),
	}
	ch.AddFlags(c)
	ch.AddYes(c, "delete without confirmation")
	return c
}

func deleteFolder(ctx context.Context, f *command.Factory, dest *command.Destination, at place, ch command.Change) error {
	if err := checkEmpty(ctx, dest.Client, at); err != nil {
		return err
	}
	path := ui.Sanitize(at.path)
	question := fmt.Sprintf("Delete the empty folder %s at %s?", path, ui.Sanitize(dest.String()))
	if err := f.Agree(ctx, ch, question, "not confirmed: the folder %s was not deleted", path); err != nil {
		return err
	}
	if !ch.DryRun {
		if err := deleteEmpty(ctx, dest.Client, at, ch); err != nil {
			return err
		}
	}
	line := folderLine(at)
	line.State = ch.State()
	f.Out.Printf("The folder %s %s.", path, ch.Verb("was deleted", "would be deleted"))
	f.Out.Event("folder", line)
	f.NoteDryRun(ch)
	return nil
}

// deleteEmpty deletes a folder. After a confirmation, which can take long, it checks again
// first.
func deleteEmpty(ctx context.Context, c *assets.Client, at place, ch command.Change) error {
	if !ch.Yes {
		if err := checkEmpty(ctx, c, at); err != nil {
			return err
		}
	}
	if err := c.DeleteFolder(ctx, at.folder.ID); !errors.Is(err, fs.ErrNotExist) { // otherwise the folder is already deleted, possibly by a request with a lost answer
		return err
	}
	return nil
}

// checkEmpty checks that a folder is empty in all lists of the service, because it is not
// documented which lists include subfolders.
func checkEmpty(ctx context.Context, c *assets.Client, at place) error {
	now, err := c.Folder(ctx, at.folder.ID, 1)
	if err != nil {
		return err
	}
	all, err := c.FoldersAsListed(ctx)
	if err != nil {
		return err
	}
	inside := slices.ContainsFunc(all, func(f assets.Folder) bool { return f.ParentID == at.folder.ID })
	if inside || len(now.Folders) > 0 {
		return notEmpty(at, "folders")
	}
	if now.AssetsCount > 0 {
		return notEmpty(at, "assets")
	}
	for _, err := range c.List(ctx, assets.ListOptions{FolderID: at.folder.ID, PageSize: 1, AsListed: true}) {
		if err != nil {
			return err
		}
		return notEmpty(at, "assets")
	}
	return nil
}

func notEmpty(at place, what string) error {
	return exit.With(exit.CodeSafetyCheck, fmt.Errorf("the folder %[2]s was not deleted: it contains %[1]s", what, at.path),
		"list its assets:\n  "+cmdline.Line("assets", []string{"--recursive"}, "ls", at.folder.ID))
}

func folderLine(at place) event.Folder {
	f := at.folder
	return event.Folder{ID: f.ID, Name: f.Name, Path: at.path, CategoryID: f.CategoryID, ParentID: f.ParentID, Assets: f.AssetsCount}
}
