package local

import (
	"errors"
	"path/filepath"
	"strings"

	"assetferry/sources"
)

var errKey = errors.New("key is not the name of a file in a directory tree")

// toPath is the only place where a key becomes a path. It accepts the one form
// in which the walk writes keys, so that no two keys are the same file.
func toPath(k sources.Key) (string, error) {
	for segment := range strings.SplitSeq(string(k), "/") {
		if segment == "" || segment == "." || segment == ".." || strings.IndexByte(segment, 0) >= 0 {
			return "", errKey
		}
	}
	if filepath.Separator == '/' {
		return string(k), nil // names here are bytes, which Localize does not take
	}
	path, err := filepath.Localize(string(k))
	if err != nil || !filepath.IsLocal(path) {
		return "", errKey
	}
	return path, nil
}
