package assets

import (
	"cmp"
	"encoding/json"
	"reflect"
	"slices"
	"strings"
	"unicode/utf8"

	"assetferry/internal/jsonscan"
)

// An assetParser parses assets with the results of encoding/json, many times faster. It
// parses only the usual form: documented types, and each field once. If it lacks a field of [Asset],
// no asset with that field has the usual form.
type assetParser struct {
	// last holds the previous value of each string field. If most assets of a page have the same
	// value, such as the folder, they share its memory.
	last [13]string
	// shared holds tags and the names of attributes and image URLs, which share memory, too. It is
	// nil before the first one.
	shared map[string]string
}

// mostShared is more than the number of different tags and names of most pages.
const mostShared = 100

// parseAsset parses the JSON of one asset.
func parseAsset(data []byte) (Asset, bool) {
	var p assetParser
	var wire wireAsset
	s := jsonscan.New(data)
	ok := p.parse(s, &wire) && s.AtEnd()
	return wire.asset(), ok
}

// parse reads an asset into a zero value. If it returns false, the value may be incomplete.
func (p *assetParser) parse(s *jsonscan.Scanner, a *wireAsset) bool {
	return s.Object(func(key []byte) bool {
		switch string(key) {
		case "id":
			return p.text(s, 0, &a.ID)
		case "name":
			return p.text(s, 1, &a.Name)
		case "extension":
			return p.text(s, 2, &a.Extension)
		case "size":
			return parseInteger(s, &a.Size)
		case "mimeType":
			return p.text(s, 3, &a.MIMEType)
		case "categoryId":
			return p.text(s, 4, &a.CategoryID)
		case "folderId":
			return p.text(s, 5, &a.FolderID)
		case "uploadedAt":
			return parseTime(s, &a.UploadedAt)
		case "lastModifiedAt":
			return parseTime(s, &a.LastModifiedAt)
		case "tags":
			return p.parseTags(s, &a.Tags)
		case "url":
			return p.text(s, 6, &a.URL)
		case "imageUrls":
			return p.parseURLs(s, &a.ImageURLs)
		case "metadata":
			return s.Null() || p.parseMetadata(s, &a.Metadata)
		}
		return isOther(key, assetKeys) && skip(s)
	})
}

func (p *assetParser) parseMetadata(s *jsonscan.Scanner, m *Metadata) bool {
	return s.Object(func(key []byte) bool {
		switch string(key) {
		case "description":
			return p.text(s, 7, &m.Description)
		case "customAttributes":
			return p.parseAttributes(s, &m.CustomAttributes)
		case "width":
			return parseInteger(s, &m.Width)
		case "height":
			return parseInteger(s, &m.Height)
		case "blurHash":
			return p.text(s, 8, &m.BlurHash)
		case "metadataProcessingStatus":
			return p.text(s, 9, (*string)(&m.Status))
		case "analysisProcessingStatus":
			return p.text(s, 10, (*string)(&m.AnalysisStatus))
		case "thumbnailMetadata":
			return s.Null() || p.parseThumbnail(s, &m.Thumbnail)
		}
		return isOther(key, metadataKeys) && skip(s)
	})
}

func (p *assetParser) parseThumbnail(s *jsonscan.Scanner, t *Thumbnail) bool {
	return s.Object(func(key []byte) bool {
		switch string(key) {
		case "blurHash":
			return p.text(s, 11, &t.BlurHash)
		case "width":
			return parseInteger(s, &t.Width)
		case "height":
			return parseInteger(s, &t.Height)
		case "mimeType":
			return p.text(s, 12, &t.MIMEType)
		}
		return isOther(key, thumbnailKeys) && skip(s)
	})
}

// The keys of the fields in JSON.
var (
	assetKeys     = keysOf(reflect.TypeFor[wireAsset]())
	metadataKeys  = keysOf(reflect.TypeFor[Metadata]())
	thumbnailKeys = keysOf(reflect.TypeFor[Thumbnail]())
)

func keysOf(t reflect.Type) (keys []string) {
	for _, f := range reflect.VisibleFields(t) {
		if key, _, _ := strings.Cut(f.Tag.Get("json"), ","); key != "-" && !f.Anonymous {
			keys = append(keys, cmp.Or(key, f.Name))
		}
	}
	return keys
}

// isOther reports whether encoding/json, which ignores case, ignores a key, because it is none of
// those of the fields. It returns false if it is not certain.
func isOther(key []byte, keys []string) bool {
	isASCII := !slices.ContainsFunc(key, func(c byte) bool { return c >= utf8.RuneSelf })
	return isASCII && !slices.ContainsFunc(keys, func(k string) bool { return strings.EqualFold(k, string(key)) })
}

func skip(s *jsonscan.Scanner) bool {
	_, ok := s.Value()
	return ok
}

// text reads a string field. n is its index in last.
func (p *assetParser) text(s *jsonscan.Scanner, n int, into *string) bool {
	if *into != "" { // a repeated key
		return false
	}
	if s.Null() {
		return true
	}
	text, ok := s.Text()
	if string(text) != p.last[n] {
		p.last[n] = string(text)
	}
	*into = p.last[n]
	return ok
}

func parseInteger[T int | int64](s *jsonscan.Scanner, into *T) bool {
	if *into != 0 {
		return false
	}
	if s.Null() {
		return true
	}
	n, ok := s.Integer()
	*into = T(n)
	return ok && int64(*into) == n
}

func parseTime(s *jsonscan.Scanner, into *isoTime) bool {
	text, ok := s.Value()
	return ok && into.UnmarshalJSON(text) == nil
}

// share returns the string of a tag or a name.
func (p *assetParser) share(text []byte) string {
	shared, found := p.shared[string(text)]
	if !found {
		if p.shared == nil {
			p.shared = map[string]string{}
		}
		if shared = string(text); len(p.shared) < mostShared {
			p.shared[shared] = shared
		}
	}
	return shared
}

func (p *assetParser) parseTags(s *jsonscan.Scanner, into *[]string) bool {
	if *into != nil {
		return false
	}
	if s.Null() {
		return true
	}
	*into = []string{}
	return s.Array(func() bool {
		tag, ok := s.Text()
		*into = append(*into, p.share(tag))
		return ok
	})
}

func (p *assetParser) parseURLs(s *jsonscan.Scanner, into *map[string]string) bool {
	if *into != nil {
		return false
	}
	if s.Null() {
		return true
	}
	*into = map[string]string{}
	return s.Object(func(key []byte) bool {
		name := p.share(key)
		url, ok := s.Text()
		(*into)[name] = string(url)
		return ok
	})
}

// parseAttributes reads custom attributes. encoding/json decodes nested ones.
func (p *assetParser) parseAttributes(s *jsonscan.Scanner, into *Attributes) bool {
	if *into != nil {
		return false
	}
	if s.Null() {
		return true
	}
	*into = Attributes{}
	return s.Object(func(key []byte) (ok bool) {
		name := p.share(key)
		(*into)[name], ok = parseAttribute(s)
		return ok
	})
}

func parseAttribute(s *jsonscan.Scanner) (value any, ok bool) {
	if s.Next() == '"' {
		text, ok := s.Text()
		return string(text), ok
	}
	text, ok := s.Value()
	if !ok {
		return nil, false
	}
	switch text[0] {
	case 't', 'f':
		return text[0] == 't', true
	case 'n':
		return nil, true
	case '[', '{':
		err := decodeNumbers(text, &value)
		return value, err == nil
	}
	return json.Number(text), true
}
