// Package event defines the JSON lines that commands print with --json. Each line has a type, and a
// version that increases when the meaning of a field changes.
package event

import (
	"bytes"
	"encoding/json"
	"math"
	"strconv"
	"time"
)

// version is the version of all lines. New fields do not change it; a changed meaning does.
const version = 1

// Marshal returns a line without a line feed: kind, version and time, followed by the fields of a
// struct in their order.
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

// marshal does not escape "&" and "<", so that URLs stay readable.
func marshal(v any) ([]byte, error) {
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	err := e.Encode(v)
	return bytes.TrimSuffix(b.Bytes(), []byte("\n")), err
}

// A Plan is a "plan" event: the planned action for an object, and its reason.
type Plan struct {
	Key         string `json:"key"`
	PreviousKey string `json:"previous_key,omitempty"` // the previous key of a moved object
	Action      string `json:"action"`
	Reason      string `json:"reason"`
	Message     string `json:"message"` // the reason, for people
	Category    string `json:"category"`
	Folder      string `json:"folder"`
	Name        string `json:"name"`
	Size        int64  `json:"size"`
	Error       string `json:"error,omitempty"` // the error, if the message does not contain it
}

// A Mapping is a "mapping" event: the result of the mapping rules for an object.
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
	Rules       []string          `json:"rules,omitempty"` // the rules that match the object
	Notes       []string          `json:"notes,omitempty"`
	Unmapped    []string          `json:"unmapped,omitempty"`
	Error       string            `json:"error,omitempty"`
}

// An Item is an "item" event: the outcome of an item.
type Item struct {
	Key         string `json:"key"`
	PreviousKey string `json:"previous_key,omitempty"` // the previous key of a moved object
	Action      string `json:"action"`
	State       string `json:"state"`
	AssetID     string `json:"asset_id,omitempty"`
	URL         string `json:"url,omitempty"`
	Revisions   int64  `json:"revisions,omitempty"` // earlier revisions of the asset that an export writes
	Error       string `json:"error,omitempty"`

	SourceMetadata *SourceMetadata `json:"source_metadata,omitempty"`

	// The following fields are set by explain only.
	Run      string `json:"run,omitempty"`
	Reason   string `json:"reason,omitempty"`
	Message  string `json:"message,omitempty"` // the reason as a sentence
	Attempts int    `json:"attempts,omitempty"`
}

// SourceMetadata is the metadata that the source has for an object. Metadata that is missing, or
// was not requested, is omitted.
type SourceMetadata struct {
	ContentType string            `json:"content_type,omitempty"`
	Metadata    map[string]string `json:"metadata,omitempty"`
	Tags        map[string]string `json:"tags,omitempty"`
}

// A Check is a "check" event: the result of a verification for one item, of a check by doctor, or a
// warning of a plan.
type Check struct {
	Key     string `json:"key"`
	AssetID string `json:"asset_id,omitempty"`
	Result  string `json:"result"`
	Field   string `json:"field,omitempty"` // the field that differs
	Want    string `json:"want,omitempty"`
	Got     string `json:"got,omitempty"`
	Message string `json:"message,omitempty"` // the difference as a sentence

	// The following fields are set by doctor and plan. Their Result is a verdict.
	Check string `json:"check,omitempty"`
	Hint  string `json:"hint,omitempty"` // the remedy, or the setting that decides
	Facts []Fact `json:"facts,omitempty"`

	// The following fields are set by plan.
	Objects  int64    `json:"objects,omitempty"`
	Bytes    int64    `json:"bytes,omitempty"`
	Examples []string `json:"examples,omitempty"`
}

// A Fact is a detail of the result of a check.
type Fact struct {
	Name  string `json:"name"`
	Value string `json:"value"`
	From  string `json:"from,omitempty"` // where the value is configured
}

