package assets

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"reflect"
	"strings"
	"time"
)

// An Asset is an asset of the service.
type Asset struct {
	ID             string            `json:"id"`
	Name           string            `json:"name"`      // without the extension
	Extension      string            `json:"extension"` // without a dot
	Size           int64             `json:"size"`
	MIMEType       string            `json:"mimeType"`
	CategoryID     string            `json:"categoryId"`
	FolderID       string            `json:"folderId"` // "" directly in the category
	UploadedAt     time.Time         `json:"-"`        // zero if unknown
	LastModifiedAt time.Time         `json:"-"`
	Tags           []string          `json:"tags"`
	URL            string            `json:"url"`
	ImageURLs      map[string]string `json:"imageUrls"` // URLs by width or "default"; images only
	Metadata       Metadata          `json:"metadata"`
}

// Filename returns the name with its extension.
func (a Asset) Filename() string {
	if a.Extension == "" {
		return a.Name
	}
	return a.Name + "." + a.Extension
}

// Metadata is the metadata of an asset. All fields except Description and CustomAttributes
// exist only for processed images.
type Metadata struct {
	Description      string           `json:"description"`
	CustomAttributes Attributes       `json:"customAttributes"`
	Width            int              `json:"width"` // pixels
	Height           int              `json:"height"`
	BlurHash         string           `json:"blurHash"`
	Status           ProcessingStatus `json:"metadataProcessingStatus"`
	AnalysisStatus   ProcessingStatus `json:"analysisProcessingStatus"`
	Thumbnail        Thumbnail        `json:"thumbnailMetadata"`
}

// Attributes are custom attributes. Numbers are json.Number, because writing them back must not
// round IDs.
type Attributes map[string]any

// UnmarshalJSON implements json.Unmarshaler.
func (a *Attributes) UnmarshalJSON(data []byte) error {
	return decodeNumbers(data, (*map[string]any)(a))
}

// decodeNumbers decodes numbers as json.Number.
func decodeNumbers(data []byte, into any) error {
	d := json.NewDecoder(bytes.NewReader(data))
	d.UseNumber()
	return d.Decode(into)
}

// A Thumbnail describes a small rendition of an image.
type Thumbnail struct {
	BlurHash string `json:"blurHash"`
	Width    int    `json:"width"` // pixels
	Height   int    `json:"height"`
	MIMEType string `json:"mimeType"`
}

// A ProcessingStatus is the processing state of an image; "" for other assets.
type ProcessingStatus string

// The states of processing. Skipped only occurs for analysis.
const (
	Queued  ProcessingStatus = "queued"
	Success ProcessingStatus = "success"
	Failed  ProcessingStatus = "error"
	Skipped ProcessingStatus = "skipped"
)

// A wireAsset is an asset in JSON, with times in any form of ISO 8601. Lists decode this type,
// because a type with UnmarshalJSON is parsed twice.
type wireAsset struct {
	plainAsset
	UploadedAt     isoTime `json:"uploadedAt"`
	LastModifiedAt isoTime `json:"lastModifiedAt"`
}

type plainAsset Asset

func (w wireAsset) asset() Asset {
	a := Asset(w.plainAsset)
	a.UploadedAt, a.LastModifiedAt = w.UploadedAt.Time, w.LastModifiedAt.Time
	return a
}

// UnmarshalJSON decodes an asset.
func (a *Asset) UnmarshalJSON(data []byte) error {
	if plain, ok := parseAsset(data); ok && reflect.ValueOf(*a).IsZero() {
		*a = plain
		return nil
	}
	wire := wireAsset{plainAsset: plainAsset(*a)}
	err := json.Unmarshal(data, &wire)
	*a = wire.asset()
	return err
}

func (a *Asset) check() error {
	if a.ID == "" {
		return errors.New("no asset ID")
	}
	return nil
}

