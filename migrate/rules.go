package migrate

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"path"
	"reflect"
	"slices"
	"strings"
	"time"

	"assetferry/internal/flagname"
	"assetferry/internal/metadata"
	"assetferry/sources"
)

// BringsVersions reports whether older versions of objects are brought, too.
func (r Rules) BringsVersions() bool { return r.Versions > 1 }

// Policy returns the rule about assets whose metadata users edited.
func (r Rules) Policy() metadata.Policy {
	if r.Sync == nil {
		return metadata.Keep
	}
	return metadata.Policy(r.Sync.OnDestinationChange)
}

// SendsInstead reports whether a new asset is created if the service refuses to replace the content
// of one.
func (r Rules) SendsInstead() bool { return r.Sync != nil && r.Sync.OnReplaceRefused == "new-asset" }

// Values of Rules.Access.
const (
	ByPassword = "application password"
	Public     = "public"
)

// Rules are the user's decisions that shape a plan. They are stored with a run, so that it is only
// resumed under the rules of its plan.
type Rules struct {
	Include   []string      `json:"include,omitempty"`    // globs; an object must match one, if there are any
	Exclude   []string      `json:"exclude,omitempty"`    // globs; beat Include
	FilesFrom *KeyList      `json:"files_from,omitempty"` // only these keys
	MinAge    time.Duration `json:"min_age,omitempty"`    // objects changed more recently wait for a later run
	Limit     int           `json:"limit,omitempty"`      // the most objects to create; 0 is no limit
	Symlinks  string        `json:"symlinks,omitempty"`   // applied by the source; here for the comparison

	CategoryBy  string `json:"category_by"`        // "extension" or "folder"
	Category    string `json:"category,omitempty"` // everything into this one, by name
	Unsupported string `json:"unsupported"`        // "stop", "skip" or "create"
	// FallbackCategory is the name of the category for unsupported file types, if Unsupported is
	// "create"; then also for names without a valid extension.
	FallbackCategory string `json:"fallback_category,omitempty"`
	OnCollision      string `json:"on_collision"` // "rename", "keep" or "conflict"
	OnExisting       string `json:"on_existing"`  // "conflict", "adopt" or "create"

	Duplicates string `json:"duplicates,omitempty"` // "one-asset", or empty: each object has its own asset

	Mapping string `json:"mapping,omitempty"` // a hash of the rules for metadata
	Places  string `json:"places,omitempty"`  // a hash of the rules for places
	// Day is today in these rules, such as 2026-01-31; empty if they do not depend on it. The rules
	// for metadata of another day count as other rules, see IsRemapped.
	Day string `json:"day,omitempty"`

	Versions int `json:"versions,omitempty"` // the most versions of each object to bring, with the current one; 0 only that

	AdoptOnly bool `json:"adopt_only,omitempty"` // adopt existing assets, upload nothing

	// Access is how the source was read, if it shows fewer objects and other texts without an
	// application password: ByPassword or Public.
	Access string `json:"access,omitempty"`

	Wave *Wave `json:"wave,omitempty"` // only its objects; nil: the whole source

	Sync *SyncRules `json:"sync,omitempty"` // nil: only new objects are uploaded
}

// SyncRules are the user's decisions about uploaded objects that changed at the source or at the
// destination.
type SyncRules struct {
	Checksum            bool          `json:"checksum,omitempty"`         // read and compare all contents, whatever the fingerprints
	Delete              string        `json:"delete"`                     // "never" or "trash"
	GracePeriod         time.Duration `json:"grace_period"`               // time from the deletion of an object until its asset is trashed
	OnReplaceRefused    string        `json:"on_replace_refused"`         // "fail" or "new-asset"
	OnDestinationChange string        `json:"on_destination_change"`      // "keep", "overwrite" or "report"
	Repair              bool          `json:"repair,omitempty"`           // create again what was deleted at the destination
	RefreshMetadata     bool          `json:"refresh_metadata,omitempty"` // read all metadata again, also from contents
	Failed              *KeyList      `json:"failed,omitempty"`           // only objects that failed before
}

// DefaultSyncRules returns the default rules of a sync.
func DefaultSyncRules() *SyncRules {
	return &SyncRules{Delete: "never", GracePeriod: DefaultGracePeriod, OnReplaceRefused: "fail", OnDestinationChange: "keep"}
}

// DefaultGracePeriod is the default time between the deletion of an object and the trashing of its
// asset. It is less than a day, so that the second daily sync after a deletion trashes the asset.
const DefaultGracePeriod = 20 * time.Hour

// Trashes reports whether assets of deleted objects are trashed.
func (r Rules) Trashes() bool { return r.Sync != nil && r.Sync.Delete == "trash" }

// FollowsDeletions reports whether unlisted objects count as deleted: a run that selects some
// objects says nothing about the others.
func (r Rules) FollowsDeletions() bool {
	return r.Sync != nil && r.FilesFrom == nil && r.Sync.Failed == nil
}

