package config

import (
	"cmp"
	"maps"
	"net/url"
	"slices"
	"strings"
)

// A Requirement says whether changes to a destination need an approval.
type Requirement struct {
	Destination   string // the name in the file that asks for it
	ApproversFile string
	Required      bool // false: an approval is not needed, but can be verified
}

// A Reached is a destination as a command has resolved it.
type Reached struct {
	Name, URL, Environment, Workspace string
	TokenCommand                      bool // another program decides what the token opens
}

// Requirement finds out whether writing to a destination takes an approval. What counts is
// where a command writes to, whatever it calls it: a destination of the file that asks for
// approval covers its environment, and the workspace if it names one. A name alone counts only
// where no destination covers that: variables may lead from it into another environment, whose
// approvers are others. Where a token command
// decides about the environment, a URL of the same host is covered as well.
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
	if named.RequireApproval { // under its name and with other credentials, elsewhere
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
