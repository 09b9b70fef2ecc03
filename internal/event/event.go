// Package event is what programs read: the lines of JSON that commands print with --json, a
// type each, whose version says when a meaning changed.
package event

import (
	"bytes"
	"encoding/json"
	"math"
	"strconv"
	"time"
)

// version is that of every line. Fields may be added under the same version; a changed
// meaning needs the next one.
const version = 1

// Marshal makes a line without its end: kind, version and time, then the fields of a struct
// in their order.
func Marshal(kind string, at time.Time, fields any) (string, error) {
	head, err := marshal(struct {
		Type    string `json:"type"`
		Version int    `json:"version"`
		Time    string `json:"time"`
	}{kind, version, at.UTC().Format(time.RFC3339)})
	if err != nil {
		return "", err
	}
	rest, err := marshal(fields)
	if err != nil {
		return "", err
	}
	if len(rest) <= len("{}") || rest[0] != '{' {
		return string(head), nil
	}
	return string(head[:len(head)-1]) + "," + string(rest[1:]), nil
}

// marshal leaves "&" and "<" alone: URLs stay readable.
func marshal(v any) ([]byte, error) {
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	err := e.Encode(v)
	return bytes.TrimSuffix(b.Bytes(), []byte("\n")), err
}

// A Plan is a "plan" event: what will happen to one object, and why.
type Plan struct {
	Key         string `json:"key"`
	PreviousKey string `json:"previous_key,omitempty"` // the key that a moved object had before
	Action      string `json:"action"`
	Reason      string `json:"reason"`
	Message     string `json:"message"` // the reason, for people
	Category    string `json:"category"`
	Folder      string `json:"folder"`
	Name        string `json:"name"`
	Size        int64  `json:"size"`
	Error       string `json:"error,omitempty"` // what is wrong, where the reason does not say it
}

// A Mapping is a "mapping" event: what rules make of one object.
type Mapping struct {
	Key         string            `json:"key"`
	Skip        bool              `json:"skip,omitempty"`
	Category    string            `json:"category,omitempty"`
	Folder      string            `json:"folder"`
	Name        string            `json:"name"`
	Private     *bool             `json:"private,omitempty"`
	Description string            `json:"description,omitempty"`
	Tags        []string          `json:"tags,omitempty"`
	Attributes  map[string]string `json:"attributes,omitempty"`
	Rules       []string          `json:"rules,omitempty"` // that are for it
	Notes       []string          `json:"notes,omitempty"`
	Unmapped    []string          `json:"unmapped,omitempty"`
	Error       string            `json:"error,omitempty"`
}

// An Item is an "item" event: how one item came out.
type Item struct {
	Key         string `json:"key"`
	PreviousKey string `json:"previous_key,omitempty"` // the key that a moved object had before
	Action      string `json:"action"`
	State       string `json:"state"`
	AssetID     string `json:"asset_id,omitempty"`
	URL         string `json:"url,omitempty"`
	Error       string `json:"error,omitempty"`

	SourceMetadata *SourceMetadata `json:"source_metadata,omitempty"`

	// Of explain only.
	Run      string `json:"run,omitempty"`
	Reason   string `json:"reason,omitempty"`
	Message  string `json:"message,omitempty"` // the reason for people
	Attempts int    `json:"attempts,omitempty"`
}

// SourceMetadata is what the source has with an object besides its content. What is not
// there, or was not asked for, is left out.
type SourceMetadata struct {
	ContentType string            `json:"content_type,omitempty"`
	Metadata    map[string]string `json:"metadata,omitempty"`
	Tags        map[string]string `json:"tags,omitempty"`
}

// A Check is a "check" event: what verification found about one item, what doctor
// found about one thing that a run relies on, or what a plan holds that people should
// look at.
type Check struct {
	Key     string `json:"key"`
	AssetID string `json:"asset_id,omitempty"`
	Result  string `json:"result"`
	Field   string `json:"field,omitempty"` // what differs
	Want    string `json:"want,omitempty"`
	Got     string `json:"got,omitempty"`
	Message string `json:"message,omitempty"` // the same for people

	// Of doctor and of plan, where Result is the verdict.
	Check string `json:"check,omitempty"`
	Hint  string `json:"hint,omitempty"` // the remedy, or what decides it
	Facts []Fact `json:"facts,omitempty"`

	// Of plan.
	Objects  int64    `json:"objects,omitempty"`
	Bytes    int64    `json:"bytes,omitempty"`
	Examples []string `json:"examples,omitempty"`
}

// A Fact is something that a check found out.
type Fact struct {
	Name  string `json:"name"`
	Value string `json:"value"`
	From  string `json:"from,omitempty"` // where it is set
}

// A Progress is a "progress" event. What is not known is left out.
type Progress struct {
	Phase          string `json:"phase"`
	Items          int64  `json:"items"`
	TotalItems     *int64 `json:"total_items,omitempty"`
	Bytes          int64  `json:"bytes"`
	TotalBytes     *int64 `json:"total_bytes,omitempty"`
	ItemsPerSecond *Rate  `json:"items_per_second,omitempty"`
	BytesPerSecond *Rate  `json:"bytes_per_second,omitempty"`
	ETASeconds     *int64 `json:"eta_seconds,omitempty"`
	Done           bool   `json:"done"` // the phase is over
}