// Asset returns one asset.
func (c *Client) Asset(ctx context.Context, id string) (Asset, error) {
	var a Asset
	err := c.do(ctx, &request{
		op: "read asset", subject: id,
		method: http.MethodGet, route: "/assets/{id}", path: "/assets/" + url.PathEscape(id),
		into: &a,
	})
	return a, err
}

// Changes are the fields to set; nil fields do not change.
type Changes struct {
	Name        *string // without the extension
	Extension   *string
	Description *string
	Tags        *[]string // all of them
	// CustomAttributes are the complete attributes: it is unknown whether the service merges
	// them, so read, merge, and set all.
	CustomAttributes map[string]any
}

func (ch Changes) body() map[string]any {
	body, metadata := map[string]any{}, map[string]any{}
	if ch.Name != nil {
		body["name"] = *ch.Name
	}
	if ch.Extension != nil {
		body["extension"] = *ch.Extension
	}
	if ch.Tags != nil {
		body["tags"] = append([]string{}, *ch.Tags...) // never null
	}
	if ch.Description != nil {
		metadata["description"] = *ch.Description
	}
	if ch.CustomAttributes != nil {
		metadata["customAttributes"] = ch.CustomAttributes
	}
	if len(metadata) > 0 {
		body["metadata"] = metadata
	}
	return body
}

// Update changes the metadata of an asset and returns the new asset. It sets complete values,
// so it is idempotent and repeated after transient errors.
func (c *Client) Update(ctx context.Context, id string, changes Changes) (Asset, error) {
	var a Asset
	err := c.do(ctx, &request{
		op: "update asset", subject: id,
		method: http.MethodPatch, route: "/assets/{id}", path: "/assets/" + url.PathEscape(id),
		body: jsonPayload(changes.body()),
		into: &a,
	})
	return a, err
}

// Offset returns the position of an asset in the list of its category or folder, from 0. The
// form of the response is a guess.
func (c *Client) Offset(ctx context.Context, id, sortBy, order string) (int, error) {
	query := url.Values{"assetId": {id}}
	setUnlessEmpty(query, "sortBy", sortBy)
	setUnlessEmpty(query, "order", order)
	var got offsetAnswer
	err := c.do(ctx, &request{
		op: "find offset of asset", subject: id,
		method: http.MethodGet, route: "/assets/{id}/offset", path: "/assets/" + url.PathEscape(id) + "/offset",
		query: query,
		into:  &got,
	})
	if err != nil {
		return 0, err
	}
	return *got.Offset, nil
}

type offsetAnswer struct {
	Offset *int `json:"offset"`
}

func (o *offsetAnswer) check() error {
	if o.Offset == nil || *o.Offset < 0 {
		return errors.New("no offset")
	}
	return nil
}

// textOf decodes a JSON string; null becomes "".
func textOf(data []byte) (text string, err error) {
	if n := len(data) - 1; n > 0 && data[0] == '"' && data[n] == '"' && bytes.IndexByte(data, '\\') < 0 {
		return string(data[1:n]), nil // without escapes, like all times
	}
	err = json.Unmarshal(data, &text)
	return text, err
}

// An isoTime is a time in ISO 8601; null and "" are the zero time. Other values are errors: a
// wrong time would hide a new upload from the search for it.
type isoTime struct{ time.Time }

func (t *isoTime) UnmarshalJSON(data []byte) error {
	if n := len(data) - 1; n > 0 && data[0] == '"' && t.UnmarshalText(data[1:n]) == nil { // the usual form, which needs no string
		t.Time = t.UTC()
		return nil
	}
	s, err := textOf(data)
	if s == "" {
		t.Time = time.Time{}
		return err
	}
	for layout := range strings.SplitSeq("2006-01-02T15:04:05Z07:00|2006-01-02T15:04:05Z0700|2006-01-02T15:04:05|2006-01-02 15:04:05Z07:00|2006-01-02 15:04:05|2006-01-02", "|") {
		if parsed, err := time.Parse(layout, s); err == nil { // all layouts accept fractions
			t.Time = parsed.UTC()
			return nil
		}
	}
	return fmt.Errorf("%.40q is not a time", s)
}
