package wordpress

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"net/url"
	"path"
	"slices"
	"strconv"
	"strings"
	"time"

	"assetferry/internal/pattern"
	"assetferry/sources"
)

// An entry is an item of the media library. Its fields have the names of the API.
type entry struct {
	ID          int64    `json:"id"`
	DateGMT     string   `json:"date_gmt"`
	ModifiedGMT string   `json:"modified_gmt"`
	Title       text     `json:"title"`
	Caption     text     `json:"caption"`
	Description text     `json:"description"`
	Alt         string   `json:"alt_text"`
	Post        int64    `json:"post"` // that it belongs to; 0 for none
	MIMEType    string   `json:"mime_type"`
	SourceURL   string   `json:"source_url"`
	Details     details  `json:"media_details"`
	Embedded    embedded `json:"_embedded"`
}

// fields are the fields of an entry that are requested.
const fields = "id,date_gmt,modified_gmt,title,caption,description,alt_text,post,mime_type,source_url,media_details,_links.author,_embedded.author"

// A text is a text as it was written, for accounts that may edit it, and as a page shows it.
type text struct {
	Raw      *string `json:"raw,omitempty"`
	Rendered string  `json:"rendered,omitempty"`
}

// details are facts about the file. PHP writes an empty object as a list.
type details struct {
	File     string          `json:"file,omitempty"`
	FileSize json.RawMessage `json:"filesize,omitempty"`
	Original string          `json:"original_image,omitempty"`
	Sizes    sizes           `json:"sizes,omitempty"`
	Image    imageMeta       `json:"image_meta"`
}

// UnmarshalJSON implements json.Unmarshaler.
func (d *details) UnmarshalJSON(data []byte) error {
	if len(data) == 0 || data[0] != '{' {
		return nil
	}
	type plain details
	return json.Unmarshal(data, (*plain)(d))
}

// sizes are the copies of an image, by name.
type sizes map[string]struct {
	SourceURL string `json:"source_url"`
}

// UnmarshalJSON implements json.Unmarshaler.
func (s *sizes) UnmarshalJSON(data []byte) error {
	if len(data) == 0 || data[0] != '{' {
		return nil
	}
	type plain sizes
	return json.Unmarshal(data, (*plain)(s))
}

// imageMeta is the embedded metadata that WordPress read at the upload.
type imageMeta struct {
	Created   json.RawMessage `json:"created_timestamp,omitempty"`
	Credit    string          `json:"credit,omitempty"`
	Copyright string          `json:"copyright,omitempty"`
	Keywords  []string        `json:"keywords,omitempty"`
}

// UnmarshalJSON implements json.Unmarshaler. Plugins write other types, which are ignored.
func (m *imageMeta) UnmarshalJSON(data []byte) error {
	var all map[string]json.RawMessage
	if json.Unmarshal(data, &all) != nil {
		return nil
	}
	m.Created = all["created_timestamp"]
	_ = json.Unmarshal(all["credit"], &m.Credit)
	_ = json.Unmarshal(all["copyright"], &m.Copyright)
	_ = json.Unmarshal(all["keywords"], &m.Keywords)
	return nil
}

type embedded struct {
	Author []struct {
		Name string `json:"name"`
	} `json:"author,omitempty"`
}

// UnmarshalJSON implements json.Unmarshaler. The author may be an error, which has no name.
func (e *embedded) UnmarshalJSON(data []byte) error {
	type plain embedded
	_ = json.Unmarshal(data, (*plain)(e))
	return nil
}

var errNoURL = errors.New("the entry has no URL of a file")

// contentURLs returns the URLs where the content of an entry may be, the best first: the original
// upload, and the copy that is served instead.
func (e *entry) contentURLs() []string {
	original := e.originalURL()
	if original == "" || original == e.SourceURL {
		return []string{e.SourceURL}
	}
	return []string{original, e.SourceURL}
}

