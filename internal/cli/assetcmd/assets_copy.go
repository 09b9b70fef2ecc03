package assetcmd

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"net/http"
	"slices"

	"github.com/spf13/cobra"

	"assetferry/internal/assets"
	"assetferry/internal/cli/cmdline"
	"assetferry/internal/cli/command"
	"assetferry/internal/cli/exit"
	"assetferry/internal/event"
	"assetferry/internal/ui"
)

func newCopyCommand(f *command.Factory) *cobra.Command {
	var ch command.Change
	var into string
	var rename bool
	c := &cobra.Command{
		Use:   "copy ID...",
		Short: "Copy assets to a category or a folder",
		Long: `Copy makes the service copy assets to a category or a folder, with their names,
descriptions and tags. Put IDs that begin with a hyphen after --. The copies
have new IDs and URLs, which the service does not return. To see them, use
assetferry assets ls. Copies are not in the state database, so undo does not
affect them.

The command reports the result for each asset. The service refuses an asset if
the category does not allow its extension or the name is in use. With --rename,
a copy gets another name instead. After a lost answer, a copy may exist
(unconfirmed). Check this before you repeat the command, because it would create
another copy.

Before private content becomes public, the command asks for confirmation, unless
you give --yes.
`,
		Example: `  assetferry assets search harbour --extension jpg --limit 1 > found.jsonl
  ID=$(sed -E 's/.*"id":"([^"]+)".*/\1/' found.jsonl)
  assetferry assets copy --into Images --dry-run -- "$ID"
  assetferry assets copy --into Images --rename -- "$ID"`,
		Args: cmdline.AtLeastOne("ID"),
		RunE: look(f, func(ctx context.Context, _ *cobra.Command, args []string) error {
			if into == "" {
				return exit.Usage(errors.New("--into is missing"), "list the places:\n  assetferry assets folders")
			}
			if twice := repeated(args); twice != "" {
				return exit.Usage(fmt.Errorf("the asset %s is given twice", twice), "each command makes one copy of an asset")
			}
			return copyAssets(ctx, f, args, into, rename, ch)
		}),
	}
	flags := c.Flags()
	flags.StringVar(&into, "into", "", "copy to this `place`, such as Images/2024, or its ID")
	flags.BoolVar(&rename, "rename", false, "give a copy another name if the name is in use")
	ch.AddFlags(c)
	ch.AddYes(c, "copy private content to a public category without confirmation")
	return c
}

// repeated returns the first ID that occurs twice, or "".
func repeated(ids []string) string {
	for i, id := range ids {
		if slices.Contains(ids[:i], id) {
			return id
		}
	}
	return ""
}

// A copied is the result of copying an asset.
type copied struct {
	id, name, state string
	err             error
}

func copyAssets(ctx context.Context, f *command.Factory, ids []string, into string, rename bool, ch command.Change) error {
	dest, err := openToChange(ctx, f, ch)
	if err != nil {
		return err
	}
	to, err := findPlace(ctx, dest.Client, into)
	if err != nil {
		return err
	}
	all, found, err := assetsToCopy(ctx, dest.Client, ids, ch)
	if err != nil {
		return err
	}
	if err := agreeToPublish(ctx, f, dest, found, to, ch); err != nil {
		return err
	}
	if !ch.DryRun {
		err = copyInto(ctx, dest.Client, all, to, rename)
	} else {
		foresee(all, found, to)
	}
	return showCopied(f, all, to, ch, err)
}

// assetsToCopy reads the assets. Missing assets are failures.
func assetsToCopy(ctx context.Context, c *assets.Client, ids []string, ch command.Change) (all []copied, found map[string]assets.Asset, err error) {
	found = map[string]assets.Asset{}
	for _, id := range ids {
		asset, err := c.Asset(ctx, id)
		switch {
		case errors.Is(err, fs.ErrNotExist):
			all = append(all, copied{id, "", "failed", errors.New("asset not found; assets in the trash cannot be copied")})
		case err != nil:
			return nil, nil, err
		default:
			all = append(all, copied{id, asset.Filename(), ch.State(), nil})
			found[id] = asset
		}
	}
	return all, found, nil
}

// agreeToPublish asks for confirmation before private content becomes public.
func agreeToPublish(ctx context.Context, f *command.Factory, dest *command.Destination, found map[string]assets.Asset, to place, ch command.Change) error {
	if to.category.Private {
		return nil
	}
	private := map[string]bool{}
	var n int64
	for _, asset := range found {
		id := asset.CategoryID
		if _, known := private[id]; !known {
			category, err := dest.Client.Category(ctx, id)
			if err != nil {
				return err
			}
			private[id] = category.Private
		}
		if private[id] {
			n++
		}
	}
	if n == 0 {
		return nil
	}
	f.Out.Notef("Private content that becomes public: %s. The category %s is public.", ui.Counted(n, "asset"), to.category.Name)
	question := fmt.Sprintf("Make public copies of %s at %s?", ui.Counted(n, "private asset"), ui.Sanitize(dest.String()))
	return f.Agree(ctx, ch, question, "not confirmed: nothing was copied")
}

