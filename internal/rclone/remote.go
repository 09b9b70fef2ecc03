package rclone

import (
	"errors"
	"fmt"
	"path"
	"slices"
	"strings"
)

// A Remote is a storage and a folder in it, as rclone names them: REMOTE:path.
type Remote struct {
	Name       string   // of the remote; with a colon before it, the type of a storage, such as ":sftp"
	Parameters []string // of a connection string, such as "host=example.com"
	Path       string   // cleaned
}

// String returns the remote as rclone takes it.
func (r Remote) String() string {
	return strings.Join(append([]string{r.Name}, r.Parameters...), ",") + ":" + r.Path
}

// ErrSecretParameter means that a connection string contains a secret. Sources are stored and shown.
var ErrSecretParameter = errors.New("a connection string must not contain secrets")

// ParseRemote parses REMOTE:path, where REMOTE may be a connection string. Its errors do not contain
// the text, which may contain a secret.
func ParseRemote(text string) (Remote, error) {
	r, err := parseRemote(text)
	if err != nil {
		return Remote{}, err
	}
	for _, p := range r.Parameters {
		if name, value, _ := strings.Cut(p, "="); isSecretParameter(name, value) {
			return Remote{}, fmt.Errorf("%w, such as %s", ErrSecretParameter, name)
		}
	}
	return r, nil
}

// parseRemote parses a remote that may contain secrets.
func parseRemote(text string) (Remote, error) {
	var r Remote
	rest := text
	if strings.HasPrefix(rest, ":") {
		r.Name, rest = ":", rest[1:]
	}
	parts, rest, ok := splitConnection(rest)
	if !ok && strings.Trim(text, ":") != "" && !strings.ContainsAny(text, `/\`) {
		return Remote{}, errors.New("the colon after the remote is missing")
	}
	if !ok || parts[0] == "" || strings.ContainsAny(parts[0], `/\`) {
		return Remote{}, errors.New("the remote is missing")
	}
	r.Name += parts[0]
	r.Parameters = parts[1:]
	if rest != "" {
		r.Path = path.Clean(rest)
	}
	if r.Path == "." {
		r.Path = ""
	}
	return r, nil
}

// splitConnection splits a connection string at its commas, up to the colon that ends it. Quotes
// protect both.
func splitConnection(text string) (parts []string, path string, ok bool) {
	quote, from := byte(0), 0
	for i := range len(text) {
		switch c := text[i]; {
		case quote != 0:
			if c == quote { // a doubled quote ends and begins one
				quote = 0
			}
		case c == '"' || c == '\'':
			quote = c
		case c == ',':
			parts, from = append(parts, text[from:i]), i+1
		case c == ':':
			return append(parts, text[from:i]), text[i+1:], true
		}
	}
	return nil, "", false
}

// unquote returns the value of a parameter without its quotes.
func unquote(value string) string {
	if len(value) < 2 || value[0] != '"' && value[0] != '\'' || value[len(value)-1] != value[0] {
		return value
	}
	quote := value[:1]
	return strings.ReplaceAll(value[1:len(value)-1], quote+quote, quote)
}

// isSecretParameter reports whether a parameter is a secret, or contains one. Switches and names of
// files are none.
func isSecretParameter(name, value string) bool {
	value = unquote(value)
	isURL := strings.Contains(value, "://")
	if isURL && strings.Contains(value, "@") { // a URL with a password
		return true
	}
	if !isURL && slices.ContainsFunc(append(words(value), value), hasSecret) {
		return true
	}
	harmless := value == "" || value == "true" || value == "false" || strings.HasSuffix(name, "_file") || strings.HasSuffix(name, "_url") && !strings.Contains(value, "?")
	return LooksSecret(name) && !harmless
}

// hasSecret reports whether a remote behind another one has a secret parameter.
func hasSecret(text string) bool {
	parts, _, ok := splitConnection(strings.TrimPrefix(text, ":"))
	return ok && slices.ContainsFunc(parts[1:], func(p string) bool {
		name, value, _ := strings.Cut(p, "=")
		return isSecretParameter(name, value)
	})
}
