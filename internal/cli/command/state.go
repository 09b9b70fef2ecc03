package command

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/spf13/pflag"

	"assetferry/internal/cli/cmdline"
	"assetferry/internal/cli/exit"
	"assetferry/internal/clock"
	"assetferry/internal/config"
	"assetferry/internal/diskspace"
	"assetferry/internal/private"
	"assetferry/internal/ui"
	"assetferry/state"
	"assetferry/state/disk"
	"assetferry/state/ownership"
)

// Ping makes the first contact with a destination, within its request limit, and returns the path
// of its state database.
func (f *Factory) Ping(ctx context.Context, d *Destination) (statePath string, err error) {
	if statePath, err = f.StatePathOf(d); err != nil {
		return "", err
	}
	if err := f.loadRequestCount(ctx, d, statePath); err != nil {
		return "", err
	}
	return statePath, d.Ping(ctx)
}

// OpenState opens a state database until the end of the command. It also opens a database whose
// files another program changed, unless uploads could then create assets twice.
func (f *Factory) OpenState(ctx context.Context, path string) (*state.Store, error) {
	f.printRoom(path)
	if err := f.SecureState(path); err != nil {
		return nil, err
	}
	store, err := state.Open(ctx, path)
	if e, ok := errors.AsType[*ownership.DistrustError](err); ok && e.Touched && f.Settings.OnExisting != "create" {
		f.Out.Notef("Another program changed the files of the state database. It may be a copy, so this run checks the destination before it uploads anything.")
		if err := state.Takeover(ctx, path); err != nil {
			return nil, err
		}
		store, err = state.Open(ctx, path)
	}
	if err != nil {
		return nil, err
	}
	f.CloseLater(store.Close)
	return store, nil
}

// SecureState closes the files of the state database to other accounts, and says so.
func (f *Factory) SecureState(path string) error {
	return f.noteRepaired(ownership.Secure(path))
}

// noteRepaired lists the files that were closed to other accounts.
func (f *Factory) noteRepaired(paths []string, err error) error {
	if len(paths) > 0 {
		f.Out.Notef("%s", ui.Sanitize(private.Repaired(paths)))
	}
	return err
}

// printRoom warns if the disk has little space for a state database.
func (f *Factory) printRoom(path string) {
	free, err := diskspace.Free(diskspace.Nearest(path))
	if err != nil {
		return // doctor reports this
	}
	size := int64(0)
	if info, err := os.Stat(path); err == nil {
		size = info.Size()
	}
	if say := scarceRoom(free, size); say != "" {
		f.Out.Notef("%s", say)
		f.Out.Notef("Try: free some space, or use another disk with --state")
	}
}

// scarceRoom returns a warning if less space is free than the state database needs: for its
// write-ahead log and its backup.
func scarceRoom(free, size int64) string {
	if free >= state.LogRoom+size {
		return ""
	}
	say := fmt.Sprintf("The disk of the state database has %s free. During a run, its write-ahead log takes up to %s", ui.Bytes(free), ui.Bytes(state.LogRoom))
	if size > 0 {
		say += fmt.Sprintf(", and its backup %s", ui.Bytes(size))
	}
	return say + "."
}

// PrintLoss warns if a state database is missing and has a backup. The error of an empty database
// says more.
func (f *Factory) PrintLoss(path string) {
	backup := disk.BackupPath(path)
	if _, err := os.Stat(path); err == nil {
		return
	}
	if _, err := os.Stat(backup); err == nil {
		f.Out.Notef("The state database is missing. A backup exists: %s", ui.Sanitize(backup))
		f.Out.Notef("This run starts a new one and adopts existing assets. To restore the backup instead, see:\n  assetferry help state")
	}
}

// StatePathOf returns the path of the state database of a destination.
func (f *Factory) StatePathOf(d *Destination) (string, error) {
	if f.Settings.State != "" {
		return filepath.Abs(f.Settings.State)
	}
	return config.DefaultState(f.Lookup, d.Environment, d.Workspace)
}

