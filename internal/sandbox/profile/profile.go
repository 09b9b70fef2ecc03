// Package profile defines the observed behaviour of services where the documentation is silent,
// and the limits of plans.
package profile

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"math"
	"net/http"
	"reflect"
	"slices"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/goccy/go-yaml"
	"github.com/goccy/go-yaml/ast"

	"assetferry/internal/sandbox/naming"
	"assetferry/internal/sandbox/problem"
	"assetferry/internal/sandbox/records"
	"assetferry/internal/sandbox/standin"
	"assetferry/internal/sandbox/store"
	"assetferry/internal/strictyaml"
)

// A Profile contains the observed behaviour of a service where its documentation is silent. The
// sandbox can imitate it. Zero values select the default behaviour of the sandbox. For lengths
// and counts, a negative number means no limit.
type Profile struct {
	Version int `yaml:"version"` // of the file format; 1

	EqualAssets     string `yaml:"equal_assets"`     // asset with a name in use: accept, rename or refuse
	EqualFolders    string `yaml:"equal_folders"`    // accept or refuse
	EqualCategories string `yaml:"equal_categories"` // accept or refuse

	Folders         string `yaml:"folders"`          // content of GET /folders: top or flat
	CategoryListing string `yaml:"category_listing"` // content of a category: direct (outside its folders) or deep
	ListOrder       string `yaml:"list_order"`       // sortBy and order of assets: honoured or ignored
	DateFilter      string `yaml:"date_filter"`      // of a search: honoured, ignored or refused

	DefaultPage   int    `yaml:"default_page"`    // default number of assets per page
	LargestPage   int    `yaml:"largest_page"`    // maximum number of assets per page
	TooLargePages string `yaml:"too_large_pages"` // larger pages: refuse, or shorten to the maximum

	MaxName        int `yaml:"max_name"` // characters, of assets, folders and categories
	MaxDescription int `yaml:"max_description"`
	MaxTag         int `yaml:"max_tag"`
	MaxTags        int `yaml:"max_tags"`
	MaxAttributes  int `yaml:"max_attributes"` // maximum number of custom attributes
	MaxAttribute   int `yaml:"max_attribute"`  // maximum of characters in a value

	Attributes  string   `yaml:"attributes"`   // PATCH of custom attributes: replace or merge
	Extensions  string   `yaml:"extensions"`   // comparison: folded or exact
	TrashServed bool     `yaml:"trash_served"` // content of assets in the trash is served
	Bearer      bool     `yaml:"bearer"`       // a token after "Bearer " is valid
	Lacks       []string `yaml:"lacks"`        // missing features: replace, restore, head, ranges, etag

	TokenAge       time.Duration `yaml:"token_age"` // the oldest valid iat
	TimeResolution time.Duration `yaml:"time_resolution"`
	Processing     time.Duration `yaml:"processing"`    // of a small image
	ListingDelay   time.Duration `yaml:"listing_delay"` // delay of new assets in lists and searches
	Latency        time.Duration `yaml:"latency"`
	UploadLatency  time.Duration `yaml:"upload_latency"`
	LatencyP95     time.Duration `yaml:"latency_p95"` // 95th percentile; 0: Latency does not vary
	// UploadLatencyP95 is the 95th percentile of UploadLatency.
	UploadLatencyP95 time.Duration `yaml:"upload_latency_p95"`

	UploadBandwidth      int64 `yaml:"upload_bandwidth"`       // bytes per second of one upload
	UploadBandwidthTotal int64 `yaml:"upload_bandwidth_total"` // of all uploads together

	Rate       int    `yaml:"rate"` // requests per second; others get 429
	RetryAfter string `yaml:"retry_after"`

	Plan          string `yaml:"plan"`
	MaxFileSize   int64  `yaml:"max_file_size"` // bytes
	MaxMegapixels int    `yaml:"max_megapixels"`

	// Information for people.
	Service     string            `yaml:"service"`
	MeasuredAt  string            `yaml:"measured_at"`
	HighestRate int               `yaml:"highest_rate"` // requests per second at which none was refused
	Unknown     map[string]string `yaml:"unknown"`      // why something was not measured
}

// maxProfile limits the size of a profile.
const maxProfile = 64 << 10

// Read parses a YAML profile. Unknown keys are errors with their line; name is the file name
// for messages.
func Read(name string, r io.Reader) (p Profile, err error) {
	return p, ReadInto(name, r, &p)
}

// ReadInto parses a profile into a struct with yaml tags, and lets it check itself. Errors name
// the key.
func ReadInto(name string, r io.Reader, p interface {
	Check() (key string, err error)
}) error {
	data, err := io.ReadAll(io.LimitReader(r, maxProfile+1))
	if err != nil {
		return fmt.Errorf("read profile: %w", err)
	}
	if len(data) > maxProfile {
		return fmt.Errorf("%s: the file is too long for a profile", name)
	}
	file, err := strictyaml.Parse(name, data)
	if err != nil {
		return err
	}
	if file.Root == nil {
		return fmt.Errorf("%s: the file is empty; a profile begins with version: 1", name)
	}
	places, err := decodeProfile(file, p)
	if err != nil {
		return err
	}
	if key, err := p.Check(); err != nil {
		return file.ErrorAt(cmp.Or(places[key], file.Root), err.Error())
	}
	return nil
}

