package assetcmd

import (
	"context"
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
	"assetferry/internal/cli/cmdline"
	"assetferry/internal/cli/command"
	"assetferry/internal/cli/exit"
	"assetferry/internal/event"
	"assetferry/internal/export"
	"assetferry/internal/ui"
)

func newGetCommand(f *command.Factory) *cobra.Command {
	var to target
	c := &cobra.Command{
		Use:   "get ID",
		Short: "Show an asset, or download it with -o",
		Long: `Get shows the metadata of an asset. With -o, it downloads the content to a file.
If -o names a folder, the file gets the name of the asset. In this name, %XX
replaces characters that file systems do not accept, and a dot or hyphen at the
start. -o - writes to stdout. The file is written completely or not at all. Only
--force overwrites an existing file. If an ID begins with a hyphen, put it after
two hyphens:

    assetferry assets get -- -NxTs6sfrd3a
`,
		Args: cmdline.One("ID"),
		RunE: look(f, func(ctx context.Context, cmd *cobra.Command, args []string) error {
			dest, err := f.OpenDestination(ctx, true)
			if err != nil {
				return err
			}
			asset, err := findAsset(ctx, dest.Client, args[0])
			if err != nil {
				return err
			}
			if to.file == "" {
				showAsset(f, asset)
				return nil
			}
			body, size, err := dest.Client.Download(ctx, asset.URL, 0)
			if err != nil {
				return err
			}
			if size < 0 {
				size = asset.Size
			}
			_, err = save(f, body, size, asset.Filename(), to, asset)
			return err
		}),
	}
	to.addFlags(c)
	return c
}

func findAsset(ctx context.Context, c *assets.Client, id string) (assets.Asset, error) {
	asset, err := c.Asset(ctx, id)
	if errors.Is(err, fs.ErrNotExist) {
		return asset, exit.With(exit.CodeError, err, "check the ID; assets in Trash are not found. To list the places, then the assets of a place with their IDs:\n  assetferry assets folders\n  assetferry assets ls PLACE")
	}
	return asset, err
}

// showAsset prints an asset.
func showAsset(f *command.Factory, asset assets.Asset) {
	m := asset.Metadata
	facts := []event.Fact{
		{Name: "ID", Value: asset.ID}, {Name: "name", Value: asset.Filename()}, {Name: "size", Value: ui.Bytes(asset.Size) + " (" + ui.Count(asset.Size) + " bytes)"},
		{Name: "type", Value: asset.MIMEType}, {Name: "category", Value: asset.CategoryID}, {Name: "folder", Value: asset.FolderID},
		{Name: "uploaded", Value: ui.LocalTime(asset.UploadedAt)}, {Name: "modified", Value: ui.LocalTime(asset.LastModifiedAt)},
		{Name: "tags", Value: strings.Join(asset.Tags, ", ")}, {Name: "description", Value: m.Description},
	}
	if m.Width > 0 {
		facts = append(facts, event.Fact{Name: "pixels", Value: fmt.Sprintf("%d x %d", m.Width, m.Height)})
	}
	if len(m.CustomAttributes) > 0 {
		text, err := json.Marshal(m.CustomAttributes)
		if err == nil { // decoded from JSON
			facts = append(facts, event.Fact{Name: "attributes", Value: string(text)})
		}
	}
	facts = append(facts, event.Fact{Name: "processing", Value: string(m.Status)}, event.Fact{Name: "URL", Value: asset.URL})
	var known []event.Fact
	for _, fact := range facts {
		if fact.Value != "" {
			known = append(known, fact)
		}
	}
	f.Out.Printf("%s", ui.Facts(known))
	f.Out.Event("asset", assetLine(asset, ""))
}

// A target is the target of a download.
type target struct {
	file  string
	force bool
}

func (t *target) addFlags(c *cobra.Command) {
	c.Flags().StringVarP(&t.file, "output", "o", "", "write the content to this `file` or folder; - is stdout")
	c.Flags().BoolVar(&t.force, "force", false, "overwrite an existing file")
}

// toStdout reports whether a command writes content to stdout.
func toStdout(cmd *cobra.Command) bool {
	f := cmd.Flags().Lookup("output")
	return f != nil && f.Value.String() == "-"
}

// save writes content to its target and prints the path. It returns "" for stdout.
func save(f *command.Factory, body io.ReadCloser, size int64, name string, to target, asset assets.Asset) (path string, err error) {
	defer func() { err = errors.Join(err, body.Close()) }()
	if to.file == "-" {
		if f.Out.JSON() {
			return "", exit.Usage(errors.New("--json and -o - both use stdout"), "use a file for -o")
		}
		return "", fill(f.Stdout, body, size)
	}
	path = to.file
	if info, err := os.Stat(path); err == nil && info.IsDir() {
		path = filepath.Join(path, export.FileName(name))
	}
	if err := command.WriteNew(path, to.force, func(w io.Writer) error { return fill(w, body, size) }); err != nil {
		return "", err
	}
	f.Out.Event("asset", assetLine(asset, ""))
	if info, err := os.Stat(path); err == nil {
		f.Out.Notef("Wrote %s (%s)", ui.Sanitize(path), ui.Bytes(info.Size()))
	}
	return path, nil
}

// fill copies a complete body. Its size may be unknown.
func fill(w io.Writer, body io.Reader, size int64) error {
	n, err := io.Copy(w, body)
	if err == nil && size >= 0 && n != size {
		err = fmt.Errorf("download: received %d bytes of %d", n, size)
	}
	return err
}
