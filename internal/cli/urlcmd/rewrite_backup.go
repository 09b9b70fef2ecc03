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
	"assetferry/internal/wordpress/posts"
)

// newBackup returns the backup for originals. It must be outside the folders of the replaced
// files, because a web server may serve all files in them.
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

// printBackup prints the backup folder and the command that restores it.
func (w *rewriting) printBackup() {
	if w.session.Counts.Backup == "" {
		return
	}
	w.Out.Printf("Originals: %s", ui.Sanitize(w.session.Counts.Backup))
	args := []string{"--restore", w.session.Counts.Backup, "--write"}
	if w.job.backupDir != "" { // a web server may serve the default one
		args = append(args, "--backup-dir", filepath.Dir(w.session.Counts.Backup))
	}
	if w.job.backupInside {
		args = append(args, "--accept-backup-inside")
	}
	w.Out.Notef("To restore them:\n  %s", cmdline.Line("rewrite", args))
}

// restore lists the files that differ from their originals in a backup. With --write it
// restores the originals, and keeps the replaced files in another backup.
func restore(ctx context.Context, f *command.Factory, job rewriteJob) error {
	f.Summary = &event.Summary{Command: "rewrite", Rewritten: &event.Rewritten{Kept: event.Counts{}}}
	site, isSite, err := posts.SiteOf(job.restore)
	if err != nil {
		return err
	}
	var folders []string
	if job.backupDir != "" && job.write && !isSite {
		folders = rewrite.RestoredFolders(job.restore)
	}
	backup, err := newBackup(f, job, folders)
	if err != nil {
		return err
	}
	w := &rewriting{Factory: f, job: job, unit: "file"}
	if w.session = rewrite.NewSession(nil, f.Summary.Rewritten, w); job.write {
		w.session.Backup = backup
	}
	if isSite {
		w.unit = "post"
		err = restoreSite(ctx, w, site)
	} else {
		err = w.session.Restore(ctx, job.restore)
	}
	if errors.Is(err, rewrite.ErrNoBackup) {
		return exit.Usage(fmt.Errorf("--restore %s: %w", ui.Sanitize(job.restore), err), "use the folder that rewrite --write printed")
	} else if err != nil {
		return err
	}
	does := "would be restored"
	if job.write {
		does = "restored"
	}
	w.Out.Printf("%s of %s %s.", ui.Count(w.session.Counts.Changed), ui.Counted(w.session.Counts.Files, w.unit), does)
	w.printBackup()
	switch {
	case w.session.Counts.Failed > 0:
		return exit.Said(exit.CodeItems)
	case w.session.Counts.Changed > 0 && !job.write:
		w.Out.Notef("Nothing was written. To restore the %ss, add --write.", w.unit)
	}
	return nil
}
