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

// maxSidecar is how many bytes a sidecar may have.
const maxSidecar = 1 << 20

// maxSidecarDepth is how deep values may be within others.
const maxSidecarDepth = 32

const tooDeep = "values are within others more than 32 times"

// ReadSidecar reads what a file beside an object says of it; the ending of the name tells
// the form. Something wrong with it is a *rows.Mistake, and then it says nothing; any other
// error is one of reading.
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

// xmpSidecar reads a packet of XMP in a file.
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
	return nil, &tabular.Mistake{Line: line, Column: max(column, 1), What: what} // 0 is the end of the line before
}

// A sidecar is what a file says, value by value.
type sidecar struct {
	fields  gathered
	takeout map[string]string // what may be of Google Takeout
}

// attributes is the name under which custom attributes are together.
const attributes = "attributes"

// say takes a value under the names that lead to it. Custom attributes are called as they
// are, and what lies deeper has a name with dots. What an export notes for itself is under
// the name that means nothing to a migration.
func (s *sidecar) say(path []string, value string) {
	if len(path) > 0 && path[0] == Provenance {
		return
	}
	length := 0
	for _, segment := range path {
		length += len(segment)
	}
	if length > maxUnmapped { // it may be before that of every value in the file
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

// isMeantOtherwise reports whether a name means something that is no attribute.
func isMeantOtherwise(name string) bool {
	switch name {
	case "description", "alt", "tags", "address", "category", "folder", "name", "private":
		return true
	}
	return false
}

// done returns the fields.
func (s *sidecar) done() (Fields, error) {
	if s.fields.beyond > 0 {
		return nil, &tabular.Mistake{Line: 1, Column: 1, What: fmt.Sprintf("a value is longer than %d KiB or a name than %d KiB, or there are more than %d values", maxText>>10, maxUnmapped>>10, maxValues)}
	}
	if taken := s.takeout["photoTakenTime.timestamp"]; taken != "" {
		return s.fromTakeout(taken).Normal(), nil
	}
	return s.fields.fields.Normal(), nil
}

// fromTakeout returns what Google Takeout says of a picture. Its title is the name of the
// file, and a place of zeros is none; the rest is its own business.
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

// jsonSidecar reads an object of JSON.
func jsonSidecar(data []byte) (Fields, error) {
	data = bytes.TrimPrefix(data, []byte("\xef\xbb\xbf"))
	at := func(offset int64, what string) error {
		before := data[:min(max(offset, 0), int64(len(data)))]
		return &tabular.Mistake{Line: bytes.Count(before, []byte("\n")) + 1, Column: len(before) - bytes.LastIndexByte(before, '\n'), What: what}
	}
	if !utf8.Valid(data) {
		return nil, at(0, "the sidecar is not in UTF-8")
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

// A jsonWalker goes through JSON that is known to be right.
type jsonWalker struct {
	d     *json.Decoder
	at    func(offset int64, what string) error
	into  *sidecar
	depth int
}

// value takes the next value, and all that is in it.
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
	return nil // null says nothing
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
			return j.at(j.d.InputOffset()-1, fmt.Sprintf("%q is there twice", name))
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
