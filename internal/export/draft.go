package export

import (
	"crypto/rand"
	"errors"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"time"
)

// A draft is a file in a directory that is not whole yet. Its name is none that an asset gets.
const (
	draftStart = ".assetferry-"
	draftEnd   = ".part"
	draftMark  = 16 // characters in between
)

// draftAge is how long nobody has written to a draft that nobody will complete any more: the
// one who wrote it was killed.
const draftAge = 24 * time.Hour

func newDraft() string { return draftStart + rand.Text()[:draftMark] + draftEnd }

func isDraft(name string) bool {
	return len(name) == len(draftStart)+draftMark+len(draftEnd) && strings.HasPrefix(name, draftStart) && strings.HasSuffix(name, draftEnd)
}

// removeDrafts removes the drafts in a folder that were left there.
func removeDrafts(root *os.Root, folder string) error {
	f, err := root.Open(folder)
	if err != nil {
		return err
	}
	defer f.Close()
	for {
		names, err := f.Readdirnames(1000)
		for _, name := range names {
			if err := removeDraft(root, filepath.Join(folder, name)); err != nil {
				return err
			}
		}
		if errors.Is(err, io.EOF) {
			return nil
		} else if err != nil {
			return err
		}
	}
}

// removeDraft removes a file if it is a draft that was left.
func removeDraft(root *os.Root, name string) error {
	if !isDraft(filepath.Base(name)) {
		return nil
	}
	info, err := root.Lstat(name)
	if err == nil && info.Mode().IsRegular() && time.Since(info.ModTime()) > draftAge {
		err = root.Remove(name)
	}
	if errors.Is(err, fs.ErrNotExist) { // it was completed
		return nil
	}
	return err
}
