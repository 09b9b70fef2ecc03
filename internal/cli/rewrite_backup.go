package cli

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"

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
	backup, err := rewrite.NewBackup(root, clock.Now())
	if err != nil || job.backupInside {
		return backup, err
	}
	for _, folder := range folders {
		inside, err := backup.IsWithin(folder)
		if err != nil {
			return nil, fmt.Errorf("backup directory %s: %w", ui.Sanitize(root), err)
		}
		if inside {
			return nil, usage(fmt.Errorf("the backup directory %s is inside %s, where a web server may deliver the originals", ui.Sanitize(root), ui.Sanitize(folder)),
				"name a folder elsewhere with --backup-dir, or add --accept-backup-inside")
		}
	}
	return backup, nil
}

// writtenFolders gives the folders that a backup must be outside of. The folder of a file that
// was named counts only for a backup directory that was named, too: the default one is in the
// home directory, and so may the file be.
func (j rewriteJob) writtenFolders(paths []string) (folders []string) {
	for _, path := range paths {
		switch info, err := os.Stat(path); {
		case err != nil: // it is reported later
		case info.IsDir():
			folders = append(folders, path)
		case j.backupDir != "":
			if real, err := filepath.EvalSymlinks(path); err == nil {
				folders = append(folders, filepath.Dir(real))
			}
		}
	}
	return folders
}

// restoredFolders gives the folders of the files that a backup restores, for the same purpose.
func (j rewriteJob) restoredFolders() (folders []string) {
	if j.backupDir == "" || !j.write {
		return nil
	}
	for o, err := range rewrite.Originals(j.restore) {
		if err != nil { // it is reported later
			continue
		}
		folder := filepath.Dir(o.Path)
		if _, err := os.Stat(folder); err == nil && !slices.Contains(folders, folder) {
			folders = append(folders, folder)
		}
	}
	return folders
}

// tellBackup says where the originals are, and how to restore them.
func (w *rewriting) tellBackup() {
	if w.counts.Backup == "" {
		return
	}
	w.out.Printf("The originals are in %s", ui.Sanitize(w.counts.Backup))
	args := []string{"--restore", w.counts.Backup, "--write"}
	if w.job.backupDir != "" { // the default one may be where a web server delivers it
		args = append(args, "--backup-dir", filepath.Dir(w.counts.Backup))
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
	w := &rewriting{app: a, ctx: ctx, job: job, counts: a.summary.Rewritten}
	var err error
	if w.backup, err = a.newBackup(job, job.restoredFolders()); err != nil {
		return err
	}
	for o, err := range rewrite.Originals(job.restore) {
		if cause := context.Cause(ctx); cause != nil {
			return cause
		}
		if errors.Is(err, rewrite.ErrNoBackup) {
			return usage(fmt.Errorf("--restore %s: %w", ui.Sanitize(job.restore), err), "name the folder that rewrite --write printed")
		}
		if err == nil {
			err = w.restoreFile(o)
		}
		if err != nil {
			w.counts.Failed++
			w.out.Notef("Left as it is: %s: %v", ui.Sanitize(o.Path), err)
		}
	}
	does := "would be restored"
	if job.write {
		does = "restored"
	}
	w.out.Printf("%s of %s %s.", ui.Count(w.counts.Changed), count(w.counts.Files, "file"), does)
	w.tellBackup()
	switch {
	case w.counts.Failed > 0:
		return &stop{code: exitItems}
	case w.counts.Changed > 0 && !job.write:
		w.out.Notef("Nothing was written. Try: the same with --write")
	}
	return nil
}

func (w *rewriting) restoreFile(o rewrite.Original) error {
	w.counts.Files++
	differs, err := o.Differs()
	if err != nil || !differs {
		return err
	}
	if w.job.write {
		replaced, err := o.Restore(w.backup)
		if err != nil {
			return err
		}
		if replaced != "" {
			w.counts.Backup = w.backup.Dir()
		}
	}
	w.counts.Changed++
	w.out.Printf("%s", ui.Sanitize(o.Path))
	return nil
}
