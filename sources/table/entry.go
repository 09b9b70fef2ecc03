package table

import (
	"cmp"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"maps"
	"mime"
	"net"
	"net/url"
	"path"
	"path/filepath"
	"reflect"
	"slices"
	"strconv"
	"strings"

	"assetferry/internal/tabular"
	"assetferry/sources"
)

// An entry is the content of a row.
type entry struct {
	key         sources.Key
	url         *contentURL // nil if the content is a file
	path        string      // of the file below the root
	size        int64       // negative if unknown
	tag         string
	revision    string
	checksum    checksum
	contentType string
	fields      map[string][]string
	wrong       string // the reason why it cannot be read, or ""
	line        int
}

func (e entry) equals(other entry) bool {
	e.line = other.line
	return reflect.DeepEqual(e, other)
}

// entry parses a row. A row without a key is a mistake in the table. Other errors concern only its
// object.
func (n *snapshot) entry(r tabular.Row) (entry, error) {
	c, values := n.columns, make([][]string, 0, len(r.Cells))
	for _, cell := range r.Cells {
		values = append(values, []string{cell})
	}
	if r.JSON != nil {
		var is map[string]any
		if err := r.Decode(&is); err != nil {
			return entry{}, err
		}
		flat := map[string][]string{}
		flatten(flat, "", is)
		names := slices.Sorted(maps.Keys(flat))
		for _, name := range names {
			values = append(values, flat[name])
		}
		var err error
		if c, err = columnsOf(names, n.chosen, false); err != nil {
			return entry{}, err
		}
	}
	e := c.entry(values, r.JSON == nil)
	if e.key == "" {
		return entry{}, r.Mistake(c.first(), cmp.Or(e.wrong, noKey))
	}
	return e, nil
}

const noKey = "the row has no key, no name, and no URL or path that ends with a name"

// first returns the column of the error for a row without a key.
func (c columns) first() int {
	for _, m := range []meaning{isKey, isName, isURL, isPath} {
		if n, ok := c.of[m]; ok {
			return n
		}
	}
	return 0
}

// flatten joins the names of nested JSON objects by dots.
func flatten(into map[string][]string, name string, value any) {
	switch v := value.(type) {
	case map[string]any:
		for inner, value := range v {
			if name != "" {
				inner = name + "." + inner
			}
			flatten(into, inner, value)
		}
	case []any:
		for _, value := range v {
			flatten(into, name, value)
		}
	case string:
		into[name] = append(into[name], v)
	case json.Number:
		into[name] = append(into[name], v.String())
	case bool:
		into[name] = append(into[name], strconv.FormatBool(v))
	}
}

// entry returns the entry of a row.
func (c columns) entry(values [][]string, isCSV bool) entry {
	e := entry{size: -1}
	text := func(m meaning) string {
		if n, ok := c.of[m]; ok && len(values[n]) > 0 {
			return values[n][0]
		}
		return ""
	}
	e.locate(text(isPath), strings.TrimSpace(text(isURL)))
	e.fields = c.describing(values, isCSV, e.url)
	e.key = sources.Key(text(isKey))
	if e.key == "" {
		e.key = e.keyOf(text(isFolder), strings.TrimSpace(text(isName)))
	}
	if size, err := strconv.ParseInt(strings.TrimSpace(text(isSize)), 10, 64); err == nil && size >= 0 {
		e.size = size
	}
	e.tag = strings.TrimSpace(text(isModified))
	e.revision = strings.TrimSpace(text(isRevision))
	e.checksum = e.checksumOf(strings.ToLower(strings.TrimSpace(text(isChecksum))))
	if t, _, err := mime.ParseMediaType(text(isContentType)); err == nil && strings.Contains(t, "/") {
		e.contentType = t
	}
	return e
}