// A Progress is a "progress" event. Unknown values are omitted.
type Progress struct {
	Phase          string `json:"phase"`
	Items          int64  `json:"items"`
	TotalItems     *int64 `json:"total_items,omitempty"`
	Bytes          int64  `json:"bytes"`
	TotalBytes     *int64 `json:"total_bytes,omitempty"`
	ItemsPerSecond *Rate  `json:"items_per_second,omitempty"`
	BytesPerSecond *Rate  `json:"bytes_per_second,omitempty"`
	ETASeconds     *int64 `json:"eta_seconds,omitempty"`
	Done           bool   `json:"done"` // the phase has ended
}

// A Summary is a "summary" event, the last line of a run.
type Summary struct {
	Run         string  `json:"run"`
	Command     string  `json:"command"`
	Source      string  `json:"source"`
	Destination string  `json:"destination"`
	Actions     Counts  `json:"actions"` // of the whole run
	States      Counts  `json:"states"`
	Bytes       int64   `json:"bytes"`
	Seconds     Seconds `json:"seconds"`
	Exit        int     `json:"exit"`

	PlanHash         string        `json:"plan_hash,omitempty"`   // see migrate.PlanHash
	ApprovedBy       string        `json:"approved_by,omitempty"` // for the three fields from here, see state.Approver
	ApprovalStatedBy string        `json:"approval_stated_by,omitempty"`
	ApprovalKey      string        `json:"approval_key,omitempty"`
	ApprovedAt       string        `json:"approved_at,omitempty"`
	StartedBy        string        `json:"started_by,omitempty"` // the account that started the run
	PlanEstimate     *PlanEstimate `json:"estimate,omitempty"`   // set by plan and rehearse
	Listing          *Listing      `json:"listing,omitempty"`    // set by plan only, if the source counts folders and is slow

	Outcomes Counts `json:"outcomes,omitempty"`  // as in reports; set by status and runs only
	Stopped  string `json:"stopped,omitempty"`   // why a safety check stopped all or a part of it; likewise
	RunState string `json:"run_state,omitempty"` // set by status and runs only, like the times
	Began    string `json:"began,omitempty"`
	Finished string `json:"finished,omitempty"`
	*Checks         // set by verify and urls --check only

	*URLs // set by urls only

	*Rewritten // set by rewrite only

	Permissions *GroupPermissions `json:"permissions,omitempty"` // set by permissions only; the states are those of permissions

	BilledRequests int64    `json:"billed_requests,omitempty"` // set by enrich only, like the credits
	Credits        *float64 `json:"credits,omitempty"`

	Throttled        int64   `json:"throttled,omitempty"`         // answers of the service that asked to slow down
	ThrottledSeconds Seconds `json:"throttled_seconds,omitempty"` // seconds without new requests after such answers

	Wave               string `json:"wave,omitempty"`        // of the run
	LogEntries         int64  `json:"log_entries,omitempty"` // end of the action log, if the run added an entry
	LogSHA256          string `json:"log_sha256,omitempty"`
	Forgotten          int64  `json:"forgotten,omitempty"`            // listed objects that state forget erased
	Unassigned         int64  `json:"unassigned,omitempty"`           // objects in no wave
	ChangedAfterFreeze int64  `json:"changed_after_freeze,omitempty"` // objects of the wave

	Supersedes string `json:"supersedes,omitempty"` // the run that this run replaces, because objects changed after its plan

	Versions           *Versions `json:"versions,omitempty"`            // of the objects of the plan; set by runs with --versions only
	Renamed            int64     `json:"renamed,omitempty"`             // assets at the destination whose names differ from those of their objects
	UnmappedFields     []Field   `json:"unmapped_fields,omitempty"`     // fields without a rule, those of the most objects first
	GPSObjects         int64     `json:"gps_objects,omitempty"`         // objects with GPS coordinates
	UnreadableSidecars int64     `json:"unreadable_sidecars,omitempty"` // objects with an unreadable sidecar
	Table              *Table    `json:"metadata_table,omitempty"`
	CollectionTable    *Table    `json:"collection_table,omitempty"`

	Collections *Collections `json:"collections,omitempty"` // of the objects in the tables
}

// Collections counts collections and the objects in them.
type Collections struct {
	Names       int64 `json:"names"`       // different ones
	Memberships int64 `json:"memberships"` // of all objects
	Objects     int64 `json:"objects"`     // in a collection
	Several     int64 `json:"objects_in_several"`
}

