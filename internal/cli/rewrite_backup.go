package cli

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"

	"assetferry/internal/clock"
	"assetferry/internal/config"
	"assetferry/internal/event"
	"assetferry/internal/rewrite"
	"assetferry/internal/ui"
)

// newBackup returns where the originals of files go. It must be outside of the folders that
// files are replaced in: a web server may deliver what is in them.
func (a *app) newBackup(job rewriteJob, folders []string) (*rewrite.Backup, error) {
	root := job.backupDir
	if root == "" {
		var err error
		if root, err = config.BackupDir(a.lookup); err != nil {
			return nil, err
		}
	}
	if job.backupInside {
		folders = nil
	}
	backup, err := rewrite.NewBackupApart(root, clock.Now(), folders)
	if inside, ok := errors.AsType[*rewrite.InsideError](err); ok {
		return nil, usage(inside, "name a folder elsewhere with --backup-dir, or add --accept-backup-inside")
	}
	return backup, err
}

// tellBackup says where the originals are, and how to restore them.
func (w *rewriting) tellBackup() {
	if w.session.Counts.Backup == "" {
		return
	}
	w.out.Printf("The originals are in %s", ui.Sanitize(w.session.Counts.Backup))
	args := []string{"--restore", w.session.Counts.Backup, "--write"}
	if w.job.backupDir != "" { // the default one may be where a web server delivers it
		args = append(args, "--backup-dir", filepath.Dir(w.session.Counts.Backup))
	}
	if w.job.backupInside {
		args = append(args, "--accept-backup-inside")
	}
	w.out.Notef("To restore them: %s", commandLine("rewrite", args))
}

// restore shows which files differ from their originals in a backup, or replaces them by
// these. What they are now goes into a backup of its own.
func (a *app) restore(ctx context.Context, job rewriteJob) error {
	a.summary = &event.Summary{Command: "rewrite", Rewritten: &event.Rewritten{Left: event.Counts{}}}
	var folders []string
	if job.backupDir != "" && job.write {
		folders = rewrite.RestoredFolders(job.restore)
	}
	backup, err := a.newBackup(job, folders)
	if err != nil {
		return err
	}
	w := &rewriting{app: a, job: job}
	if w.session = rewrite.NewSession(nil, a.summary.Rewritten, w); job.write {
		w.session.Backup = backup
	}
	err = w.session.Restore(ctx, job.restore)
	if errors.Is(err, rewrite.ErrNoBackup) {
		return usage(fmt.Errorf("--restore %s: %w", ui.Sanitize(job.restore), err), "name the folder that rewrite --write printed")
	} else if err != nil {
		return err
	}
	does := "would be restored"
	if job.write {
		does = "restored"
	}
	w.out.Printf("%s of %s %s.", ui.Count(w.session.Counts.Changed), count(w.session.Counts.Files, "file"), does)
	w.tellBackup()
	switch {
	case w.session.Counts.Failed > 0:
		return said(exitItems)
	case w.session.Counts.Changed > 0 && !job.write:
		w.out.Notef("Nothing was written. Try: the same with --write")
	}
	return nil
}
