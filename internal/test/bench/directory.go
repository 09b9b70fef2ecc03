package main

import (
	"cmp"
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
		dir, err := w.writeFiles(func(int) []byte { return nil })
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
		dir, err := w.writeFiles(func(int) []byte { return []byte("an image") })
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

// remoteOfRclone compares the migration of a local directory with that of the same directory as a
// remote of rclone. The processor time includes that of rclone.
func (b *bench) remoteOfRclone(latency time.Duration, share float64) ([]row, error) {
	l := library{objects: 20_000 / b.scale, folders: 50, size: small}
	figure := fmt.Sprintf("%d x 20 KiB from a remote of rclone, %v per request of the destination", l.objects, latency)
	if b.peer.path == "" {
		return []row{{figure: figure, goals: []goal{{"rclone", noPeer}}}}, nil
	}
	migrate := func(u *usage, source func(dir string) []string) func(*world) error {
		return func(w *world) error {
			dir, err := w.writeFiles(l.content)
			if err == nil {
				*u, _, err = w.assetferry("migrate", append(source(dir), "--quiet", flagJobs)...)
			}
			return cmp.Or(err, w.service.arrived.check(l.objects))
		}
	}
	var local, ours usage
	if err := b.within(l, latency, migrate(&local, func(dir string) []string { return []string{dir} })); err != nil {
		return nil, err
	}
	if err := b.within(l, latency, migrate(&ours, func(dir string) []string {
		return []string{"rclone::local:" + dir, "--rclone", b.peer.path}
	})); err != nil {
		return nil, err
	}
	got := float64(local.Wall) / float64(ours.Wall)
	r := row{
		figure: figure, baseline: fmt.Sprintf("local source: %.0f assets/s, %s", rate(l.objects, local.Wall), cost(local)),
		measured: fmt.Sprintf("%.0f assets/s, %.0f%%, %s", rate(l.objects, ours.Wall), 100*got, cost(ours)), took: ours,
	}
	if share > 0 {
		r.goals = []goal{atLeast(got, share, fmt.Sprintf("%.0f%% of the local source", 100*share))}
	}
	return []row{r}, nil
}

// writeFiles writes a file for each object of the library, with the content for its number, and
// returns the directory.
func (w *world) writeFiles(content func(n int) []byte) (dir string, err error) {
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
		if err := os.WriteFile(file, content(n), 0o600); err != nil {
			return "", err
		}
	}
	return dir, nil
}
