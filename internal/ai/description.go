package ai

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"net/url"
	"regexp"
	"slices"
	"strings"

	"assetferry/internal/retry"
)

// maxDescription is the most that is read of a description: those that are known have a few
// hundred kilobytes.
const maxDescription = 4 << 20

// ErrNoDescription says that the service does not describe itself, or not in OpenAPI.
var ErrNoDescription = errors.New("the service has no description of itself that can be read")

// A Description is what the service says of its endpoints, in OpenAPI.
type Description struct {
	Path       string // where it was
	operations []operation
}

// An operation is a way to call the service, as it describes it.
type operation struct {
	Route
	shape string // the path without the names of what is put into it
	used  bool   // it is that of an endpoint
}

// Description reads what the service says of its endpoints: at /v1/doc.json, or, as one source
// has it of installations on premises, at /v1/api/doc.json. It takes no token unless the service
// wants one. Where there is none that can be read, the error satisfies errors.Is(err, ErrNoDescription).
func (c *Client) Description(ctx context.Context) (Description, error) {
	var why []error
	for _, endpoint := range []Endpoint{"Description", "DescriptionOnPremises"} {
		var d document
		r := request{op: "read description of the service", endpoint: endpoint, public: true, most: maxDescription}
		err := c.ask(ctx, &r, &d)
		if e, ok := errors.AsType[*Error](err); ok && e.IsAuth() {
			r.public = false
			err = c.ask(ctx, &r, &d)
		}
		if err == nil {
			return Description{Path: c.routes[endpoint].Path, operations: d.operations(c.base.JoinPath(c.routes[endpoint].Path), c.base.Path)}, nil
		}
		why = append(why, err)
		e, ok := errors.AsType[*Error](err)
		if ok && !e.final && !errors.Is(err, fs.ErrNotExist) && e.class != retry.Fatal && e.class != retry.Permanent {
			return Description{}, err // it may be there another time
		}
	}
	return Description{}, fmt.Errorf("%w: %w", ErrNoDescription, errors.Join(why...))
}

// A document is what is read of OpenAPI, or of Swagger before it.
type document struct {
	Servers  []struct{ URL string }
	BasePath string // of Swagger
	Paths    map[string]map[string]json.RawMessage
}

func (d *document) check() error {
	if d.Paths == nil {
		return errors.New("it is not OpenAPI: no paths")
	}
	return nil
}

var (
	httpMethods   = []string{"GET", "POST", "PUT", "PATCH", "DELETE", "HEAD", "OPTIONS"}
	colonName     = regexp.MustCompile(`:([A-Za-z_][A-Za-z0-9_]*)`)
	plainPath     = regexp.MustCompile(`^[!-~]+$`)
	versionPrefix = regexp.MustCompile(`^/v[0-9]+(\.[0-9]+)?(/|$)`)
)

// operations are all that is described, with their paths as the client writes them: without what
// the base address of the client has. Servers are relative to where the description was.
func (d *document) operations(at *url.URL, base string) (all []operation) {
	places := d.places(at, base)
	for _, written := range slices.Sorted(maps.Keys(d.Paths)) {
		for method := range d.Paths[written] {
			if method = strings.ToUpper(method); !slices.Contains(httpMethods, method) {
				continue // parameters, summary and the like
			}
			for _, path := range fullPaths(places, written) {
				if !plainPath.MatchString(path) || strings.ContainsAny(path, "?#") {
					continue // nothing that could be called, or pasted
				}
				all = append(all, operation{Route: known(method, path), shape: shape(path)})
			}
		}
	}
	return all
}

// places are what the paths of a description begin with. A description that names no server, and
// no version in any path, means the version that it is at itself.
func (d *document) places(at *url.URL, base string) []string {
	var places []string
	for _, s := range d.Servers {
		if u, err := at.Parse(s.URL); err == nil {
			places = append(places, strings.TrimPrefix(strings.TrimRight(u.Path, "/"), base))
		}
	}
	if d.BasePath != "" {
		places = append(places, strings.TrimPrefix(strings.TrimRight(d.BasePath, "/"), base))
	}
	versioned := slices.ContainsFunc(slices.Collect(maps.Keys(d.Paths)), versionPrefix.MatchString)
	switch {
	case len(places) == 0 && !versioned:
		places = []string{"/v1"}
	case len(places) == 0:
		places = []string{""}
	}
	slices.Sort(places)
	return slices.Compact(places)
}

// fullPaths puts places before a path; one that has a version of its own stands for itself, too,
// because not everybody who writes descriptions leaves out in paths what the server has.
func fullPaths(places []string, written string) (paths []string) {
	path := "/" + strings.Trim(colonName.ReplaceAllString(written, "{$1}"), "/")
	for _, place := range places {
		if place != "" && versionPrefix.MatchString(path) {
			place = versionPrefix.ReplaceAllString(place+"/", "/")
		}
		paths = append(paths, strings.TrimRight(place, "/")+path)
	}
	slices.Sort(paths)
	return slices.Compact(paths)
}

// shape is a path without the names of what is put into it.
func shape(path string) string {
	return strings.TrimRight(placeholder.ReplaceAllString(path, "{}"), "/")
}

