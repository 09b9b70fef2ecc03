// Package datadir is the directory of a sandbox: whose it is, and that nobody else uses it.
package datadir

import (
	"errors"
	"io"
	"os"
	"path/filepath"
	"runtime"
)

// MarkerFile is in every directory of a sandbox, so that nobody takes it for a
// part of a source: it holds an access key, and what was uploaded before.
const MarkerFile = ".assetferry-sandbox"

const markerText = "This directory belongs to a sandbox of assetferry. Migrations leave it out.\n"

// Mark puts the marker into a directory.
func Mark(dir string) error {
	if err := os.WriteFile(filepath.Join(dir, MarkerFile), []byte(markerText), 0o600); err != nil {
		return err
	}
	return SyncDir(dir)
}

// SyncDir makes the names in a directory durable. Windows cannot, and does so
// with the file.
func SyncDir(dir string) error {
	if runtime.GOOS == "windows" {
		return nil
	}
	f, err := os.Open(dir)
	if err != nil {
		return err
	}
	return errors.Join(f.Sync(), f.Close())
}

// WritePrivate writes a file that only its owner reads, as a whole or not at all.
func WritePrivate(path, text string) (err error) {
	f, err := os.CreateTemp(filepath.Dir(path), ".private-*") // mode 0600
	if err != nil {
		return err
	}
	defer func() { _ = os.Remove(f.Name()) }()
	_, err = io.WriteString(f, text)
	if err = errors.Join(err, f.Sync(), f.Close()); err != nil {
		return err
	}
	if err := os.Rename(f.Name(), path); err != nil {
		return err
	}
	return SyncDir(filepath.Dir(path))
}