// Versions counts the older versions of the uploaded objects at the source, those that the run brings,
// and those of them that it omitted because they were refused or deleted. For an export, it counts the
// earlier revisions of assets at the destination, those that it writes, and those that failed.
type Versions struct {
	Objects      int64 `json:"objects"` // with older versions
	Older        int64 `json:"older"`
	OlderBytes   int64 `json:"older_bytes"`
	Brought      int64 `json:"brought"`
	BroughtBytes int64 `json:"brought_bytes"`
	Omitted      int64 `json:"omitted_versions"`
}

// An Unassigned is an "unassigned" event: an object in no wave, from plan with --verbose.
type Unassigned struct {
	Key  string `json:"key"`
	Size int64  `json:"size"`
}

// A Forgotten is a "forgotten" event: objects whose data state forget deletes.
type Forgotten struct {
	Source        string   `json:"source"`
	Destination   string   `json:"destination"`
	State         string   `json:"state"` // planned or done
	Objects       int      `json:"objects"`
	Keys          []string `json:"keys"` // with previous keys and sidecars
	Assets        []string `json:"assets"`
	UploadRecords int      `json:"upload_records"`
	Items         int64    `json:"items"` // of all runs
	Proposals     int64    `json:"proposals"`
}

// A Wave is a "wave" event: a part of a source with its own runs, from status.
type Wave struct {
	Wave               string `json:"wave"`
	Source             string `json:"source"`
	Stage              string `json:"stage"`
	Objects            int64  `json:"objects"` // with assets at the destination
	Bytes              int64  `json:"bytes"`
	Verified           int64  `json:"verified"` // of the objects
	Run                string `json:"run,omitempty"`
	PlannedAt          string `json:"planned_at,omitempty"`
	ApprovedBy         string `json:"approved_by,omitempty"`
	ApprovedAt         string `json:"approved_at,omitempty"`
	MigratedAt         string `json:"migrated_at,omitempty"`
	VerifiedAt         string `json:"verified_at,omitempty"`
	Level              string `json:"verified_by,omitempty"` // of the verification
	Differences        int64  `json:"differences,omitempty"`
	URLsCheckedAt      string `json:"urls_checked_at,omitempty"`
	URLsWrong          int64  `json:"urls_wrong,omitempty"`
	Freeze             string `json:"freeze,omitempty"`
	Certificate        string `json:"certificate,omitempty"` // name of the last file
	CertifiedAt        string `json:"certified_at,omitempty"`
	ChangedAfterFreeze int64  `json:"changed_after_freeze,omitempty"`
}

// A Conflict is a "conflict" event: a field for which metadata sources have different values.
type Conflict struct {
	Key    string       `json:"key"`
	Field  string       `json:"field"`
	Values []FieldValue `json:"values"` // in order of precedence; the first one is used
}

// FieldValue is the value of a field in one metadata source.
type FieldValue struct {
	MetadataSource string `json:"metadata_source"`
	Value          string `json:"value"`
}

// A Field is an unmapped field.
type Field struct {
	Field          string `json:"field"`
	MetadataSource string `json:"metadata_source"`
	Objects        int64  `json:"objects"`
}

// Table counts the rows of a metadata table or a table of collections.
type Table struct {
	Rows      int `json:"rows"`      // rows with metadata
	Unmatched int `json:"unmatched"` // rows without an object
	Invalid   int `json:"invalid"`   // invalid rows, which are ignored
}

// Checks are the counts of a verification.
type Checks struct {
	Checked            int64 `json:"checked"`              // upload records that were compared with the listing
	VerifiedByChecksum int64 `json:"verified_by_checksum"` // assets that were also compared by checksum
	Differences        int64 `json:"differences"`
	ExtraAssets        int64 `json:"extra_assets,omitempty"` // additional assets of objects that have more than one
	CheckedRevisions   int64 `json:"checked_revisions,omitempty"`
}

