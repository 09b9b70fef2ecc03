package assetcmd

import (
	"context"

	"assetferry/internal/cli/command"
)

// openToChange opens the destination and prints it. A dry run cannot write to it.
func openToChange(ctx context.Context, f *command.Factory, ch command.Change) (*command.Destination, error) {
	dest, err := f.OpenDestination(ctx, ch.DryRun)
	if err == nil {
		f.Out.Notef("Destination  %s", dest)
	}
	return dest, err
}
