package evidencecmd

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"

	"github.com/spf13/cobra"

	"assetferry/internal/certificate"
	"assetferry/internal/cli/cmdline"
	"assetferry/internal/cli/command"
	"assetferry/internal/cli/exit"
	"assetferry/internal/event"
	"assetferry/internal/ui"
)

func newIncludeCommand(f *command.Factory) *cobra.Command {
	var name, output string
	c := &cobra.Command{
		Use:   "prove KEY",
		Short: "Show that a certificate covers one asset",
		Long: `This command finds the upload record of one object in the list of assets beside
a certificate, and shows the path from the record to the Merkle root. With
--output, it writes both to a file. With the certificate, that file is enough to
verify the record, without the records of other assets. See assetferry help
evidence.
`,
		Args: cmdline.One("KEY"),
		RunE: f.Do(func(ctx context.Context, _ *cobra.Command, args []string) error {
			return include(ctx, f, args[0], name, output)
		}),
	}
	c.Flags().StringVar(&name, "certificate", "certificate.json", "`file` of the certificate")
	c.Flags().StringVar(&output, "output", "", "write the record and its path to this `file`")
	return c
}

func include(ctx context.Context, f *command.Factory, key, name, output string) error {
	c, err := open(ctx, f, name)
	if err != nil {
		return err
	}
	list, err := os.Open(name + listSuffix)
	if errors.Is(err, fs.ErrNotExist) {
		return exit.With(exit.CodeError, fmt.Errorf("there is no list of assets beside the certificate: %s", ui.Sanitize(name+listSuffix)), "copy the list to the folder of the certificate")
	} else if err != nil {
		return err
	}
	defer list.Close()
	info, err := list.Stat()
	if err != nil {
		return err
	}
	i, err := certificate.Include(list, info.Size(), c.Assets, key)
	switch {
	case errors.Is(err, certificate.ErrNotListed):
		return exit.With(exit.CodeNoSuch, fmt.Errorf("%s: %w", ui.Sanitize(key), err), "check the key. An object that shares the asset of another one is covered by the key of that object; to show it:\n  assetferry explain KEY")
	case err != nil:
		return differs(f, name+listSuffix, err, getOriginal)
	}
	r, err := i.Check(c.Assets)
	if err != nil {
		return err
	}
	return showInclusion(f, c, i, r, name, output)
}

// inclusionEvent returns the event of an inclusion.
func inclusionEvent(i certificate.Inclusion, r certificate.Record) event.Inclusion {
	return event.Inclusion{Key: r.FullKey(), AssetID: r.Asset, URL: r.URL, Size: r.Size, SHA256: r.SHA256, Number: i.Number + 1, Assets: i.Assets, Path: i.Path, Root: i.Root}
}

func showInclusion(f *command.Factory, c certificate.Certificate, i certificate.Inclusion, r certificate.Record, name, output string) error {
	f.Out.Event("inclusion", inclusionEvent(i, r))
	f.Out.Printf("%s", ui.Sanitize(r.FullKey()))
	for _, l := range [][2]string{
		{"Asset", r.Asset}, {"URL", r.URL}, {"Size", ui.Count(r.Size) + " bytes"}, {"SHA-256", r.SHA256}, {"Record", fmt.Sprintf("%d of %d", i.Number+1, i.Assets)},
	} {
		f.Out.Printf("  %-8s %s", l[0], ui.Sanitize(l[1]))
	}
	for _, h := range i.Path {
		f.Out.Printf("  %-8s %s", "Path", h)
	}
	f.Out.Printf("  %-8s %s", "Root", c.Assets.Root)
	if output == "" {
		return nil
	}
	text, err := i.Encode()
	if err != nil {
		return err
	}
	if err := command.WriteNew(output, true, func(w io.Writer) error { _, err := w.Write(text); return err }); err != nil {
		return err
	}
	f.Out.Notef("Wrote %s", ui.Sanitize(output))
	f.Out.Next("Verify it anywhere:", cmdline.Line("certificate check", cmdline.WithValue("inclusion", output), name))
	return nil
}
