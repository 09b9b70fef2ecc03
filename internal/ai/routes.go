package ai

import (
	"fmt"
	"maps"
	"net/url"
	"slices"
	"strings"

	"assetferry/internal/pattern"
)

// An Endpoint is an operation of the service, with the name of the client's method for it.
type Endpoint string

// A Route is the method and the path of an endpoint, with a version, and with parameter names in
// braces.
type Route struct {
	Method string
	Path   string
	// Guess means that the method or the path is not documented.
	Guess bool
}

func (r Route) String() string { return r.Method + " " + r.Path }

// Routes are the routes by endpoint. Each has its own version.
type Routes map[Endpoint]Route

func known(method, path string) Route   { return Route{Method: method, Path: path} }
func guessed(method, path string) Route { return Route{Method: method, Path: path, Guess: true} }

const (
	conversation = "/v1/conversations/{conversationId}"
	contextAdmin = "/v1/admin/contexts/{contextId}"
	libraryAdmin = "/v1/admin/context-libraries/{libraryId}"
)

// DefaultRoutes returns the route of each endpoint, unless [Options] override it.
func DefaultRoutes() Routes {
	all := Routes{
		"Health": known("GET", "/health"),
		"Models": known("GET", "/v1/models/{compatibilityVersion}"),

		"Description":           known("GET", "/v1/doc.json"),
		"DescriptionOnPremises": known("GET", "/v1/api/doc.json"),

		"CreateConversation": known("POST", "/v1/conversations"),
		"Conversations":      known("GET", "/v1/conversations"),
		"Conversation":       known("GET", conversation),
		"UpdateConversation": guessed("PATCH", conversation),
		"DeleteConversation": known("DELETE", conversation),

		"Send":     known("POST", "/v1.1/conversations/{conversationId}/messages"),
		"Messages": known("GET", conversation+"/messages"),

		"AddDocument":       known("POST", conversation+"/documents"),
		"AddDocuments":      guessed("POST", conversation+"/documents/batch"),
		"Documents":         guessed("GET", conversation+"/documents"),
		"Document":          known("GET", conversation+"/documents/{documentId}"),
		"DeleteDocument":    known("DELETE", conversation+"/documents/{documentId}"),
		"UploadFile":        known("POST", conversation+"/files"),
		"Files":             guessed("GET", conversation+"/files"),
		"File":              guessed("GET", conversation+"/files/{fileId}"),
		"DeleteFile":        known("DELETE", conversation+"/files/{fileId}"),
		"AddWebResource":    known("POST", conversation+"/web-resources"),
		"WebResources":      guessed("GET", conversation+"/web-resources"),
		"WebResource":       guessed("GET", conversation+"/web-resources/{webResourceId}"),
		"DeleteWebResource": known("DELETE", conversation+"/web-resources/{webResourceId}"),

		"Action":           known("POST", "/v1/actions/system/{actionName}/calls"),
		"CustomAction":     known("POST", "/v1/actions/custom/calls"),
		"Review":           known("POST", "/v1/reviews/system/{reviewName}/calls"),
		"CustomReview":     known("POST", "/v1/reviews/custom/calls"),
		"ProcessDocuments": known("POST", "/v1/documents/process"),
		"StreamDocuments":  guessed("POST", "/v1/documents/process/stream"),

		"Usage":              known("POST", "/v1/admin/billing/usage"),
		"AdminConversations": guessed("GET", "/v1/admin/conversations"),
	}
	maps.Copy(all, contextRoutes())
	return all
}

