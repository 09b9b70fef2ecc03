package aiservice

import (
	"net/http"
	"path"
	"slices"
	"strings"
)

const (
	adminScope = "ai:admin"

	readConversations  = "ai:conversations:read"
	writeConversations = "ai:conversations:write"
	useURLs            = "ai:conversations:context:urls"
	useFiles           = "ai:conversations:context:files:" // and the format
	useReasoning       = "ai:conversations:reasoning"

	processDocuments = "ai:documents:process" // as the sister product has it
	readContexts     = "ai:contexts:read"     // a guess
)

// createConversations and deleteConversations are what one source has for what is a
// part of writing elsewhere. Of alternatives, any one will do.
func createConversations() []string {
	return []string{writeConversations, "ai:conversations:create"}
}

func deleteConversations() []string {
	return []string{writeConversations, "ai:conversations:delete"}
}

// useWebSearch is spelled in two ways, depending on the source.
func useWebSearch() []string {
	return []string{"ai:conversations:websearch", "ai:conversations:webSearch"}
}

// scopes are what a token grants.
type scopes []string

func (s scopes) without(scope string) scopes {
	return slices.DeleteFunc(slices.Clone(s), func(g string) bool { return g == scope })
}

// grant reports whether one of the alternatives is granted.
func (s scopes) grant(alternatives ...string) bool {
	return slices.ContainsFunc(s, func(granted string) bool {
		return granted == adminScope || slices.ContainsFunc(alternatives, func(needed string) bool { return covers(granted, needed) })
	})
}

// covers reports whether a scope is the one that is needed, or holds it: a last
// segment of "*" covers everything deeper, another "*" what is in its segment. The
// type, which is the second segment, cannot be a wildcard, and a scope without one
// says nothing of what lies below it.
func covers(granted, needed string) bool {
	g, n := strings.Split(granted, ":"), strings.Split(needed, ":")
	if len(g) < 2 || strings.ContainsAny(g[0]+g[1], "*") {
		return false
	}
	deeper := len(g) > 2 && g[len(g)-1] == "*"
	if len(n) < len(g) || len(n) > len(g) && !deeper {
		return false
	}
	for i, segment := range g {
		if !fits(segment, n[i]) {
			return false
		}
	}
	return true
}

// fits compares segments of a scope, which know no wildcard but "*".
func fits(pattern, segment string) bool {
	if !strings.Contains(pattern, "*") {
		return pattern == segment
	}
	quoted := strings.NewReplacer(`\`, `\\`, "?", `\?`, "[", `\[`).Replace(pattern)
	// path.Match keeps "*" from going over slashes, which are no separators here.
	ok, err := path.Match(strings.ReplaceAll(quoted, "/", ":"), strings.ReplaceAll(segment, "/", ":"))
	return err == nil && ok
}

// need refuses a token that lacks one of the scopes, each given with its alternatives.
func (who identity) need(all ...[]string) error {
	var missing []string
	for _, alternatives := range all {
		if !who.scopes.grant(alternatives...) {
			missing = append(missing, alternatives[0])
		}
	}
	if missing == nil {
		return nil
	}
	return &problem{
		status: http.StatusForbidden, code: "missing-permissions", message: "No permissions to the resource.",
		data:   map[string]any{"missingPermissions": missing},
		action: "Have the token grant " + strings.Join(missing, ", ") + ".",
	}
}