// URLs are the counts of a redirect map.
type URLs struct {
	Written  int64  `json:"urls"`
	Verified int64  `json:"verified"` // verified rows among them
	Omitted  Counts `json:"omitted"`  // by reason
}

// Rewritten is the result of rewrite.
type Rewritten struct {
	Files     int64  `json:"files"`
	Changed   int64  `json:"changed"`      // changed files
	Skipped   int64  `json:"skipped"`      // skipped files
	Failed    int64  `json:"files_failed"` // files that could not be read or written
	Replaced  int64  `json:"rewritten"`    // old URLs
	Lengths   int64  `json:"lengths"`      // corrected lengths of serialized strings
	Current   int64  `json:"current"`      // new URLs
	Unmatched int64  `json:"unmatched"`
	Unused    int64  `json:"unused"`           // assets
	Kept      Counts `json:"kept"`             // old URLs that stay, by reason
	Backup    string `json:"backup,omitempty"` // the folder of the originals; empty if there are none

	// Only for WordPress sites, whose posts are the files.
	IDs       int64  `json:"ids,omitempty"`       // removed references to media by ID
	Widths    int64  `json:"widths,omitempty"`    // images with the widths of their asset
	IDsKept   Counts `json:"ids_kept,omitempty"`  // references by ID that stay, by reason
	Unreached Counts `json:"unreached,omitempty"` // posts and widgets that the API cannot change, by reason
	Local     Counts `json:"local_ids,omitempty"` // references to media that must stay on the site, by kind
}

// An Error is an "error" event: the reason why the command failed.
type Error struct {
	Class   string `json:"class"`
	Message string `json:"message"`
	Hint    string `json:"hint"`
}

// Counts maps a word to a number of occurrences. An empty one is {} in JSON, never null.
type Counts map[string]int64

// MarshalJSON implements json.Marshaler.
func (c Counts) MarshalJSON() ([]byte, error) {
	if c == nil {
		return []byte("{}"), nil
	}
	return json.Marshal(map[string]int64(c))
}

// Seconds is a duration. In JSON it is a number of seconds, rounded to milliseconds.
type Seconds time.Duration

// MarshalJSON implements json.Marshaler.
func (s Seconds) MarshalJSON() ([]byte, error) {
	return Rate(time.Duration(s).Round(time.Millisecond).Seconds()).MarshalJSON()
}

// A Rate is a number per second. A value that JSON cannot represent, such as infinity, becomes 0.
type Rate float64

// MarshalJSON implements json.Marshaler.
func (r Rate) MarshalJSON() ([]byte, error) {
	f := float64(r)
	if math.IsNaN(f) || math.IsInf(f, 0) {
		f = 0
	}
	return strconv.AppendFloat(nil, math.Round(f*1000)/1000, 'f', -1, 64), nil
}

// An Asset is an "asset" event: an asset at the destination. Unknown values are omitted.
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

// A KeptReference is a "kept_reference" event: a post that refers to media by ID, which stays.
type KeptReference struct {
	File   string `json:"file"`
	Name   string `json:"name"` // of the block or shortcode
	Reason string `json:"reason"`
}

// An Unreached is an "unreached" event: a post with content that the API of its site does not reach.
type Unreached struct {
	File   string `json:"file"`
	Reason string `json:"reason"`
}

// An Unused is an "unused" event: an asset that no file refers to.
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

	// The following fields are set by assets category add-extension only.
	Added []string `json:"added,omitempty"` // the extensions that the category did not have
	State string   `json:"state,omitempty"` // done, planned or unchanged
}

// A Folder is a "folder" event.
type Folder struct {
	ID         string `json:"id"`
	Name       string `json:"name"`
	Path       string `json:"path"` // including the category
	CategoryID string `json:"category_id"`
	ParentID   string `json:"parent_id,omitempty"`
	Assets     int    `json:"assets"` // not counting those in subfolders

	// The following fields are set by assets folder rename and delete only.
	PreviousName string `json:"previous_name,omitempty"` // the name before the change
	State        string `json:"state,omitempty"`         // done, planned or unchanged
}

