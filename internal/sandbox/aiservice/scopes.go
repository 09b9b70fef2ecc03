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
	useFiles           = "ai:conversations:context:files:" // followed by the format
	useReasoning       = "ai:conversations:reasoning"

	processDocuments = "ai:documents:process" // as in the sister product
	readContexts     = "ai:contexts:read"     // a guess
)

// createConversations and deleteConversations return scopes of one source, which other sources
// include in writing. Any alternative is sufficient.
func createConversations() []string {
	return []string{writeConversations, "ai:conversations:create"}
}

func deleteConversations() []string {
	return []string{writeConversations, "ai:conversations:delete"}
}

// useWebSearch returns both spellings of the scope in the sources.
func useWebSearch() []string {
	return []string{"ai:conversations:websearch", "ai:conversations:webSearch"}
}

// scopes are the scopes of a token.
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

// covers reports whether a granted scope includes the needed one: a last segment "*" covers all
// deeper segments, another "*" one segment. The type, which is the second segment, cannot be a
// wildcard. A scope without a wildcard does not cover deeper ones.
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

// fits compares segments of a scope. The only wildcard is "*".
func fits(pattern, segment string) bool {
	if !strings.Contains(pattern, "*") {
		return pattern == segment
	}
	quoted := strings.NewReplacer(`\`, `\\`, "?", `\?`, "[", `\[`).Replace(pattern)
	// In path.Match, "*" does not match slashes, which are no separators here.
	ok, err := path.Match(strings.ReplaceAll(quoted, "/", ":"), strings.ReplaceAll(segment, "/", ":"))
	return err == nil && ok
}

// need refuses a token without one of the scopes, each given as alternatives.
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
