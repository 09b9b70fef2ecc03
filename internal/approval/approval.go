// Package approval writes plans into files that people approve, and reads them back.
//
// A file is JSON Lines. The first line is a header; each other line is an item of the
// plan, in key order, with all that the plan's hash covers. The hash is in the header
// too: what was cut off, edited or mixed up is refused before anybody acts on it.
// Objects that are as the journal remembers them are counted, not listed. Text that is
// not valid UTF-8, as keys may be, is written as an object with its bytes in base64.
//
// Nothing is kept in memory but a line: a file of a million items is read as often as
// it is needed.
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
	// version is that of the format. What it means does not change under a version.
	version = 1
	// mostBytes is how long a line may be: much longer than any that we write.
	mostBytes = 16 << 20
)

// A header is the first line. What the hash covers comes first; sums of actions say
// the same as the items; what is noted is for people and programs that look on.
type header struct {
	Type    string `json:"type"`
	Version int    `json:"version"`
	Hash    string `json:"hash"`

	Source        text                  `json:"source"`
	SourceAddress text                  `json:"source_address"`
	Destination   text                  `json:"destination"`
	Rules         migrate.Rules         `json:"rules"`
	Categories    []migrate.NewCategory `json:"new_categories"`
	Metadata      string                `json:"metadata_sha256,omitempty"`
	Unchanged     Amount                `json:"unchanged"`

	Items   int64                   `json:"items"`
	Actions map[state.Action]Amount `json:"actions"`

	Noted Noted `json:"noted"`
}

// Noted is what a file says besides the plan. No hash covers it. The account that made the
// plan counts for an approval all the same, whose request repeats it: a plan that names none
// cannot be approved.
type Noted struct {
	Run           string            `json:"run"`        // that made the plan
	PlannedBy     string            `json:"planned_by"` // the account that made it
	Made          time.Time         `json:"made"`       // when it was written
	Address       string            `json:"address"`
	CategoryNames map[string]string `json:"category_names,omitempty"` // by id
}

// An Amount is a number of objects and their bytes.
type Amount struct {
	Objects int64 `json:"objects"`
	Bytes   int64 `json:"bytes"`
}

func (s Amount) add(objects, bytes int64) Amount {
	return Amount{s.Objects + objects, s.Bytes + bytes}
}

func (h *header) head() migrate.PlanHead {
	return migrate.PlanHead{
		Source: string(h.Source), SourceLocation: string(h.SourceAddress), Destination: string(h.Destination),
		Rules: h.Rules, Categories: h.Categories, Metadata: h.Metadata, Unchanged: h.Unchanged.Objects, UnchangedBytes: h.Unchanged.Bytes,
	}
}

// A line is an item as it is written.
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

// text is any sequence of bytes. JSON knows valid UTF-8 only, and would put something
// else in the place of the rest without a word.
type text string

type encoded struct {
	Base64 string `json:"base64"`
}

// MarshalJSON writes a string, or an object for what none can hold.
func (t text) MarshalJSON() ([]byte, error) {
	if utf8.ValidString(string(t)) {
		return json.Marshal(string(t))
	}
	return json.Marshal(encoded{base64.StdEncoding.EncodeToString([]byte(t))})
}

// UnmarshalJSON reads either.
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
		return fmt.Errorf("text in base64: %w", err)
	}
	*t = text(decoded)
	return nil
}