// A Standing is what a description says of an endpoint.
type Standing string

// The standings.
const (
	Confirmed Standing = "confirmed" // it is called as the client calls it
	Moved     Standing = "moved"     // it seems to be called otherwise
	Missing   Standing = "missing"   // nothing is like it
)

// A Comparison is what a description says of one endpoint.
type Comparison struct {
	Endpoint Endpoint
	Route    Route // as the client calls it
	Standing Standing
	At       Route // where it has moved to, with the names that the client has
}

// Setting is what has the client call a moved endpoint where it is, as [ParseRoutes] reads it.
func (c Comparison) Setting() string { return string(c.Endpoint) + "=" + c.At.String() }

// Compare says of each endpoint that the client knows, by name, what a description says of it.
func (c *Client) Compare(d Description) []Comparison {
	operations := slices.Clone(d.operations)
	var all []Comparison
	for _, endpoint := range slices.Sorted(maps.Keys(c.routes)) {
		if endpoint == "Description" || endpoint == "DescriptionOnPremises" {
			continue // one of them was just read
		}
		one := Comparison{Endpoint: endpoint, Route: c.routes[endpoint], Standing: Missing}
		for i, o := range operations {
			if o.Method == one.Route.Method && o.shape == shape(one.Route.Path) {
				operations[i].used, one.Standing = true, Confirmed
			}
		}
		all = append(all, one)
	}
	// What is called by its right name is no place to which another one has moved.
	c.findMoved(all, slices.DeleteFunc(operations, func(o operation) bool { return o.used }))
	return all
}

// leastLikeness is how alike an endpoint and the place are that it may have moved to.
const leastLikeness = 0.4

// A match says how much speaks for an endpoint being at an operation now.
type match struct {
	endpoint, operation int // by index
	likeness            float64
}

// findMoved finds where missing endpoints are now, the surest first. No two of them are at the
// same place, and one that could be at several is nowhere.
func (c *Client) findMoved(all []Comparison, left []operation) {
	var matches []match
	for i, one := range all {
		names := len(placeholder.FindAllString(one.Route.Path, -1))
		for j, o := range left {
			l := alike(one.Route, o)
			if one.Standing == Missing && l >= leastLikeness && len(placeholder.FindAllString(o.Path, -1)) == names {
				matches = append(matches, match{i, j, l})
			}
		}
	}
	slices.SortStableFunc(matches, func(a, b match) int { return cmp.Compare(b.likeness, a.likeness) })
	nowhere := map[int]bool{}
	for n, m := range matches {
		one, o := &all[m.endpoint], &left[m.operation]
		if one.Standing != Missing || o.used || nowhere[m.endpoint] {
			continue
		}
		nowhere[m.endpoint] = slices.ContainsFunc(matches[n+1:], func(other match) bool {
			return other.endpoint == m.endpoint && other.likeness == m.likeness && !left[other.operation].used
		})
		if nowhere[m.endpoint] {
			continue
		}
		o.used, one.Standing, one.At = true, Moved, o.Route
		one.At.Path = renamed(o.Path, placeholder.FindAllString(c.usual[one.Endpoint].Path, -1))
	}
}

// alike is how much speaks for an operation being that of a route, from 0 to 1. What changes
// things is not taken for what reads them, nor the other way round.
func alike(r Route, o operation) float64 {
	reads := func(method string) bool { return method == "GET" || method == "HEAD" }
	switch {
	case reads(r.Method) != reads(o.Method), (r.Method == "DELETE") != (o.Method == "DELETE"):
		return 0
	case shape(r.Path) == o.shape:
		return 0.95
	}
	l := overlap(words(r.Path), words(o.Path))
	if r.Method != o.Method {
		l *= 0.6
	}
	// What comes last says most: a list of files is none of prompts.
	if lastWord(r.Path) != lastWord(o.Path) {
		l *= 0.8
	}
	// Where something has to be put is part of what it is.
	if strings.HasSuffix(shape(r.Path), "{}") != strings.HasSuffix(o.shape, "{}") {
		l *= 0.5
	}
	return l
}

// words are those in a path that are neither a version nor put into it.
func words(path string) (all []string) {
	for part := range strings.SplitSeq(versionPrefix.ReplaceAllString(shape(path), "/"), "/") {
		if part != "" && part != "{}" {
			all = append(all, strings.Split(strings.ToLower(part), "-")...)
		}
	}
	return all
}

func lastWord(path string) string {
	all := words(path)
	if len(all) == 0 {
		return ""
	}
	return all[len(all)-1]
}

// overlap is the part of the words of both that both have.
func overlap(a, b []string) float64 {
	both := 0
	for _, word := range a {
		if slices.Contains(b, word) {
			both++
		}
	}
	return float64(both) / float64(cmp.Or(len(a)+len(b)-both, 1))
}

// renamed has the names in a path be those that the client knows: by name where it has the same
// ones, else in their order.
func renamed(path string, names []string) string {
	has := placeholder.FindAllString(path, -1)
	if slices.Equal(slices.Sorted(slices.Values(has)), slices.Sorted(slices.Values(names))) {
		return path
	}
	n := -1
	return placeholder.ReplaceAllStringFunc(path, func(string) string { n++; return names[n] })
}