// A Quality is a "quality" event: the quality of the images of a format.
type Quality struct {
	Format  string `json:"format"`
	Quality int    `json:"quality"` // from 1 to 100

	// The following fields are set by --set only.
	PreviousQuality int    `json:"previous_quality,omitempty"`
	State           string `json:"state,omitempty"` // done, planned or unchanged
}

// A Permission is a "permission" event: permissions of a group in a category.
type Permission struct {
	Group       string   `json:"group"`
	GroupID     string   `json:"group_id,omitempty"`
	Category    string   `json:"category"` // "*" for all categories
	CategoryID  string   `json:"category_id,omitempty"`
	Permissions []string `json:"permissions"`
	State       string   `json:"state"`
	Reason      string   `json:"reason,omitempty"` // why it is skipped
	Error       string   `json:"error,omitempty"`
}

// A Group is a "group" event: a group of a table of permissions.
type Group struct {
	ID    string `json:"id,omitempty"`
	Name  string `json:"name"`
	State string `json:"state"`
}

// GroupPermissions are the result of a table of permissions, besides the states in the summary.
type GroupPermissions struct {
	TableHash    string   `json:"table_hash"`
	GroupsAdded  int64    `json:"groups_added"`            // in a plan, those to be added
	NoAccess     int64    `json:"no_access,omitempty"`     // permissions without effect
	OpenToAll    []string `json:"open_to_all,omitempty"`   // categories that tokens without groups can access
	DefaultGroup string   `json:"default_group,omitempty"` // the group of these tokens
}

// A Listing is a listing of the source by the command.
type Listing struct {
	Folders int64   `json:"folders"`
	Seconds Seconds `json:"seconds"`
}

// A PlanEstimate is the estimate in the summary of a plan or a rehearsal. Unknown times are nil.
type PlanEstimate struct {
	Requests int64    `json:"requests"` // without requests that are retried
	Low      *Seconds `json:"seconds_low,omitempty"`
	High     *Seconds `json:"seconds_high,omitempty"`
}

// A LogEntry is a "log_entry" event: an entry of the action log.
type LogEntry struct {
	Number       int64          `json:"number"`
	Recorded     string         `json:"recorded_at"`
	Kind         string         `json:"kind"`
	Run          string         `json:"run,omitempty"`
	Account      string         `json:"account"`
	Host         string         `json:"host"`
	ToolVersion  string         `json:"tool_version"`
	Command      string         `json:"command"`
	ConfigSHA256 string         `json:"config_sha256,omitempty"`
	Overrides    []string       `json:"overrides,omitempty"`
	Details      map[string]any `json:"details,omitempty"`
	Previous     string         `json:"previous_sha256"`
	SHA256       string         `json:"sha256"`
}

// A LogHead is a "log_head" event: the end of the action log.
type LogHead struct {
	Entries int64  `json:"entries"`
	SHA256  string `json:"sha256"`
}

// A Certificate is a "certificate" event: a certificate that was created or verified.
type Certificate struct {
	File        string `json:"file"`
	CreatedAt   string `json:"created_at"`
	Complete    bool   `json:"complete"`
	Verdict     string `json:"verdict"`
	Source      string `json:"source"`
	Destination string `json:"destination"`
	Assets      int64  `json:"assets"`
	Bytes       int64  `json:"bytes"`
	Root        string `json:"merkle_root_sha256"`
	Signer      string `json:"signer"`
	List        bool   `json:"list"` // the list of assets is beside the certificate

	Scope string   `json:"scope"` // source, wave or waves
	Waves []string `json:"waves,omitempty"`
}

// An Inclusion is an "inclusion" event: the record of one asset in a certificate.
type Inclusion struct {
	Key     string   `json:"key"`
	AssetID string   `json:"asset_id"`
	URL     string   `json:"url"`
	Size    int64    `json:"size"`
	SHA256  string   `json:"sha256"`
	Number  int64    `json:"number"`
	Assets  int64    `json:"assets"`
	Path    []string `json:"path_sha256"`
	Root    string   `json:"merkle_root_sha256"`
}
