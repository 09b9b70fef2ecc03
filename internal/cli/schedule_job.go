package cli

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"

	"github.com/spf13/cobra"

	"assetferry/internal/config"
	"assetferry/internal/schedule"
	"assetferry/sources/ckbox"
	"assetferry/sources/s3"
)

// scheduledJob puts together what is started for a source.
func (a *app) scheduledJob(ctx context.Context, cmd *cobra.Command, source string, o scheduleOptions, at config.TimeOfDay) (*schedule.Job, error) {
	to, err := a.settings.Destination()
	if err != nil {
		return nil, err
	}
	if source, err = a.wholeSource(ctx, source); err != nil {
		return nil, err
	}
	inherited, err := a.settings.Inherit(to)
	if err != nil {
		return nil, err
	}
	if strings.HasPrefix(source, ckbox.Scheme+"://") {
		if inherited, err = a.inheritWorkspace(inherited, source); err != nil {
			return nil, err
		}
	}
	var identity schedule.Identity
	if identity.Source, err = a.sourceName(ctx, source); err != nil {
		return nil, err
	}
	if identity.Destination, identity.DestinationKey, err = a.scheduleDestination(ctx, to); err != nil {
		return nil, err
	}
	flags, files, err := carriedFlags(cmd)
	if err != nil {
		return nil, err
	}
	program, err := thisProgram()
	if err != nil {
		return nil, err
	}
	return schedule.NewJob(schedule.Options{
		Settings: a.settings, Lookup: a.lookup, To: to, Inherited: inherited, Source: source, At: at, Program: program, Flags: flags, Files: files,
		Identity: identity, Cron: o.format == "cron", UserUnit: o.ownManager, LoadCredentials: o.loadCredentials, Temporary: isTemporary(program),
	})
}

// wholeSource is a source as it is called from any folder. It must be there: a mistake in
// it shows by day.
func (a *app) wholeSource(ctx context.Context, source string) (string, error) {
	if !config.IsAddress(source) {
		_, identity, err := a.openSource(ctx, source, nil)
		return identity, err
	}
	if strings.HasPrefix(source, ckbox.Scheme+"://") {
		_, err := a.workspace(source)
		return source, err
	}
	if isConnector(source) {
		_, err := parseConnector(source)
		return source, err
	}
	if isTable(source) {
		return wholeTable(source)
	}
	_, err := s3.ParseAddress(source)
	if err != nil {
		return "", badAddress(err)
	}
	return source, nil
}

// carriedFlags are the flags of this call that are no settings and that the sync takes as
// well, and the files that they name.
func carriedFlags(cmd *cobra.Command) (flags, files []string, err error) {
	for _, name := range []string{"checksum", "describe-again"} {
		if on, _ := cmd.Flags().GetBool(name); on {
			flags = append(flags, "--"+name)
		}
	}
	if d, _ := cmd.Flags().GetDuration("settle-time"); cmd.Flags().Changed("settle-time") {
		flags = append(flags, "--settle-time="+d.String())
	}
	if name, _ := cmd.Flags().GetString("files-from"); name != "" {
		if name, err = filepath.Abs(name); err != nil {
			return nil, nil, err
		}
		if _, err = os.Stat(name); err != nil {
			return nil, nil, usage(fmt.Errorf("--files-from: %w", err), "")
		}
		flags, files = append(flags, "--files-from="+name), append(files, name)
	}
	return flags, files, nil
}

// scheduleDestination is a destination for people, and what it is whatever its address.
func (a *app) scheduleDestination(ctx context.Context, d config.Destination) (text, identity string, err error) {
	if d.Kind == config.Sandbox { // which has no environment before its first start
		dir, err := config.SandboxDir(a.lookup)
		if d.Workspace == "" {
			return "sandbox in " + dir, dir, err
		}
		return "sandbox in " + dir + ", workspace " + d.Workspace, fmt.Sprintf("%d:%s%s", len(dir), dir, d.Workspace), err
	}
	recorded, err := a.recordedDestination(ctx)
	if err != nil {
		return "", "", err
	}
	return fmt.Sprintf("%s, environment %s, workspace %s", d.URL, recorded.environment, recorded.workspace), recorded.identity(), nil
}

// thisProgram is the path of this program as it was called, which may be a link that leads
// to a new version one day.
func thisProgram() (string, error) {
	program, err := os.Executable()
	if err != nil {
		return "", err
	}
	called, err := exec.LookPath(os.Args[0])
	if err != nil {
		return program, nil
	}
	if called, err = filepath.Abs(called); err != nil {
		return program, nil
	}
	if there, err := os.Stat(called); err == nil {
		if here, err := os.Stat(program); err == nil && os.SameFile(here, there) {
			return called, nil
		}
	}
	return program, nil
}

// isTemporary reports whether a program will not stay where it is.
func isTemporary(program string) bool {
	return strings.HasPrefix(program, os.TempDir()+string(filepath.Separator)) || isGoRun(program)
}