// originalURL returns the URL of the original of a copy that WordPress made because the image is
// large or turned; "" if there is none. A copy that was edited has another name. A copy of another
// type is what browsers can show.
func (e *entry) originalURL() string {
	original := path.Base(e.Details.Original)
	extension := path.Ext(original)
	dir, name := splitURL(e.SourceURL)
	stem, ok := strings.CutSuffix(original, extension)
	if e.Details.Original == "" || !ok || name != stem+"-scaled"+extension && name != stem+"-rotated"+extension {
		return ""
	}
	return dir + original
}

// splitURL splits a URL after its last slash. The name is decoded, without a query.
func splitURL(rawURL string) (dir, name string) {
	plain, _, _ := strings.Cut(rawURL, "?")
	i := strings.LastIndexByte(plain, '/')
	return plain[:i+1], unescaped(plain[i+1:])
}

func unescaped(s string) string {
	if is, err := url.PathUnescape(s); err == nil {
		return is
	}
	return s
}

// oldURLs returns all URLs of an entry.
func (e *entry) oldURLs() []string {
	all := e.contentURLs()
	for _, s := range e.Details.Sizes {
		if s.SourceURL != "" {
			all = append(all, s.SourceURL)
		}
	}
	slices.Sort(all)
	return slices.Compact(all)
}

// byMonth is the end of the path of an upload.
var byMonth = pattern.Lazy(`/([0-9]{4}/[0-9]{2}/[^/]+)$`)

// ofSite is the folder of a site of a network.
var ofSite = pattern.Lazy(`^sites/[0-9]+/`)

// uploadPath returns the path of the content below the folder of uploads.
func (e *entry) uploadPath() string {
	u, err := url.Parse(e.contentURLs()[0])
	if err != nil {
		return ""
	}
	_, name := splitURL(e.contentURLs()[0])
	if dir := path.Dir(e.Details.File); e.Details.File != "" && strings.HasSuffix(unescaped(u.Path), "/"+path.Join(dir, name)) {
		return path.Join(dir, name)
	}
	for _, folder := range [...]string{"/wp-content/uploads/", "/uploads/", "/files/"} {
		if i := strings.LastIndex(u.Path, folder); i >= 0 {
			return ofSite().ReplaceAllString(u.Path[i+len(folder):], "")
		}
	}
	if found := byMonth().FindStringSubmatch(u.Path); found != nil {
		return found[1]
	}
	return name
}

// timeForm is the form of times in the API.
const timeForm = "2006-01-02T15:04:05"

func (e *entry) modified() time.Time {
	t, err := time.Parse(timeForm, e.ModifiedGMT)
	if err != nil {
		return time.Time{}
	}
	return t
}

// size returns the size of the file at SourceURL according to WordPress; -1 if unknown.
func (e *entry) size() int64 {
	n, err := strconv.ParseInt(strings.Trim(string(e.Details.FileSize), `"`), 10, 64)
	if err != nil || n <= 0 {
		return -1
	}
	return n
}

// A tag is the version tag of an object. See sources.Traits.MetadataTags.
type tag struct {
	ids       string // of its entries, the oldest first, such as "12,57"
	metadata  string // see metadataVersion
	validator string // of the server of the file, or ""
}

func (t tag) String() string { return t.ids + "/" + t.metadata + " " + t.validator }

// tagOf returns the version tag of an object.
func tagOf(o sources.Object) (t tag) {
	t.metadata, t.validator, _ = strings.Cut(o.VersionTag, " ")
	t.ids, t.metadata, _ = strings.Cut(t.metadata, "/")
	return t
}

// metadataVersion returns a short hash of the metadata of entries. Plugins write some of it directly,
// such as alt texts, and the time of the change stays.
func metadataVersion(all []entry) string {
	data, err := json.Marshal([]any{all[0].ModifiedGMT, describe(all)})
	if err != nil {
		panic(err) // texts can be encoded
	}
	hash := sha256.Sum256(data)
	return hex.EncodeToString(hash[:6])
}
