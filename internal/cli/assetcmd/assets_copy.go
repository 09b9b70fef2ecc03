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
		Long: `Copy copies assets to a category or a folder, with names, descriptions and tags.
The service does not report the new IDs and URLs: use assetferry assets ls. The
state database does not know the copies, so undo never touches them. An ID that
begins with a dash goes after two dashes.

Each asset has its own result. The service refuses an extension that the
category does not accept, and a name that exists; --rename chooses another name.
If no answer came (unconfirmed), check the place before you run the command again,
because that could make a second copy.

Copying private content to a public category needs an answer or --yes.
`,
		Example: `  assetferry assets search harbour --extension jpg --limit 1 > found.jsonl
  ID=$(sed -E 's/.*"id":"([^"]+)".*/\1/' found.jsonl)
  assetferry assets copy --into Images --dry-run -- "$ID"
  assetferry assets copy --into Images --rename -- "$ID"`,
		Args: cmdline.AtLeastOne("ID"),
		RunE: look(f, func(ctx context.Context, _ *cobra.Command, args []string) error {
			if into == "" {
				return exit.Usage(errors.New("--into is missing"), "assetferry assets folders shows the places that there are")
			}
			if twice := repeated(args); twice != "" {
				return exit.Usage(fmt.Errorf("the asset %s is given twice", twice), "each call makes one copy of an asset")
			}
			return copyAssets(ctx, f, args, into, rename, ch)
		}),
	}
	flags := c.Flags()
	flags.StringVar(&into, "into", "", "copy to this `place`, such as Images/2024 or an ID")
	flags.BoolVar(&rename, "rename", false, "choose another name if the name exists")
	ch.AddFlags(c)
	ch.AddYes(c, "copy private content to a public category without a question")
	return c
}

// repeated is the first of some IDs that comes again; empty if none does.
func repeated(ids []string) string {
	for i, id := range ids {
		if slices.Contains(ids[:i], id) {
			return id
		}
	}
	return ""
}

// A copied is what becomes of copying one asset.
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

// assetsToCopy reads the assets. Those that are not there have failed already.
func assetsToCopy(ctx context.Context, c *assets.Client, ids []string, ch command.Change) (all []copied, found map[string]assets.Asset, err error) {
	found = map[string]assets.Asset{}
	for _, id := range ids {
		asset, err := c.Asset(ctx, id)
		switch {
		case errors.Is(err, fs.ErrNotExist):
			all = append(all, copied{id, "", "failed", errors.New("there is no such asset; what is in the trash cannot be copied")})
		case err != nil:
			return nil, nil, err
		default:
			all = append(all, copied{id, asset.Filename(), ch.State(), nil})
			found[id] = asset
		}
	}
	return all, found, nil
}

// agreeToPublish asks before private content gets a URL that everybody can open.
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
	return f.Agree(ctx, ch, question, "not confirmed, so nothing was copied")
}

// foresee says which copies the service is going to refuse, as far as that is known.
func foresee(all []copied, found map[string]assets.Asset, to place) {
	for i, c := range all {
		asset, ok := found[c.id]
		if ok && !containsFolded(to.category.Extensions, asset.Extension) {
			all[i].state, all[i].err = "failed", refusedExtension(asset.Extension, to)
		}
	}
}

func refusedExtension(extension string, to place) error {
	return fmt.Errorf("the category %s does not take the extension %q", to.category.Name, extension)
}

// copyBatch is how many copies a request asks for: of so many nothing is known where it gets
// no answer.
const copyBatch = 50

// copyInto copies the assets that are there and notes what became of each. The error is what
// ended it early.
func copyInto(ctx context.Context, c *assets.Client, all []copied, to place, rename bool) (err error) {
	target := assets.Target{CategoryID: to.category.ID, FolderID: to.folder.ID}
	for batch := range slices.Chunk(all, copyBatch) {
		if err != nil {
			fail(batch, fmt.Errorf("not sent, since copying ended early: %w", err))
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

// note notes what became of the assets of a request; the error is the one that ends it.
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

// fail fails what has not failed already.
func fail(batch []copied, err error) {
	for i, one := range batch {
		if one.err == nil {
			batch[i].state, batch[i].err = "failed", err
		}
	}
}

// refusedCopy says what the number means that the service gives for an asset. Only the
// meanings of 400 and 404 are known.
func refusedCopy(status int, refusal error) error {
	switch status {
	case http.StatusBadRequest:
		return errors.New("the category does not take its extension (400)")
	case http.StatusNotFound:
		return errors.New("there is no such asset any more (404)")
	case http.StatusConflict:
		return errors.New("an asset has its name there already (409); --rename gives it another one")
	}
	return refusal
}

// showCopied shows what became of each asset. Where the copying ended early, the error says
// how.
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
	f.Out.Notef("%s %s %s, %s failed, %s in doubt", ui.Counted(done, "asset"), ch.Verb("copied into", "would be copied into"), to.path, ui.Count(bad), ui.Count(open))
	f.NoteDryRun(ch)
	return copyOutcome(bad, open, to, err)
}

// copyOutcome is how the command ends.
func copyOutcome(bad, open int64, to place, err error) error {
	switch {
	case open > 0:
		code := exit.CodeItems
		if exit.FailureOf(err).Code == exit.CodeInterrupted {
			code = exit.CodeInterrupted
		}
		return exit.With(code, fmt.Errorf("whether %s arrived in %s is not known", ui.CountedAs(open, "copy", "copies"), to.path),
			cmdline.Line("assets", []string{"--sort", "uploaded", "--desc"}, "ls", placeArgument(to)))
	case err != nil:
		return err
	case bad > 0:
		return exit.Said(exit.CodeItems)
	}
	return nil
}

// placeArgument is what finds a place again.
func placeArgument(at place) string {
	if at.folder.ID != "" {
		return at.folder.ID
	}
	return at.category.ID
}