// OwnFiles lists files that never belong to a source: files that assetferry writes, and files with
// credentials.
func (f *Factory) OwnFiles(d *Destination, statePath string) []string {
	own := disk.Files(statePath)
	if d.Dir != "" {
		own = append(own, d.Dir)
	}
	for _, name := range append(d.secrets, f.Settings.File, f.Settings.LogFile, f.Settings.Metadata, f.Settings.Metrics, f.Settings.NotifyFile, f.Settings.Approval, f.PlanFile) {
		if name != "" {
			own = append(own, name)
		}
	}
	for i, name := range own {
		if abs, err := filepath.Abs(name); err == nil {
			own[i] = abs
		}
	}
	return own
}

// AddKeepRuns adds the flag for the age at which runs are pruned.
func AddKeepRuns(f *pflag.FlagSet) {
	cmdline.Setting(f, "keep-runs", "`duration` to keep the items of finished runs (0s keeps all); totals stay")
}

// Prune deletes the items of old runs after a run. A failure is shown, but does not fail the run.
func (f *Factory) Prune(ctx context.Context, store *state.Store) {
	if f.Settings.KeepRuns == 0 {
		return
	}
	pruned, err := store.Prune(ctx, clock.Now().Add(-f.Settings.KeepRuns))
	switch {
	case err == nil && !pruned.IsEmpty():
		f.Out.Log().Info("pruned", "items", pruned.Items, "runs", pruned.Runs, "plans", pruned.Plans, "verifications", pruned.Verifications)
	case err != nil && !errors.Is(err, context.Canceled):
		f.Out.Notef("The state database could not be pruned: %v", err)
	}
}

// BackUp copies the state database after a run. A failure is shown, but does not fail the run.
func (f *Factory) BackUp(ctx context.Context, store *state.Store) {
	_, err := store.Backup(ctx)
	if err == nil || errors.Is(err, context.Canceled) {
		return
	}
	f.Out.Notef("The state database could not be backed up: %v", err)
	if hint := exit.HintOf(err); hint != "" {
		f.Out.Notef("Try: %s", hint)
	}
}

// ReadState opens the state database for reading, until the end of the command. It sends no
// request.
func (f *Factory) ReadState(ctx context.Context) (*state.Store, error) {
	path, err := f.StatePath(ctx)
	if err != nil {
		return nil, err
	}
	if err := MustExist(path); err != nil {
		return nil, err
	}
	if err := f.noteRepaired(ownership.SecureRead(path)); err != nil {
		return nil, err
	}
	store, err := state.OpenReadOnly(ctx, path)
	if err != nil {
		return nil, err
	}
	f.CloseLater(store.Close)
	f.Out.Notef("State        %s", ui.Sanitize(path))
	return store, nil
}

// StatePath returns the path of the state database without any request.
func (f *Factory) StatePath(ctx context.Context) (string, error) {
	if f.Settings.State != "" {
		return filepath.Abs(f.Settings.State)
	}
	dest, err := f.RecordedDestination(ctx)
	if err != nil {
		return "", err
	}
	return f.StatePathOf(dest)
}

// RecordedDestination returns the destination as a state database names it. It sends no request.
func (f *Factory) RecordedDestination(ctx context.Context) (*Destination, error) {
	d, err := f.Settings.Destination()
	if err != nil {
		return nil, err
	}
	dest := &Destination{}
	if d.Kind == config.Sandbox {
		dir, err := config.SandboxDir(f.Lookup)
		if err != nil {
			return nil, err
		}
		if err := MustExist(filepath.Join(dir, "credentials.env")); err != nil {
			return nil, err
		}
		c, err := f.LoadSandbox(dir)
		if err != nil {
			return nil, err
		}
		dest.Environment = c.EnvironmentID
	} else {
		env, err := d.Environment.Resolve(ctx, nil)
		if err != nil {
			return nil, err
		}
		dest.Environment = env.Reveal()
	}
	dest.Workspace = cmp.Or(d.Workspace, dest.Environment)
	return dest, nil
}

// MustExist is an error with its own exit code if a state database does not exist.
func MustExist(path string) error {
	if _, err := os.Stat(path); errors.Is(err, fs.ErrNotExist) {
		return exit.With(exit.CodeNoSuch, fmt.Errorf("the state database %s does not exist yet", path), "name another file with --state, or create this one:\n  assetferry migrate SOURCE")
	} else if err != nil {
		return err
	}
	return nil
}
