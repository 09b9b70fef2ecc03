package watchloop

import (
	"path/filepath"
	"strings"
)

// ignored are paths whose changes are of no concern, and what is below them.
type ignored struct{ paths map[string]bool }

func (i *ignored) add(paths []string) {
	if i.paths == nil {
		i.paths = map[string]bool{}
	}
	for _, path := range paths {
		i.paths[resolve(path)] = true
	}
}

// has reports whether a path is ignored: itself, what it is in, or the file whose draft it
// is. A file that is replaced at once is written under such a name first.
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

// resolve resolves the links in a path as far as it exists, since what is told has none.
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
