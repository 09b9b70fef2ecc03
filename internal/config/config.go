// Package config builds validated Settings from flags, environment variables and a file.
//
// Precedence: flag, environment variable, job in the file, rest of the file, preset, default.
//
// Each setting is a row of a table (see table.go) with its key in the file, its flag, its variable
// and its default. A secret is never a setting: the file and the flags say where it is, and it is
// read only when it is used. The URL of a notification may be a secret too, so it is never shown.
package config

import (
	"cmp"
	"crypto/sha256"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"time"

	"assetferry/internal/flagname"
	"assetferry/internal/mapping"
	"assetferry/internal/metadata"
	"assetferry/internal/notify"
	"assetferry/internal/oldurl"
	"assetferry/internal/ratelimit"
)

// DefaultFile is read if it exists and no other file is named.
const DefaultFile = "assetferry.yaml"

// An Env looks up an environment variable, such as os.LookupEnv.
type Env func(string) (string, bool)

// get returns a variable; an empty one counts as not set.
func (e Env) get(name string) string {
	value, _ := e(name)
	return value
}

// A UsageError is a mistake in flags, variables or the file, with a hint.
type UsageError struct {
	Msg  string
	Hint string // may be empty
}

func (e *UsageError) Error() string { return e.Msg }

// Settings holds all settings. The zero value of a field means no value and no default.
type Settings struct {
	File string // the file that was read; empty if none was

	Preset string // careful, fast, scheduled; empty: none

	To           string           // URL, name or "sandbox"; see Destination
	Destinations map[string]Named // by name

	Jobs         map[string]Job // by name
	defaultJob   string         // see DefaultJob
	checksum     string         // see FileChecksum
	Job          string         // the one that was chosen; empty if none was
	JobIsDefault bool           // it was not chosen by name
	Source       string         // the source of the job

	State      string // the state database; see DefaultState
	Workspace  string
	Service    string
	User       string
	SourceName string
	CAFile     string
	// ServiceProfile is a file with the measured behaviour of the service; see probe.Profile.
	ServiceProfile string

	LogFile     string
	Metadata    string // a table that describes objects
	Collections string // a table of their collections
	// CollectionsAs is tags, attribute or none. CollectionPrefix is for tags.
	CollectionsAs, CollectionPrefix string
	MaxTag                          int                // characters of a tag, as measured by doctor; 0 if unknown
	Mapping                         *mapping.Rules     // nil: there are none
	Today                           time.Time          // for mapping rules; see Configure of the Factory and mapping.Options
	OldURLs                         []*oldurl.Template // templates of old URLs
	Waves                           []Wave             // of the source
	Wave                            string             // the one that was chosen; empty if none was
	Progress                        string             // auto, bar, plain, none
	Concurrency                     int

	Endpoint        string // of S3; empty: as the environment or the profile of AWS say
	S3Anonymous     bool
	Rclone          string // the program; "" means the first in PATH
	S3RequesterPays bool
	S3Tags          bool

	TableColumns         []string // each MEANING=COLUMN
	TableRoot            string   // empty: the folder of the table
	TableCheck           bool
	SourceHosts          []string
	AllowPrivateNetworks bool

	WordPressFolders string // date, post

	CompensateClock bool
	LeastPrivilege  bool
	AllowHTTP       bool

	Include, Exclude []string
	MinAge           time.Duration
	Versions         int
	Symlinks         string // skip, follow
	CategoryBy       string // extension, folder
	Category         string
	Unsupported      string // stop, skip, create
	FallbackCategory string // for files of unsupported types that are created
	OnCollision      string // rename, keep, conflict
	OnExisting       string // conflict, adopt, duplicate
	Duplicates       string // keep, one-asset

	Precedence []metadata.Source
	Ignored    []metadata.Source // that are not looked at
	GPS        string            // keep, drop
	OnLimit    string            // cut, skip, fail

	Delete              string // never, trash
	GracePeriod         time.Duration
	MaxDelete           int
	MaxDeletePercent    float64
	MaxChanges          int
	MaxChangesPercent   float64
	Sentinel            string
	DriftShare          float64 // between 0 and 1
	OnDestinationChange string  // keep, overwrite, report
	OnReplaceRefused    string  // fail, new-asset

	Approval    string // a file that an approver signed
	ScanCommand string // see Scans
	ScanTimeout time.Duration
	Provenance  string // auto, always, never
	Wait        time.Duration
	MaxDuration time.Duration          // 0: no limit
	Until       *TimeOfDay             // nil: no limit
	MaxRequests ratelimit.RequestLimit // zero: no limit
	Bandwidth   ratelimit.Timetable    // nil: no limit
	KeepRuns    time.Duration          // 0: forever

	AIURL    string // of the AI content service; see AI
	AILimits string // auto, saas, off
	// AICompatibility is the requested version of the list of models.
	AICompatibility string

	AIModel       string   // empty: the one that the service recommends
	AIContexts    []string // of the AI content service, as ai.ParseContextRef reads them
	AIPermissions []string
	AIRoutes      []string // each ENDPOINT=METHOD /path
	EnrichExclude []string
	NeverCategory []string // that never leaves for the AI content service
	NeverTag      []string
	EnrichPrivate string  // never, allow
	MaxCredits    float64 // 0: no limit

	Metrics    string
	Notify     []notify.Target
	NotifyFile string // see Targets

	env    Env
	origin map[string]Origin   // by key
	values map[string][]string // the given texts by key
	place  map[string]place    // positions in the file by key, see also inDestination
}

