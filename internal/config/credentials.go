package config

import (
	"cmp"
	"context"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"strings"

	"assetferry/internal/token"
)

// A Reference says where a value is, not what it is, and reads it when asked.
type Reference struct {
	Origin string // who refers to it, such as ASSETFERRY_ACCESS_KEY_FILE

	literal  string // the value itself, for what is no secret
	variable string
	file     string
	command  string
	lines    bool // the value may have several of them
	env      Env
}

// IsZero reports whether nothing is referred to.
func (r Reference) IsZero() bool {
	return r.literal == "" && r.variable == "" && r.file == "" && r.command == ""
}

// File is the file that the value is in, or empty if it is in none.
func (r Reference) File() string { return r.file }

// IsCommand reports whether a program has to be run for the value.
func (r Reference) IsCommand() bool { return r.command != "" }

// String says where the value is, without it.
func (r Reference) String() string { return r.Origin }

// Resolve reads the value. It calls warn, unless that is nil, if others can read it too.
func (r Reference) Resolve(ctx context.Context, warn func(string)) (token.Secret, error) {
	value := r.literal
	switch {
	case r.variable != "":
		value = r.env.get(r.variable)
	case r.file != "":
		data, err := readSecret(r.file, warn)
		if err != nil {
			return token.Secret{}, &UsageError{Msg: fmt.Sprintf("%s: %v", r.Origin, err)}
		}
		value = data
	case r.command != "":
		p, err := token.NewProgram(r.command)
		if err != nil {
			return token.Secret{}, &UsageError{Msg: fmt.Sprintf("%s: %v", r.Origin, err)}
		}
		run := p.Secret
		if r.lines {
			run = p.Lines
		}
		secret, err := run(ctx, 0)
		if err != nil {
			return token.Secret{}, fmt.Errorf("%s: %w", r.Origin, err)
		}
		return secret, nil
	}
	if value == "" {
		return token.Secret{}, &UsageError{Msg: r.Origin + ": " + cmp.Or(r.variable, r.file, "the value") + " is empty or not set"}
	}
	return token.NewSecret(value), nil
}

// readSecret reads a file and drops the line break at its end.
func readSecret(path string, warn func(string)) (string, error) {
	info, err := os.Stat(path)
	if err != nil {
		return "", err
	}
	if readableByOthers(info.Mode()) && !isCredential(path) && warn != nil {
		warn(fmt.Sprintf("%s can be read by others; chmod 600 keeps it private", path))
	}
	data, err := os.ReadFile(path)
	if err != nil {
		return "", err
	}
	return strings.TrimSuffix(strings.TrimSuffix(string(data), "\n"), "\r"), nil
}

// readableByOthers is about Unix; on Windows the mode says nothing.
func readableByOthers(mode fs.FileMode) bool {
	return runtime.GOOS != "windows" && mode.IsRegular() && mode&0o044 != 0
}

// isCredential reports whether systemd made a file with LoadCredential=. Its mode has a bit for
// the group, which stands for an access control list with nobody but the service.
func isCredential(path string) bool {
	folder := os.Getenv("CREDENTIALS_DIRECTORY")
	return folder != "" && filepath.Dir(path) == filepath.Clean(folder)
}

// A set is an environment and what opens it, as one place gives them.
type set struct {
	place        string
	environment  Reference
	accessKey    Reference
	tokenCommand string
}

func (c set) opens() bool { return !c.accessKey.IsZero() || c.tokenCommand != "" }