// locate sets the place of the content. A file takes precedence, because it needs no request.
func (e *entry) locate(file, web string) {
	if web != "" {
		if e.url = parseContentURL(web); e.url == nil && file == "" {
			e.wrong = "the URL must have the form https://host/path, without a user name or a password"
		}
	}
	if file == "" {
		if web == "" {
			e.wrong = "the row has no URL and no path"
		}
		return
	}
	e.url = nil
	if !strings.Contains(file, "/") {
		file = strings.ReplaceAll(file, `\`, "/")
	}
	e.path = strings.TrimLeft(file, "/")
	if !filepath.IsLocal(filepath.FromSlash(e.path)) {
		e.wrong = "the path is outside the folder of the table"
	}
	e.path = path.Clean(e.path)
}

// keyOf returns the key of a row without one.
func (e *entry) keyOf(folder, name string) sources.Key {
	place := e.path
	if e.url != nil {
		place = strings.TrimPrefix(e.url.Path, "/")
	}
	dir, base := path.Split(place)
	if folder = strings.Trim(strings.TrimSpace(folder), "/"); folder != "" || name != "" {
		dir = folder
	}
	if name == "" {
		name = base
	} else if extension := path.Ext(base); extension != "" && !hasExtension(name) {
		name += extension // names may be titles
	}
	if name == "" || name == "." {
		return ""
	}
	return sources.Key(strings.TrimPrefix(strings.TrimSuffix(dir, "/")+"/"+name, "/"))
}

// hasExtension reports whether a name seems to have an extension.
func hasExtension(name string) bool {
	extension := strings.TrimPrefix(path.Ext(name), ".")
	return extension != "" && len(extension) <= 5 && !strings.ContainsFunc(extension, func(r rune) bool {
		return !(r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r >= '0' && r <= '9')
	})
}

// A checksum is a hash from a table with its algorithm. Content is compared with it when it is
// read. It has no other use, because the table may be wrong.
type checksum struct {
	algorithm string // "sha256", "md5", ...
	hex       string // lower case
}

// checksumOf parses a checksum. Its length shows the algorithm.
func (e *entry) checksumOf(text string) checksum {
	if text == "" {
		return checksum{}
	}
	_, digits, found := strings.Cut(text, ":")
	if !found {
		digits = text
	}
	algorithm := map[int]string{32: "md5", 40: "sha1", 64: "sha256"}[len(digits)]
	if _, err := hex.DecodeString(digits); err != nil || algorithm == "" || found && squeeze(text) != algorithm+":"+digits {
		if e.wrong == "" {
			e.wrong = fmt.Sprintf("%.80q is not an MD5, SHA-1 or SHA-256 checksum in hexadecimal digits", text)
		}
		return checksum{}
	}
	return checksum{algorithm, digits}
}

// describing returns the metadata of an object.
func (c columns) describing(values [][]string, isCSV bool, at *contentURL) map[string][]string {
	all := map[string][]string{}
	for n, field := range c.fields {
		for _, v := range values[n] {
			v = strings.TrimSpace(v)
			switch {
			case v == "" || field == "":
			case field == oldURLField:
				if at != nil {
					v = at.public()
				} else if u := parseContentURL(v); u != nil {
					v = u.public()
				} else {
					continue
				}
				all[field] = append(all[field], v)
			case field == "tags" && isCSV:
				all[field] = append(all[field], strings.FieldsFunc(v, func(r rune) bool { return r == ';' || r == ',' })...)
			case field == "collections" && isCSV: // a name may contain commas
				all[field] = append(all[field], strings.Split(v, ";")...)
			default:
				all[field] = append(all[field], v)
			}
		}
	}
	return all
}

// A contentURL is the URL of content.
type contentURL struct{ url.URL }

// parseContentURL parses a URL. It returns nil for an unsupported one.
func parseContentURL(text string) *contentURL {
	if strings.HasPrefix(text, "//") { // as in web pages
		text = "https:" + text
	}
	u, err := url.Parse(text)
	if err != nil || u.Scheme != "http" && u.Scheme != "https" || u.Hostname() == "" || u.User != nil || u.Opaque != "" {
		return nil
	}
	u.Fragment, u.RawFragment = "", ""
	return &contentURL{*u}
}

// host returns the name and the port.
func (a *contentURL) host() string {
	port := a.Port()
	if port == "" {
		port = map[string]string{"http": "80", "https": "443"}[a.Scheme]
	}
	return net.JoinHostPort(strings.ToLower(a.Hostname()), port)
}

// public returns the URL without its signature and the signed parameters.
func (a *contentURL) public() string {
	u := a.URL
	for name := range u.Query() {
		name = squeeze(name)
		if strings.HasPrefix(name, "xamz") || strings.HasPrefix(name, "xgoog") || slices.Contains(signing(), name) {
			u.RawQuery = ""
		}
	}
	return u.String()
}

// signing returns the parameters of signed URLs, and other secret parameters.
func signing() []string {
	return []string{"signature", "sig", "token", "accesstoken", "authtoken", "apikey", "keypairid", "policy", "auth", "hmac", "password", "secret"}
}
