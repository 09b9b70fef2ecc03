package config

import (
	"cmp"
	"maps"
	"net/url"
	"slices"
	"strings"
)

// A Requirement states whether changes to a destination require an approval.
type Requirement struct {
	Destination   string // the name of the destination in the file that requires it
	ApproversFile string
	Required      bool // false: an approval is not needed, but can be verified
}

// A Reached is a destination as a command has resolved it.
type Reached struct {
	Name, URL, Environment, Workspace string
	TokenCommand                      bool // a command returns the token, and thereby decides about the environment
}

// Requirement reports whether writing to a destination requires an approval. The environment
// counts, not the name: a destination in the file that requires approval covers its environment,
// and only one workspace of it if it names one. A destination of the same name counts only if no
// other destination covers the environment: variables may lead from that name to another
// environment with other approvers. If a token command decides about the environment, a URL of the
// same host is covered, too.
func (s *Settings) Requirement(r Reached) Requirement {
	named, isNamed := s.Destinations[r.Name]
	if named.RequireApproval && named.covers(r) {
		return Requirement{r.Name, named.ApproversFile, true}
	}
	for _, name := range slices.Sorted(maps.Keys(s.Destinations)) {
		n := s.Destinations[name]
		sameHost := !isNamed && r.TokenCommand && hostOf(n.URL) == hostOf(r.URL)
		if n.RequireApproval && (n.covers(r) || sameHost) {
			return Requirement{name, n.ApproversFile, true}
		}
	}
	if named.RequireApproval { // the name requires it, although the credentials lead elsewhere
		return Requirement{r.Name, named.ApproversFile, true}
	}
	return Requirement{Destination: r.Name, ApproversFile: s.Destinations[r.Name].ApproversFile}
}

// covers reports whether a command writes to a destination of the file.
func (n Named) covers(r Reached) bool {
	return strings.EqualFold(n.Environment, r.Environment) && (n.Workspace == "" || strings.EqualFold(n.Workspace, cmp.Or(r.Workspace, r.Environment)))
}

// hostOf returns the host of a URL in a form that can be compared.
func hostOf(rawURL string) string {
	u, err := url.Parse(rawURL)
	if err != nil {
		return ""
	}
	return strings.TrimSuffix(strings.ToLower(u.Hostname()), ".")
}
