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
		Short: "Download a rendition of an image, or show its URL",
		Long: `Image requests a rendition of an image, a copy in another size or format. With
-o, it downloads the rendition to a file. -o - writes to stdout. Without -o, it
shows the URL. The service uses the nearest width that it offers, and never
enlarges an image. The extension of the file selects the format, unless you give
--format.
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
	flags.IntVar(&r.Width, "width", 0, "width in `pixels` (default: the width of the image)")
	flags.IntVar(&r.Height, "height", 0, "height in `pixels`; the rendition fits into width and height (default: by aspect ratio)")
	flags.StringVar(&format, "format", "", "`format`: "+strings.Join(imageFormats(), ", ")+" (default webp)")
	// The error is only for a flag that does not exist.
	_ = c.RegisterFlagCompletionFunc("format", cobra.FixedCompletions(imageFormats(), cobra.ShellCompDirectiveNoFileComp))
	return c
}

func imageFormats() (all []string) {
	for _, f := range assets.ImageFormats() {
		all = append(all, string(f))
	}
	return all
}

// imageFormat returns the requested format, or that of the file name.
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
		return "", exit.Usage(fmt.Errorf("-o %s: renditions are %s, not %s", file, strings.Join(imageFormats(), ", "), named),
			"use one of these extensions, or add --format to keep the name")
	}
	return assets.WebP, nil
}

// otherFormats returns image extensions that the service does not generate. The content of such
// a file would not match its name.
func otherFormats() []string {
	return []string{"avif", "bmp", "heic", "heif", "ico", "pdf", "psd", "svg"}
}

// showImage downloads a rendition or prints its URL.
func showImage(ctx context.Context, f *command.Factory, c *assets.Client, asset assets.Asset, r assets.Rendition, to target) error {
	switch {
	case len(asset.ImageURLs) == 0 && asset.Metadata.Status == "":
		return exit.With(exit.CodeError, fmt.Errorf("the service has no renditions of %s (%s)", asset.ID, asset.Filename()), "download the original:\n  "+cmdline.Line("assets get", nil, asset.ID))
	case r.Width == 0:
		return exit.Usage(fmt.Errorf("the width of %s is still unknown", asset.ID), "add --width, or wait until the service has processed the image")
	}
	imageURL, err := asset.ImageURL(r)
	if err != nil {
		return err
	}
	if to.file == "" {
		f.Out.Printf("%s", imageURL)
		line := assetLine(asset, "")
		line.URL = imageURL
		f.Out.Event("asset", line)
		return nil
	}
	body, size, err := c.Image(ctx, asset, r)
	if err != nil {
		return err
	}
	asset.URL = imageURL // of the rendition
	path, err := save(f, body, size, asset.Name+"."+string(r.Format), to, asset)
	if err == nil && path != "" {
		noteSize(f, path, r)
	}
	return err
}

// noteSize prints the size of a rendition if it differs from the request. Failures are ignored,
// because the rendition is complete.
func noteSize(f *command.Factory, path string, asked assets.Rendition) {
	file, err := os.Open(path)
	if err != nil {
		return
	}
	defer func() { _ = file.Close() }() // only read
	is, _, err := image.DecodeConfig(file)
	if err != nil || is.Width == asked.Width || is.Height == asked.Height {
		return
	}
	f.Out.Notef("The rendition has %d x %d pixels, the nearest size of the service.", is.Width, is.Height)
}
