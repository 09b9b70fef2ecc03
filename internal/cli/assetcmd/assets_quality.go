package assetcmd

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/spf13/cobra"

	"assetferry/internal/assets"
	"assetferry/internal/cli/cmdline"
	"assetferry/internal/cli/command"
	"assetferry/internal/cli/exit"
	"assetferry/internal/event"
	"assetferry/internal/ui"
)

func newQualityCommand(f *command.Factory) *cobra.Command {
	var ch command.Change
	var quality int
	c := &cobra.Command{
		Use:   "quality [FORMAT]",
		Short: "Show or set the quality of renditions",
		Long: `Quality shows the quality of renditions, from 1 to 100, for each format or for
one. --set changes it for the whole workspace. The command needs an admin token.

The request for a change is not documented. The command therefore reads the
quality again, and fails if the quality is not the value of --set. The service
decides what happens to existing renditions.
`,
		Example: `  assetferry assets quality
  assetferry assets quality webp --set 85 --dry-run
  assetferry assets quality webp --set 85`,
		Args:      cmdline.AtMostOne("FORMAT"),
		ValidArgs: imageFormats(),
		RunE: look(f, func(ctx context.Context, cmd *cobra.Command, args []string) error {
			set := cmd.Flags().Changed("set")
			if err := checkQuality(args, set, quality, ch); err != nil {
				return err
			}
			if set {
				return setQuality(ctx, f, assets.ImageFormat(args[0]), quality, ch)
			}
			dest, err := f.OpenDestination(ctx, true)
			if err != nil {
				return err
			}
			return showQualities(ctx, f, dest.Client, args)
		}),
	}
	c.Flags().IntVar(&quality, "set", 0, "set the quality of FORMAT to this `number`, from 1 to 100")
	ch.AddFlags(c)
	return c
}

func checkQuality(args []string, set bool, quality int, ch command.Change) error {
	switch {
	case len(args) > 0 && !slices.Contains(imageFormats(), args[0]):
		return exit.Usage(fmt.Errorf("FORMAT %q is not one of %s", args[0], strings.Join(imageFormats(), ", ")), "")
	case !set && ch.DryRun:
		return exit.Usage(errors.New("--dry-run requires --set"), "")
	case set && len(args) == 0:
		return exit.Usage(errors.New("--set needs a FORMAT"), "use one of "+strings.Join(imageFormats(), ", "))
	case set && (quality < 1 || quality > 100):
		return exit.Usage(fmt.Errorf("--set %d is not between 1 and 100", quality), "")
	}
	return nil
}

func showQualities(ctx context.Context, f *command.Factory, c *assets.Client, only []string) error {
	all, err := c.ImageQualities(ctx)
	if err != nil {
		return err
	}
	var rows [][]string
	for _, q := range all {
		if len(only) > 0 && string(q.Format) != only[0] {
			continue
		}
		rows = append(rows, []string{string(q.Format), strconv.Itoa(q.Quality)})
		f.Out.Event("quality", event.Quality{Format: string(q.Format), Quality: q.Quality})
	}
	if len(rows) == 0 {
		return exit.With(exit.CodeError, errors.New("the service does not report this quality"), "")
	}
	f.Out.Printf("%s", ui.Table([]ui.Column{{Title: "Format"}, {Title: "Quality", Right: true}}, rows))
	return nil
}

// qualityOf returns the quality of a format.
func qualityOf(ctx context.Context, c *assets.Client, format assets.ImageFormat) (int, error) {
	all, err := c.ImageQualities(ctx)
	if err != nil {
		return 0, err
	}
	i := slices.IndexFunc(all, func(q assets.ImageQuality) bool { return q.Format == format })
	if i < 0 {
		return 0, exit.With(exit.CodeError, fmt.Errorf("the service has no quality for %s", format), "list the formats:\n  assetferry assets quality")
	}
	return all[i].Quality, nil
}

func setQuality(ctx context.Context, f *command.Factory, format assets.ImageFormat, quality int, ch command.Change) error {
	dest, err := openToChange(ctx, f, ch)
	if err != nil {
		return err
	}
	was, err := qualityOf(ctx, dest.Client, format)
	if err != nil {
		return err
	}
	if was == quality {
		f.Out.Printf("The quality of %s is already %d.", format, quality)
		f.Out.Event("quality", event.Quality{Format: string(format), Quality: quality, State: "unchanged"})
		return nil
	}
	if !ch.DryRun {
		if err := changeQuality(ctx, dest.Client, format, quality); err != nil {
			return err
		}
	}
	f.Out.Printf("The quality of %s %s %d instead of %d.", format, ch.Verb("is now", "would be"), quality, was)
	f.Out.Event("quality", event.Quality{Format: string(format), Quality: quality, PreviousQuality: was, State: ch.State()})
	f.NoteDryRun(ch)
	return nil
}

// changeQuality also checks the new value, because the body of the request is a guess.
func changeQuality(ctx context.Context, c *assets.Client, format assets.ImageFormat, quality int) error {
	if err := c.SetImageQuality(ctx, format, quality); err != nil {
		return err
	}
	is, err := qualityOf(ctx, c, format)
	if err == nil && is != quality {
		err = exit.With(exit.CodeError, fmt.Errorf("the service accepted the request, but the quality of %s is %d, not %d", format, is, quality),
			"set it in the user interface of the service (about assumed requests, see assetferry help profile)")
	}
	return err
}
