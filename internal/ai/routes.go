package ai

import (
	"fmt"
	"maps"
	"net/url"
	"regexp"
	"slices"
	"strings"
)

// An Endpoint is one thing that the service can be asked to do, by the name that the client's
// method for it has.
type Endpoint string

// A Route is how an endpoint is called: its method and its path, version included, with the
// names of what is put into it in braces.
type Route struct {
	Method string
	Path   string
	// Guess says that nothing public tells the method or the path.
	Guess bool
}

func (r Route) String() string { return r.Method + " " + r.Path }

// Routes say how endpoints are called. Each has a version of its own.
type Routes map[Endpoint]Route

func known(method, path string) Route   { return Route{Method: method, Path: path} }
func guessed(method, path string) Route { return Route{Method: method, Path: path, Guess: true} }

const (
	conversation = "/v1/conversations/{conversationId}"
	contextAdmin = "/v1/admin/contexts/{contextId}"
	libraryAdmin = "/v1/admin/context-libraries/{libraryId}"
)

// DefaultRoutes returns how each endpoint is called unless [Options] say otherwise.
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

// contextRoutes are those of the context library, of which no path is public.
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

// ParseRoutes reads routes that are written like "StreamDocuments=POST /v2/documents/stream".
// The method may be left out, and stays as it is then.
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

// with puts others before routes, as far as they say something.
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

var placeholder = regexp.MustCompile(`\{[^{}]*\}`)

// checkPath makes sure that a path has a place for all that the usual one has.
func checkPath(endpoint Endpoint, path, usual string) error {
	if !strings.HasPrefix(path, "/") || strings.ContainsAny(path, "?# ") {
		return fmt.Errorf("the path %q of %s must have a form such as %s", path, endpoint, usual)
	}
	has, wants := placeholder.FindAllString(path, -1), placeholder.FindAllString(usual, -1)
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

// fill puts values into a path, in the order in which the usual path names them. A value that
// makes the path that of something else is refused: whoever is on the way resolves dots and
// may drop empty parts, and then all conversations are meant where one without an ID is.
func (r Route) fill(usual string, values []string) (string, error) {
	path := r.Path
	for i, name := range placeholder.FindAllString(usual, -1) {
		value := values[i]
		if value == "" || value == "." || value == ".." {
			return "", fmt.Errorf("%q is not an ID", value)
		}
		path = strings.ReplaceAll(path, name, url.PathEscape(value))
	}
	return path, nil
}
