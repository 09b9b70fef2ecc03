package probe

import (
	"cmp"
	"slices"
	"strconv"
	"strings"
	"time"

	"assetferry/internal/profile"
)

// A Profile contains the measured values. Unmeasured ones are zero and have a reason in Unknown. A length
// or count of -1 means that no limit was found.
type Profile struct {
	Version    int    `yaml:"version"`
	Service    string `yaml:"service"`
	MeasuredAt string `yaml:"measured_at"`

	EqualAssets     string `yaml:"equal_assets,omitempty"`
	EqualFolders    string `yaml:"equal_folders,omitempty"`
	EqualCategories string `yaml:"equal_categories,omitempty"`

	Folders         string `yaml:"folders,omitempty"`
	CategoryListing string `yaml:"category_listing,omitempty"`
	ListOrder       string `yaml:"list_order,omitempty"`
	DateFilter      string `yaml:"date_filter,omitempty"`

	DefaultPage   int    `yaml:"default_page,omitempty"`
	LargestPage   int    `yaml:"largest_page,omitempty"`
	TooLargePages string `yaml:"too_large_pages,omitempty"`

	MaxName        int `yaml:"max_name,omitempty"`
	MaxDescription int `yaml:"max_description,omitempty"`
	MaxTag         int `yaml:"max_tag,omitempty"`
	MaxTags        int `yaml:"max_tags,omitempty"`
	MaxAttributes  int `yaml:"max_attributes,omitempty"`
	MaxAttribute   int `yaml:"max_attribute,omitempty"`

	Attributes  string   `yaml:"attributes,omitempty"`
	Extensions  string   `yaml:"extensions,omitempty"`
	TrashServed bool     `yaml:"trash_served"`
	Bearer      bool     `yaml:"bearer"`
	Lacks       []string `yaml:"lacks,omitempty"`

	TokenAge         time.Duration `yaml:"token_age,omitempty"`
	TimeResolution   time.Duration `yaml:"time_resolution,omitempty"`
	Processing       time.Duration `yaml:"processing,omitempty"`
	ListingDelay     time.Duration `yaml:"listing_delay,omitempty"`
	Latency          time.Duration `yaml:"latency,omitempty"`
	LatencyP95       time.Duration `yaml:"latency_p95,omitempty"`
	UploadLatency    time.Duration `yaml:"upload_latency,omitempty"`
	UploadLatencyP95 time.Duration `yaml:"upload_latency_p95,omitempty"`

	UploadBandwidth      int64 `yaml:"upload_bandwidth,omitempty"`
	UploadBandwidthTotal int64 `yaml:"upload_bandwidth_total,omitempty"`

	Rate        int    `yaml:"rate,omitempty"`
	HighestRate int    `yaml:"highest_rate,omitempty"` // at which none was refused
	RetryAfter  string `yaml:"retry_after,omitempty"`

	Plan          string `yaml:"plan,omitempty"`
	MaxFileSize   int64  `yaml:"max_file_size,omitempty"`
	MaxMegapixels int    `yaml:"max_megapixels,omitempty"`

	Unknown map[string]string `yaml:"unknown,omitempty"`
}

// Encode returns the profile as YAML, which assetferry sandbox --profile reads.
func (p Profile) Encode() ([]byte, error) { return profile.Encode(p, "a service") }

// Rows returns the profile as a table.
func (p Profile) Rows() []profile.Row {
	number := profile.Number
	has := func(what string) string {
		if slices.Contains(p.Lacks, what) {
			return "no"
		}
		return "yes"
	}
	return profile.Rows([]profile.Row{
		{"duplicate asset names", p.EqualAssets}, {"duplicate folder names", p.EqualFolders}, {"duplicate category names", p.EqualCategories},
		{"list of folders", p.Folders}, {"list of a category", p.CategoryListing}, {"order of lists", p.ListOrder}, {"dates in a search", p.DateFilter},
		{"delay until a new asset is listed", p.unless("listing_delay", cmp.Or(length(p.ListingDelay), "at once"))},
		{"default page", number(p.DefaultPage)}, {"largest page", number(p.LargestPage)}, {"larger pages", p.TooLargePages},
		{"name, characters", number(p.MaxName)}, {"description, characters", number(p.MaxDescription)},
		{"tag, characters", number(p.MaxTag)}, {"tags", number(p.MaxTags)},
		{"custom attributes", number(p.MaxAttributes)}, {"custom attribute, characters", number(p.MaxAttribute)},
		{"PATCH of custom attributes", p.Attributes}, {"extensions", p.Extensions},
		{"replace in place", has("replace")}, {"restore from the trash", has("restore")}, {"trash is served", yesNo(p.TrashServed)},
		{"HEAD at delivery", has("head")}, {"ranges at delivery", has("ranges")}, {"ETag at delivery", has("etag")},
		{`"Bearer " before a token`, yesNo(p.Bearer)}, {"oldest token", length(p.TokenAge)},
		{"resolution of uploadedAt", length(p.TimeResolution)}, {"processing time of a small image", p.unless("processing", cmp.Or(length(p.Processing), "at once"))},
		{"small requests, median", length(p.Latency)}, {"small requests, 95%", length(p.LatencyP95)},
		{"small uploads, median", length(p.UploadLatency)}, {"small uploads, 95%", length(p.UploadLatencyP95)},
		{"large uploads, bytes per second", bandwidth(p.UploadBandwidth)}, {"the same, 16 at a time", bandwidth(p.UploadBandwidthTotal)},
		{"requests per second", cmp.Or(number(p.Rate), "no limit found")}, {"Retry-After", cmp.Or(p.RetryAfter, "none")},
		{"plan", p.Plan}, {"largest file, bytes", strings.TrimPrefix(strconv.FormatInt(p.MaxFileSize, 10), "0")}, {"largest image, megapixels", number(p.MaxMegapixels)},
	}, p.Unknown)
}

// unless returns the value of a duration that may be zero, or "" if it was not measured.
func (p Profile) unless(name, value string) string {
	if _, unknown := p.Unknown[name]; unknown {
		return ""
	}
	return value
}

func bandwidth(perSecond int64) string {
	if perSecond == 0 {
		return "no limit found"
	}
	return strconv.FormatInt(perSecond, 10)
}

func length(d time.Duration) string {
	if d == 0 {
		return ""
	}
	return d.String()
}

func yesNo(b bool) string {
	if b {
		return "yes"
	}
	return "no"
}