// decodeProfile sets the values of a file and returns their lines.
func decodeProfile(file *strictyaml.File, p any) (map[string]ast.Node, error) {
	entries, err := file.Entries(file.Root)
	if err != nil {
		return nil, err
	}
	fields := map[string]reflect.Value{}
	for i, v := 0, reflect.ValueOf(p).Elem(); i < v.NumField(); i++ {
		fields[v.Type().Field(i).Tag.Get("yaml")] = v.Field(i)
	}
	places := map[string]ast.Node{}
	for _, e := range entries {
		key := e.Key.GetToken().Value
		field, known := fields[key]
		if !known {
			return nil, file.ErrorAt(e.Key, fmt.Sprintf("unknown key %q%s", key, strictyaml.Suggestion(key, slices.Sorted(maps.Keys(fields)))))
		}
		if e.Value.Type() == ast.NullType { // "key:" without a value
			continue
		}
		if !strictyaml.Plain(e.Value) { // the decoder panics at a tag without a value
			return nil, file.ErrorAt(e.Value, "a profile must not contain tags, anchors or aliases")
		}
		_, isFraction := e.Value.(*ast.FloatNode) // the decoder would drop the fraction
		if err := yaml.NodeToValue(e.Value, field.Addr().Interface()); err != nil || isFraction && field.CanInt() {
			return nil, file.ErrorAt(e.Value, fmt.Sprintf("%s must be %s", key, wants(field)))
		}
		places[key] = e.Value
	}
	return places, nil
}

// wants describes the type of a value.
func wants(field reflect.Value) string {
	switch field.Interface().(type) {
	case time.Duration:
		return "a duration such as 30ms or 2s"
	case bool:
		return "true or false"
	case string:
		return "text"
	case []string:
		return "a list"
	case map[string]string:
		return "\"key: text\" lines"
	}
	return "a whole number"
}

// Check returns the key of an invalid value in a file.
func (p *Profile) Check() (key string, err error) {
	if p.Version != 1 {
		return "version", fmt.Errorf("version %d is not supported; only version 1 is", p.Version)
	}
	return p.CheckValues()
}

func (p *Profile) CheckValues() (key string, err error) {
	for _, w := range []struct{ key, value, allowed string }{
		{"equal_assets", p.EqualAssets, "accept rename refuse"},
		{"equal_folders", p.EqualFolders, "accept refuse"},
		{"equal_categories", p.EqualCategories, "accept refuse"},
		{"folders", p.Folders, "top flat"},
		{"category_listing", p.CategoryListing, "direct deep"},
		{"list_order", p.ListOrder, "honoured ignored"},
		{"date_filter", p.DateFilter, "honoured ignored refused"},
		{"too_large_pages", p.TooLargePages, "refuse shorten"},
		{"attributes", p.Attributes, "replace merge"},
		{"extensions", p.Extensions, "folded exact"},
		{"lacks", strings.Join(p.Lacks, " "), "replace restore head ranges etag"},
	} {
		for _, value := range strings.Fields(w.value) {
			if allowed := strings.Fields(w.allowed); !slices.Contains(allowed, value) {
				return w.key, fmt.Errorf("%s: %q is not one of %s", w.key, value, strings.Join(allowed, ", "))
			}
		}
	}
	for key, n := range map[string]int64{"rate": int64(p.Rate), "upload_bandwidth": p.UploadBandwidth, "upload_bandwidth_total": p.UploadBandwidthTotal} {
		if n < 0 {
			return key, errors.New(key + " is negative")
		}
	}
	for key, d := range map[string]time.Duration{"token_age": p.TokenAge, "time_resolution": p.TimeResolution, "processing": p.Processing,
		"listing_delay": p.ListingDelay, "latency": p.Latency, "upload_latency": p.UploadLatency, "latency_p95": p.LatencyP95, "upload_latency_p95": p.UploadLatencyP95} {
		if d < 0 {
			return key, errors.New(key + " is negative")
		}
	}
	return "", nil
}

// IsWithout reports whether the service lacks a feature.
func (p Profile) IsWithout(what string) bool { return slices.Contains(p.Lacks, what) }

// Resolution returns the resolution of times.
func (p Profile) Resolution() time.Duration { return max(p.TimeResolution, time.Millisecond) }

// Token removes the scheme of an Authorization header, if the service accepts it.
func (p Profile) Token(header string) string {
	if p.Bearer && len(header) > 7 && strings.EqualFold(header[:7], "bearer ") {
		return header[7:]
	}
	return header
}

// Page returns the default, largest and largest accepted limit for lists of assets. For
// categories, clients always request 500.
func (p Profile) Page(route string) (absent, largest, accepted int) {
	if !strings.HasPrefix(route, "/assets") {
		p = Profile{}
	}
	absent, largest = cmp.Or(p.DefaultPage, 50), cmp.Or(p.LargestPage, 500)
	if largest < 0 {
		largest = math.MaxInt32
	}
	if p.TooLargePages == "shorten" {
		return absent, largest, math.MaxInt32
	}
	return absent, largest, largest
}

