package cli

import (
	"go/ast"
	"go/parser"
	"go/token"
	"path/filepath"
	"reflect"
	"regexp"
	"strconv"
	"strings"
	"testing"
)

// eventTypes reads the source of package event. It returns the structs that are events, by the name
// of the event, and all structs by their names.
func eventTypes(t *testing.T) (events map[string]string, structs map[string]*ast.StructType) {
	t.Helper()
	files, err := filepath.Glob("../event/*.go")
	if err != nil {
		t.Fatal(err)
	}
	var all []ast.Decl
	for _, name := range files {
		file, err := parser.ParseFile(token.NewFileSet(), name, nil, parser.ParseComments)
		if err != nil {
			t.Fatal(err)
		}
		all = append(all, file.Decls...)
	}
	events, structs = map[string]string{}, map[string]*ast.StructType{}
	named := regexp.MustCompile(`^An? \w+ is an? "(\w+)" event`)
	for _, d := range all {
		g, ok := d.(*ast.GenDecl)
		if !ok || g.Tok != token.TYPE {
			continue
		}
		spec := g.Specs[0].(*ast.TypeSpec)
		if s, ok := spec.Type.(*ast.StructType); ok {
			structs[spec.Name.Name] = s
			if m := named.FindStringSubmatch(g.Doc.Text()); m != nil {
				events[m[1]] = spec.Name.Name
			}
		}
	}
	return events, structs
}

// fieldsIn returns the JSON names of the fields of a struct and of its embedded structs, and
// whether they may be missing.
func fieldsIn(t *testing.T, structs map[string]*ast.StructType, name string) map[string]bool {
	t.Helper()
	fields := map[string]bool{}
	for _, f := range structs[name].Fields.List {
		if f.Tag != nil {
			tag, err := strconv.Unquote(f.Tag.Value)
			if err != nil {
				t.Fatal(err)
			}
			field, rest, _ := strings.Cut(reflect.StructTag(tag).Get("json"), ",")
			fields[field] = strings.Contains(rest, "omitempty")
		}
		ast.Inspect(f.Type, func(n ast.Node) bool {
			id, ok := n.(*ast.Ident)
			if !ok || structs[id.Name] == nil {
				return true
			}
			for field, missing := range fieldsIn(t, structs, id.Name) {
				fields[field] = missing || f.Tag == nil // an embedded struct is written completely or not at all
			}
			return true
		})
	}
	return fields
}

// The test verifies that the topic describes each event with all of its fields, and marks the
// fields that may be missing.
func TestJSONTopic(t *testing.T) {
	events, structs := eventTypes(t)
	text := helpTopics(t)["json"]
	if len(events) < 9 {
		t.Errorf("events found: %v", events)
	}
	for event, name := range events {
		_, part, ok := strings.Cut(text, "\n\n"+event+" ")
		if !ok {
			t.Errorf("nothing about %q", event)
			continue
		}
		part, _, _ = strings.Cut(part, "\n\n")
		for field, missing := range fieldsIn(t, structs, name) {
			m := regexp.MustCompile(`(?:^|[ ,:])` + field + `\b( \*)?`).FindStringSubmatch(strings.ReplaceAll(part, "\n", " "))
			switch {
			case m == nil:
				t.Errorf("%s: nothing about %s", event, field)
			case missing != (m[1] != ""):
				t.Errorf("%s: may %s be missing? %v", event, field, missing)
			}
		}
	}
}
