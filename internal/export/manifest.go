package export

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"
	"time"
)

// ManifestName is the file at the top of an export that says what it is.
const ManifestName = "assetferry-export.json"

const (
	manifestType    = "assetferry-export"
	manifestVersion = 1
	// maxManifest is how large a manifest may be that is read back: it grows with the
	// categories and the empty folders, and not with the assets.
	maxManifest = 64 << 20
)

// A Manifest says what an export is of, and what files and folders do not: which categories
// are private, and what they allow.
type Manifest struct {
	Type         string     `json:"type"`
	Version      int        `json:"version"`
	Source       string     `json:"source"` // ckbox://ENVIRONMENT/WORKSPACE
	Made         time.Time  `json:"made"`
	Complete     bool       `json:"complete"` // everything that was listed is there
	Assets       int64      `json:"assets"`
	Bytes        int64      `json:"bytes"`
	Categories   []Category `json:"categories"`
	EmptyFolders []string   `json:"empty_folders"` // by their paths in the export
}

// A Category is one of an export.
type Category struct {
	Folder     string   `json:"folder"` // in the export
	Name       string   `json:"name"`
	Private    bool     `json:"private"`
	Extensions []string `json:"extensions"`
}

// isPrivate reports whether there may be files in a folder that not everybody may see.
func (m Manifest) isPrivate(folder string) bool {
	return slices.ContainsFunc(m.Categories, func(c Category) bool { return c.Folder == folder && c.Private })
}

// errNoManifest says that a file is something else, by chance of that name.
var errNoManifest = errors.New("it is not the manifest of an export")

// readManifest reads what encode gave.
func readManifest(r io.Reader) (m Manifest, err error) {
	data, err := io.ReadAll(io.LimitReader(r, maxManifest+1))
	if err != nil {
		return m, err
	}
	if json.Unmarshal(data, &m) != nil || m.Type != manifestType {
		return Manifest{}, errNoManifest
	}
	if m.Version > manifestVersion {
		return m, fmt.Errorf("a newer assetferry wrote this export: its version is %d, and this one knows %d", m.Version, manifestVersion)
	}
	return m, nil
}

// encode returns a value as a file that people can read.
func encode(v any) ([]byte, error) {
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	e.SetIndent("", "  ")
	err := e.Encode(v)
	return b.Bytes(), err
}