// credentials chooses between the destination in the file and the environment.
// A destination that was named on the command line beats the environment, else
// the environment beats the file. What must not happen is that the environment
// of one place is opened with the key of another one that means a different
// environment: the run would write to where nobody expects it.
func (s *Settings) credentials(name string, n Named) (set, error) {
	first, err := s.environmentSet()
	if err != nil {
		return set{}, err
	}
	second := s.destinationSet(name, n)
	if s.origin["to"] == FromFlag && name != "" {
		first, second = second, first
	}
	chosen, other := first, second
	if !first.opens() && second.opens() {
		if !first.environment.IsZero() && !second.environment.IsZero() {
			return set{}, &UsageError{
				Msg:  fmt.Sprintf("the environment is given by %s, but the credentials by %s, which means an environment of its own", first.environment.Origin, second.place),
				Hint: fmt.Sprintf("unset %s, or give credentials along with it", first.environment.Origin),
			}
		}
		chosen, other = second, first
	}
	if chosen.environment.IsZero() {
		chosen.environment = other.environment
	}
	return chosen, s.complete(name, chosen)
}

// complete tells what is missing.
func (s *Settings) complete(name string, c set) error {
	what, at := "the address", "to"
	if name != "" {
		what, at = fmt.Sprintf("destination %q", name), inDestination(name, "")
	}
	var missing []string
	if c.environment.IsZero() {
		missing = append(missing, environmentID)
	}
	if !c.opens() {
		missing = append(missing, accessKey)
	}
	if len(missing) == 0 {
		return nil
	}
	return s.wrong(at, fmt.Sprintf("%s has no credentials: %s not set", what, strings.Join(missing, " and ")),
		"set "+strings.Join(missing, " and ")+", or --to sandbox to try it out")
}

// The variables that credentials come from; the first two also with _FILE and
// _COMMAND after their names.
const (
	environmentID = "ASSETFERRY_ENVIRONMENT_ID"
	accessKey     = "ASSETFERRY_ACCESS_KEY"
	tokenCommand  = "ASSETFERRY_TOKEN_COMMAND"
)

// environmentSet is what the environment gives.
func (s *Settings) environmentSet() (set, error) {
	id, err := s.reference(environmentID)
	if err != nil {
		return set{}, err
	}
	key, err := s.reference(accessKey)
	if err != nil {
		return set{}, err
	}
	command := s.env.get(tokenCommand)
	if command != "" && !key.IsZero() {
		return set{}, bothSet(key.Origin, tokenCommand)
	}
	return set{place: "the environment", environment: id, accessKey: key, tokenCommand: command}, nil
}

// reference looks for a variable with its forms.
func (s *Settings) reference(name string) (Reference, error) {
	var found []Reference
	if s.env.get(name) != "" {
		found = append(found, Reference{Origin: name, variable: name, env: s.env})
	}
	if path := s.env.get(name + "_FILE"); path != "" {
		found = append(found, Reference{Origin: name + "_FILE", file: path})
	}
	if command := s.env.get(name + "_COMMAND"); command != "" {
		found = append(found, Reference{Origin: name + "_COMMAND", command: command})
	}
	switch len(found) {
	case 0:
		return Reference{}, nil
	case 1:
		return found[0], nil
	}
	return Reference{}, bothSet(found[0].Origin, found[1].Origin)
}

func bothSet(a, b string) error {
	return &UsageError{Msg: fmt.Sprintf("%s and %s are both set", a, b), Hint: "unset one of them"}
}

// sourceHeaders is the variable that the headers come from which open a source; also with
// _FILE and _COMMAND after its name.
const sourceHeaders = "ASSETFERRY_SOURCE_HEADERS"

// SourceHeaders says where the headers are that open a source; it is zero if there are none.
func (s *Settings) SourceHeaders() (Reference, error) {
	r, err := s.reference(sourceHeaders)
	r.lines = true
	return r, err
}

// destinationSet is what the destination in the file gives.
func (s *Settings) destinationSet(name string, n Named) set {
	place := fmt.Sprintf("destination %q", name)
	c := set{place: place, tokenCommand: n.TokenCommand}
	if n.Environment != "" {
		c.environment = Reference{Origin: place, literal: n.Environment}
	}
	key := Reference{variable: n.AccessKeyEnv, file: n.AccessKeyFile, command: n.AccessKeyCommand, env: s.env}
	if !key.IsZero() {
		key.Origin = place
		c.accessKey = key
	}
	return c
}
