package local

import (
	"io/fs"
	"os"
	"path/filepath"
)

// exclusions are the entries that a walk ignores silently.
type exclusions struct {
	keys  map[string]bool // including those of files that appear during the walk
	infos []fs.FileInfo
}

func newExclusions(paths []string, root string) exclusions {
	e := exclusions{keys: make(map[string]bool)}
	for _, path := range paths {
		if rel, inside := below(root, path); inside {
			e.keys[filepath.ToSlash(rel)] = true
		}
		if info, err := os.Stat(path); err == nil {
			e.infos = append(e.infos, info)
		}
	}
	return e
}

func (e exclusions) has(key string, info fs.FileInfo) bool {
	if e.keys[key] {
		return true
	}
	for _, other := range e.infos {
		if info != nil && os.SameFile(info, other) {
			return true
		}
	}
	return false
}

// below returns the path from dir to path, if path is dir or below it.
func below(dir, path string) (string, bool) {
	rel, err := filepath.Rel(resolve(dir), resolve(path))
	return rel, err == nil && filepath.IsLocal(rel)
}

// resolve resolves the links in the existing part of a path.
func resolve(path string) string {
	if resolved, err := filepath.EvalSymlinks(path); err == nil {
		return resolved
	}
	dir := filepath.Dir(path)
	if dir == path {
		return path
	}
	return filepath.Join(resolve(dir), filepath.Base(path))
}
