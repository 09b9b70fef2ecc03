package main

import (
	"fmt"
	"os"
	"path"
	"path/filepath"
	"time"
)

// localDirectory measures the listing of a large directory and a plan for it.
func (b *bench) localDirectory() (rows []row, err error) {
	l := library{objects: million / b.scale, folders: 1}
	err = b.within(l, 0, func(w *world) error {
		dir, err := w.writeFiles(nil)
		if err != nil {
			return err
		}
		dir = filepath.Join(dir, "archive")
		bare, _, err := w.runWell(w.self, listMode, "bare", dir)
		if err != nil {
			return err
		}
		u, _, err := w.runWell(w.self, listMode, "source", dir)
		if err != nil {
			return err
		}
		plan, _, err := w.assetferry("plan", dir, "--quiet")
		rows = []row{{
			figure:   fmt.Sprintf("local source, one directory of %d files", l.objects),
			baseline: fmt.Sprintf("%s, %s for os.ReadDir", seconds(bare.Wall), megabytes(bare.RSS)),
			measured: cost(u),
			goals:    []goal{wallWithin(u, 15*time.Second), memoryWithin(u, 300)}, took: u,
		}, {
			figure:   "a full plan of this directory",
			measured: cost(plan),
			goals:    []goal{memoryWithin(plan, 300)}, took: plan,
		}}
		return err
	})
	return rows, err
}

// localTree compares a plan of directories with a dry run of the peer.
func (b *bench) localTree() (rows []row, err error) {
	l := library{objects: 200_000 / b.scale, folders: 2000}
	err = b.within(l, 0, func(w *world) error {
		dir, err := w.writeFiles([]byte("an image"))
		if err != nil {
			return err
		}
		u, _, err := w.assetferry("plan", dir, "--quiet")
		if err != nil {
			return err
		}
		theirs, err := w.rclone("sync", "--dry-run", dir, remote(w.s3, emptyName))
		rows = []row{{
			figure: fmt.Sprintf("local source, plan of a tree of %d files", l.objects), baseline: theirs.text, measured: cost(u),
			goals: []goal{theirs.wall(u, 1), memoryWithin(u, 150)}, took: u,
		}}
		return err
	})
	return rows, err
}

// writeFiles writes a file for each object of the library and returns the directory.
func (w *world) writeFiles(content []byte) (dir string, err error) {
	dir = filepath.Join(w.home.dir, "photos")
	last := ""
	for n := range w.bucket.objects {
		file := filepath.Join(dir, filepath.FromSlash(w.bucket.key(n)))
		if parent := path.Dir(file); parent != last {
			if err := os.MkdirAll(parent, 0o700); err != nil {
				return "", err
			}
			last = parent
		}
		if err := os.WriteFile(file, content, 0o600); err != nil {
			return "", err
		}
	}
	return dir, nil
}
