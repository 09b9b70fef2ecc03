// Package approval writes plan files and approval requests, and reads them back.
//
// A plan file is JSON Lines. The first line is a header. Every other line is an item of the plan, in
// key order, with everything that the hash of the plan covers. The hash is also in the header: a
// truncated, edited or mixed file is refused before it is used. Unchanged objects are counted, not
// listed. Text that is not valid UTF-8, as keys may be, is an object with its bytes in base64.
//
// Only one line is in memory at a time. A file with a million items is read as often as needed.
package approval

import (
	"encoding/base64"
	"encoding/json"
	"fmt"
	"time"
	"unicode/utf8"

	"assetferry/migrate"
	"assetferry/sources"
	"assetferry/state"
)

const (
	kind = "approval-plan"
	// version is the version of the format. The meaning of a version never changes.
	version = 1
	// mostBytes is the maximum length of a line, much more than any that is written.
	mostBytes = 16 << 20
)

// A header is the first line. The fields that the hash covers come first. The totals of actions match
// the items. The noted fields are information only.
type header struct {
	Type    string `json:"type"`
	Version int    `json:"version"`
	Hash    string `json:"hash"`

	Source      text                  `json:"source"`
	SourceURL   text                  `json:"source_url"`
	Destination text                  `json:"destination"`
	Rules       migrate.Rules         `json:"rules"`
	Categories  []migrate.NewCategory `json:"new_categories"`
	Metadata    string                `json:"metadata_sha256,omitempty"`
	Unchanged   Amount                `json:"unchanged"`

	Items   int64                   `json:"items"`
	Actions map[state.Action]Amount `json:"actions"`

	Noted Noted `json:"noted"`
}

// Noted is additional information. The hash does not cover it. The account that made the plan
// matters for an approval, whose request repeats it: a plan without that account cannot be
// approved.
type Noted struct {
	Run           string            `json:"run"`        // run that made the plan
	PlannedBy     string            `json:"planned_by"` // account that made it
	Made          time.Time         `json:"made"`       // time of writing
	URL           string            `json:"url"`
	CategoryNames map[string]string `json:"category_names,omitempty"` // by ID
}

// An Amount is a number of objects and their total size in bytes.
type Amount struct {
	Objects int64 `json:"objects"`
	Bytes   int64 `json:"bytes"`
}

func (s Amount) add(objects, bytes int64) Amount {
	return Amount{s.Objects + objects, s.Bytes + bytes}
}

func (h *header) head() migrate.PlanHead {
	return migrate.PlanHead{
		Source: string(h.Source), SourceLocation: string(h.SourceURL), Destination: string(h.Destination),
		Rules: h.Rules, Categories: h.Categories, Metadata: h.Metadata, Unchanged: h.Unchanged.Objects, UnchangedBytes: h.Unchanged.Bytes,
	}
}

// A line is an item in the file.
type line struct {
	Key        text         `json:"key"`
	Action     state.Action `json:"action"`
	Reason     string       `json:"reason"`
	Size       int64        `json:"size"`
	Time       time.Time    `json:"time,omitzero"`
	VersionTag text         `json:"version_tag,omitempty"`
	Category   text         `json:"category,omitempty"`
	Folder     text         `json:"folder,omitempty"`
	Name       text         `json:"name,omitempty"`
	Asset      text         `json:"asset,omitempty"`
}

func lineOf(i state.Item) line {
	return line{text(i.Key), i.Action, i.Reason, i.Size, i.Time.UTC(), text(i.VersionTag), text(i.Category), text(i.Folder), text(i.Name), text(i.Asset)}
}

func (l line) item() state.Item {
	return state.Item{
		Object: sources.Object{Key: sources.Key(l.Key), Size: l.Size, Time: l.Time.UTC(), VersionTag: string(l.VersionTag)}, Action: l.Action, Reason: l.Reason,
		Category: string(l.Category), Folder: string(l.Folder), Name: string(l.Name), Asset: string(l.Asset),
	}
}

// text is any sequence of bytes. JSON supports valid UTF-8 only and would silently replace other
// bytes.
type text string

type encoded struct {
	Base64 string `json:"base64"`
}

// MarshalJSON writes a string, or an object for text that is not valid UTF-8.
func (t text) MarshalJSON() ([]byte, error) {
	if utf8.ValidString(string(t)) {
		return json.Marshal(string(t))
	}
	return json.Marshal(encoded{base64.StdEncoding.EncodeToString([]byte(t))})
}

// UnmarshalJSON reads both forms.
func (t *text) UnmarshalJSON(b []byte) error {
	if len(b) == 0 || b[0] != '{' {
		return json.Unmarshal(b, (*string)(t))
	}
	var e encoded
	if err := json.Unmarshal(b, &e); err != nil {
		return err
	}
	decoded, err := base64.StdEncoding.DecodeString(e.Base64)
	if err != nil {
		return fmt.Errorf("decode text in base64: %w", err)
	}
	*t = text(decoded)
	return nil
}
