package rewrite

import (
	"bytes"
	"crypto/rand"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"iter"
	"net/url"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"time"

	"assetferry/internal/ui"
)

// backupEnding ends the name of each backup folder. Such folders are never rewritten.
const backupEnding = ".assetferry-backup"

// A Backup keeps the originals of replaced files in a folder, at their absolute paths. The folder is
// apart from the files, because a web server serves w.php.orig as text, with the passwords in it.
// Only its owner can read the folder, so the originals keep their own permissions.
type Backup struct{ dir string }

// NewBackup returns a Backup with its own folder below root. The first original creates it.
func NewBackup(root string, now time.Time) (*Backup, error) {
	root, err := filepath.Abs(root)
	if err != nil {
		return nil, err
	}
	name := now.UTC().Format("20060102-150405") + "-" + strings.ToLower(rand.Text()[:5]) + backupEnding
	return &Backup{filepath.Join(root, name)}, nil
}

// An InsideError means that a web server may serve the originals.
type InsideError struct{ Root, Folder string }

func (e *InsideError) Error() string {
	return fmt.Sprintf("backup folder %s is inside %s: a web server may serve the originals", ui.Sanitize(e.Root), ui.Sanitize(e.Folder))
}

// NewBackupApart is NewBackup for a root outside the given folders. Otherwise it returns an
// *InsideError.
func NewBackupApart(root string, now time.Time, folders []string) (*Backup, error) {
	backup, err := NewBackup(root, now)
	if err != nil {
		return nil, err
	}
	for _, folder := range folders {
		inside, err := backup.IsWithin(folder)
		if err != nil {
			return nil, fmt.Errorf("backup folder %s: %w", ui.Sanitize(root), err)
		}
		if inside {
			return nil, &InsideError{root, folder}
		}
	}
	return backup, nil
}

// WrittenFolders returns the folders that a backup of paths must be outside of. The folders of named
// files are included only with ofFiles.
func WrittenFolders(paths []string, ofFiles bool) (folders []string) {
	for _, path := range paths {
		switch info, err := os.Stat(path); {
		case err != nil: // reported later
		case info.IsDir():
			folders = append(folders, path)
		case ofFiles:
			if real, err := filepath.EvalSymlinks(path); err == nil {
				folders = append(folders, filepath.Dir(real))
			}
		}
	}
	return folders
}

// RestoredFolders returns the folders that a backup of restored files must be outside of.
func RestoredFolders(backup string) (folders []string) {
	for o, err := range Originals(backup) {
		if err != nil { // reported later
			continue
		}
		folder := filepath.Dir(o.Path)
		if _, err := os.Stat(folder); err == nil && !slices.Contains(folders, folder) {
			folders = append(folders, folder)
		}
	}
	return folders
}

// Dir returns the folder of the originals.
func (b *Backup) Dir() string { return b.dir }

// IsWithin reports whether the backup would be inside a folder. A broken symbolic link is an error,
// because its target may be created later.
func (b *Backup) IsWithin(folder string) (bool, error) {
	folder, err := filepath.Abs(folder)
	if err == nil {
		folder, err = filepath.EvalSymlinks(folder)
	}
	if err != nil {
		return false, err
	}
	dir := b.dir
	for { // the existing part may contain links
		real, err := filepath.EvalSymlinks(dir)
		if errors.Is(err, fs.ErrNotExist) && filepath.Dir(dir) != dir {
			if _, lerr := os.Lstat(dir); lerr == nil {
				return false, fmt.Errorf("%s is a symbolic link to a folder that does not exist", dir)
			}
			dir = filepath.Dir(dir)
			continue
		} else if err != nil {
			return false, err
		}
		relative, err := filepath.Rel(folder, real)
		return err == nil && (relative == "." || filepath.IsLocal(relative)), nil
	}
}

// keep links a file into the backup, at its path without symbolic links, because these may change
// until the file is restored. It makes a copy if linking fails, or if the file has other hard links:
// a write to one of these would change the original. The original is complete or missing.
func (b *Backup) keep(path string) (original string, err error) {
	defer func() {
		if err != nil {
			original, err = "", fmt.Errorf("keep the original: %w", err)
		}
	}()
	if path, err = filepath.Abs(path); err == nil {
		path, err = filepath.EvalSymlinks(path)
	}
	if err != nil {
		return "", err
	}
	original = filepath.Join(b.dir, backupPlace(path))
	if err := makeDirs(filepath.Dir(original)); err != nil {
		return "", err
	}
	if err := linkOrCopy(path, original); err != nil {
		return "", err
	}
	return original, syncDir(filepath.Dir(original))
}

// Save stores content that is not a file, by a name without folders, durably. The content is complete
// or missing.
func (b *Backup) Save(name string, content []byte) (original string, err error) {
	original = filepath.Join(b.dir, name)
	if err := makeDirs(b.dir); err != nil {
		return "", fmt.Errorf("keep the original: %w", err)
	}
	if _, err := os.Lstat(original); err == nil { // never replace an earlier original
		return "", fmt.Errorf("keep the original: %w", &fs.PathError{Op: "create", Path: original, Err: fs.ErrExist})
	}
	draft := draftOf(original)
	err = writeSynced(draft, content)
	if err == nil {
		err = os.Rename(draft, original)
	}
	if err != nil {
		if rerr := os.Remove(draft); !errors.Is(rerr, fs.ErrNotExist) {
			err = errors.Join(err, rerr)
		}
		return "", fmt.Errorf("keep the original: %w", err)
	}
	return original, syncDir(b.dir)
}

