package local

import (
	"errors"
	"path/filepath"
	"strings"

	"assetferry/sources"
)

var errKey = errors.New("key is not a path in a directory tree")

// toPath is the only conversion of a key to a path. It accepts only the form of keys in the walk, so
// that no two keys are the same file.
func toPath(k sources.Key) (string, error) {
	for segment := range strings.SplitSeq(string(k), "/") {
		if segment == "" || segment == "." || segment == ".." || strings.IndexByte(segment, 0) >= 0 {
			return "", errKey
		}
	}
	if filepath.Separator == '/' {
		return string(k), nil // names are bytes here, which Localize refuses
	}
	path, err := filepath.Localize(string(k))
	if err != nil || !filepath.IsLocal(path) {
		return "", errKey
	}
	return path, nil
}
