// Package datadir manages the directory of a sandbox: its marker, its lock and its owner.
package datadir

import (
	"errors"
	"io"
	"os"
	"path/filepath"
	"runtime"
)

// MarkerFile is in every directory of a sandbox, so that it is not treated as part of a source:
// it contains an access key and uploaded files.
const MarkerFile = ".assetferry-sandbox"

const markerText = "This directory belongs to an assetferry sandbox. Migrations ignore it.\n"

// Mark writes the marker file into a directory.
func Mark(dir string) error {
	if err := os.WriteFile(filepath.Join(dir, MarkerFile), []byte(markerText), 0o600); err != nil {
		return err
	}
	return SyncDir(dir)
}

// SyncDir makes the names in a directory durable. On Windows this happens with the file.
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

// WritePrivate writes a file that only its owner can read, completely or not at all.
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
