package rclone

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"assetferry/internal/rclone/rclonetest"
)

func TestParseVersion(t *testing.T) {
	for output, want := range map[string]string{
		"rclone v1.60.1-DEV\n- os/version: debian 12":      "1.60.1-DEV",
		"rclone v1.66.0\n":                                 "1.66.0",
		"rclone v1.61\n":                                   "1.61.0",
		"rclone v1.69.0-beta.8456.0a1b2c3d4\n":             "1.69.0-beta.8456.0a1b2c3d4",
		"2026/01/01 NOTICE: a warning\nrclone v2.0.0+ds\n": "2.0.0+ds",
	} {
		if v, err := ParseVersion(output); err != nil || v.String() != want {
			t.Errorf("%q: %v, %v", output, v, err)
		}
	}
	if _, err := ParseVersion("rsync  version 3.2.7"); err == nil {
		t.Error("another program passes for rclone")
	}
}

func TestBefore(t *testing.T) {
	for text, want := range map[string]bool{"v1.59.2": true, "v1.60.0-beta.1": false, "v1.60.1-DEV": false, "v1.100.0": false, "v2.0.0": false, "v0.99.0": true} {
		v, err := ParseVersion("rclone " + text)
		if err != nil || v.Before(Oldest) != want {
			t.Errorf("%s: %v, %v", text, v.Before(Oldest), err)
		}
	}
}

func TestFind(t *testing.T) {
	self := executable(t)
	p, err := Find(t.Context(), self, os.Environ())
	if err != nil || p.Path != self || p.Version.Minor != 75 {
		t.Errorf("found %+v, %v", p, err)
	}
	_, err = Find(t.Context(), self, append(os.Environ(), rclonetest.VersionVariable+"=v1.50.2"))
	if !errors.Is(err, errTooOld) || !strings.Contains(err.Error(), "version 1.50.2 is too old: at least 1.60 is needed") {
		t.Errorf("old version: %v", err)
	}
	_, err = Find(t.Context(), filepath.Join(t.TempDir(), "rclone"), os.Environ())
	if !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("no program: %v", err)
	}
	if e, ok := errors.AsType[*ProgramError](err); !ok || !strings.Contains(e.Hint(), "--rclone FILE") {
		t.Errorf("no program: hint of %v", err)
	}
}

func TestFindRefusesSnaps(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("links need a privilege there, and snap packages exist on Linux only")
	}
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "snap"), []byte("#!/bin/sh\n"), 0o700); err != nil {
		t.Fatal(err)
	}
	link := filepath.Join(dir, "rclone")
	if err := os.Symlink("snap", link); err != nil {
		t.Fatal(err)
	}
	if _, err := Find(t.Context(), link, os.Environ()); err == nil || !strings.Contains(err.Error(), "snap") {
		t.Errorf("snap: %v", err)
	}
}

func executable(t *testing.T) string {
	t.Helper()
	path, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	return path
}
