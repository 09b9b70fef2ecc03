package cli

import (
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"github.com/spf13/cobra"

	"assetferry/internal/assets"
	"assetferry/internal/event"
	"assetferry/internal/export"
	"assetferry/internal/ui"
)

func (a *app) assetsGetCommand() *cobra.Command {
	var to target
	c := &cobra.Command{
		Use:   "get ID",
		Short: "Show everything known of an asset, or download it with -o",
		Long: `Get shows what is known of an asset. With -o it downloads the content to a file,
or into a folder under the asset's name; - is stdout. In that name, %XX stands
for characters that a file system does not accept, and for a dot or a dash at
its start. The file is written completely or not at all. An existing file is
overwritten only with --force. An ID that begins
with a dash goes behind two: assetferry assets get -- -NxTs6sfrd3a
`,
		Args: one("ID"),
		RunE: a.look(func(ctx context.Context, cmd *cobra.Command, args []string) error {
			dest, err := a.openDestination(ctx, true)
			if err != nil {
				return err
			}
			asset, err := findAsset(ctx, dest.client, args[0])
			if err != nil {
				return err
			}
			if to.file == "" {
				a.showAsset(asset)
				return nil
			}
			body, size, err := dest.client.Download(ctx, asset.URL, 0)
			if err != nil {
				return err
			}
			if size < 0 {
				size = asset.Size
			}
			_, err = a.save(body, size, asset.Filename(), to, asset)
			return err
		}),
	}
	to.addFlags(c)
	return c
}

func findAsset(ctx context.Context, c *assets.Client, id string) (assets.Asset, error) {
	asset, err := c.Asset(ctx, id)
	if errors.Is(err, fs.ErrNotExist) {
		return asset, with(exitError, err, "assetferry assets ls PLACE lists assets with their IDs; what is in the trash is not there")
	}
	return asset, err
}

// showAsset shows all that is known of an asset.
func (a *app) showAsset(asset assets.Asset) {
	m := asset.Metadata
	facts := []event.Fact{
		{Name: "ID", Value: asset.ID}, {Name: "name", Value: asset.Filename()}, {Name: "size", Value: ui.Bytes(asset.Size) + " (" + ui.Count(asset.Size) + " bytes)"},
		{Name: "type", Value: asset.MIMEType}, {Name: "category", Value: asset.CategoryID}, {Name: "folder", Value: asset.FolderID},
		{Name: "uploaded", Value: localTime(asset.UploadedAt)}, {Name: "modified", Value: localTime(asset.LastModifiedAt)},
		{Name: "tags", Value: strings.Join(asset.Tags, ", ")}, {Name: "description", Value: m.Description},
	}
	if m.Width > 0 {
		facts = append(facts, event.Fact{Name: "pixels", Value: fmt.Sprintf("%d x %d", m.Width, m.Height)})
	}
	if len(m.CustomAttributes) > 0 {
		text, err := json.Marshal(m.CustomAttributes)
		if err == nil { // it came as JSON
			facts = append(facts, event.Fact{Name: "attributes", Value: string(text)})
		}
	}
	facts = append(facts, event.Fact{Name: "processing", Value: string(m.Status)}, event.Fact{Name: "address", Value: asset.URL})
	var known []event.Fact
	for _, f := range facts {
		if f.Value != "" {
			known = append(known, f)
		}
	}
	a.out.Printf("%s", ui.Facts(known))
	a.out.Event("asset", assetLine(asset, ""))
}

// A target is where a download goes.
type target struct {
	file  string
	force bool
}

func (t *target) addFlags(c *cobra.Command) {
	c.Flags().StringVarP(&t.file, "output", "o", "", "write the content to this `file` or into this folder; - is stdout")
	c.Flags().BoolVar(&t.force, "force", false, "overwrite the file if it is there")
}

// toStdout reports whether a command writes content to stdout.
func toStdout(cmd *cobra.Command) bool {
	f := cmd.Flags().Lookup("output")
	return f != nil && f.Value.String() == "-"
}

// save writes content where it is to go, tells so, and gives the path of the file; there
// is none for stdout.
func (a *app) save(body io.ReadCloser, size int64, name string, to target, asset assets.Asset) (path string, err error) {
	defer func() { err = errors.Join(err, body.Close()) }()
	if to.file == "-" {
		if a.out.JSON() {
			return "", usage(errors.New("--json and -o - both want stdout"), "name a file with -o")
		}
		return "", fill(a.stdout, body, size)
	}
	path = to.file
	if info, err := os.Stat(path); err == nil && info.IsDir() {
		path = filepath.Join(path, export.FileName(name))
	}
	if err := writeNew(path, to.force, func(w io.Writer) error { return fill(w, body, size) }); err != nil {
		return "", err
	}
	a.out.Event("asset", assetLine(asset, ""))
	if info, err := os.Stat(path); err == nil {
		a.out.Notef("Wrote %s, %s", ui.Sanitize(path), ui.Bytes(info.Size()))
	}
	return path, nil
}

// fill copies all of a body, whose size may not be known.
func fill(w io.Writer, body io.Reader, size int64) error {
	n, err := io.Copy(w, body)
	if err == nil && size >= 0 && n != size {
		err = fmt.Errorf("download: %d bytes came, and %d were announced", n, size)
	}
	return err
}

// writeNew writes a file that is there as a whole or not at all. Unless it is forced,
// one that is there already stays what it is.
func writeNew(path string, force bool, write func(io.Writer) error) (err error) {
	taken := with(exitError, fmt.Errorf("%s is there already", path), "name another file, or overwrite it with --force")
	if _, err := os.Lstat(path); err == nil && !force {
		return taken // before anything is downloaded for nothing
	}
	if err := hasFolder(path); err != nil {
		return err
	}
	name := filepath.Join(filepath.Dir(path), draftName(path))
	draft, err := os.OpenFile(name, os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o666)
	if err != nil {
		return err
	}
	defer func() {
		if rerr := os.Remove(draft.Name()); !errors.Is(rerr, fs.ErrNotExist) { // renamed
			err = errors.Join(err, rerr)
		}
	}()
	err = write(draft)
	if err == nil {
		err = draft.Sync()
	}
	if err = errors.Join(err, draft.Close()); err != nil {
		return err
	}
	if force {
		return os.Rename(draft.Name(), path)
	}
	// A link, unlike a rename, never replaces what somebody else has put there.
	err = os.Link(draft.Name(), path)
	if errors.Is(err, fs.ErrExist) {
		return taken
	}
	if err != nil { // some file systems have none
		if _, err := os.Lstat(path); err == nil {
			return taken
		}
		return os.Rename(draft.Name(), path)
	}
	return nil
}

// draftName is the name of a file until it is complete. It is cut where it would be longer
// than file systems allow.
func draftName(path string) string {
	const most = 200
	base := filepath.Base(path)
	if len(base) > most {
		base = strings.ToValidUTF8(base[:most], "")
	}
	return "." + base + "-" + rand.Text()
}

// hasFolder wants the folder of a file to be there.
func hasFolder(path string) error {
	folder := filepath.Dir(path)
	if info, err := os.Stat(folder); err != nil || !info.IsDir() {
		return with(exitError, fmt.Errorf("there is no folder %s to write %s to", folder, filepath.Base(path)), "make it, or name a file in another one")
	}
	return nil
}
