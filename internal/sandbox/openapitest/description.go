package openapitest

import (
	"bytes"
	"cmp"
	"fmt"
	"maps"
	"net/http"
	"regexp"
	"slices"
	"strings"
	"sync"

	"github.com/santhosh-tekuri/jsonschema/v6"
)

// A description is an OpenAPI document, prepared for comparisons.
type description struct {
	file     string // file name for messages
	root     node
	paths    []path // fewest wildcards first
	mu       sync.Mutex
	compiler *jsonschema.Compiler
	schemas  map[string]*jsonschema.Schema // by pointer
}

// A path is a path template of the description.
type path struct {
	template string
	pattern  *regexp.Regexp
	item     node
}

// A node is an object of the document with its position.
type node struct {
	value   map[string]any
	pointer string
}

// load parses a description once.
func load(file string, text func() ([]byte, error)) func() (*description, error) {
	return sync.OnceValues(func() (*description, error) {
		converted, err := text()
		if err != nil {
			return nil, err
		}
		return parse(file, converted)
	})
}

// document is the name of the description in the schema compiler.
const document = "sandbox:openapi.json"

func parse(file string, text []byte) (*description, error) {
	v, err := jsonschema.UnmarshalJSON(bytes.NewReader(text))
	if err != nil {
		return nil, fmt.Errorf("read description: %w", err)
	}
	value, _ := v.(map[string]any)
	d := &description{file: file, root: node{value, "#"}, compiler: jsonschema.NewCompiler(), schemas: make(map[string]*jsonschema.Schema)}
	d.compiler.AssertFormat()
	if err := d.compiler.AddResource(document, v); err != nil {
		return nil, fmt.Errorf("read description: %w", err)
	}
	items, _ := d.child(d.root, "paths")
	for template := range items.value {
		item, _ := d.child(items, template)
		d.paths = append(d.paths, path{template, pathPattern(template), item})
	}
	slices.SortFunc(d.paths, func(a, b path) int {
		return cmp.Or(cmp.Compare(strings.Count(a.template, "{"), strings.Count(b.template, "{")), cmp.Compare(a.template, b.template))
	})
	return d, nil
}

// pathPattern matches the paths of a template. A wildcard matches one segment.
func pathPattern(template string) *regexp.Regexp {
	wildcard := regexp.MustCompile(`\\\{[^}]*\\\}`)
	return regexp.MustCompile("^" + wildcard.ReplaceAllString(regexp.QuoteMeta(template), "[^/]+") + "$")
}

// child returns the object of a key, with references resolved.
func (d *description) child(n node, key string) (node, bool) {
	value, ok := n.value[key].(map[string]any)
	if !ok {
		return node{}, false
	}
	ref, refers := value["$ref"].(string)
	if !refers {
		return node{value, n.pointer + "/" + escaper.Replace(key)}, true
	}
	target := d.root
	for word := range strings.SplitSeq(strings.TrimPrefix(ref, "#/"), "/") {
		if target, ok = d.child(target, unescaper.Replace(word)); !ok {
			return node{}, false
		}
	}
	return target, true
}

// children returns the objects in a list, with references resolved.
func (d *description) children(n node, key string) []node {
	list, _ := n.value[key].([]any)
	var all []node
	for i := range list {
		index := fmt.Sprint(i)
		if item, ok := d.child(node{map[string]any{index: list[i]}, n.pointer + "/" + key}, index); ok {
			all = append(all, item)
		}
	}
	return all
}

// Creating a replacer takes longer than everything else for a request.
var (
	escaper   = strings.NewReplacer("~", "~0", "/", "~1", "%", "%25", "{", "%7B", "}", "%7D", "*", "%2A")
	unescaper = strings.NewReplacer("~1", "/", "~0", "~")
)

// schema returns the schema of a node, compiled on first use. Without one, everything is valid.
func (d *description) schema(n node) (*jsonschema.Schema, error) {
	at, ok := d.child(n, "schema")
	if !ok {
		return nil, nil
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	if s, ok := d.schemas[at.pointer]; ok {
		return s, nil
	}
	s, err := d.compiler.Compile(document + at.pointer)
	if err != nil {
		return nil, fmt.Errorf("schema of the description: %w", err)
	}
	d.schemas[at.pointer] = s
	return s, nil
}

// An operation is a method of a path.
type operation struct {
	name string // "GET /assets/{id}"
	node
	parameters []node
}

// find returns the operation of a request. HEAD is answered wherever GET is.
func (d *description) find(r *http.Request) (operation, bool) {
	method := r.Method
	if method == http.MethodHead {
		method = http.MethodGet
	}
	for _, p := range d.paths {
		if !p.pattern.MatchString(r.URL.EscapedPath()) {
			continue
		}
		if op, ok := d.child(p.item, strings.ToLower(method)); ok {
			parameters := slices.Concat(d.children(p.item, "parameters"), d.children(op, "parameters"))
			return operation{method + " " + p.template, op, parameters}, true
		}
	}
	return operation{}, false
}

// names returns all operations, except those of a tag.
func (d *description) names(without string) []string {
	var all []string
	for _, p := range d.paths {
		for method := range maps.Keys(p.item.value) {
			op, ok := d.child(p.item, method)
			tags, _ := op.value["tags"].([]any)
			if ok && !slices.Contains(tags, any(without)) {
				all = append(all, strings.ToUpper(method)+" "+p.template)
			}
		}
	}
	slices.Sort(all)
	return all
}
