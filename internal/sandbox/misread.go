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

// given refuses a body without a required list: ignoring a misspelled field would look like
// success. An empty list is valid. All of this is a guess.
func given[T any](field string, list []T) error {
	if list == nil {
		return problem.Refuse(http.StatusBadRequest, "The body requires the list %s.", field)
	}
	return nil
}

// ids decodes the body as a JSON array of IDs.
func (c *call) ids() (ids []string, err error) {
	if err := c.json(&ids); err != nil {
		return nil, err
	}
	if ids == nil {
		return nil, problem.Refuse(http.StatusBadRequest, "The body must be an array, not null.")
	}
	return ids, nil
}

// misread explains in terms of JSON why a body is not valid.
func misread(err error) *problem.Problem {
	e, ok := errors.AsType[*json.UnmarshalTypeError](err)
	if !ok {
		return problem.Refuse(http.StatusBadRequest, "The body is not the expected JSON: %v.", err)
	}
	where := "body"
	if e.Field != "" {
		where = "field " + wireName(e.Field)
	}
	is := map[string]string{"array": "an array", "object": "an object", "string": "a string", "number": "a number", "bool": "true or false"}
	return problem.Refuse(http.StatusBadRequest, "In the %s %s is expected, not %s.", where, expected(e.Type), cmp.Or(is[e.Value], "the "+e.Value))
}

// wireName returns the JSON name of the last field of a path. The path has Go names; the fields
// have no tags, because their JSON names only differ in case.
func wireName(path string) string {
	name := strings.ReplaceAll(path[strings.LastIndexByte(path, '.')+1:], "ID", "Id")
	return strings.ToLower(name[:1]) + name[1:]
}

// expected returns the JSON type for a Go type.
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
