package sandbox

import (
	"cmp"
	"encoding/json"
	"errors"
	"net/http"
	"reflect"
	"strings"

	"assetferry/internal/sandbox/problem"
)

// given refuses a body that lacks a list: to do nothing for a field whose name has a
// slip in it would look like success. An empty list is one; all that is a guess.
func given[T any](field string, list []T) error {
	if list == nil {
		return problem.Refuse(http.StatusBadRequest, "The body needs the field %s, a list.", field)
	}
	return nil
}

// ids reads the body as a JSON array of IDs.
func (c *call) ids() (ids []string, err error) {
	if err := c.json(&ids); err != nil {
		return nil, err
	}
	if ids == nil {
		return nil, problem.Refuse(http.StatusBadRequest, "In the body an array is expected, not null.")
	}
	return ids, nil
}

// misread tells in the words of JSON why a body is not the one expected.
func misread(err error) *problem.Problem {
	e, ok := errors.AsType[*json.UnmarshalTypeError](err)
	if !ok {
		return problem.Refuse(http.StatusBadRequest, "The body is not the JSON expected: %v.", err)
	}
	where := "body"
	if e.Field != "" {
		where = "field " + wireName(e.Field)
	}
	is := map[string]string{"array": "an array", "object": "an object", "string": "a string", "number": "a number", "bool": "true or false"}
	return problem.Refuse(http.StatusBadRequest, "In the %s %s is expected, not %s.", where, expected(e.Type), cmp.Or(is[e.Value], "the "+e.Value))
}

// wireName is the name in a body of the last field of a path. The path has Go's names:
// the fields have no tags, since they differ from the body's in the case of letters only.
func wireName(path string) string {
	name := strings.ReplaceAll(path[strings.LastIndexByte(path, '.')+1:], "ID", "Id")
	return strings.ToLower(name[:1]) + name[1:]
}

// expected is what in JSON becomes a value of a type.
func expected(t reflect.Type) string {
	switch t.Kind() {
	case reflect.Slice, reflect.Array:
		return "an array"
	case reflect.String:
		return "a string"
	case reflect.Bool:
		return "true or false"
	case reflect.Float32, reflect.Float64:
		return "a number"
	case reflect.Struct, reflect.Map:
		return "an object"
	}
	return "a whole number"
}
