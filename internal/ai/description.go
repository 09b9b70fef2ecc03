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
	"slices"
	"strings"

	"assetferry/internal/pattern"
	"assetferry/internal/retry"
	"assetferry/internal/sorting"
)

// maxDescription limits the size of a description. Known ones have several hundred kilobytes.
const maxDescription = 4 << 20

// ErrNoDescription reports that the service has no OpenAPI description.
var ErrNoDescription = errors.New("the service has no readable API description")

// A Description is the OpenAPI description of the service.
type Description struct {
	Path       string // where it was found
	operations []operation
}

// An operation is an operation in the description.
type operation struct {
	Route
	shape string // path without the names of its parameters
	used  bool   // it belongs to an endpoint
}

// Description reads the API description at /v1/doc.json, or at /v1/api/doc.json, as reported
// for on-premises installations. It only sends a token if the service requires one. Without a
// readable description, the error satisfies errors.Is(err, ErrNoDescription).
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
			return Description{}, err // another attempt may succeed
		}
	}
	return Description{}, fmt.Errorf("%w: %w", ErrNoDescription, errors.Join(why...))
}

// A document is the supported part of OpenAPI and Swagger.
type document struct {
	Servers  []struct{ URL string }
	BasePath string // in Swagger
	Paths    map[string]map[string]json.RawMessage
}

func (d *document) check() error {
	if d.Paths == nil {
		return errors.New("the API description has no paths")
	}
	return nil
}

var (
	httpMethods   = []string{"GET", "POST", "PUT", "PATCH", "DELETE", "HEAD", "OPTIONS"}
	colonName     = pattern.Lazy(`:([A-Za-z_][A-Za-z0-9_]*)`)
	plainPath     = pattern.Lazy(`^[!-~]+$`)
	versionPrefix = pattern.Lazy(`^/v[0-9]+(\.[0-9]+)?(/|$)`)
)

// operations returns all described operations with their paths relative to the base URL of the
// client. Servers are relative to the URL of the description.
func (d *document) operations(at *url.URL, base string) (all []operation) {
	places := d.places(at, base)
	for _, written := range slices.Sorted(maps.Keys(d.Paths)) {
		for method := range d.Paths[written] {
			if method = strings.ToUpper(method); !slices.Contains(httpMethods, method) {
				continue // parameters, summary and similar keys
			}
			for _, path := range fullPaths(places, written) {
				if !plainPath().MatchString(path) || strings.ContainsAny(path, "?#") {
					continue // not a callable path
				}
				all = append(all, operation{Route: known(method, path), shape: shape(path)})
			}
		}
	}
	return all
}

// places returns the prefixes of the paths in a description. Without servers and versions, the
// version of the description itself applies.
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
	versioned := slices.ContainsFunc(slices.Collect(maps.Keys(d.Paths)), versionPrefix().MatchString)
	switch {
	case len(places) == 0 && !versioned:
		places = []string{"/v1"}
	case len(places) == 0:
		places = []string{""}
	}
	slices.Sort(places)
	return slices.Compact(places)
}

// fullPaths adds the prefixes to a path. A path with a version is also used without a prefix,
// because some descriptions repeat the server in their paths.
func fullPaths(places []string, written string) (paths []string) {
	path := "/" + strings.Trim(colonName().ReplaceAllString(written, "{$1}"), "/")
	for _, place := range places {
		if place != "" && versionPrefix().MatchString(path) {
			place = versionPrefix().ReplaceAllString(place+"/", "/")
		}
		paths = append(paths, strings.TrimRight(place, "/")+path)
	}
	slices.Sort(paths)
	return slices.Compact(paths)
}

// shape returns a path without the names of its parameters.
func shape(path string) string {
	return strings.TrimRight(placeholder().ReplaceAllString(path, "{}"), "/")
}

// A Standing is the state of an endpoint in a description.
type Standing string

// The standings.
const (
	Confirmed Standing = "confirmed" // described as expected
	Moved     Standing = "moved"     // probably described at another path
	Missing   Standing = "missing"   // not described
)

// A Comparison compares an endpoint with a description.
type Comparison struct {
	Endpoint Endpoint
	Route    Route // in the client
	Standing Standing
	At       Route // new route with the parameter names of the client
}

// Setting returns the setting for a moved endpoint, as [ParseRoutes] parses it.
func (c Comparison) Setting() string { return string(c.Endpoint) + "=" + c.At.String() }

// Compare compares all endpoints of the client with a description, by name.
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
	// An operation with the right name is not the new path of another endpoint.
	c.findMoved(all, slices.DeleteFunc(operations, func(o operation) bool { return o.used }))
	return all
}

// leastLikeness is the minimum similarity of a moved endpoint.
const leastLikeness = 0.4

// A match is the similarity of an endpoint and an operation.
type match struct {
	endpoint, operation int // indexes
	likeness            float64
}

// findMoved finds the new paths of missing endpoints, most similar first. Each path is used
// once, and ambiguous endpoints are not assigned.
func (c *Client) findMoved(all []Comparison, left []operation) {
	var matches []match
	for i, one := range all {
		names := len(placeholder().FindAllString(one.Route.Path, -1))
		for j, o := range left {
			l := alike(one.Route, o)
			if one.Standing == Missing && l >= leastLikeness && len(placeholder().FindAllString(o.Path, -1)) == names {
				matches = append(matches, match{i, j, l})
			}
		}
	}
	sorting.Stable(matches, func(a, b match) int { return cmp.Compare(b.likeness, a.likeness) })
	ambiguous := map[int]bool{}
	for n, m := range matches {
		one, o := &all[m.endpoint], &left[m.operation]
		if one.Standing != Missing || o.used || ambiguous[m.endpoint] {
			continue
		}
		ambiguous[m.endpoint] = slices.ContainsFunc(matches[n+1:], func(other match) bool {
			return other.endpoint == m.endpoint && other.likeness == m.likeness && !left[other.operation].used
		})
		if ambiguous[m.endpoint] {
			continue
		}
		o.used, one.Standing, one.At = true, Moved, o.Route
		one.At.Path = renamed(o.Path, placeholder().FindAllString(c.usual[one.Endpoint].Path, -1))
	}
}

// alike returns the similarity of an operation and a route, from 0 to 1. Reading and changing
// operations never match.
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
	// The last word has the most weight: a list of files is not a list of prompts.
	if lastWord(r.Path) != lastWord(o.Path) {
		l *= 0.8
	}
	// The positions of parameters also count.
	if strings.HasSuffix(shape(r.Path), "{}") != strings.HasSuffix(o.shape, "{}") {
		l *= 0.5
	}
	return l
}

// words returns the words of a path without version and parameters.
func words(path string) (all []string) {
	for part := range strings.SplitSeq(versionPrefix().ReplaceAllString(shape(path), "/"), "/") {
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

// overlap returns the share of common words.
func overlap(a, b []string) float64 {
	both := 0
	for _, word := range a {
		if slices.Contains(b, word) {
			both++
		}
	}
	return float64(both) / float64(cmp.Or(len(a)+len(b)-both, 1))
}

// renamed replaces the parameter names of a path by those of the client: by name if they are
// equal, otherwise by position.
func renamed(path string, names []string) string {
	has := placeholder().FindAllString(path, -1)
	if slices.Equal(slices.Sorted(slices.Values(has)), slices.Sorted(slices.Values(names))) {
		return path
	}
	n := -1
	return placeholder().ReplaceAllStringFunc(path, func(string) string { n++; return names[n] })
}
