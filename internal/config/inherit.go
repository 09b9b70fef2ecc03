package config

import (
	"path/filepath"
	"slices"
	"strings"
)

// An Inheritance is everything that another process needs for the same settings. It reads the same
// file and chooses the same job, but has other flags, another environment and another folder.
type Inheritance struct {
	Switches  []string // such as --to=production
	Variables []Variable

	Read    []string // files, by absolute paths
	Written []string // files
	Helper  bool     // a program returns the credentials
}

// A Variable is an environment variable.
type Variable struct {
	Name, Value string
	Secret      bool // its value is never shown
}

// Inherit returns the inheritance for d, which must be the destination of the settings.
func (s *Settings) Inherit(d Destination) (Inheritance, error) {
	h := &heir{Settings: s}
	for _, r := range s.table() {
		h.setting(r)
	}
	h.reference(d.Environment, environmentID, false)
	h.reference(d.AccessKey, accessKey, true)
	headers, err := s.SourceHeaders()
	if err != nil {
		return Inheritance{}, err
	}
	h.reference(headers, sourceHeaders, true)
	name, password, err := s.WordPress()
	if err != nil {
		return Inheritance{}, err
	}
	h.reference(name, wordPressUser, false)
	h.reference(password, wordPressPassword, true)
	h.token(d)
	h.read(s.File)
	h.read(d.CAFile)
	h.read(d.ServiceProfile)
	return h.Inheritance, h.err
}

// An heir is an Inheritance that is being built.
type heir struct {
	*Settings
	Inheritance
	err error // the first one
}

// setting adds a setting that is not in the file. A preset is a setting itself, so its values are
// not added.
func (h *heir) setting(r row) {
	values := slices.Clone(h.values[r.key])
	for i, v := range values {
		if r.path && v != "" {
			values[i] = h.absolute(v)
		}
	}
	switch from := h.origin[r.key]; {
	case r.secret && from >= FromEnvironment: // it belongs into no command line
		h.Variables = append(h.Variables, Variable{Name: r.env, Secret: true})
	case from == FromFlag && r.yesNo && values[0] == "true":
		h.Switches = append(h.Switches, "--"+r.flag())
	case from == FromFlag:
		for _, v := range values {
			h.Switches = append(h.Switches, "--"+r.flag()+"="+v)
		}
	case from == FromEnvironment:
		h.Variables = append(h.Variables, Variable{Name: r.env, Value: values[0]})
	}
	switch {
	case r.written:
		h.Written = append(h.Written, values...)
	case r.path:
		h.Read = append(h.Read, values...)
	}
}

// reference adds the place of a credential.
func (h *heir) reference(r Reference, variable string, secret bool) {
	h.read(r.file)
	h.Helper = h.Helper || r.command != ""
	switch {
	case r.variable != "" && secret: // wherever it is named
		h.Variables = append(h.Variables, Variable{Name: r.variable, Secret: true})
	case r.variable != "":
		h.Variables = append(h.Variables, Variable{Name: r.variable, Value: h.env.get(r.variable)})
	case !strings.HasPrefix(r.Origin, variable): // it is in the file
	case r.file != "":
		h.Variables = append(h.Variables, Variable{Name: r.Origin, Value: h.absolute(r.file)})
	case r.command != "": // a command may contain a secret by mistake
		h.Variables = append(h.Variables, Variable{Name: r.Origin, Secret: true})
	}
}

// token adds the token command, if there is one.
func (h *heir) token(d Destination) {
	if d.TokenCommand == "" {
		return
	}
	h.Helper = true
	if h.Destinations[d.Name].TokenCommand != d.TokenCommand {
		h.Variables = append(h.Variables, Variable{Name: tokenCommand, Secret: true})
	}
}

func (h *heir) read(path string) {
	if path == "" {
		return
	}
	if path = h.absolute(path); !slices.Contains(h.Read, path) {
		h.Read = append(h.Read, path)
	}
}

func (h *heir) absolute(path string) string {
	full, err := filepath.Abs(path)
	if err != nil && h.err == nil {
		h.err = err
	}
	return full
}
