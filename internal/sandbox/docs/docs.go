// Package docs renders an OpenAPI description as an HTML page, without scripts and external
// resources.
package docs

import (
	"bytes"
	_ "embed"
	"encoding/json"
	"fmt"
	"html/template"
	"slices"
	"strings"
	"sync"

	"github.com/goccy/go-yaml"

	"assetferry/internal/sorting"
)

//go:embed page.html
var layout string

// A Description is an OpenAPI description, as JSON and as a page. Both are rendered on first
// use.
type Description struct {
	json, page func() ([]byte, error)
}

// New returns a Description for YAML text. The page links the JSON at href.
func New(text []byte, href string) Description {
	d := Description{json: sync.OnceValues(func() ([]byte, error) { return convert(text) })}
	d.page = sync.OnceValues(func() ([]byte, error) {
		converted, err := d.json()
		if err != nil {
			return nil, err
		}
		return render(converted, href)
	})
	return d
}

// JSON returns the description as JSON.
func (d Description) JSON() ([]byte, error) { return d.json() }

// Page returns the description as HTML.
func (d Description) Page() ([]byte, error) { return d.page() }

func convert(text []byte) ([]byte, error) {
	converted, err := yaml.YAMLToJSON(text) // keeps the order, which the page needs
	if err != nil {
		return nil, fmt.Errorf("read description: %w", err)
	}
	var b bytes.Buffer
	if err := json.Indent(&b, converted, "", "  "); err != nil {
		return nil, fmt.Errorf("convert description: %w", err)
	}
	return b.Bytes(), nil
}

// render renders a JSON description as HTML.
func render(description []byte, href string) ([]byte, error) {
	var d document
	if err := json.Unmarshal(description, &d); err != nil {
		return nil, fmt.Errorf("read description: %w", err)
	}
	t, err := template.New("page").Funcs(template.FuncMap{"prose": prose, "last": last, "join": strings.Join}).Parse(layout)
	if err != nil {
		return nil, fmt.Errorf("parse page template: %w", err)
	}
	v, err := d.page()
	if err != nil {
		return nil, fmt.Errorf("arrange description: %w", err)
	}
	v.JSON = href
	var b bytes.Buffer
	if err := t.Execute(&b, v); err != nil {
		return nil, fmt.Errorf("render page: %w", err)
	}
	return b.Bytes(), nil
}

// A page is the input of the template.
type page struct {
	Title, Version, Summary, Description string
	JSON                                 string // URL of the JSON
	Groups                               []group
	Schemas                              []shape
}

// A group contains the operations of a tag.
type group struct {
	ID, Name, Description string
	Operations            []entry
}

// An entry is an operation.
type entry struct {
	ID, Method, Path     string
	Summary, Description string
	Access               string // required credentials
	Guess                bool   // not documented by the service
	Parameters           []field
	Body                 []medium
	Answers              []reply
}

// A reply is an answer with one status.
type reply struct {
	Status, Description string
	Headers             []field
	Body                []medium
}

// A medium is a body with one content type.
type medium struct {
	ContentType string
	Shape       shape
}

// page groups operations by tag, in the order of the description.
func (d *document) page() (page, error) {
	v := page{Title: d.Info.Title, Version: d.Info.Version, Summary: d.Info.Summary, Description: d.Info.Description}
	for _, tag := range d.Tags {
		v.Groups = append(v.Groups, group{ID: "tag-" + strings.ReplaceAll(strings.ToLower(tag.Name), " ", "-"), Name: tag.Name, Description: tag.Description})
	}
	for _, p := range d.Paths {
		for _, m := range p.value.operations() {
			i := slices.IndexFunc(v.Groups, func(g group) bool { return slices.Contains(m.value.Tags, g.Name) })
			if i < 0 {
				return v, fmt.Errorf("%s %s has a tag that is not listed", m.key, p.key)
			}
			v.Groups[i].Operations = append(v.Groups[i].Operations, d.entry(p.key, p.value, m.key, m.value))
		}
	}
	for _, s := range d.Components.Schemas {
		v.Schemas = append(v.Schemas, d.shape(s.key, s.value))
	}
	return v, nil
}

func (d *document) entry(path string, item pathItem, method string, op operation) entry {
	e := entry{
		ID: op.OperationID, Method: method, Path: path, Summary: op.Summary, Description: op.Description, Access: op.access(path), Guess: op.Guess,
		Body: d.media(d.body(op.RequestBody).Content),
	}
	for _, p := range slices.Concat(item.Parameters, op.Parameters) {
		p = d.parameter(p)
		f := d.field(p.Name, p.Schema, p.Required)
		f.In, f.Description = p.In, joined(p.Description, f.Description)
		f.Guess = f.Guess || p.Guess
		e.Parameters = append(e.Parameters, f)
	}
	for _, r := range op.Responses {
		e.Answers = append(e.Answers, d.reply(r.key, d.response(r.value)))
	}
	// Sorted by status, "default" last.
	sorting.Stable(e.Answers, func(a, b reply) int { return strings.Compare(a.Status, b.Status) })
	return e
}

func (d *document) reply(status string, r response) reply {
	v := reply{Status: status, Description: r.Description, Body: d.media(r.Content)}
	for _, h := range r.Headers {
		header := d.header(h.value)
		f := d.field(h.key, header.Schema, header.Required)
		f.Description = joined(header.Description, f.Description)
		v.Headers = append(v.Headers, f)
	}
	return v
}

func (d *document) media(content ordered[media]) []medium {
	var all []medium
	for _, c := range content {
		m := medium{c.key, d.shape("", c.value.Schema)}
		for _, event := range c.value.Events {
			m.Shape.Fields = append(m.Shape.Fields, d.field(event.key, event.value.Schema, false))
		}
		all = append(all, m)
	}
	return all
}

// access returns the credentials that an operation requires.
func (op operation) access(path string) string {
	switch {
	case op.Scopes != nil && len(*op.Scopes) == 0:
		return "any token"
	case op.Scopes != nil:
		return strings.Join(*op.Scopes, " and ")
	case op.Security == nil && strings.HasPrefix(path, "/superadmin/"):
		return "superadmin"
	case op.Security == nil && strings.HasPrefix(path, "/admin/"):
		return "admin"
	case op.Security == nil:
		return "user"
	}
	var ways []string
	for _, way := range *op.Security {
		for name := range way {
			ways = append(ways, name)
		}
		if len(way) == 0 {
			ways = append(ways, "no token")
		}
	}
	if len(ways) == 0 {
		return "no token"
	}
	return strings.Join(ways, " or ")
}

func joined(a, b string) string { return strings.TrimSpace(strings.TrimSpace(a) + " " + b) }

// last returns the name in a reference.
func last(ref string) string { return ref[strings.LastIndexByte(ref, '/')+1:] }