// shaping returns the rules that select objects and places.
func (r Rules) shaping() Rules {
	return Rules{Include: r.Include, Exclude: r.Exclude, Symlinks: r.Symlinks, CategoryBy: r.CategoryBy, Category: r.Category,
		Unsupported: r.Unsupported, FallbackCategory: r.FallbackCategory, OnCollision: r.OnCollision, Duplicates: r.Duplicates, Mapping: r.Mapping, Places: r.Places, Wave: r.Wave}
}

// Overwrites reports whether the source overwrites edits at the destination.
func (r Rules) Overwrites() bool { return r.Sync != nil && r.Sync.OnDestinationChange == "overwrite" }

// ReportsEdits reports whether edits at the destination that conflict with the source need a
// decision.
func (r Rules) ReportsEdits() bool { return r.Sync != nil && r.Sync.OnDestinationChange == "report" }

// DefaultRules returns the default rules.
func DefaultRules() Rules {
	return Rules{
		Symlinks: "skip", CategoryBy: "extension", Unsupported: "stop",
		OnCollision: "rename", OnExisting: "conflict",
	}
}

// KeepsDuplicates reports whether an object is created next to an asset of its name.
func (r Rules) KeepsDuplicates() bool { return r.OnExisting == "create" && !r.AdoptOnly }

// StopsAtUnsupported reports whether unsupported file types keep a plan from being applied.
func (r Rules) StopsAtUnsupported() bool { return r.Unsupported == "stop" && !r.AdoptOnly }

// A KeyList is a set of keys given by the user. Only its checksum is stored.
type KeyList struct {
	Checksum string        `json:"checksum"`
	Keys     []sources.Key `json:"-"` // in order, each once
}

// NewKeyList returns the set of the keys. It keeps and sorts the slice, because there may be
// millions.
func NewKeyList(keys []sources.Key) *KeyList {
	slices.Sort(keys)
	l := &KeyList{Keys: slices.Compact(keys)}
	h := sha256.New()
	for _, k := range l.Keys {
		fmt.Fprintf(h, "%d:%s", len(k), k)
	}
	l.Checksum = hex.EncodeToString(h.Sum(nil))[:16]
	return l
}

// Covers reports whether an object is in the set, or is a folder that hides one that is.
func (l *KeyList) Covers(o sources.Object) bool {
	n, found := slices.BinarySearch(l.Keys, o.Key)
	return found || o.Obstacle.HidesObjects() && n < len(l.Keys) && strings.HasPrefix(string(l.Keys[n]), string(o.Key))
}

// HasParentOf reports whether a parent folder of a key is in the set.
func (l *KeyList) HasParentOf(key sources.Key) bool {
	for n := range key {
		if key[n] != '/' {
			continue
		}
		if _, found := slices.BinarySearch(l.Keys, key[:n+1]); found {
			return true
		}
	}
	return false
}

// Differences returns the rules that differ from stored ones, with both values.
func (r Rules) Differences(stored json.RawMessage) ([]string, error) {
	var was Rules
	if err := json.Unmarshal(stored, &was); err != nil {
		return nil, fmt.Errorf("read rules of the run: %w", err)
	}
	return r.differences(was), nil
}

// Changes returns the rules that differ, with both values.
func (r Rules) Changes(was Rules) []string { return r.differences(was) }

// ScopeChanges returns the differing rules that select objects and places: a sync needs an override
// for them.
func (r Rules) ScopeChanges(was Rules) []string { return r.shaping().differences(was.shaping()) }

func (r Rules) differences(was Rules) []string {
	return fieldDifferences(reflect.ValueOf(was), reflect.ValueOf(r))
}

// fieldDifferences compares two values of a struct of rules.
func fieldDifferences(was, is reflect.Value) (out []string) {
	for i := range was.NumField() {
		name, _, _ := strings.Cut(was.Type().Field(i).Tag.Get("json"), ",")
		x, _ := json.Marshal(was.Field(i).Interface())
		y, _ := json.Marshal(is.Field(i).Interface())
		old, nested := was.Field(i).Interface().(*SyncRules)
		now, _ := is.Field(i).Interface().(*SyncRules)
		switch {
		case string(x) == string(y):
		case name == "wave":
			out = append(out, waveChange(was.Field(i).Interface(), is.Field(i).Interface())...)
		case name == "mapping":
			out = append(out, flagname.InText("the metadata rules differ (mapping, {precedence}, {ignore_metadata}, {gps}, {on_limit}, {collections_as}, {collection_prefix})"))
		case name == "access":
			out = append(out, accessChange(is.Field(i).String()))
		case name == "places":
			out = append(out, "the mapping puts objects in other places")
		case nested && old != nil && now != nil:
			out = append(out, fieldDifferences(reflect.ValueOf(*old), reflect.ValueOf(*now))...)
		default:
			out = append(out, fmt.Sprintf("%s was %s, is %s", flagname.InText("{"+name+"}"), inWords(was.Field(i), x), inWords(is.Field(i), y)))
		}
	}
	return out
}

