package altpages

import (
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

// A Skipped path is not processed.
type Skipped struct{ Path, Why string }

// find returns the named HTML files and those in the named folders, in order, each once and
// without results. It does not follow symbolic links.
func find(paths []string, suffix string) (files []string, skipped []Skipped, err error) {
	seen := map[string]bool{}
	take := func(path string, kind fs.FileMode) {
		again := seen[path]
		seen[path] = true
		switch {
		case again:
		case kind&fs.ModeSymlink != 0:
			skipped = append(skipped, Skipped{path, "symbolic links are not followed"})
		case !kind.IsRegular():
			skipped = append(skipped, Skipped{path, "not a file"})
		case strings.HasSuffix(bare(path), suffix):
			skipped = append(skipped, Skipped{path, "it is a result of an earlier run"})
		default:
			files = append(files, path)
		}
	}
	for _, path := range paths {
		path = filepath.Clean(path)
		info, err := os.Lstat(path)
		if err != nil {
			return nil, nil, fmt.Errorf("find pages: %w", err)
		}
		if !info.IsDir() {
			take(path, info.Mode())
			continue
		}
		_ = filepath.WalkDir(path, func(path string, d fs.DirEntry, err error) error { // it only returns errors of the function
			switch {
			case err != nil:
				skipped = append(skipped, Skipped{path, err.Error()})
			case !d.IsDir() && isPage(path) && !strings.HasSuffix(bare(path), suffix):
				take(path, d.Type())
			}
			return nil
		})
	}
	return files, skipped, nil
}

func isPage(path string) bool {
	return slices.Contains([]string{".html", ".htm", ".xhtml"}, strings.ToLower(filepath.Ext(path)))
}

// bare returns a path without its extension.
func bare(path string) string { return strings.TrimSuffix(path, filepath.Ext(path)) }

// resultOf returns the path of the result for a page.
func resultOf(path, suffix string) string { return bare(path) + suffix + filepath.Ext(path) }

// read reads a file of limited size. It refuses anything else, such as a pipe that replaced the
// file and would block.
func read(path string, most int64) (content []byte, mode fs.FileMode, err error) {
	info, err := os.Lstat(path)
	switch {
	case err != nil:
		return nil, 0, err
	case !info.Mode().IsRegular():
		return nil, 0, fmt.Errorf("%s is not a file", path)
	case info.Size() > most:
		return nil, 0, fmt.Errorf("the file has %d bytes; the limit is %d", info.Size(), most)
	}
	f, err := os.Open(path)
	if err != nil {
		return nil, 0, err
	}
	defer f.Close()
	content, err = io.ReadAll(io.LimitReader(f, most+1))
	if err == nil && int64(len(content)) > most {
		err = fmt.Errorf("the file grew beyond %d bytes", most)
	}
	return content, info.Mode().Perm(), err
}