func writeSynced(path string, content []byte) error {
	f, err := os.OpenFile(path, os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o600)
	if err != nil {
		return err
	}
	_, err = f.Write(content)
	return errors.Join(err, f.Sync(), f.Close())
}

func linkOrCopy(path, original string) error {
	if _, err := os.Lstat(original); err == nil { // never replace an earlier original
		return &fs.PathError{Op: "link", Path: original, Err: fs.ErrExist}
	}
	info, err := os.Stat(path)
	if err != nil {
		return err
	}
	if !hasOtherNames(info) && os.Link(path, original) == nil {
		return nil
	}
	return duplicate(path, original)
}

// backupPlace returns the place of an absolute path below a backup folder. A Windows volume becomes a
// folder.
func backupPlace(path string) string {
	volume := filepath.VolumeName(path)
	return filepath.Join(url.PathEscape(volume), path[len(volume):])
}

// originalPath reverses backupPlace.
func originalPath(place string) (string, error) {
	if runtime.GOOS != "windows" {
		return string(filepath.Separator) + place, nil
	}
	volume, rest, _ := strings.Cut(place, string(filepath.Separator))
	volume, err := url.PathUnescape(volume)
	return volume + string(filepath.Separator) + rest, err
}

// makeDirs creates a folder that only its owner can read, and its parents, durably.
func makeDirs(dir string) error {
	err := os.Mkdir(dir, 0o700)
	if errors.Is(err, fs.ErrNotExist) && filepath.Dir(dir) != dir {
		if err := makeDirs(filepath.Dir(dir)); err != nil {
			return err
		}
		err = os.Mkdir(dir, 0o700) // once: it fails below a broken link
	}
	switch {
	case err == nil:
		return syncDir(filepath.Dir(dir))
	case errors.Is(err, fs.ErrExist):
		return nil
	}
	return err
}

// ErrNoBackup means that a folder is not a backup that rewrite wrote.
var ErrNoBackup = errors.New("not a backup that rewrite wrote")

// An Original is a file in a backup, with its path outside.
type Original struct{ Kept, Path string }

// Originals yields the originals in the folder of a backup, see [Backup.Dir].
func Originals(dir string) iter.Seq2[Original, error] {
	return func(yield func(Original, error) bool) {
		dir, err := filepath.EvalSymlinks(dir) // WalkDir does not follow a link
		if err != nil || !isFolder(dir) || !strings.HasSuffix(dir, backupEnding) {
			yield(Original{}, errors.Join(ErrNoBackup, err))
			return
		}
		// It returns only errors of the function.
		_ = filepath.WalkDir(dir, func(kept string, d fs.DirEntry, err error) error {
			if err == nil && (!d.Type().IsRegular() || isDraft(kept)) {
				return nil
			}
			o := Original{Kept: kept}
			if err == nil {
				place, rerr := filepath.Rel(dir, kept)
				o.Path, err = originalPath(place)
				err = errors.Join(rerr, err)
			}
			if !yield(o, err) {
				return fs.SkipAll
			}
			return nil
		})
	}
}

// ErrNotRegular means that a path no longer leads to a regular file.
var ErrNotRegular = errors.New("not a regular file any more")

// Differs reports whether the file differs from its original or is missing.
func (o Original) Differs() (differs bool, err error) {
	switch info, err := os.Lstat(o.Path); {
	case errors.Is(err, fs.ErrNotExist):
		return true, nil
	case err != nil:
		return false, err
	case !info.Mode().IsRegular():
		return false, ErrNotRegular
	}
	kept, err := os.Open(o.Kept)
	if err != nil {
		return false, err
	}
	defer func() { err = errors.Join(err, kept.Close()) }()
	now, err := os.Open(o.Path)
	if err != nil {
		return false, err
	}
	defer func() { err = errors.Join(err, now.Close()) }()
	return differ(kept, now)
}

func differ(a, b io.Reader) (bool, error) {
	one, other := make([]byte, 64<<10), make([]byte, 64<<10)
	for {
		n, err := io.ReadFull(a, one)
		m, berr := io.ReadFull(b, other)
		if !bytes.Equal(one[:n], other[:m]) {
			return true, nil
		}
		for _, err := range []error{err, berr} {
			if err != nil && !errors.Is(err, io.EOF) && !errors.Is(err, io.ErrUnexpectedEOF) {
				return false, err
			}
		}
		if n < len(one) {
			return false, nil
		}
	}
}

// Restore replaces the file by its original. The replaced file is kept in another backup, at the path
// replaced, which is "" if the file was missing.
func (o Original) Restore(into *Backup) (replaced string, err error) {
	if _, err := os.Lstat(o.Path); errors.Is(err, fs.ErrNotExist) {
		return "", errors.Join(duplicate(o.Kept, o.Path), syncDir(filepath.Dir(o.Path)))
	}
	return Replace(o.Path, into, func(_ io.Reader, to io.Writer) (changes bool, err error) {
		kept, err := os.Open(o.Kept)
		if err != nil {
			return false, err
		}
		defer func() { err = errors.Join(err, kept.Close()) }()
		_, err = io.Copy(to, kept)
		return true, err
	})
}
