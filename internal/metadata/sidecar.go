package metadata

import (
	"bytes"
	"encoding/json"
	"encoding/xml"
	"errors"
	"fmt"
	"io"
	"strings"
	"time"
	"unicode/utf8"

	"assetferry/internal/tabular"
)

// maxSidecar is the maximum size of a sidecar in bytes.
const maxSidecar = 1 << 20

// maxSidecarDepth is the maximum nesting of values.
const maxSidecarDepth = 32

const tooDeep = "values are nested more than 32 levels deep"

// ReadSidecar reads a sidecar; the extension decides its format. If it is invalid, the error is a
// *tabular.Mistake. Other errors are read errors.
func ReadSidecar(name string, r io.Reader) (Fields, error) {
	data, err := io.ReadAll(io.LimitReader(r, maxSidecar+1))
	if err != nil {
		return nil, err
	}
	if len(data) > maxSidecar {
		return nil, &tabular.Mistake{Line: 1, Column: 1, What: fmt.Sprintf("the sidecar is larger than %d KiB", maxSidecar>>10)}
	}
	folded, _ := FoldSidecar(name)
	switch {
	case strings.HasSuffix(folded, xmpEnding):
		return xmpSidecar(data)
	case strings.HasSuffix(folded, ".json"):
		return jsonSidecar(data)
	}
	return yamlSidecar(data)
}

// xmpSidecar reads an XMP file.
func xmpSidecar(packet []byte) (Fields, error) {
	properties, d, err := parseXMP(packet)
	if err == nil {
		s := &sidecar{}
		s.fields.xmpFields(properties)
		return s.done()
	}
	line, column := d.InputPos()
	if errors.Is(err, errNoRDF) {
		line, column = 1, 1
	}
	what := err.Error()
	if e, ok := errors.AsType[*xml.SyntaxError](err); ok {
		line, what = e.Line, "not XML: "+e.Msg
	}
	return nil, &tabular.Mistake{Line: line, Column: max(column, 1), What: what} // 0 is the end of the previous line
}

// A sidecar collects the values of a file.
type sidecar struct {
	fields  gathered
	takeout map[string]string // possible values of Google Takeout
}

// attributes is the key of the object with custom attributes.
const attributes = "attributes"

// say adds a value by its path. Custom attributes keep their names; deeper names are joined by dots. The
// internal details of an export are ignored.
func (s *sidecar) say(path []string, value string) {
	if len(path) > 0 && path[0] == Provenance {
		return
	}
	length := 0
	for _, segment := range path {
		length += len(segment)
	}
	if length > maxUnmapped { // a long prefix would be repeated for every value
		s.fields.beyond++
		return
	}
	name := strings.Join(path, ".")
	s.takeout[name] = value
	switch {
	case len(path) == 1:
		name = FieldName(name)
	case folded(path[0]) == attributes && !isMeantOtherwise(path[1]):
		name = strings.Join(path[1:], ".")
	}
	s.fields.known(name, value)
}

// isMeantOtherwise reports whether a name is reserved, so that it is no attribute.
func isMeantOtherwise(name string) bool {
	switch name {
	case "description", "alt", "tags", Collections, "old_url", "category", "folder", "name", "private":
		return true
	}
	return false
}

// done returns the fields.
func (s *sidecar) done() (Fields, error) {
	if s.fields.beyond > 0 {
		return nil, &tabular.Mistake{Line: 1, Column: 1, What: fmt.Sprintf("the sidecar exceeds a limit: %d KiB for a value, %d KiB for a name, %d values", maxText>>10, maxUnmapped>>10, maxValues)}
	}
	if taken := s.takeout["photoTakenTime.timestamp"]; taken != "" {
		return s.fromTakeout(taken).Normal(), nil
	}
	return s.fields.fields.Normal(), nil
}

// fromTakeout returns the metadata in a sidecar of Google Takeout. Its title is the file name, and
// coordinates of zeros are unknown. Other fields are internal.
func (s *sidecar) fromTakeout(taken string) Fields {
	is := s.fields.fields
	f := Fields{"name": is["title"], "description": is["description"], "people": is["people.name"], "url": is["url"], "favorited": is["favorited"]}
	if seconds, err := json.Number(taken).Int64(); err == nil {
		f["created"] = []string{time.Unix(seconds, 0).UTC().Format(time.RFC3339)}
	}
	latitude, longitude := s.takeout["geoData.latitude"], s.takeout["geoData.longitude"]
	if strings.Trim(latitude+longitude, "0.") != "" {
		f["latitude"], f["longitude"] = []string{latitude}, []string{longitude}
	}
	return f
}

// jsonSidecar reads a JSON object.
func jsonSidecar(data []byte) (Fields, error) {
	data = bytes.TrimPrefix(data, []byte("\xef\xbb\xbf"))
	at := func(offset int64, what string) error {
		before := data[:min(max(offset, 0), int64(len(data)))]
		return &tabular.Mistake{Line: bytes.Count(before, []byte("\n")) + 1, Column: len(before) - bytes.LastIndexByte(before, '\n'), What: what}
	}
	if !utf8.Valid(data) {
		return nil, at(0, "the sidecar is not UTF-8")
	}
	var all json.RawMessage
	if err := json.Unmarshal(data, &all); err != nil {
		if e, ok := errors.AsType[*json.SyntaxError](err); ok {
			return nil, at(e.Offset-1, "not JSON: "+e.Error())
		}
		return nil, at(0, "not JSON: "+err.Error())
	}
	j := &jsonWalker{d: json.NewDecoder(bytes.NewReader(data)), at: at, into: &sidecar{takeout: map[string]string{}}}
	j.d.UseNumber()
	if data := bytes.TrimLeft(data, " \t\r\n"); data[0] != '{' {
		return nil, at(0, `not a JSON object such as {"description": "A quay"}`)
	}
	if err := j.value(nil); err != nil {
		return nil, err
	}
	return j.into.done()
}

// A jsonWalker reads valid JSON.
type jsonWalker struct {
	d     *json.Decoder
	at    func(offset int64, what string) error
	into  *sidecar
	depth int
}

// value reads the next value with everything in it.
func (j *jsonWalker) value(path []string) error {
	token, err := j.d.Token()
	if err != nil {
		return err
	}
	switch t := token.(type) {
	case json.Delim:
		if j.depth++; j.depth > maxSidecarDepth {
			return j.at(j.d.InputOffset()-1, tooDeep)
		}
		defer func() { j.depth-- }()
		if t == '{' {
			return j.object(path)
		}
		return j.list(path)
	case string:
		j.into.say(path, t)
	case json.Number:
		j.into.say(path, t.String())
	case bool:
		j.into.say(path, fmt.Sprint(t))
	}
	return nil // null is no value
}

func (j *jsonWalker) object(path []string) error {
	seen := map[string]bool{}
	for j.d.More() {
		token, err := j.d.Token()
		if err != nil {
			return err
		}
		name, _ := token.(string)
		if seen[name] {
			return j.at(j.d.InputOffset()-1, fmt.Sprintf("duplicate key %q", name))
		}
		seen[name] = true
		if err := j.value(append(path[:len(path):len(path)], name)); err != nil {
			return err
		}
	}
	_, err := j.d.Token()
	return err
}

func (j *jsonWalker) list(path []string) error {
	for j.d.More() {
		if err := j.value(path); err != nil {
			return err
		}
	}
	_, err := j.d.Token()
	return err
}
