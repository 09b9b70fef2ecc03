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

// A Skipped path is not looked into.
type Skipped struct{ Path, Why string }

// find gives the HTML files that paths name and those in folders that they name, each once
// and those of a folder in order, results left out. Symbolic links are not followed.
func find(paths []string, suffix string) (files []string, skipped []Skipped, err error) {
	seen := map[string]bool{}
	take := func(path string, kind fs.FileMode) {
		again := seen[path]
		seen[path] = true
		switch {
		case again:
		case kind&fs.ModeSymlink != 0:
			skipped = append(skipped, Skipped{path, "it is a symbolic link"})
		case !kind.IsRegular():
			skipped = append(skipped, Skipped{path, "it is no file"})
		case strings.HasSuffix(bare(path), suffix):
			skipped = append(skipped, Skipped{path, "it is a result"})
		default:
			files = append(files, path)
		}
	}
	for _, path := range paths {
		path = filepath.Clean(path)
		info, err := os.Lstat(path)
		if err != nil {
			return nil, nil, fmt.Errorf("look for pages: %w", err)
		}
		if !info.IsDir() {
			take(path, info.Mode())
			continue
		}
		_ = filepath.WalkDir(path, func(path string, d fs.DirEntry, err error) error { // which fails only if this does
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

// bare is a path without its ending.
func bare(path string) string { return strings.TrimSuffix(path, filepath.Ext(path)) }

// resultOf is where the result of a page is written.
func resultOf(path, suffix string) string { return bare(path) + suffix + filepath.Ext(path) }

// read reads a file of limited size. It must not have become something else since it was
// found: a pipe would be waited for.
func read(path string, most int64) (content []byte, mode fs.FileMode, err error) {
	info, err := os.Lstat(path)
	switch {
	case err != nil:
		return nil, 0, err
	case !info.Mode().IsRegular():
		return nil, 0, fmt.Errorf("%s is no file", path)
	case info.Size() > most:
		return nil, 0, fmt.Errorf("it has %d bytes, and at most %d are read", info.Size(), most)
	}
	f, err := os.Open(path)
	if err != nil {
		return nil, 0, err
	}
	defer f.Close()
	content, err = io.ReadAll(io.LimitReader(f, most+1))
	if err == nil && int64(len(content)) > most {
		err = fmt.Errorf("it has become larger than %d bytes", most)
	}
	return content, info.Mode().Perm(), err
}
