package aiservice

import (
	"slices"
	"strings"

	"assetferry/internal/sandbox/fault"
)

// A route is a method and a pattern with its handler.
type route struct {
	method, pattern string
	scopes          []string // alternatives; "{}" is the value of the first wildcard. None: any token
	handle          func(*Server, *call) error
	streams         bool // the response is a stream
	open            bool // no token is required
	guess           bool // the route is not documented
}

// needs returns the scopes with the values of the wildcards.
func (r route) needs(args []string) []string {
	needs := slices.Clone(r.scopes)
	for i := range needs {
		if len(args) > 0 {
			needs[i] = strings.ReplaceAll(needs[i], "{}", args[0])
		}
	}
	return needs
}

// routes returns all routes of the stand-in, words before wildcards.
func routes() []route {
	return slices.Concat(serviceRoutes(), conversationRoutes(), statelessRoutes(), contextRoutes(), adminRoutes())
}

// offered omits routes that do not exist on premises.
func offered(onPremises bool) []route {
	return slices.DeleteFunc(routes(), func(r route) bool { return onPremises && r.pattern == usagePattern })
}

func serviceRoutes() []route {
	return []route{
		{method: "GET", pattern: "/health", handle: (*Server).getHealth, open: true},
		{method: "GET", pattern: "/docs", handle: (*Server).redirectToDocs, open: true},
		{method: "GET", pattern: "/docs/", handle: (*Server).redirectToDocs, open: true},
		{method: "GET", pattern: "/v1/docs", handle: (*Server).serveDocs, open: true},
		{method: "GET", pattern: "/v1/doc.json", handle: (*Server).serveDescription, open: true},
		{method: "GET", pattern: "/v1/api/doc.json", handle: (*Server).serveDescription, open: true},
		{method: "GET", pattern: "/token/dev/{hash}", handle: (*Server).issueToken, open: true},
		{method: "GET", pattern: "/v1/models/{compatibilityVersion}", handle: (*Server).listModels},
	}
}

func conversationRoutes() []route {
	read, write := []string{readConversations}, []string{writeConversations}
	const one = "/v1/conversations/{conversationId}"
	return []route{
		{method: "POST", pattern: "/v1/conversations", scopes: createConversations(), handle: (*Server).createConversation},
		{method: "GET", pattern: "/v1/conversations", scopes: read, handle: (*Server).listConversations},
		{method: "GET", pattern: one, scopes: read, handle: (*Server).getConversation},
		{method: "PATCH", pattern: one, scopes: write, handle: (*Server).patchConversation, guess: true},
		{method: "DELETE", pattern: one, scopes: deleteConversations(), handle: (*Server).deleteConversation},

		{method: "POST", pattern: "/v1.1/conversations/{conversationId}/messages", scopes: write, handle: (*Server).sendMessage, streams: true},
		{method: "POST", pattern: one + "/messages", scopes: write, handle: (*Server).sendMessage, streams: true},
		{method: "GET", pattern: one + "/messages", scopes: read, handle: (*Server).listMessages},

		{method: "POST", pattern: one + "/documents", scopes: write, handle: (*Server).addDocument},
		{method: "POST", pattern: one + "/documents/batch", scopes: write, handle: (*Server).addDocuments, guess: true},
		{method: "GET", pattern: one + "/documents", scopes: read, handle: (*Server).listDocuments, guess: true},
		{method: "GET", pattern: one + "/documents/{documentId}", scopes: read, handle: (*Server).getDocument},
		{method: "DELETE", pattern: one + "/documents/{documentId}", scopes: write, handle: (*Server).deleteDocument},

		{method: "POST", pattern: one + "/files", scopes: write, handle: (*Server).uploadFile},
		{method: "GET", pattern: one + "/files", scopes: read, handle: (*Server).listFiles, guess: true},
		{method: "GET", pattern: one + "/files/{fileId}", scopes: read, handle: (*Server).getFile, guess: true},
		{method: "DELETE", pattern: one + "/files/{fileId}", scopes: write, handle: (*Server).deleteFile},

		{method: "POST", pattern: one + "/web-resources", scopes: []string{useURLs}, handle: (*Server).addWebResource},
		{method: "GET", pattern: one + "/web-resources", scopes: read, handle: (*Server).listWebResources, guess: true},
		{method: "GET", pattern: one + "/web-resources/{webResourceId}", scopes: read, handle: (*Server).getWebResource, guess: true},
		{method: "DELETE", pattern: one + "/web-resources/{webResourceId}", scopes: write, handle: (*Server).deleteWebResource},
	}
}

