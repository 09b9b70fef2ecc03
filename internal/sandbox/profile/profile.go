// Package profile has what services were seen to do where the documentation is silent, and what
// their plans allow.
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

// A Profile says what a service does where its documentation is silent, so that the
// stand-in can do as a real one was seen to do. The zero value is the stand-in's own
// choice in everything. Of lengths and counts, zero is that choice, too, and a negative
// number is no limit.
type Profile struct {
	Version int `yaml:"version"` // of the file; 1

	EqualAssets     string `yaml:"equal_assets"`     // a second asset of a name: accept, rename or refuse
	EqualFolders    string `yaml:"equal_folders"`    // accept or refuse
	EqualCategories string `yaml:"equal_categories"` // accept or refuse

	Folders         string `yaml:"folders"`          // GET /folders holds those at the top only, or all of them, flat: top or flat
	CategoryListing string `yaml:"category_listing"` // of a category: direct, what is in none of its folders; or deep, all that is in it
	ListOrder       string `yaml:"list_order"`       // sortBy and order of assets: honoured or ignored
	DateFilter      string `yaml:"date_filter"`      // of a search: honoured, ignored or refused

	DefaultPage   int    `yaml:"default_page"`    // of assets, without a limit in the request
	LargestPage   int    `yaml:"largest_page"`    // the largest limit
	TooLargePages string `yaml:"too_large_pages"` // a larger limit: refuse, or shorten to the largest

	MaxName        int `yaml:"max_name"` // characters, of assets, folders and categories
	MaxDescription int `yaml:"max_description"`
	MaxTag         int `yaml:"max_tag"`
	MaxTags        int `yaml:"max_tags"`
	MaxAttributes  int `yaml:"max_attributes"` // how many custom attributes
	MaxAttribute   int `yaml:"max_attribute"`  // characters of the value of one

	Attributes  string   `yaml:"attributes"`   // a PATCH of some: replace them all, or merge
	Extensions  string   `yaml:"extensions"`   // compared folded or exact
	TrashServed bool     `yaml:"trash_served"` // the content of an asset in the trash
	Bearer      bool     `yaml:"bearer"`       // a token after "Bearer " is accepted
	Lacks       []string `yaml:"lacks"`        // of replace, restore, head, ranges, etag

	TokenAge       time.Duration `yaml:"token_age"` // the oldest iat
	TimeResolution time.Duration `yaml:"time_resolution"`
	Processing     time.Duration `yaml:"processing"`    // of a small image
	ListingDelay   time.Duration `yaml:"listing_delay"` // until lists and searches hold a new asset
	Latency        time.Duration `yaml:"latency"`
	UploadLatency  time.Duration `yaml:"upload_latency"`
	Rate           int           `yaml:"rate"` // requests a second; more are answered with 429
	RetryAfter     string        `yaml:"retry_after"`

	Plan          string `yaml:"plan"`
	MaxFileSize   int64  `yaml:"max_file_size"` // bytes
	MaxMegapixels int    `yaml:"max_megapixels"`

	// What is only there for people.
	Service          string            `yaml:"service"`
	MeasuredAt       string            `yaml:"measured_at"`
	LatencyP95       time.Duration     `yaml:"latency_p95"`
	UploadLatencyP95 time.Duration     `yaml:"upload_latency_p95"`
	Unknown          map[string]string `yaml:"unknown"` // why something was not measured
}

// maxProfile is longer than any profile.
const maxProfile = 64 << 10

// Read reads a profile in YAML. What it does not know is an error, which shows
// the line; name is what the file is called in it.
func Read(name string, r io.Reader) (p Profile, err error) {
	return p, ReadInto(name, r, &p)
}

// ReadInto reads a profile into a struct whose fields have yaml tags, and has it check
// itself: of a value that is not allowed it names the key.
func ReadInto(name string, r io.Reader, p interface {
	Check() (key string, err error)
}) error {
	data, err := io.ReadAll(io.LimitReader(r, maxProfile+1))
	if err != nil {
		return fmt.Errorf("read profile: %w", err)
	}
	if len(data) > maxProfile {
		return fmt.Errorf("%s: it is too long for a profile", name)
	}
	file, err := strictyaml.Parse(name, data)
	if err != nil {
		return err
	}
	if file.Root == nil {
		return fmt.Errorf("%s: it is empty; a profile begins with version: 1", name)
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

// decodeProfile fills in what a file says, and tells where.
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
			return nil, file.ErrorAt(e.Value, "a profile has no tags, anchors or aliases")
		}
		_, isFraction := e.Value.(*ast.FloatNode) // which would lose what is behind the point
		if err := yaml.NodeToValue(e.Value, field.Addr().Interface()); err != nil || isFraction && field.CanInt() {
			return nil, file.ErrorAt(e.Value, fmt.Sprintf("%s takes %s", key, wants(field)))
		}
		places[key] = e.Value
	}
	return places, nil
}

// wants says what a key is set to.
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

// Check finds a value in a file that is not allowed, and names its key.
func (p *Profile) Check() (key string, err error) {
	if p.Version != 1 {
		return "version", fmt.Errorf("its version is %d, and only 1 is known", p.Version)
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
	if p.Rate < 0 {
		return "rate", errors.New("rate is negative")
	}
	for key, d := range map[string]time.Duration{"token_age": p.TokenAge, "time_resolution": p.TimeResolution, "processing": p.Processing,
		"listing_delay": p.ListingDelay, "latency": p.Latency, "upload_latency": p.UploadLatency} {
		if d < 0 {
			return key, errors.New(key + " is negative")
		}
	}
	return "", nil
}

// IsWithout reports whether the service does not have something.
func (p Profile) IsWithout(what string) bool { return slices.Contains(p.Lacks, what) }

// Resolution is that of the times shown.
func (p Profile) Resolution() time.Duration { return max(p.TimeResolution, time.Millisecond) }

// Token takes the scheme off an Authorization header, where the service does not mind.
func (p Profile) Token(header string) string {
	if p.Bearer && len(header) > 7 && strings.EqualFold(header[:7], "bearer ") {
		return header[7:]
	}
	return header
}

// Page gives the default limit, the largest one, and the largest that is accepted. It is
// about lists of assets: of categories, clients ask for 500 whatever these allow.
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

// AssetOrder is the order in which assets come, of which a service may take no notice.
func (p Profile) AssetOrder(asked string) string {
	if p.ListOrder == "ignored" {
		return "seq"
	}
	return asked
}

// WithinDates adds the dates of a search to its conditions.
func (p Profile) WithinDates(cs *records.Conditions, uploaded, modified records.Period) error {
	none := records.Period{}
	switch {
	case p.DateFilter == "refused" && (uploaded != none || modified != none):
		return problem.Refuse(http.StatusBadRequest, "There is no filter by dates here.")
	case p.DateFilter != "ignored":
		cs.Within("uploaded_at", uploaded)
		cs.Within("modified_at", modified)
	}
	return nil
}

// CheckName is the function of that name with the service's own limit.
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

// CheckTexts refuses what is too long in a description, tags and custom attributes.
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

// AdmitAsset refuses or renames an asset that is not to be where it is about to go.
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

// AdmitFolder refuses a folder whose name is taken.
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

// AdmitCategory refuses a category whose name is taken.
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