// An Origin is the place that a value comes from. A higher one has precedence over a lower one.
type Origin int

// The places that a value can come from, in ascending precedence.
const (
	FromDefault Origin = iota
	FromPreset
	FromFile
	FromJob
	FromEnvironment
	FromFlag
)

// Load reads the settings from the file, the environment and the flags that were given, by name
// without dashes. Flags that are no settings are ignored, except "config" and "job". Mistakes are
// *UsageError.
func Load(flags map[string][]string, env Env) (*Settings, error) {
	s := newSettings(env)
	rows := s.table()
	for _, r := range rows {
		if r.initial != "" {
			if err := r.set([]string{r.initial}); err != nil {
				return nil, fmt.Errorf("default of %s: %w", r.key, err)
			}
		}
	}
	if err := s.loadFile(flags["config"], rows); err != nil {
		return nil, err
	}
	if err := s.choose(flags["job"], rows); err != nil {
		return nil, err
	}
	for _, r := range rows {
		value := ""
		if r.env != "" {
			value = env.get(r.env)
		}
		if value == "" {
			continue
		}
		if err := s.put(r, []string{value}, FromEnvironment); err != nil {
			return nil, &UsageError{Msg: fmt.Sprintf("%s: %v", r.env, err)}
		}
	}
	for _, r := range rows {
		values := flags[r.flag()]
		if len(values) == 0 {
			continue
		}
		if err := s.put(r, values, FromFlag); err != nil {
			return nil, &UsageError{Msg: fmt.Sprintf("--%s: %v", r.flag(), err)}
		}
	}
	return s, s.conclude(rows)
}

// conclude checks what depends on several settings, and applies the preset.
func (s *Settings) conclude(rows []row) error {
	if err := s.checkWave(); err != nil {
		return err
	}
	if s.CollectionPrefix != "" && s.CollectionsAs != "tags" {
		return s.wrong("collection_prefix", "a prefix needs collections as tags, not as "+s.CollectionsAs, "omit the prefix, or use --collections-as tags")
	}
	return s.applyPreset(rows)
}

func newSettings(env Env) *Settings {
	return &Settings{env: env, origin: make(map[string]Origin), values: make(map[string][]string), place: make(map[string]place)}
}

