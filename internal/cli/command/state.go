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

// Ping makes the first contact with a destination, within its budget, and gives the
// path of its journal.
func (f *Factory) Ping(ctx context.Context, d *Destination) (journal string, err error) {
	if journal, err = f.StatePathOf(d); err != nil {
		return "", err
	}
	if err := f.loadBudget(ctx, d, journal); err != nil {
		return "", err
	}
	return journal, d.Ping(ctx)
}

// OpenState opens a journal until the command is over. One whose files somebody
// touched is taken over, unless what it would send is sent beside whatever is there.
func (f *Factory) OpenState(ctx context.Context, path string) (*state.Store, error) {
	f.printRoom(path)
	if err := f.SecureState(path); err != nil {
		return nil, err
	}
	journal, err := state.Open(ctx, path)
	if e, ok := errors.AsType[*ownership.DistrustError](err); ok && e.Touched && f.Settings.OnExisting != "duplicate" {
		f.Out.Notef("The files of the journal were changed by something else since it was closed. It may be a copy, so what it remembers of the destination is looked at again.")
		if err := state.Takeover(ctx, path); err != nil {
			return nil, err
		}
		journal, err = state.Open(ctx, path)
	}
	if err != nil {
		return nil, err
	}
	f.CloseLater(journal.Close)
	return journal, nil
}

// SecureState closes files of the state database that are open to other accounts, and says
// so.
func (f *Factory) SecureState(path string) error {
	return f.noteRepaired(ownership.Secure(path))
}

// noteRepaired says which files were closed to other accounts.
func (f *Factory) noteRepaired(paths []string, err error) error {
	if len(paths) > 0 {
		f.Out.Notef("%s", ui.Sanitize(private.Repaired(paths)))
	}
	return err
}

// printRoom says, before anything begins, that the disk of a journal is small for it.
func (f *Factory) printRoom(path string) {
	free, err := diskspace.Free(diskspace.Nearest(path))
	if err != nil {
		return // doctor says that it is not known
	}
	size := int64(0)
	if info, err := os.Stat(path); err == nil {
		size = info.Size()
	}
	if say := scarceRoom(free, size); say != "" {
		f.Out.Notef("%s", say)
		f.Out.Notef("Try: make room, or name another place with --state")
	}
}

// scarceRoom says what a journal of a size takes beside it, if more than is free: its
// write-ahead log, and a backup of itself.
func scarceRoom(free, size int64) string {
	if free >= state.LogRoom+size {
		return ""
	}
	say := fmt.Sprintf("The disk of the journal has %s free. While a run is at work, its write-ahead log takes up to %s there", ui.Bytes(free), ui.Bytes(state.LogRoom))
	if size > 0 {
		say += fmt.Sprintf(", and its backup another %s", ui.Bytes(size))
	}
	return say + "."
}

// PrintLoss says that a journal is gone of which there is a backup. Of a file that is
// there and empty, opening it says more.
func (f *Factory) PrintLoss(path string) {
	backup := disk.BackupPath(path)
	if _, err := os.Stat(path); err == nil {
		return
	}
	if _, err := os.Stat(backup); err == nil {
		f.Out.Notef("There is no journal any more, but a backup of one: %s", ui.Sanitize(backup))
		f.Out.Notef("A new one is begun, and what is at the destination is taken over; assetferry help state tells how to restore the backup instead.")
	}
}

// StatePathOf is where the journal of a destination is.
func (f *Factory) StatePathOf(d *Destination) (string, error) {
	if f.Settings.State != "" {
		return filepath.Abs(f.Settings.State)
	}
	return config.DefaultState(f.Lookup, d.Environment, d.Workspace)
}

// OwnFiles names what must not be taken for a part of the source: what we write
// ourselves, and what opens the destination, which is no place for it.
func (f *Factory) OwnFiles(d *Destination, journal string) []string {
	own := disk.Files(journal)
	if d.embedded {
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

// AddKeepRuns adds how long the items of runs are kept.
func AddKeepRuns(f *pflag.FlagSet) {
	cmdline.Setting(f, "keep-runs", "`duration` to keep the items of finished runs; totals stay; 0s keeps all")
}

// Prune forgets runs that are long past, after one has finished. That one is done whether
// this works or not; but it must not go unnoticed.
func (f *Factory) Prune(ctx context.Context, journal *state.Store) {
	if f.Settings.KeepRuns == 0 {
		return
	}
	pruned, err := journal.Prune(ctx, clock.Now().Add(-f.Settings.KeepRuns))
	switch {
	case err == nil && !pruned.IsEmpty():
		f.Out.Log().Info("pruned", "items", pruned.Items, "runs", pruned.Runs, "plans", pruned.Plans, "verifications", pruned.Verifications)
	case err != nil && !errors.Is(err, context.Canceled):
		f.Out.Notef("The journal could not be pruned: %v", err)
	}
}

// BackUp copies the journal after a run. A run that is done is done, whether that
// works or not; but it must not go unnoticed.
func (f *Factory) BackUp(ctx context.Context, journal *state.Store) {
	_, err := journal.Backup(ctx)
	if err == nil || errors.Is(err, context.Canceled) {
		return
	}
	f.Out.Notef("The journal could not be backed up: %v", err)
	if hint := exit.HintOf(err); hint != "" {
		f.Out.Notef("Try: %s", hint)
	}
}

// ReadState opens the journal for reading, until the command is over. It asks nobody
// anything.
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
	journal, err := state.OpenReadOnly(ctx, path)
	if err != nil {
		return nil, err
	}
	f.CloseLater(journal.Close)
	f.Out.Notef("Journal      %s", ui.Sanitize(path))
	return journal, nil
}

// StatePath finds the journal without reaching out for anything.
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

// RecordedDestination is the destination as a state database knows it. It is asked nothing.
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

// MustExist makes a journal that is not there an exit code of its own.
func MustExist(path string) error {
	if _, err := os.Stat(path); errors.Is(err, fs.ErrNotExist) {
		return exit.With(exit.CodeNoSuch, fmt.Errorf("there is no journal %s yet", path), "assetferry migrate makes one; --state names another")
	} else if err != nil {
		return err
	}
	return nil
}
