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

// A draft is an incomplete file in a directory. No asset gets such a name.
const (
	draftStart = ".assetferry-"
	draftEnd   = ".part"
	draftMark  = 16 // characters in between
)

// draftAge is the time without a write after which a draft counts as that of a killed process.
const draftAge = 24 * time.Hour

func newDraft() string { return draftStart + rand.Text()[:draftMark] + draftEnd }

func isDraft(name string) bool {
	return len(name) == len(draftStart)+draftMark+len(draftEnd) && strings.HasPrefix(name, draftStart) && strings.HasSuffix(name, draftEnd)
}

// removeDrafts removes old drafts in a folder.
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

// removeDraft removes a file if it is an old draft.
func removeDraft(root *os.Root, name string) error {
	if !isDraft(filepath.Base(name)) {
		return nil
	}
	info, err := root.Lstat(name)
	if err == nil && info.Mode().IsRegular() && time.Since(info.ModTime()) > draftAge {
		err = root.Remove(name)
	}
	if errors.Is(err, fs.ErrNotExist) { // another process completed it
		return nil
	}
	return err
}
