package standin

import (
	"net/http"
	"net/url"
	"strings"

	"assetferry/internal/sandbox/fault"
)

// Unknown is the pattern of requests without a route.
const Unknown = "unknown"

// A Router finds routes. http.ServeMux is not suitable: it redirects unclean paths, refuses
// overlapping routes, and reports the route only after the handler has been called.
type Router struct {
	routes   []fault.Route
	segments [][]string // segments of the pattern of each route
}

// NewRouter returns a router for routes in order, words before wildcards: the first match is used.
func NewRouter(routes []fault.Route) Router {
	r := Router{routes: routes}
	for _, rt := range routes {
		r.segments = append(r.segments, strings.Split(rt.Pattern[1:], "/"))
	}
	return r
}

// Match returns the index of the route for a request, and the values of its wildcards. HEAD is
// answered wherever GET is.
func (r Router) Match(method string, u *url.URL) (index int, args []string, ok bool) {
	if method == http.MethodHead {
		method = http.MethodGet
	}
	path := strings.Split(strings.TrimPrefix(u.EscapedPath(), "/"), "/")
	for i, rt := range r.routes {
		if rt.Method != method {
			continue
		}
		if args, ok := matchSegments(r.segments[i], path); ok {
			return i, args, true
		}
	}
	return 0, nil, false
}

func matchSegments(pattern, path []string) (args []string, ok bool) {
	if len(pattern) != len(path) {
		return nil, false
	}
	for i, p := range pattern {
		if !strings.HasPrefix(p, "{") {
			if p != path[i] {
				return nil, false
			}
			continue
		}
		v, err := url.PathUnescape(path[i])
		if err != nil || v == "" {
			return nil, false
		}
		args = append(args, v)
	}
	return args, true
}
