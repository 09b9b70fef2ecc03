package export

import (
	"encoding/json"
	"maps"
	"slices"
	"strings"
	"time"

	"assetferry/internal/assets"
	"assetferry/sources"
)

// sidecarEnding is appended to the name of a file for its sidecar.
const sidecarEnding = ".json"

// A sidecar has the metadata of an asset in the names of a migration, and a record for the export.
type sidecar struct {
	Description string            `json:"description,omitempty"`
	Tags        []string          `json:"tags,omitempty"`
	Attributes  map[string]string `json:"attributes,omitempty"`
	Category    string            `json:"category"`
	Folder      string            `json:"folder,omitempty"`
	Name        string            `json:"name"`
	Private     bool              `json:"private"`
	OldURL      []string          `json:"old_url,omitempty"`
	Export      record            `json:"assetferry"` // a migration ignores this name
}

// A record identifies the asset and the version of a file.
type record struct {
	Version  int       `json:"version"`
	ID       string    `json:"id"`
	Size     int64     `json:"size"`
	SHA256   string    `json:"sha256"`
	Type     string    `json:"type,omitempty"` // of the content
	Uploaded time.Time `json:"uploaded,omitzero"`
	Modified time.Time `json:"modified,omitzero"`
	Width    int       `json:"width,omitempty"` // pixels
	Height   int       `json:"height,omitempty"`
	// Values are the custom attributes that are not texts.
	Values map[string]any `json:"values,omitempty"`

	// Only in exports with earlier revisions:
	Versions  int        `json:"versions,omitempty"` // of the export, if none failed
	Revision  string     `json:"revision,omitempty"` // ID of the current one
	Created   time.Time  `json:"created,omitzero"`   // the current one
	Revisions []revision `json:"revisions,omitempty"`
}

// A revision is an earlier revision of an asset.
type revision struct {
	ID      string    `json:"id"`
	Size    int64     `json:"size"`
	Created time.Time `json:"created,omitzero"`
	SHA256  string    `json:"sha256,omitempty"`
	File    string    `json:"file,omitempty"` // its name in the folder for the revisions of the asset
}

// newSidecar returns the sidecar of an asset and its content.
func newSidecar(o sources.Object, d sources.Description, a assets.Asset, checksum string) sidecar {
	s := sidecar{
		Description: first(d.Fields["description"]), Tags: d.Fields["tags"], Category: first(d.Fields["category"]), Folder: first(d.Fields["folder"]),
		Name: first(d.Fields["name"]), Private: first(d.Fields["private"]) == "true", OldURL: d.Fields["old_url"],
		Export: record{
			Version: manifestVersion, ID: a.ID, Size: o.Size, SHA256: checksum, Type: a.MIMEType, Uploaded: a.UploadedAt.UTC(), Modified: o.Time,
			Width: a.Metadata.Width, Height: a.Metadata.Height,
		},
	}
	for _, name := range slices.Sorted(maps.Keys(d.Fields)) {
		plain := strings.TrimPrefix(name, "attributes.")
		value, ok := a.Metadata.CustomAttributes[plain]
		if !ok || isField(name) {
			continue
		}
		if s.Attributes == nil {
			s.Attributes = map[string]string{}
		}
		s.Attributes[plain] = first(d.Fields[name])
		if _, isText := value.(string); !isText {
			if s.Export.Values == nil {
				s.Export.Values = map[string]any{}
			}
			s.Export.Values[plain] = value
		}
	}
	return s
}

// isField reports whether the name of a field is reserved, so that it is no custom attribute.
func isField(name string) bool {
	return slices.Contains([]string{"description", "tags", "old_url", "category", "folder", "name", "private"}, name)
}

func first(values []string) string {
	if len(values) == 0 {
		return ""
	}
	return values[0]
}

// isOf reports whether a record is that of this version of an asset.
func (r record) isOf(o sources.Object) bool {
	return r.ID == o.VersionTag && r.Size == o.Size && r.Modified.Equal(o.Time) && r.SHA256 != ""
}

func readSidecar(data []byte) (s sidecar, ok bool) {
	return s, json.Unmarshal(data, &s) == nil && s.Export.Version == manifestVersion
}
