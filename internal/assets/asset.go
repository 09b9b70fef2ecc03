package assets

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"strings"
	"time"
)

// An Asset is an item in the service.
type Asset struct {
	ID             string            `json:"id"`
	Name           string            `json:"name"`      // without the extension
	Extension      string            `json:"extension"` // without a dot
	Size           int64             `json:"size"`
	MIMEType       string            `json:"mimeType"`
	CategoryID     string            `json:"categoryId"`
	FolderID       string            `json:"folderId"` // empty: directly in the category
	UploadedAt     time.Time         `json:"-"`        // zero if the service did not say
	LastModifiedAt time.Time         `json:"-"`
	Tags           []string          `json:"tags"`
	URL            string            `json:"url"`
	ImageURLs      map[string]string `json:"imageUrls"` // width or "default" to address; images only
	Metadata       Metadata          `json:"metadata"`
}

// Filename is the name with its extension.
func (a Asset) Filename() string {
	if a.Extension == "" {
		return a.Name
	}
	return a.Name + "." + a.Extension
}

// Metadata describes an asset. All but Description and CustomAttributes are of
// images only, and there once the service has processed them.
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

// Attributes are custom ones. Their numbers are json.Number: who writes them back must not
// have rounded an ID of somebody else.
type Attributes map[string]any

// UnmarshalJSON implements json.Unmarshaler.
func (a *Attributes) UnmarshalJSON(data []byte) error {
	d := json.NewDecoder(bytes.NewReader(data))
	d.UseNumber()
	return d.Decode((*map[string]any)(a))
}

// A Thumbnail describes a small rendition of an image.
type Thumbnail struct {
	BlurHash string `json:"blurHash"`
	Width    int    `json:"width"` // pixels
	Height   int    `json:"height"`
	MIMEType string `json:"mimeType"`
}

// A ProcessingStatus says how far the service is with an image; empty for other
// assets.
type ProcessingStatus string

// The states of processing. Skipped occurs with analysis only.
const (
	Queued  ProcessingStatus = "queued"
	Success ProcessingStatus = "success"
	Failed  ProcessingStatus = "error"
	Skipped ProcessingStatus = "skipped"
)

// A wireAsset is an asset as it comes: with times in any form of ISO 8601. Lists are read
// as such, since what reads itself is looked through twice before.
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

// UnmarshalJSON reads an asset as it comes.
func (a *Asset) UnmarshalJSON(data []byte) error {
	wire := wireAsset{plainAsset: plainAsset(*a)}
	err := json.Unmarshal(data, &wire)
	*a = wire.asset()
	return err
}

func (a *Asset) check() error {
	if a.ID == "" {
		return errors.New("it is not an asset: no id")
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

// Changes are the fields to set; what is nil stays as it is.
type Changes struct {
	Name        *string // without the extension
	Extension   *string
	Description *string
	Tags        *[]string // all of them
	// CustomAttributes are all of them: whether the service merges them is
	// not known, so read, merge, and give the full set.
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

// Update changes an asset's metadata and returns it as it is then. It carries
// whole values, so doing it twice is the same as once, and it is repeated after
// transient errors.
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

// Offset returns where an asset comes in the list of its category or folder, from
// 0. The form of the answer is a guess.
func (c *Client) Offset(ctx context.Context, id, sortBy, order string) (int, error) {
	query := url.Values{"assetId": {id}}
	setUnlessEmpty(query, "sortBy", sortBy)
	setUnlessEmpty(query, "order", order)
	var got offsetAnswer
	err := c.do(ctx, &request{
		op: "find position of asset", subject: id,
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
		return errors.New("it has no offset")
	}
	return nil
}

// textOf gives a JSON string, "" for null.
func textOf(data []byte) (text string, err error) {
	if n := len(data) - 1; n > 0 && data[0] == '"' && data[n] == '"' && bytes.IndexByte(data, '\\') < 0 {
		return string(data[1:n]), nil // as all times are, if they are any
	}
	err = json.Unmarshal(data, &text)
	return text, err
}

// An isoTime reads an ISO 8601 time; null and "" are the zero time. Anything
// else is an error: a wrong time would hide a fresh upload from whoever looks
// for it.
type isoTime struct{ time.Time }

func (t *isoTime) UnmarshalJSON(data []byte) error {
	s, err := textOf(data)
	if s == "" {
		t.Time = time.Time{}
		return err
	}
	for layout := range strings.SplitSeq("2006-01-02T15:04:05Z07:00|2006-01-02T15:04:05Z0700|2006-01-02T15:04:05|2006-01-02 15:04:05Z07:00|2006-01-02 15:04:05|2006-01-02", "|") {
		if parsed, err := time.Parse(layout, s); err == nil { // a fraction is accepted by any of them
			t.Time = parsed.UTC()
			return nil
		}
	}
	return fmt.Errorf("%.40q is not a time", s)
}
