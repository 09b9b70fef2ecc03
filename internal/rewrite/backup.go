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

// backupEnding is that of the folder of one backup. Folders with it are never rewritten.
const backupEnding = ".assetferry-backup"

// A Backup keeps the originals of files that are replaced, each below a folder at the place
// that its path says. The folder is elsewhere than the files, because what lies beside a
// script is delivered by a web server: w.php.orig as text, with the passwords in it. Only
// its owner may look into it, so the originals keep their own permissions.
type Backup struct{ dir string }

// NewBackup returns a Backup with a folder of its own below root. It is made with the first
// original.
func NewBackup(root string, now time.Time) (*Backup, error) {
	root, err := filepath.Abs(root)
	if err != nil {
		return nil, err
	}
	name := now.UTC().Format("20060102-150405") + "-" + strings.ToLower(rand.Text()[:5]) + backupEnding
	return &Backup{filepath.Join(root, name)}, nil
}

// An InsideError is that originals would be where a web server may deliver them.
type InsideError struct{ Root, Folder string }

func (e *InsideError) Error() string {
	return fmt.Sprintf("the backup directory %s is inside %s, where a web server may deliver the originals", ui.Sanitize(e.Root), ui.Sanitize(e.Folder))
}

// NewBackupApart is NewBackup for a root outside of some folders, else an *InsideError.
func NewBackupApart(root string, now time.Time, folders []string) (*Backup, error) {
	backup, err := NewBackup(root, now)
	if err != nil {
		return nil, err
	}
	for _, folder := range folders {
		inside, err := backup.IsWithin(folder)
		if err != nil {
			return nil, fmt.Errorf("backup directory %s: %w", ui.Sanitize(root), err)
		}
		if inside {
			return nil, &InsideError{root, folder}
		}
	}
	return backup, nil
}

// WrittenFolders gives the folders that a backup must be outside of where paths are
// rewritten. Of files that were named, the folders count only if it is said so.
func WrittenFolders(paths []string, ofFiles bool) (folders []string) {
	for _, path := range paths {
		switch info, err := os.Stat(path); {
		case err != nil: // it is reported later
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

// RestoredFolders gives the folders of the files that a backup restores, for the same purpose.
func RestoredFolders(backup string) (folders []string) {
	for o, err := range Originals(backup) {
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

// Dir returns the folder of the originals.
func (b *Backup) Dir() string { return b.dir }

// IsWithin reports whether the backup would be in a folder. A symbolic link that leads nowhere
// is an error, because the folder that it names may be made later.
func (b *Backup) IsWithin(folder string) (bool, error) {
	folder, err := filepath.Abs(folder)
	if err == nil {
		folder, err = filepath.EvalSymlinks(folder)
	}
	if err != nil {
		return false, err
	}
	dir := b.dir
	for { // what is there of it may lead elsewhere
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

// keep gives a file a second name in the backup, at the place of its path without symbolic
// links, which may lead elsewhere when the file is restored. It is a copy where file systems
// have no common links, and of a file with further names: who writes to one of these would
// change the original. It is there as a whole or not at all.
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

func linkOrCopy(path, original string) error {
	if _, err := os.Lstat(original); err == nil { // never over what was kept before
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

// backupPlace gives an absolute path as one below the folder of a backup. A volume of Windows
// becomes a folder.
func backupPlace(path string) string {
	volume := filepath.VolumeName(path)
	return filepath.Join(url.PathEscape(volume), path[len(volume):])
}

// originalPath undoes backupPlace.
func originalPath(place string) (string, error) {
	if runtime.GOOS != "windows" {
		return string(filepath.Separator) + place, nil
	}
	volume, rest, _ := strings.Cut(place, string(filepath.Separator))
	volume, err := url.PathUnescape(volume)
	return volume + string(filepath.Separator) + rest, err
}

// makeDirs makes a folder that only its owner may look into, and those above it. All of them
// are still there after a crash.
func makeDirs(dir string) error {
	err := os.Mkdir(dir, 0o700)
	if errors.Is(err, fs.ErrNotExist) && filepath.Dir(dir) != dir {
		if err := makeDirs(filepath.Dir(dir)); err != nil {
			return err
		}
		err = os.Mkdir(dir, 0o700) // once: below a link that leads nowhere none can be made
	}
	switch {
	case err == nil:
		return syncDir(filepath.Dir(dir))
	case errors.Is(err, fs.ErrExist):
		return nil
	}
	return err
}

// ErrNoBackup says that a folder is none that a rewrite made.
var ErrNoBackup = errors.New("it is no backup of a rewrite")

// An Original is one in a backup, with the path of the file that it was.
type Original struct{ Kept, Path string }

// Originals yields what is in the folder of a backup, which [Backup.Dir] gave.
func Originals(dir string) iter.Seq2[Original, error] {
	return func(yield func(Original, error) bool) {
		dir, err := filepath.EvalSymlinks(dir) // the walk does not follow a link
		if err != nil || !isFolder(dir) || !strings.HasSuffix(dir, backupEnding) {
			yield(Original{}, errors.Join(ErrNoBackup, err))
			return
		}
		// It fails only if the function does.
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

// ErrNotRegular says that a path is no longer that of a regular file.
var ErrNotRegular = errors.New("it is not a regular file any more, and was left as it is")

// Differs reports whether the file has become another than its original, or is missing.
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

// Restore replaces the file by its original. What it is now goes into another backup, at the
// path replaced; that is empty where the file was missing.
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
