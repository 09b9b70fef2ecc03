package setupcmd

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"github.com/spf13/cobra"

	"assetferry/internal/cli/cmdline"
	"assetferry/internal/cli/command"
	"assetferry/internal/cli/exit"
	"assetferry/internal/config"
	"assetferry/internal/schedule"
	"assetferry/sources/ckbox"
)

// scheduledJob returns the scheduled job of a source.
func scheduledJob(ctx context.Context, f *command.Factory, cmd *cobra.Command, source string, o scheduleOptions, at config.TimeOfDay) (*schedule.Job, error) {
	to, err := f.Settings.Destination()
	if err != nil {
		return nil, err
	}
	if source, err = wholeSource(ctx, f, source); err != nil {
		return nil, err
	}
	inherited, err := f.Settings.Inherit(to)
	if err != nil {
		return nil, err
	}
	if strings.HasPrefix(source, ckbox.Scheme+"://") {
		if inherited, err = f.InheritWorkspace(inherited, source); err != nil {
			return nil, err
		}
	}
	if command.IsRclone(source) {
		if inherited, err = f.InheritRclone(ctx, inherited); err != nil {
			return nil, err
		}
	}
	var identity schedule.Identity
	if identity.Source, err = f.SourceName(ctx, source); err != nil {
		return nil, err
	}
	if identity.Destination, identity.DestinationKey, err = scheduleDestination(ctx, f, to); err != nil {
		return nil, err
	}
	flags, files, err := carriedFlags(cmd)
	if err != nil {
		return nil, err
	}
	program, err := cmdline.ThisProgram()
	if err != nil {
		return nil, err
	}
	return schedule.NewJob(schedule.Options{
		Settings: f.Settings, Lookup: f.Lookup, To: to, Inherited: inherited, Source: source, At: at, Program: program, Flags: flags, Files: files,
		Identity: identity, Cron: o.format == "cron", UserUnit: o.ownManager, LoadCredentials: o.loadCredentials, Temporary: isTemporary(program),
	})
}

// wholeSource returns the absolute path of a source, which must exist: a mistake shows now and not
// in a scheduled run.
func wholeSource(ctx context.Context, f *command.Factory, source string) (string, error) {
	if !config.IsURL(source) {
		_, identity, err := f.OpenSource(ctx, source, nil)
		return identity, err
	}
	if strings.HasPrefix(source, ckbox.Scheme+"://") {
		_, err := f.Workspace(source)
		return source, err
	}
	if command.IsTable(source) {
		return command.WholeTable(source)
	}
	if command.IsRclone(source) {
		return f.ConfiguredRemote(ctx, source)
	}
	_, err := command.NameOf(source)
	return source, err
}

// carriedFlags returns the flags of this call that are no settings and that sync takes too, and the
// files that they name.
func carriedFlags(cmd *cobra.Command) (flags, files []string, err error) {
	for _, name := range []string{"checksum", "refresh-metadata"} {
		if on, _ := cmd.Flags().GetBool(name); on {
			flags = append(flags, "--"+name)
		}
	}
	if d, _ := cmd.Flags().GetDuration("confirm-timeout"); cmd.Flags().Changed("confirm-timeout") {
		flags = append(flags, "--confirm-timeout="+d.String())
	}
	if name, _ := cmd.Flags().GetString("files-from"); name != "" {
		if name, err = filepath.Abs(name); err != nil {
			return nil, nil, err
		}
		if _, err = os.Stat(name); err != nil {
			return nil, nil, exit.Usage(fmt.Errorf("--files-from: %w", err), "")
		}
		flags, files = append(flags, "--files-from="+name), append(files, name)
	}
	return flags, files, nil
}

// scheduleDestination returns a destination for people, and its identity.
func scheduleDestination(ctx context.Context, f *command.Factory, d config.Destination) (text, identity string, err error) {
	if d.Kind == config.Sandbox { // without an environment before its first start
		dir, err := config.SandboxDir(f.Lookup)
		if d.Workspace == "" {
			return "sandbox in " + dir, dir, err
		}
		return "sandbox in " + dir + ", workspace " + d.Workspace, fmt.Sprintf("%d:%s%s", len(dir), dir, d.Workspace), err
	}
	recorded, err := f.RecordedDestination(ctx)
	if err != nil {
		return "", "", err
	}
	return fmt.Sprintf("%s, environment %s, workspace %s", d.URL, recorded.Environment, recorded.Workspace), recorded.Identity(), nil
}

// isTemporary reports whether a program is in a temporary place.
func isTemporary(program string) bool {
	return strings.HasPrefix(program, os.TempDir()+string(filepath.Separator)) || cmdline.IsGoRun(program)
}