// A Summary is a "summary" event, the last line of a run.
type Summary struct {
	Run         string  `json:"run"`
	Command     string  `json:"command"`
	Source      string  `json:"source"`
	Destination string  `json:"destination"`
	Actions     Counts  `json:"actions"` // over the whole run
	States      Counts  `json:"states"`
	Bytes       int64   `json:"bytes"`
	Seconds     Seconds `json:"seconds"`
	Exit        int     `json:"exit"`

	PlanHash         string        `json:"plan_hash,omitempty"`   // see migrate.PlanHash
	ApprovedBy       string        `json:"approved_by,omitempty"` // see state.Approver, also of the two below
	ApprovalStatedBy string        `json:"approval_stated_by,omitempty"`
	ApprovalKey      string        `json:"approval_key,omitempty"`
	ApprovedAt       string        `json:"approved_at,omitempty"`
	StartedBy        string        `json:"started_by,omitempty"` // the account that began the run
	PlanEstimate     *PlanEstimate `json:"estimate,omitempty"`   // of plan only

	Outcomes Counts `json:"outcomes,omitempty"`  // what became of objects, in the words of reports; of status and runs only
	Stopped  string `json:"stopped,omitempty"`   // why a guard kept it, or a part of it, from being carried out; likewise
	RunState string `json:"run_state,omitempty"` // of status and runs only, like the times
	Began    string `json:"began,omitempty"`
	Finished string `json:"finished,omitempty"`
	*Checks         // of verify and urls --check only

	*URLs // of urls only

	*Rewritten // of rewrite only

	BilledRequests int64    `json:"billed_requests,omitempty"` // of the AI content service; of enrich only, like the credits
	Credits        *float64 `json:"credits,omitempty"`

	Throttled        int64   `json:"throttled,omitempty"`         // answers of the service that asked to slow down
	ThrottledSeconds Seconds `json:"throttled_seconds,omitempty"` // for which no request began because of them

	Supersedes string `json:"supersedes,omitempty"` // the run that this one took the place of, as objects had changed since that was done with them

	Renamed            int64   `json:"renamed,omitempty"`             // assets that are called otherwise than their objects, of all at the destination
	UnmappedFields     []Field `json:"unmapped_fields,omitempty"`     // that were found and went nowhere, of the most objects first
	GPSObjects         int64   `json:"gps_objects,omitempty"`         // objects that say where on earth they were made
	UnreadableSidecars int64   `json:"unreadable_sidecars,omitempty"` // objects that have one
	Table              *Table  `json:"metadata_table,omitempty"`
}

// A Conflict is a "conflict" event: a field of which origins say different things.
type Conflict struct {
	Key    string       `json:"key"`
	Field  string       `json:"field"`
	Values []FieldValue `json:"values"` // the first one counts
}

// FieldValue is what an origin says of a field.
type FieldValue struct {
	MetadataSource string `json:"metadata_source"`
	Value          string `json:"value"`
}

// A Field is a field that went nowhere.
type Field struct {
	Field          string `json:"field"`
	MetadataSource string `json:"metadata_source"`
	Objects        int64  `json:"objects"`
}

// Table says what became of the rows of a metadata table.
type Table struct {
	Rows      int `json:"rows"`      // that describe something
	Unmatched int `json:"unmatched"` // of these, for no object
	Invalid   int `json:"invalid"`   // left out
}

// Checks are what verify counted.
type Checks struct {
	Checked            int64 `json:"checked"`              // receipts compared with the listing
	VerifiedByChecksum int64 `json:"verified_by_checksum"` // of these, compared by checksum
	Differences        int64 `json:"differences"`
	ExtraAssets        int64 `json:"extra_assets,omitempty"` // of these, those of assets that have further ones beside them
}

// URLs are the counts of a redirect map.
type URLs struct {
	Written  int64  `json:"urls"`
	Verified int64  `json:"verified"` // of these
	Omitted  Counts `json:"omitted"`  // by reason
}

// Rewritten is what rewrite found and did.
type Rewritten struct {
	Files     int64  `json:"files"`
	Changed   int64  `json:"changed"`      // of these
	Skipped   int64  `json:"skipped"`      // files that were left out
	Failed    int64  `json:"files_failed"` // that could not be read or written
	Replaced  int64  `json:"rewritten"`    // old URLs
	Lengths   int64  `json:"lengths"`      // of serialized strings
	Current   int64  `json:"current"`      // new URLs
	Unmatched int64  `json:"unmatched"`
	Unused    int64  `json:"unused"`           // assets
	Kept      Counts `json:"kept"`             // old URLs that stay, by reason
	Backup    string `json:"backup,omitempty"` // the folder of the originals; empty if none was kept
}