// foresee finds the copies that the service will refuse for a known reason.
func foresee(all []copied, found map[string]assets.Asset, to place) {
	for i, c := range all {
		asset, ok := found[c.id]
		if ok && !containsFolded(to.category.Extensions, asset.Extension) {
			all[i].state, all[i].err = "failed", refusedExtension(asset.Extension, to)
		}
	}
}

func refusedExtension(extension string, to place) error {
	return fmt.Errorf("the category %s does not allow the extension %q", to.category.Name, extension)
}

// copyBatch is the number of copies per request. After a lost answer, all of them are
// unconfirmed.
const copyBatch = 50

// copyInto copies the existing assets and records each result. The error ended it early.
func copyInto(ctx context.Context, c *assets.Client, all []copied, to place, rename bool) (err error) {
	target := assets.Target{CategoryID: to.category.ID, FolderID: to.folder.ID}
	for batch := range slices.Chunk(all, copyBatch) {
		if err != nil {
			fail(batch, fmt.Errorf("not sent after an earlier error: %w", err))
			continue
		}
		if transfers := transfersOf(batch, rename); len(transfers) > 0 {
			err = note(batch, c.Copy(ctx, target, transfers...))
		}
	}
	return err
}

func transfersOf(batch []copied, rename bool) (transfers []assets.Transfer) {
	action := assets.Action("")
	if rename {
		action = assets.RenameIt
	}
	for _, one := range batch {
		if one.err == nil {
			transfers = append(transfers, assets.Transfer{AssetID: one.id, IfTaken: action})
		}
	}
	return transfers
}

// note records the results of a request. It returns the error that ends the command.
func note(batch []copied, err error) error {
	failed, ok := errors.AsType[*assets.BulkError](err)
	if !ok {
		return err
	}
	for i, one := range batch {
		if status, refused := failed.Failed[one.id]; refused {
			batch[i].state, batch[i].err = "failed", refusedCopy(status, failed.Refusal(one.id))
		}
	}
	switch {
	case errors.Is(failed.Err, assets.ErrUnconfirmed):
		for i, one := range batch {
			if one.err == nil {
				batch[i].state, batch[i].err = "unconfirmed", failed.Err
			}
		}
	case failed.Err != nil:
		fail(batch, failed.Err)
	}
	return failed.Err
}

// fail marks all other assets of a batch as failed.
func fail(batch []copied, err error) {
	for i, one := range batch {
		if one.err == nil {
			batch[i].state, batch[i].err = "failed", err
		}
	}
}

// refusedCopy explains the status of an asset. Only 400 and 404 are documented.
func refusedCopy(status int, refusal error) error {
	switch status {
	case http.StatusBadRequest:
		return errors.New("the category does not allow its extension (400)")
	case http.StatusNotFound:
		return errors.New("the asset does not exist any more (404)")
	case http.StatusConflict:
		return errors.New("the name is in use (409); use --rename for another name")
	}
	return refusal
}

// showCopied prints the result for each asset. The error ended the copying early, if any.
func showCopied(f *command.Factory, all []copied, to place, ch command.Change, err error) error {
	var done, bad, open int64
	var rows [][]string
	for _, c := range all {
		line := event.Item{Key: c.name, Action: "copy", State: c.state, AssetID: c.id}
		why := ""
		if c.err != nil {
			why = c.err.Error()
			line.Error = why
		}
		switch c.state {
		case "failed":
			bad++
		case "unconfirmed":
			open++
		default:
			done++
		}
		rows = append(rows, []string{c.id, c.state, c.name, why})
		f.Out.Event("item", line)
	}
	f.Out.Printf("%s", ui.Table([]ui.Column{{Title: "ID"}, {Title: "State"}, {Title: "Name"}, {Title: "Why"}}, rows))
	f.Out.Notef("%s %s %s, %s failed, %s unconfirmed", ui.Counted(done, "asset"), ch.Verb("copied to", "would be copied to"), to.path, ui.Count(bad), ui.Count(open))
	f.NoteDryRun(ch)
	return copyOutcome(bad, open, to, err)
}

// copyOutcome returns the error of the command.
func copyOutcome(bad, open int64, to place, err error) error {
	switch {
	case open > 0:
		code := exit.CodeItems
		if exit.FailureOf(err).Code == exit.CodeInterrupted {
			code = exit.CodeInterrupted
		}
		return exit.With(code, fmt.Errorf("%s in %s could not be confirmed", ui.CountedAs(open, "copy", "copies"), to.path),
			"list the latest uploads there:\n  "+cmdline.Line("assets", []string{"--sort", "uploaded", "--desc"}, "ls", placeArgument(to)))
	case err != nil:
		return err
	case bad > 0:
		return exit.Said(exit.CodeItems)
	}
	return nil
}

// placeArgument returns an argument for the place.
func placeArgument(at place) string {
	if at.folder.ID != "" {
		return at.folder.ID
	}
	return at.category.ID
}
