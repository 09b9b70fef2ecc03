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

// A Reference is the place of a value, which it reads on demand.
type Reference struct {
	Origin string // the variable or setting that refers to it, such as ASSETFERRY_ACCESS_KEY_FILE

	literal  string // the value itself, if it is not secret
	variable string
	file     string
	command  string
	form     form // of the output of command
	env      Env
}

// A form is the form of a value that a command prints.
type form int

const (
	secretForm form = iota // a token or a key
	lineForm               // one line of text
	linesForm              // several lines
)

// IsZero reports whether there is no reference.
func (r Reference) IsZero() bool {
	return r.literal == "" && r.variable == "" && r.file == "" && r.command == ""
}

// File returns the file that contains the value; empty if none does.
func (r Reference) File() string { return r.file }

// IsCommand reports whether a program prints the value.
func (r Reference) IsCommand() bool { return r.command != "" }

// String returns the place of the value, without the value.
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
		switch r.form {
		case lineForm:
			run = p.Line
		case linesForm:
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

// readSecret reads a file and drops the line break at the end.
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

// readableByOthers works on Unix only; on Windows the mode has no meaning.
func readableByOthers(mode fs.FileMode) bool {
	return runtime.GOOS != "windows" && mode.IsRegular() && mode&0o044 != 0
}

// isCredential reports whether systemd made a file with LoadCredential=. Its mode has a group bit,
// which stands for an access control list of the service only.
func isCredential(path string) bool {
	folder := os.Getenv("CREDENTIALS_DIRECTORY")
	return folder != "" && filepath.Dir(path) == filepath.Clean(folder)
}

// A set is an environment and its credentials from one place.
type set struct {
	place        string
	environment  Reference
	accessKey    Reference
	tokenCommand string
}

func (c set) opens() bool { return !c.accessKey.IsZero() || c.tokenCommand != "" }

// credentials chooses between the destination in the file and the environment. A destination on the
// command line beats the environment; otherwise the environment beats the file. The environment of
// one place must never be opened with the key of another one, because the run would write to the
// wrong environment.
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
				Msg:  fmt.Sprintf("the environment ID comes from %s, but the credentials come from %s, which needs an environment ID of its own", first.environment.Origin, second.place),
				Hint: fmt.Sprintf("unset %s, or also set its credentials", first.environment.Origin),
			}
		}
		chosen, other = second, first
	}
	if chosen.environment.IsZero() {
		chosen.environment = other.environment
	}
	return chosen, s.complete(name, chosen)
}

// complete is an error for missing credentials.
func (s *Settings) complete(name string, c set) error {
	what, at := "the URL", "to"
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

// The variables with credentials. The first two also exist with _FILE and _COMMAND at the end.
const (
	environmentID = "ASSETFERRY_ENVIRONMENT_ID"
	accessKey     = "ASSETFERRY_ACCESS_KEY"
	tokenCommand  = "ASSETFERRY_TOKEN_COMMAND"
)

// environmentSet returns the credentials in environment variables.
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

// reference looks up a variable in all its forms.
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

// sourceHeaders is the variable with the headers for a source. It also exists with _FILE and
// _COMMAND at the end.
const sourceHeaders = "ASSETFERRY_SOURCE_HEADERS"

// SourceHeaders returns the place of the headers for a source; zero if there are none.
func (s *Settings) SourceHeaders() (Reference, error) {
	r, err := s.reference(sourceHeaders)
	r.form = linesForm
	return r, err
}

// The variables with the account of a WordPress site and its application password. They also exist
// with _FILE and _COMMAND at the end.
const (
	wordPressUser     = "ASSETFERRY_WORDPRESS_USER"
	wordPressPassword = "ASSETFERRY_WORDPRESS_PASSWORD"
)

// WordPress returns the places of the user name and the application password for a WordPress site;
// zero if there are none.
func (s *Settings) WordPress() (user, password Reference, err error) {
	if user, err = s.reference(wordPressUser); err != nil {
		return user, password, err
	}
	if password, err = s.reference(wordPressPassword); err != nil {
		return user, password, err
	}
	user.form, password.form = lineForm, lineForm // WordPress shows the password with spaces
	if user.IsZero() != password.IsZero() {
		is, missing := user.Origin, wordPressPassword
		if user.IsZero() {
			is, missing = password.Origin, wordPressUser
		}
		return user, password, &UsageError{Msg: fmt.Sprintf("%s is set, but %s is not", is, missing), Hint: "set both of them, or none to read what is public"}
	}
	return user, password, nil
}

// destinationSet returns the credentials of a destination in the file.
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