func statelessRoutes() []route {
	const actions, reviews, process = "/v1/actions/", "/v1/reviews/", "/v1/documents/process"
	return []route{
		{method: "POST", pattern: actions + "system/{actionName}/calls", scopes: []string{"ai:actions:system:{}"}, handle: (*Server).callAction, streams: true},
		{method: "POST", pattern: actions + "custom/calls", scopes: []string{"ai:actions:custom"}, handle: (*Server).callCustomAction, streams: true},
		{method: "POST", pattern: reviews + "system/{reviewName}/calls", scopes: []string{"ai:reviews:system:{}"}, handle: (*Server).callReview, streams: true},
		{method: "POST", pattern: reviews + "custom/calls", scopes: []string{"ai:reviews:custom"}, handle: (*Server).callCustomReview, streams: true},
		{method: "POST", pattern: process, scopes: []string{processDocuments}, handle: (*Server).processDocuments},
		{method: "POST", pattern: process + "/stream", scopes: []string{processDocuments}, handle: (*Server).streamDocuments, streams: true, guess: true},
	}
}

func contextRoutes() []route {
	admin, read := []string{adminScope}, []string{readContexts}
	const all, one, libraries = "/v1/admin/contexts", "/v1/admin/contexts/{contextId}", "/v1/admin/context-libraries"
	return guesses(
		route{method: "GET", pattern: "/v1/contexts", scopes: read, handle: (*Server).listContexts},
		route{method: "GET", pattern: "/v1/contexts/{contextId}", scopes: read, handle: (*Server).getContext},

		route{method: "POST", pattern: all, scopes: admin, handle: (*Server).createContext},
		route{method: "GET", pattern: all, scopes: admin, handle: (*Server).listContexts},
		route{method: "GET", pattern: one, scopes: admin, handle: (*Server).getContext},
		route{method: "PATCH", pattern: one, scopes: admin, handle: (*Server).patchContext},
		route{method: "DELETE", pattern: one, scopes: admin, handle: (*Server).deleteContext},

		route{method: "POST", pattern: one + "/files", scopes: admin, handle: (*Server).uploadContextFile},
		route{method: "POST", pattern: one + "/files/from-url", scopes: admin, handle: (*Server).fetchContextFile},
		route{method: "GET", pattern: one + "/files", scopes: admin, handle: (*Server).listContextFiles},
		route{method: "GET", pattern: one + "/files/{fileId}", scopes: admin, handle: (*Server).getContextFile},
		route{method: "DELETE", pattern: one + "/files/{fileId}", scopes: admin, handle: (*Server).deleteContextFile},

		route{method: "POST", pattern: one + "/prompts", scopes: admin, handle: (*Server).createPrompt},
		route{method: "GET", pattern: one + "/prompts", scopes: admin, handle: (*Server).listPrompts},
		route{method: "GET", pattern: one + "/prompts/{promptId}", scopes: admin, handle: (*Server).getPrompt},
		route{method: "PATCH", pattern: one + "/prompts/{promptId}", scopes: admin, handle: (*Server).patchPrompt},
		route{method: "DELETE", pattern: one + "/prompts/{promptId}", scopes: admin, handle: (*Server).deletePrompt},

		route{method: "POST", pattern: libraries, scopes: admin, handle: (*Server).createLibrary},
		route{method: "GET", pattern: libraries, scopes: admin, handle: (*Server).listLibraries},
		route{method: "GET", pattern: libraries + "/{libraryId}", scopes: admin, handle: (*Server).getLibrary},
		route{method: "PATCH", pattern: libraries + "/{libraryId}", scopes: admin, handle: (*Server).patchLibrary},
		route{method: "DELETE", pattern: libraries + "/{libraryId}", scopes: admin, handle: (*Server).deleteLibrary},
	)
}

// guesses marks routes as guesses.
func guesses(all ...route) []route {
	for i := range all {
		all[i].guess = true
	}
	return all
}

// usagePattern is the pattern of the route that does not exist on premises.
const usagePattern = "/v1/admin/billing/usage"

func adminRoutes() []route {
	admin := []string{adminScope}
	return []route{
		{method: "POST", pattern: usagePattern, scopes: admin, handle: (*Server).getUsage},
		{method: "GET", pattern: "/v1/admin/conversations", scopes: admin, handle: (*Server).listAllConversations, guess: true},
	}
}

// named returns the routes for faults and the router.
func named(all []route) (names []fault.Route) {
	for _, r := range all {
		names = append(names, fault.Route{Method: r.method, Pattern: r.pattern, Streams: r.streams})
	}
	return names
}
