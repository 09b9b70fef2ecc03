package mapping

import (
	"path"
	"strings"
	"time"

	"github.com/expr-lang/expr/vm"

	"assetferry/internal/metadata"
)

// An Object is the input of rules.
type Object struct {
	Key         string
	Size        int64
	Time        time.Time // of the last change; zero if unknown
	ContentType string    // "" if unknown
	Found       metadata.Found
}

// A variable is a name in expressions for a property of an object.
type variable struct {
	name  string
	field string           // its field; "" for a property in the listing of the source
	value func(*scope) any // always of the same type
}

// variables returns all variables in the order of the help.
func variables() []variable {
	all := []variable{
		{"key", "", func(s *scope) any { return s.object.Key }},
		{"folder", "", func(s *scope) any { return folderOf(s.object.Key) }},
		{"name", "", func(s *scope) any { name, _ := nameOf(s.object.Key); return name }},
		{"ext", "", func(s *scope) any { _, ext := nameOf(s.object.Key); return strings.ToLower(ext) }},
		{"size", "", func(s *scope) any { return int(s.object.Size) }},
		{"time", "", func(s *scope) any { return writtenTime(s.object.Time) }},
		{"type", "", func(s *scope) any { return s.object.ContentType }},
		{wordToday, "", func(s *scope) any { return dayOf(s.mapping.options.Today) }},
	}
	for _, word := range append(textWords(), wordExpires) {
		all = append(all, variable{word, word, func(s *scope) any { return s.field(word) }})
	}
	for _, word := range [...]string{wordTags, wordCollections} {
		all = append(all, variable{word, word, func(s *scope) any { return s.fields(word) }})
	}
	return all
}

// fieldFunctions returns the functions that take the name of a field.
func fieldFunctions(s *scope) map[string]any {
	return map[string]any{"field": s.field, "fields": s.fields, "has": s.has, "from": s.from}
}

// A scope has the values of one object for expressions. It is used by one goroutine at a time, for one
// object after the other.
type scope struct {
	mapping *Mapping
	object  Object
	names   map[string]any
	machine vm.VM
}

func newScope(m *Mapping) *scope {
	s := &scope{mapping: m}
	s.names = fieldFunctions(s)
	return s
}

// look sets the object. It computes only the variables in the rules.
func (s *scope) look(o Object) {
	s.object = o
	for _, v := range s.mapping.uses {
		s.names[v.name] = v.value(s)
	}
}

// field returns the value of a field as text.
func (s *scope) field(name string) string { return joined(s.fields(name)) }

func (s *scope) fields(name string) []string {
	values, _ := s.mapping.first(s.object.Found, name)
	return values
}

func (s *scope) has(name string) bool { return len(s.fields(name)) > 0 }

// from returns the metadata source of a field.
func (s *scope) from(name string) string {
	_, from := s.mapping.first(s.object.Found, name)
	return string(from)
}

// joined joins the values of a field.
func joined(values []string) string { return strings.Join(values, "; ") }

func folderOf(key string) string {
	if i := strings.LastIndexByte(key, '/'); i >= 0 {
		return key[:i]
	}
	return ""
}

// nameOf returns the last segment of a key without its extension, and the extension. A name whose only
// dot is at its beginning has no extension.
func nameOf(key string) (name, ext string) {
	name = path.Base("/" + key)
	if i := strings.LastIndexByte(name, '.'); i > 0 {
		return name[:i], name[i+1:]
	}
	return name, ""
}

func writtenTime(t time.Time) string {
	if t.IsZero() {
		return ""
	}
	return t.Format(time.RFC3339)
}