// An Error is an "error" event: why the program ends.
type Error struct {
	Class   string `json:"class"`
	Message string `json:"message"`
	Hint    string `json:"hint"`
}

// Counts maps a word to how often it occurred. Without any it is {} in JSON,
// never null.
type Counts map[string]int64

// MarshalJSON implements json.Marshaler.
func (c Counts) MarshalJSON() ([]byte, error) {
	if c == nil {
		return []byte("{}"), nil
	}
	return json.Marshal(map[string]int64(c))
}

// Seconds is a duration that is a number of seconds in JSON, to the millisecond.
type Seconds time.Duration

// MarshalJSON implements json.Marshaler.
func (s Seconds) MarshalJSON() ([]byte, error) {
	return Rate(time.Duration(s).Round(time.Millisecond).Seconds()).MarshalJSON()
}

// A Rate is a number per second. What JSON cannot express becomes 0.
type Rate float64

// MarshalJSON implements json.Marshaler.
func (r Rate) MarshalJSON() ([]byte, error) {
	f := float64(r)
	if math.IsNaN(f) || math.IsInf(f, 0) {
		f = 0
	}
	return strconv.AppendFloat(nil, math.Round(f*1000)/1000, 'f', -1, 64), nil
}

// An Asset is an "asset" event: an asset at the destination. What is not known is
// left out.
type Asset struct {
	ID          string         `json:"id"`
	Name        string         `json:"name"` // with its extension
	Path        string         `json:"path,omitempty"`
	Size        int64          `json:"size"`
	MIMEType    string         `json:"mime_type,omitempty"`
	CategoryID  string         `json:"category_id"`
	FolderID    string         `json:"folder_id,omitempty"`
	UploadedAt  string         `json:"uploaded_at,omitempty"`
	ModifiedAt  string         `json:"modified_at,omitempty"`
	Tags        []string       `json:"tags,omitempty"`
	Description string         `json:"description,omitempty"`
	Attributes  map[string]any `json:"custom_attributes,omitempty"`
	Width       int            `json:"width,omitempty"`
	Height      int            `json:"height,omitempty"`
	Processing  string         `json:"processing,omitempty"`
	URL         string         `json:"url"`
}

// A Redirect is a "redirect" event: an old and the new URL of an asset.
type Redirect struct {
	Old      string            `json:"old"`
	New      string            `json:"new"`
	Key      string            `json:"key"`
	AssetID  string            `json:"asset_id"`
	Size     int64             `json:"size"`
	Verified bool              `json:"verified"`
	Images   map[string]string `json:"images,omitempty"` // by width, and "default"
	Kind     string            `json:"kind"`             // type of the old URL
	Width    int               `json:"width,omitempty"`  // image width that the old URL is for
}

// A Change is a "change" event: what rewrite replaces in a file.
type Change struct {
	File string `json:"file"`
	Line int64  `json:"line"`
	Old  string `json:"old"`           // as it is written in the file
	New  string `json:"new"`           // likewise
	URL  string `json:"url,omitempty"` // Old, decoded, if it is no length
}

// An UnmatchedURL is an "unmatched_url" event: an old URL in files without an asset.
type UnmatchedURL struct {
	URL   string `json:"url"`
	File  string `json:"file"` // first location
	Line  int64  `json:"line"`
	Times int64  `json:"times"`
}

// An Unused is an "unused" event: an asset that nothing in the files refers to.
type Unused struct {
	Name string `json:"name"` // an old URL
	URL  string `json:"url"`
}

// A Category is a "category" event.
type Category struct {
	ID         string   `json:"id"`
	Name       string   `json:"name"`
	Extensions []string `json:"extensions"`
	Assets     int      `json:"assets"`
	Private    bool     `json:"private"`

	// Of assets category add-extension only.
	Added []string `json:"added,omitempty"` // those of the extensions that are new
	State string   `json:"state,omitempty"` // done, planned or unchanged
}

// A Folder is a "folder" event.
type Folder struct {
	ID         string `json:"id"`
	Name       string `json:"name"`
	Path       string `json:"path"` // with its category
	CategoryID string `json:"category_id"`
	ParentID   string `json:"parent_id,omitempty"`
	Assets     int    `json:"assets"` // directly in it

	// Of assets folder rename and delete only.
	PreviousName string `json:"previous_name,omitempty"` // its name before
	State        string `json:"state,omitempty"`         // done, planned or unchanged
}

// A Quality is a "quality" event: the quality of the images of a format.
type Quality struct {
	Format  string `json:"format"`
	Quality int    `json:"quality"` // from 1 to 100

	// Of --set only.
	PreviousQuality int    `json:"previous_quality,omitempty"`
	State           string `json:"state,omitempty"` // done, planned or unchanged
}

// A PlanEstimate is a part of the summary of a plan: what carrying it out takes. Times are
// nil where they are not known.
type PlanEstimate struct {
	Requests int64    `json:"requests"` // requests, without those that have to be tried again
	Low      *Seconds `json:"seconds_low,omitempty"`
	High     *Seconds `json:"seconds_high,omitempty"`
}
