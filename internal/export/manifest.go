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

// ManifestName is the file at the top that identifies an export.
const ManifestName = "assetferry-export.json"

const (
	manifestType    = "assetferry-export"
	manifestVersion = 1
	// maxManifest is the maximum size in bytes of a manifest. It grows with the number of
	// categories and empty folders, and not with that of assets.
	maxManifest = 64 << 20
)

// A Manifest identifies an export, and contains the privacy and the extensions of its categories.
type Manifest struct {
	Type         string     `json:"type"`
	Version      int        `json:"version"`
	Source       string     `json:"source"` // ckbox://ENVIRONMENT/WORKSPACE
	Made         time.Time  `json:"made"`
	Complete     bool       `json:"complete"`         // all listed assets were exported
	Failed       int64      `json:"failed,omitempty"` // listed assets that were not exported, or not completely
	Assets       int64      `json:"assets"`
	Bytes        int64      `json:"bytes"`
	Categories   []Category `json:"categories"`
	EmptyFolders []string   `json:"empty_folders"`      // by their paths in the export
	Versions     int        `json:"versions,omitempty"` // of each asset, if there are earlier revisions
}

// A Category is a category of an export.
type Category struct {
	Folder     string   `json:"folder"` // in the export
	Name       string   `json:"name"`
	Private    bool     `json:"private"`
	Extensions []string `json:"extensions"`
}

// isPrivate reports whether a folder may contain private files.
func (m Manifest) isPrivate(folder string) bool {
	return slices.ContainsFunc(m.Categories, func(c Category) bool { return c.Folder == folder && c.Private })
}

// isInterrupted reports whether an export did not come to its end, or still runs.
func (m Manifest) isInterrupted() bool { return !m.Complete && m.Failed == 0 }

// errNoManifest means that a file with the name of the manifest is another file.
var errNoManifest = errors.New("it is not the manifest of an export")

// readManifest parses the result of encode.
func readManifest(r io.Reader) (m Manifest, err error) {
	data, err := io.ReadAll(io.LimitReader(r, maxManifest+1))
	if err != nil {
		return m, err
	}
	if json.Unmarshal(data, &m) != nil || m.Type != manifestType {
		return Manifest{}, errNoManifest
	}
	if m.Version > manifestVersion {
		return m, fmt.Errorf("a newer version of assetferry wrote this export: format %d, supported %d", m.Version, manifestVersion)
	}
	return m, nil
}

// encode returns a value as readable JSON.
func encode(v any) ([]byte, error) {
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	e.SetIndent("", "  ")
	err := e.Encode(v)
	return b.Bytes(), err
}
