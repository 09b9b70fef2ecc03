package config

import (
	"cmp"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"assetferry/internal/strictyaml"
)

// The variables for an environment that is a source, if the file does not contain these settings.
// The access key also exists with _FILE and _COMMAND at the end. They differ from those of the
// destination, so that neither is opened with the key of the other.
const (
	sourceURL          = "ASSETFERRY_SOURCE_URL"
	sourceAccessKey    = "ASSETFERRY_SOURCE_ACCESS_KEY"
	sourceTokenCommand = "ASSETFERRY_SOURCE_TOKEN_COMMAND"
)

// A WorkspaceURL is a parsed URL ckbox://... of a source.
type WorkspaceURL struct {
	Name      string // a destination of the file, "sandbox", or the ID of an environment
	Workspace string // its ID; empty for the one that the file names, or else the default one
}

// ParseWorkspaceURL parses a URL without its scheme. Its errors never contain the URL, because
// people put keys into URLs.
func ParseWorkspaceURL(text string) (WorkspaceURL, error) {
	name, workspace, _ := strings.Cut(strings.TrimSuffix(text, "/"), "/")
	switch {
	case !isName(name):
		return WorkspaceURL{}, errors.New("the URL has no destination name and no environment ID")
	case workspace != "" && !isName(workspace):
		return WorkspaceURL{}, errors.New("the part after the environment is not a workspace ID")
	}
	return WorkspaceURL{name, workspace}, nil
}

// SourceWorkspace returns the access to a workspace that is a source. Flags and variables for the
// destination do not affect it.
func (s *Settings) SourceWorkspace(a WorkspaceURL) (Destination, error) {
	if a.Name == sandboxName {
		return Destination{Kind: Sandbox, Name: sandboxName, Workspace: a.Workspace, Service: "ckbox", User: "assetferry"}, nil
	}
	given, err := s.sourceSet()
	if err != nil {
		return Destination{}, err
	}
	n, named := s.Destinations[a.Name]
	if !named {
		n.URL, n.Environment = s.env.get(sourceURL), a.Name
	}
	chosen := s.destinationSet(a.Name, n)
	if !chosen.opens() {
		chosen.accessKey, chosen.tokenCommand = given.accessKey, given.tokenCommand
	}
	if err := s.completeSource(a.Name, named, n, chosen); err != nil {
		return Destination{}, err
	}
	if err := checkURL(n.URL, s.AllowHTTP); err != nil {
		if named {
			return Destination{}, s.wrong(inDestination(a.Name, "url"), "source: "+err.Error(), "")
		}
		return Destination{}, &UsageError{Msg: sourceURL + ": " + err.Error()}
	}
	return Destination{
		Kind: URL, Name: a.Name, URL: strings.TrimRight(n.URL, "/"),
		Environment: chosen.environment, AccessKey: chosen.accessKey, TokenCommand: chosen.tokenCommand,
		Workspace: cmp.Or(a.Workspace, n.Workspace),
		Service:   cmp.Or(n.Service, s.Service), User: cmp.Or(n.User, s.User), CAFile: cmp.Or(n.CAFile, s.CAFile),
		ServiceProfile: n.ServiceProfile,
	}, nil
}

// sourceSet returns the credentials for sources in environment variables.
func (s *Settings) sourceSet() (set, error) {
	key, err := s.reference(sourceAccessKey)
	if err != nil {
		return set{}, err
	}
	command := s.env.get(sourceTokenCommand)
	if command != "" && !key.IsZero() {
		return set{}, bothSet(key.Origin, sourceTokenCommand)
	}
	return set{place: "the environment", accessKey: key, tokenCommand: command}, nil
}

// completeSource is an error for missing credentials.
func (s *Settings) completeSource(name string, named bool, n Named, c set) error {
	if named && c.environment.IsZero() {
		return s.wrong(inDestination(name, ""), fmt.Sprintf("destination %q has no environment ID, which is required to read from it", name), "add its ID as environment")
	}
	var missing []string
	if n.URL == "" {
		missing = append(missing, sourceURL)
	}
	if !c.opens() {
		missing = append(missing, sourceAccessKey)
	}
	set := strings.Join(missing, " and ")
	switch {
	case len(missing) == 0:
		return nil
	case named:
		return s.wrong(inDestination(name, ""), fmt.Sprintf("destination %q has no credentials to read it with: %s not set", name, set),
			"say in "+s.File+" where its access key is, or set "+set)
	}
	return &UsageError{
		Msg:  fmt.Sprintf("there is no destination %q%s", name, strictyaml.Suggestion(name, slices.Sorted(maps.Keys(s.Destinations)))),
		Hint: "if it is the ID of an environment, set " + set + " (see assetferry help ckbox)",
	}
}

// InheritSource adds the access to a source workspace to an inheritance.
func (s *Settings) InheritSource(i Inheritance, d Destination) (Inheritance, error) {
	h := &heir{Settings: s, Inheritance: i}
	h.reference(d.AccessKey, sourceAccessKey, true)
	if _, named := s.Destinations[d.Name]; !named && d.Kind == URL {
		h.Variables = append(h.Variables, Variable{Name: sourceURL, Value: d.URL})
	}
	if d.TokenCommand != "" {
		h.Helper = true
		if s.Destinations[d.Name].TokenCommand != d.TokenCommand {
			h.Variables = append(h.Variables, Variable{Name: sourceTokenCommand, Secret: true})
		}
	}
	h.read(d.CAFile)
	h.read(d.ServiceProfile)
	return h.Inheritance, h.err
}