// waveChange compares two waves, whose freezes may differ.
func waveChange(was, is any) []string {
	old, _ := was.(*Wave)
	now, _ := is.(*Wave)
	if reflect.DeepEqual(old.unfrozen(), now.unfrozen()) {
		return nil
	}
	return []string{fmt.Sprintf(flagname.InText("{wave} was %s; it is %s"), old.Text(), now.Text())}
}

func accessChange(now string) string {
	if now == ByPassword {
		return "the source was read without an application password, and is now read with one"
	}
	return "the source was read with an application password, and is now read without one"
}

// inWords returns a value, or its JSON, for people.
func inWords(value reflect.Value, text []byte) string {
	if d, ok := value.Interface().(time.Duration); ok {
		return d.String()
	}
	if string(text) == "null" || string(text) == `""` {
		return "not set"
	}
	return string(text)
}

// IsJunk reports whether an object is a system file, or in a system folder.
func IsJunk(key sources.Key) bool {
	for segment := range strings.SplitSeq(string(key), "/") {
		switch {
		case segment == ".DS_Store", segment == "@eaDir", segment == "__MACOSX", segment == ".git",
			segment == ".assetferry-revisions", // of an export in a folder of the source
			strings.EqualFold(segment, "Thumbs.db"), strings.EqualFold(segment, "desktop.ini"),
			strings.HasPrefix(segment, "._"), strings.HasPrefix(segment, "~$"):
			return true
		}
	}
	return strings.HasSuffix(strings.ToLower(string(key)), ".part")
}

// SkipReason returns the reason of the rule that skips an object, or "".
func (r Rules) SkipReason(o sources.Object, now time.Time) Reason {
	switch {
	case o.Obstacle == ObstacleUnseen:
		return ReasonFolderNotRead
	case o.Obstacle == sources.Symlink:
		return ReasonSymlink
	case o.Obstacle == sources.Special:
		return ReasonNotRegularFile
	case o.Obstacle == sources.Archived:
		return ReasonArchived
	case o.Obstacle == sources.FolderMarker:
		return ReasonFolderMarker
	case o.Obstacle == sources.Unsized:
		return ReasonNoSize
	case IsJunk(o.Key):
		return ReasonSystemFile
	case MatchAny(r.Exclude, o.Key):
		return ReasonExcluded
	case r.FilesFrom != nil && !r.FilesFrom.Covers(o):
		return ReasonNotInList
	case o.Obstacle.HidesObjects():
		return "" // it is unknown whether the hidden objects are selected
	case len(r.Include) > 0 && !MatchAny(r.Include, o.Key):
		return ReasonExcluded
	case r.MinAge > 0 && now.Sub(o.Time) < r.MinAge:
		return ReasonTooYoung
	}
	return ""
}

// MatchAny reports whether a key matches one of some globs, see [Match].
func MatchAny(globs []string, key sources.Key) bool {
	return slices.ContainsFunc(globs, func(g string) bool { return Match(g, key) })
}

// Match reports whether a key, or a parent folder of it, matches a glob. Within a segment the
// syntax is that of path.Match, and ** matches any number of segments. A glob with a slash, except
// at its end, is anchored at the top of the source. Other globs may match any segment, so "*.psd"
// and "drafts" work at any depth.
func Match(glob string, key sources.Key) bool {
	glob = strings.TrimSuffix(glob, "/")
	segments := strings.Split(strings.TrimSuffix(string(key), "/"), "/")
	if !strings.Contains(glob, "/") {
		return slices.ContainsFunc(segments, func(s string) bool { ok, _ := path.Match(glob, s); return ok || glob == "**" })
	}
	return matchSegments(strings.Split(strings.TrimPrefix(glob, "/"), "/"), segments)
}

// matchSegments keeps one row of a table instead of recursing, so that many
// "**" in one glob cost no more than their product with the key's depth.
func matchSegments(globs, segments []string) bool {
	reach := make([]bool, len(segments)+1) // reach[n]: the globs so far match the first n segments
	reach[0] = true
	for _, g := range globs {
		next := make([]bool, len(reach))
		for n := range reach {
			switch {
			case g == "**":
				next[n] = reach[n] || n > 0 && next[n-1]
			case n > 0 && reach[n-1]:
				next[n], _ = path.Match(g, segments[n-1])
			}
		}
		reach = next
	}
	return slices.Contains(reach[1:], true) // a match of a folder covers everything in it
}

// CheckGlob returns an error if a glob is invalid.
func CheckGlob(glob string) error {
	if strings.Trim(glob, "/") == "" {
		return fmt.Errorf("glob %q matches nothing", glob)
	}
	for segment := range strings.SplitSeq(glob, "/") {
		if _, err := path.Match(segment, ""); err != nil {
			return fmt.Errorf("glob %q: %w", glob, err)
		}
	}
	return nil
}