// AssetOrder returns the order of assets, which a service may ignore.
func (p Profile) AssetOrder(asked string) string {
	if p.ListOrder == "ignored" {
		return "seq"
	}
	return asked
}

// WithinDates adds the date filter of a search.
func (p Profile) WithinDates(cs *records.Conditions, uploaded, modified records.Period) error {
	none := records.Period{}
	switch {
	case p.DateFilter == "refused" && (uploaded != none || modified != none):
		return problem.Refuse(http.StatusBadRequest, "Date filters are not supported.")
	case p.DateFilter != "ignored":
		cs.Within("uploaded_at", uploaded)
		cs.Within("modified_at", modified)
	}
	return nil
}

// CheckName checks a name with the limit of the service.
func (p Profile) CheckName(what, name string) error {
	if p.MaxName == 0 {
		return naming.CheckName(what, name)
	}
	if limit, is := longer(name, p.MaxName, naming.MaxName); is {
		return problem.Refuse(http.StatusBadRequest, "The %s is longer than %d characters.", what, limit)
	}
	if name == "" || !utf8.ValidString(name) {
		return naming.CheckName(what, name)
	}
	return nil
}

// CheckTexts refuses long descriptions, tags and custom attributes.
func (p Profile) CheckTexts(description *string, tags *[]string, custom json.RawMessage) error {
	if description != nil {
		if limit, is := longer(*description, p.MaxDescription, naming.MaxDescription); is {
			return problem.Refuse(http.StatusBadRequest, "The description is longer than %d characters.", limit)
		}
	}
	if tags != nil {
		if err := p.checkTags(*tags); err != nil {
			return err
		}
	}
	if custom == nil {
		return nil
	}
	attributes, _ := standin.DecodeObject(custom)
	return p.checkAttributes(attributes)
}

func (p Profile) checkTags(tags []string) error {
	if p.MaxTags > 0 && len(tags) > p.MaxTags {
		return problem.Refuse(http.StatusBadRequest, "There are more than %d tags.", p.MaxTags)
	}
	for _, tag := range tags {
		if limit, is := longer(tag, p.MaxTag, -1); is {
			return problem.Refuse(http.StatusBadRequest, "A tag is longer than %d characters.", limit)
		}
	}
	return nil
}

func (p Profile) checkAttributes(attributes standin.Object) error {
	if p.MaxAttributes > 0 && len(attributes) > p.MaxAttributes {
		return problem.Refuse(http.StatusBadRequest, "There are more than %d custom attributes.", p.MaxAttributes)
	}
	for name := range attributes {
		if value, ok := attributes.Text(name); ok {
			if limit, is := longer(value, p.MaxAttribute, -1); is {
				return problem.Refuse(http.StatusBadRequest, "The custom attribute %q is longer than %d characters.", name, limit)
			}
		}
	}
	return nil
}

// AdmitAsset refuses or renames an asset that its target does not allow.
func (p Profile) AdmitAsset(ses *store.Session, a *records.Asset) error {
	if p.Extensions == "exact" {
		var allowed bool
		err := ses.Row("SELECT EXISTS (SELECT 1 FROM extensions WHERE category_id = ? AND extension = ?)", []any{a.Category, a.Extension}, &allowed)
		if err != nil {
			return err
		}
		if !allowed {
			return NotAllowed(a.Extension)
		}
	}
	if p.EqualAssets != "rename" && p.EqualAssets != "refuse" {
		return nil
	}
	taken, err := records.IsTaken(ses, *a)
	switch {
	case err != nil || !taken:
		return err
	case p.EqualAssets == "refuse":
		return conflict("asset", a.Name+"."+a.Extension)
	}
	a.Name, err = records.FreeName(ses, *a)
	return err
}

// AdmitFolder refuses a folder whose name is in use.
func (p Profile) AdmitFolder(ses *store.Session, f records.Folder) error {
	if p.EqualFolders != "refuse" {
		return nil
	}
	var taken bool
	err := ses.Row("SELECT EXISTS (SELECT 1 FROM folders WHERE category_id = ? AND parent_id IS ? AND name = ? AND id <> ?)",
		[]any{f.Category, store.OrNull(f.Parent), f.Name, f.ID}, &taken)
	if err == nil && taken {
		return conflict("folder", f.Name)
	}
	return err
}

// AdmitCategory refuses a category whose name is in use.
func (p Profile) AdmitCategory(ses *store.Session, c records.Category) error {
	if p.EqualCategories != "refuse" {
		return nil
	}
	var taken bool
	err := ses.Row("SELECT EXISTS (SELECT 1 FROM categories WHERE workspace_id = ? AND name = ? AND id <> ?)",
		[]any{c.Workspace, c.Name, c.ID}, &taken)
	if err == nil && taken {
		return conflict("category", c.Name)
	}
	return err
}
