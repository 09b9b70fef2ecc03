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

// isOf reports whether the file of a sidecar has this version of an asset, with the same privacy.
func (s sidecar) isOf(o sources.Object, private bool) bool {
	e := s.Export
	return e.ID == o.VersionTag && e.Size == o.Size && e.Modified.Equal(o.Time) && s.Private == private && e.SHA256 != ""
}

func readSidecar(data []byte) (s sidecar, ok bool) {
	return s, json.Unmarshal(data, &s) == nil && s.Export.Version == manifestVersion
}
