package watchloop

import (
	"path/filepath"
	"strings"
)

// ignored is a set of paths. Changes of these paths, and below them, are ignored.
type ignored struct{ paths map[string]bool }

func (i *ignored) add(paths []string) {
	if i.paths == nil {
		i.paths = map[string]bool{}
	}
	for _, path := range paths {
		i.paths[resolve(path)] = true
	}
}

// has reports whether a path is ignored: the path itself, a folder above it, or the file whose
// draft it is. A file that is replaced atomically is first written under such a name.
func (i ignored) has(path string) bool {
	if len(i.paths) == 0 {
		return false
	}
	if draft, ok := strings.CutPrefix(filepath.Base(path), "."); ok {
		if at := strings.LastIndexByte(draft, '-'); at > 0 && i.paths[filepath.Join(filepath.Dir(path), draft[:at])] {
			return true
		}
	}
	for !i.paths[path] {
		above := filepath.Dir(path)
		if above == path {
			return false
		}
		path = above
	}
	return true
}

// resolve resolves the links in a path as far as it exists, since events contain none.
func resolve(path string) string {
	if abs, err := filepath.Abs(path); err == nil {
		path = abs
	}
	if real, err := filepath.EvalSymlinks(path); err == nil {
		return real
	}
	dir := filepath.Dir(path)
	if dir == path {
		return path
	}
	return filepath.Join(resolve(dir), filepath.Base(path))
}
