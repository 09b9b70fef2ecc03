package assetcmd

import (
	"context"
	"errors"
	"fmt"
	"image"
	_ "image/gif"
	_ "image/jpeg"
	_ "image/png"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	_ "golang.org/x/image/tiff"
	_ "golang.org/x/image/webp"

	"assetferry/internal/assets"
	"assetferry/internal/cli/cmdline"
	"assetferry/internal/cli/command"
	"assetferry/internal/cli/exit"
)

func newImageCommand(f *command.Factory) *cobra.Command {
	var r assets.Rendition
	var format string
	var to target
	c := &cobra.Command{
		Use:   "image ID",
		Short: "Download an image in another size or format",
		Long: `Image requests a resized or converted image from the service and downloads it
with -o; - is stdout. Without -o it shows the URL. The service never enlarges an
image, and takes the nearest width that it offers. The format follows the file
name, unless --format is given.
`,
		Args: cmdline.One("ID"),
		RunE: look(f, func(ctx context.Context, _ *cobra.Command, args []string) (err error) {
			if r.Format, err = imageFormat(format, to.file); err != nil {
				return err
			}
			if r.Width < 0 || r.Height < 0 {
				return exit.Usage(errors.New("--width and --height must not be negative"), "")
			}
			dest, err := f.OpenDestination(ctx, true)
			if err != nil {
				return err
			}
			asset, err := findAsset(ctx, dest.Client, args[0])
			if err != nil {
				return err
			}
			if r.Width == 0 {
				r.Width = asset.Metadata.Width
			}
			return showImage(ctx, f, dest.Client, asset, r, to)
		}),
	}
	to.addFlags(c)
	flags := c.Flags()
	flags.IntVar(&r.Width, "width", 0, "width in `pixels` (default: that of the image)")
	flags.IntVar(&r.Height, "height", 0, "maximum height in `pixels` (default: in proportion)")
	flags.StringVar(&format, "format", "", "`"+strings.Join(imageFormats(), "|")+"`: image format (default webp)")
	// It fails only for a switch that is not there.
	_ = c.RegisterFlagCompletionFunc("format", cobra.FixedCompletions(imageFormats(), cobra.ShellCompDirectiveNoFileComp))
	return c
}

func imageFormats() (all []string) {
	for _, f := range assets.ImageFormats() {
		all = append(all, string(f))
	}
	return all
}

// imageFormat is the format that was asked for, or that the name of a file stands for.
func imageFormat(asked, file string) (assets.ImageFormat, error) {
	if asked != "" {
		if !slices.Contains(imageFormats(), asked) {
			return "", exit.Usage(fmt.Errorf("--format %q is not one of %s", asked, strings.Join(imageFormats(), ", ")), "")
		}
		return assets.ImageFormat(asked), nil
	}
	named := strings.ToLower(strings.TrimPrefix(filepath.Ext(file), "."))
	switch named {
	case "jpg":
		named = "jpeg"
	case "tif":
		named = "tiff"
	}
	switch {
	case slices.Contains(imageFormats(), named):
		return assets.ImageFormat(named), nil
	case slices.Contains(otherFormats(), named):
		return "", exit.Usage(fmt.Errorf("-o %s: images come as %s, not as %s", file, strings.Join(imageFormats(), ", "), named),
			"name such a file; --format has any of them written under this name")
	}
	return assets.WebP, nil
}

// otherFormats are the extensions of images that no service makes for us: a file of
// such a name would not hold what its name says.
func otherFormats() []string {
	return []string{"avif", "bmp", "heic", "heif", "ico", "pdf", "psd", "svg"}
}

// showImage downloads a rendition, or shows its address.
func showImage(ctx context.Context, f *command.Factory, c *assets.Client, asset assets.Asset, r assets.Rendition, to target) error {
	switch {
	case len(asset.ImageURLs) == 0 && asset.Metadata.Status == "":
		return exit.With(exit.CodeError, fmt.Errorf("%s (%s) is no image to the service", asset.ID, asset.Filename()), "assetferry assets get downloads it as it is")
	case r.Width == 0:
		return exit.Usage(fmt.Errorf("the width of %s is not known yet", asset.ID), "give --width, or wait until the service has processed it")
	}
	address, err := asset.ImageURL(r)
	if err != nil {
		return err
	}
	if to.file == "" {
		f.Out.Printf("%s", address)
		line := assetLine(asset, "")
		line.URL = address
		f.Out.Event("asset", line)
		return nil
	}
	body, size, err := c.Image(ctx, asset, r)
	if err != nil {
		return err
	}
	asset.URL = address // of what is written
	path, err := save(f, body, size, asset.Name+"."+string(r.Format), to, asset)
	if err == nil && path != "" {
		noteSize(f, path, r)
	}
	return err
}

// noteSize tells the size of a picture in pixels if it is not the one asked for. That it
// cannot be read is no trouble: it is there as the service sent it.
func noteSize(f *command.Factory, path string, asked assets.Rendition) {
	file, err := os.Open(path)
	if err != nil {
		return
	}
	defer func() { _ = file.Close() }() // nothing was written
	is, _, err := image.DecodeConfig(file)
	if err != nil || is.Width == asked.Width || is.Height == asked.Height {
		return
	}
	f.Out.Notef("It is %d x %d pixels, the nearest that the service makes", is.Width, is.Height)
}