// contextRoutes returns the routes of the context library. None of them is documented.
func contextRoutes() Routes {
	return Routes{
		"Contexts":      guessed("GET", "/v1/contexts"),
		"Context":       guessed("GET", "/v1/contexts/{contextId}"),
		"CreateContext": guessed("POST", "/v1/admin/contexts"),
		"AdminContexts": guessed("GET", "/v1/admin/contexts"),
		"AdminContext":  guessed("GET", contextAdmin),
		"UpdateContext": guessed("PATCH", contextAdmin),
		"DeleteContext": guessed("DELETE", contextAdmin),

		"UploadContextFile": guessed("POST", contextAdmin+"/files"),
		"FetchContextFile":  guessed("POST", contextAdmin+"/files/from-url"),
		"ContextFiles":      guessed("GET", contextAdmin+"/files"),
		"ContextFile":       guessed("GET", contextAdmin+"/files/{fileId}"),
		"DeleteContextFile": guessed("DELETE", contextAdmin+"/files/{fileId}"),

		"CreatePrompt": guessed("POST", contextAdmin+"/prompts"),
		"Prompts":      guessed("GET", contextAdmin+"/prompts"),
		"Prompt":       guessed("GET", contextAdmin+"/prompts/{promptId}"),
		"UpdatePrompt": guessed("PATCH", contextAdmin+"/prompts/{promptId}"),
		"DeletePrompt": guessed("DELETE", contextAdmin+"/prompts/{promptId}"),

		"CreateContextLibrary": guessed("POST", "/v1/admin/context-libraries"),
		"ContextLibraries":     guessed("GET", "/v1/admin/context-libraries"),
		"ContextLibrary":       guessed("GET", libraryAdmin),
		"UpdateContextLibrary": guessed("PATCH", libraryAdmin),
		"DeleteContextLibrary": guessed("DELETE", libraryAdmin),
	}
}

// ParseRoutes parses routes like "StreamDocuments=POST /v2/documents/stream". The method is
// optional, and defaults to the one of the endpoint.
func ParseRoutes(lines []string) (Routes, error) {
	all := Routes{}
	for _, line := range lines {
		endpoint, call, ok := strings.Cut(line, "=")
		method, path, both := strings.Cut(strings.TrimSpace(call), " ")
		if !both {
			method, path = "", method
		}
		if !ok || path == "" {
			return nil, fmt.Errorf("%q must have the form ENDPOINT=METHOD /path", line)
		}
		all[Endpoint(strings.TrimSpace(endpoint))] = Route{Method: method, Path: strings.TrimSpace(path)}
	}
	_, err := DefaultRoutes().with(all)
	return all, err
}

// with returns routes in which the set fields of others have precedence.
func (r Routes) with(others Routes) (Routes, error) {
	all := maps.Clone(r)
	for endpoint, other := range others {
		route, ok := r[endpoint]
		if !ok {
			return nil, fmt.Errorf("endpoint %q does not exist; the endpoints are %s", endpoint, r.names())
		}
		if other.Path != "" {
			if err := checkPath(endpoint, other.Path, route.Path); err != nil {
				return nil, err
			}
			route.Path = other.Path
		}
		if other.Method != "" {
			route.Method = strings.ToUpper(other.Method)
		}
		all[endpoint] = route
	}
	return all, nil
}

func (r Routes) names() string {
	var names []string
	for e := range r {
		names = append(names, string(e))
	}
	slices.Sort(names)
	return strings.Join(names, ", ")
}

var placeholder = pattern.Lazy(`\{[^{}]*\}`)

// checkPath verifies that a path has all parameters of the default path.
func checkPath(endpoint Endpoint, path, usual string) error {
	if !strings.HasPrefix(path, "/") || strings.ContainsAny(path, "?# ") {
		return fmt.Errorf("the path %q of %s must have a form such as %s", path, endpoint, usual)
	}
	has, wants := placeholder().FindAllString(path, -1), placeholder().FindAllString(usual, -1)
	for _, name := range wants {
		if !slices.Contains(has, name) {
			return fmt.Errorf("the path %q of %s lacks the parameter %s; the default is %s", path, endpoint, name, usual)
		}
	}
	for _, name := range has {
		if !slices.Contains(wants, name) {
			return fmt.Errorf("the path %q of %s has the unknown parameter %s; the default is %s", path, endpoint, name, usual)
		}
	}
	return nil
}

// fill puts values into a path, in the order of the parameters of the default path. A value that
// would turn the path into another one is refused: proxies may resolve dots and drop empty parts,
// and then a conversation without an ID would mean all conversations.
func (r Route) fill(usual string, values []string) (string, error) {
	path := r.Path
	for i, name := range placeholder().FindAllString(usual, -1) {
		value := values[i]
		if value == "" || value == "." || value == ".." {
			return "", fmt.Errorf("%q is not an ID", value)
		}
		path = strings.ReplaceAll(path, name, url.PathEscape(value))
	}
	return path, nil
}