// put checks and stores the value of a setting, with its origin.
func (s *Settings) put(r row, values []string, from Origin) error {
	if err := r.set(values); err != nil {
		return err
	}
	s.origin[r.key] = from
	if !r.secret {
		s.values[r.key] = values
	}
	return nil
}

// NewMapping returns the mapping rules with the settings that change them.
func (s *Settings) NewMapping() *mapping.Mapping {
	ignored := func(o metadata.Source) bool { return slices.Contains(s.Ignored, o) }
	return mapping.New(s.Mapping, mapping.Options{
		Precedence: slices.DeleteFunc(slices.Clone(s.Precedence), ignored), DropGPS: s.GPS == "drop", OnLimit: mapping.OnLimit(s.OnLimit), Today: s.Today,
		MaxTag: s.MaxTag, Collections: mapping.CollectionsAs(s.CollectionsAs), CollectionPrefix: s.CollectionPrefix,
	})
}

// SourceOf returns the place that the value of a key comes from.
func (s *Settings) SourceOf(key string) Origin { return s.origin[key] }

// Texts returns the value of a setting as it was given, or its default. A path is absolute. Secrets
// have no text.
func (s *Settings) Texts(key string) []string {
	for _, r := range s.table() {
		switch values, given := s.values[key]; {
		case r.key != key:
			continue
		case !given && r.list:
			return nil
		case !given && r.yesNo:
			return []string{cmp.Or(r.initial, "false")}
		case !given:
			return []string{r.initial}
		case r.path && values[0] != "":
			if full, err := filepath.Abs(values[0]); err == nil {
				return []string{full}
			}
			return values
		case !r.list: // of a flag that is given twice the last one counts
			return values[len(values)-1:]
		default:
			return values
		}
	}
	return nil
}

// IsPath reports whether the setting of a flag is a path.
func (s *Settings) IsPath(flag string) bool {
	return slices.ContainsFunc(s.table(), func(r row) bool { return r.path && r.flag() == flag })
}

// loadFile reads the file that a flag or the environment names, or else the default file if it
// exists.
func (s *Settings) loadFile(flag []string, rows []row) error {
	path := s.env.get("ASSETFERRY_CONFIG")
	if len(flag) > 0 {
		path = flag[len(flag)-1]
	}
	named := path != "" || len(flag) > 0
	if !named {
		path = DefaultFile
	}
	data, err := os.ReadFile(path)
	switch {
	case errors.Is(err, fs.ErrNotExist) && !named:
		return nil
	case errors.Is(err, fs.ErrNotExist):
		return &UsageError{Msg: fmt.Sprintf("there is no configuration file %q", path), Hint: "check the path, or omit --config"}
	case err != nil:
		return fmt.Errorf("configuration: %w", err)
	}
	s.File, s.checksum = path, fmt.Sprintf("%x", sha256.Sum256(data))
	return s.parse(path, data, rows)
}

// FileChecksum returns the checksum of the file that was read, in hexadecimal; empty if none was.
func (s *Settings) FileChecksum() string { return s.checksum }

// Keys returns all settings in the order of the template. The result is shared: callers must not
// change it.
func Keys() []Key { return keys() }

// keys is built once, because every flag of every command needs it.
var keys = sync.OnceValue(func() (all []Key) {
	for _, r := range new(Settings).table() {
		all = append(all, Key{Name: r.key, Flag: r.flag(), Env: r.env, Default: r.initial, Example: r.example, Values: r.values})
	}
	return all
})

// A Key describes a setting.
type Key struct {
	Name    string // key in the file
	Flag    string // flag without dashes
	Env     string // environment variable, or ""
	Default string
	Example string   // an example value, if there is no default
	Values  []string // the allowed values, if they are limited
}

func (r row) flag() string { return flagname.Of(r.key) }

// NoScan is the scan_command that ends the scans of a source.
const NoScan = "none"

// Scans reports whether a scan has to accept objects before their upload.
func (s *Settings) Scans() bool { return s.ScanCommand != "" && s.ScanCommand != NoScan }
