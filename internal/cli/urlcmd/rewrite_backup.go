package urlcmd

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"

	"assetferry/internal/cli/cmdline"
	"assetferry/internal/cli/command"
	"assetferry/internal/cli/exit"
	"assetferry/internal/clock"
	"assetferry/internal/config"
	"assetferry/internal/event"
	"assetferry/internal/rewrite"
	"assetferry/internal/ui"
)

// newBackup returns where the originals of files go. It must be outside of the folders that
// files are replaced in: a web server may deliver what is in them.
func newBackup(f *command.Factory, job rewriteJob, folders []string) (*rewrite.Backup, error) {
	root := job.backupDir
	if root == "" {
		var err error
		if root, err = config.BackupDir(f.Lookup); err != nil {
			return nil, err
		}
	}
	if job.backupInside {
		folders = nil
	}
	backup, err := rewrite.NewBackupApart(root, clock.Now(), folders)
	if inside, ok := errors.AsType[*rewrite.InsideError](err); ok {
		return nil, exit.Usage(inside, "name a folder elsewhere with --backup-dir, or add --accept-backup-inside")
	}
	return backup, err
}

// tellBackup says where the originals are, and how to restore them.
func (w *rewriting) tellBackup() {
	if w.session.Counts.Backup == "" {
		return
	}
	w.Out.Printf("The originals are in %s", ui.Sanitize(w.session.Counts.Backup))
	args := []string{"--restore", w.session.Counts.Backup, "--write"}
	if w.job.backupDir != "" { // the default one may be where a web server delivers it
		args = append(args, "--backup-dir", filepath.Dir(w.session.Counts.Backup))
	}
	if w.job.backupInside {
		args = append(args, "--accept-backup-inside")
	}
	w.Out.Notef("To restore them: %s", cmdline.Line("rewrite", args))
}

// restore shows which files differ from their originals in a backup, or replaces them by
// these. What they are now goes into a backup of its own.
func restore(ctx context.Context, f *command.Factory, job rewriteJob) error {
	f.Summary = &event.Summary{Command: "rewrite", Rewritten: &event.Rewritten{Kept: event.Counts{}}}
	var folders []string
	if job.backupDir != "" && job.write {
		folders = rewrite.RestoredFolders(job.restore)
	}
	backup, err := newBackup(f, job, folders)
	if err != nil {
		return err
	}
	w := &rewriting{Factory: f, job: job}
	if w.session = rewrite.NewSession(nil, f.Summary.Rewritten, w); job.write {
		w.session.Backup = backup
	}
	err = w.session.Restore(ctx, job.restore)
	if errors.Is(err, rewrite.ErrNoBackup) {
		return exit.Usage(fmt.Errorf("--restore %s: %w", ui.Sanitize(job.restore), err), "name the folder that rewrite --write printed")
	} else if err != nil {
		return err
	}
	does := "would be restored"
	if job.write {
		does = "restored"
	}
	w.Out.Printf("%s of %s %s.", ui.Count(w.session.Counts.Changed), ui.Counted(w.session.Counts.Files, "file"), does)
	w.tellBackup()
	switch {
	case w.session.Counts.Failed > 0:
		return exit.Said(exit.CodeItems)
	case w.session.Counts.Changed > 0 && !job.write:
		w.Out.Notef("Nothing was written. Try: the same with --write")
	}
	return nil
}
