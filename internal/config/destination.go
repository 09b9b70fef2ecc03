package config

import (
	"cmp"
	"errors"
	"fmt"
	"maps"
	"net"
	"net/url"
	"slices"
	"strings"

	"assetferry/internal/strictyaml"
)

// sandboxName is the destination that needs no configuration.
const sandboxName = "sandbox"

// A Named is a destination in the file.
type Named struct {
	URL         string
	Environment string

	// At most one of these is set.
	AccessKeyEnv, AccessKeyFile, AccessKeyCommand, TokenCommand string

	Workspace, Service, User, CAFile, ServiceProfile string

	RequireApproval bool
	ApproversFile   string
}

// A Kind is the sandbox or a service.
type Kind int

// The kinds of destinations.
const (
	Sandbox Kind = iota + 1 // the embedded one, with its own credentials
	URL
)

// A Destination is the target of a run. For the sandbox, the URL and the references are empty.
type Destination struct {
	Kind Kind
	Name string // "sandbox", the name in the file, or empty for a bare URL
	URL  string // without a slash at its end

	Environment  Reference
	AccessKey    Reference // either this
	TokenCommand string    // or this, a command line that prints tokens

	Workspace, Service, User, CAFile, ServiceProfile string
}

// Destination returns the destination of the settings. It returns a *UsageError if none is set, or
// if its credentials are incomplete.
func (s *Settings) Destination() (Destination, error) {
	switch {
	case s.To == "":
		return Destination{}, &UsageError{
			Msg:  "no destination is configured",
			Hint: "use --to sandbox for a test, or --to with a URL" + s.orNames(),
		}
	case s.To == sandboxName:
		return s.sandbox(), nil
	case strings.ContainsAny(s.To, ":@"): // also for a malformed URL, which the error must not repeat
		return s.byURL("", Named{URL: s.To})
	}
	n, ok := s.Destinations[s.To]
	if !ok {
		names := append(slices.Sorted(maps.Keys(s.Destinations)), sandboxName)
		return Destination{}, s.wrong("to", fmt.Sprintf("there is no destination %q%s", s.To, strictyaml.Suggestion(s.To, names)),
			"use --to sandbox, a URL that begins with https://"+s.orNames())
	}
	return s.byURL(s.To, n)
}

// orNames lists the destinations of the file, for the end of a hint.
func (s *Settings) orNames() string {
	if len(s.Destinations) == 0 {
		return ", or add a destination to " + cmp.Or(s.File, DefaultFile)
	}
	return ", or one of " + strings.Join(slices.Sorted(maps.Keys(s.Destinations)), ", ")
}

// sandbox ignores the environment and the file, which belong to another service.
func (s *Settings) sandbox() Destination {
	d := Destination{Kind: Sandbox, Name: sandboxName, Service: "ckbox", User: "assetferry"}
	for key, p := range map[string]*string{"workspace": &d.Workspace, "service": &d.Service, "user": &d.User} {
		if s.origin[key] == FromFlag {
			*p = s.own(key)
		}
	}
	return d
}

func (s *Settings) byURL(name string, n Named) (Destination, error) {
	if err := checkURL(n.URL, s.AllowHTTP); err != nil {
		at := "to"
		if name != "" {
			at = inDestination(name, "url")
		}
		return Destination{}, s.wrong(at, "destination: "+err.Error(), "")
	}
	d := Destination{
		Kind:      URL,
		Name:      name,
		URL:       strings.TrimRight(n.URL, "/"),
		Workspace: s.prefer("workspace", n.Workspace),
		Service:   s.prefer("service", n.Service),
		User:      s.prefer("user", n.User),
		CAFile:    s.prefer("ca_file", n.CAFile),

		ServiceProfile: s.prefer("service_profile", n.ServiceProfile),
	}
	c, err := s.credentials(name, n)
	if err != nil {
		return Destination{}, err
	}
	d.Environment, d.AccessKey, d.TokenCommand = c.environment, c.accessKey, c.tokenCommand
	return d, nil
}

// prefer chooses between a setting and the value of its destination. The one closer to the command
// line wins; within the file, the destination wins.
func (s *Settings) prefer(key, fromDestination string) string {
	at := s.origin[key]
	if fromDestination == "" || at > FromFile && at >= s.origin["to"] {
		return s.own(key)
	}
	return fromDestination
}

func (s *Settings) own(key string) string {
	switch key {
	case "workspace":
		return s.Workspace
	case "service":
		return s.Service
	case "user":
		return s.User
	case "service_profile":
		return s.ServiceProfile
	}
	return s.CAFile
}

// check checks a destination as a whole. It returns the key with the mistake; empty if a key is
// missing.
func (n *Named) check() (key string, err error) {
	if n.URL == "" {
		return "", errors.New("url is missing")
	}
	if n.RequireApproval && (n.Environment == "" || n.ApproversFile == "") {
		return "require_approval", errors.New("require_approval needs environment and approvers_file")
	}
	var given []string
	for key, value := range n.credentialKeys() {
		if value != "" {
			given = append(given, key)
		}
	}
	if len(given) > 1 {
		slices.Sort(given)
		return given[1], fmt.Errorf("%s are both set; use one", strings.Join(given[:2], " and "))
	}
	return "", nil
}

func (n *Named) credentialKeys() map[string]string {
	return map[string]string{
		"access_key_env":     n.AccessKeyEnv,
		"access_key_file":    n.AccessKeyFile,
		"access_key_command": n.AccessKeyCommand,
		"token_command":      n.TokenCommand,
	}
}

// isName reports whether a destination or a job can have a name, which may become part of a file
// name.
func isName(name string) bool {
	return name != "" && !strings.ContainsFunc(name, func(r rune) bool {
		return !(r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r >= '0' && r <= '9' || r == '-' || r == '_' || r == '.')
	})
}

// S3Endpoint returns the endpoint of S3, or a *UsageError if it must not be used.
func (s *Settings) S3Endpoint() (string, error) {
	if s.Endpoint == "" {
		return "", nil
	}
	if err := checkURL(s.Endpoint, s.AllowHTTP); err != nil {
		return "", s.wrong("endpoint", "endpoint: "+err.Error(), "")
	}
	return s.Endpoint, nil
}

// checkURL checks the URL of a service. Its errors never contain the URL, which may contain a
// password.
func checkURL(rawURL string, allowHTTP bool) error {
	u, err := url.Parse(rawURL)
	if err != nil {
		return errors.New("the URL is not valid")
	}
	switch {
	case u.User != nil:
		return errors.New("the URL contains a user name or a password; credentials come from variables, a file or a command")
	case u.Scheme != "http" && u.Scheme != "https":
		return errors.New("the URL does not begin with https:// or http://")
	case u.Hostname() == "":
		return errors.New("the URL has no host")
	case u.RawQuery != "" || u.Fragment != "":
		return errors.New("the URL has a \"?\" or \"#\" part")
	case u.Scheme == "http" && !allowHTTP && !isLoopback(u.Hostname()):
		return fmt.Errorf("plain HTTP to %s exposes the credentials on the network; use https:// or --allow-http", u.Hostname())
	}
	return nil
}

func isLoopback(host string) bool {
	ip := net.ParseIP(host)
	return host == "localhost" || ip != nil && ip.IsLoopback()
}
