package config

import (
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/goccy/go-yaml/ast"

	"assetferry/internal/mapping"
	"assetferry/internal/strictyaml"
)

// A file is a configuration file that is being read.
type file struct{ *strictyaml.File }

// parse reads the file into the settings.
func (s *Settings) parse(path string, data []byte, rows []row) error {
	parsed, err := strictyaml.Parse(path, data)
	if err == nil && parsed.Root != nil {
		err = s.readFile(file{parsed}, rows)
	}
	if m, ok := errors.AsType[*strictyaml.Mistake](err); ok {
		return &UsageError{Msg: m.Error(), Hint: "fix the file, or name another one with --config"}
	}
	return err
}

func (s *Settings) readFile(f file, rows []row) error {
	destinations, jobs, rules := row{key: "destinations"}, row{key: "jobs"}, row{key: "mapping"}
	usual := row{key: "default_job", set: text(&s.defaultJob)}
	err := f.walk(f.Root, append(rows, destinations, jobs, usual, rules, row{key: oldURLsKey}, row{key: wavesKey}), func(r row, value ast.Node) (err error) {
		switch r.key {
		case usual.key:
			s.place[usual.key] = place{f, value}
			_, err = f.apply(r, value)
			return err
		case oldURLsKey:
			s.origin[r.key] = FromFile
			s.OldURLs, err = f.oldURLs(value)
			return err
		case wavesKey:
			s.origin[r.key] = FromFile
			s.Waves, err = f.waves(value)
			return err
		case rules.key:
			s.origin[rules.key] = FromFile
			s.Mapping, err = mapping.Parse(f.File, value)
			return err
		case destinations.key:
			return s.parseDestinations(f, value)
		case jobs.key:
			return s.parseJobs(f, value)
		}
		values, err := f.apply(r, value)
		if err != nil {
			return err
		}
		s.place[r.key] = place{f, value}
		return s.put(r, values, FromFile)
	})
	if _, ok := s.Jobs[s.defaultJob]; err == nil && s.defaultJob != "" && !ok {
		known := slices.Sorted(maps.Keys(s.Jobs))
		return f.ErrorAt(s.place[usual.key].node, fmt.Sprintf("default_job: there is no job %q%s", s.defaultJob, strictyaml.Suggestion(s.defaultJob, known)))
	}
	return err
}

// A place is a position in the file.
type place struct {
	file file
	node ast.Node
}

// inDestination returns the key for the place of a key in a destination; without a key, for that of
// its name.
func inDestination(name, key string) string { return "destinations." + name + "." + key }

// wrong is the error for a mistake that is found when a setting is used. It shows the place in the
// file, if there is one.
func (s *Settings) wrong(key, message, hint string) error {
	if at, ok := s.place[key]; ok && s.origin[key] <= FromJob {
		message = at.file.ErrorAt(at.node, message).Error()
	}
	return &UsageError{Msg: message, Hint: hint}
}

func (s *Settings) parseDestinations(f file, node ast.Node) error {
	entries, err := f.Entries(node)
	if err != nil {
		return err
	}
	s.Destinations = make(map[string]Named)
	for _, e := range entries {
		name := e.Key.GetToken().Value
		if !isName(name) || name == sandboxName {
			return f.ErrorAt(e.Key, fmt.Sprintf("%q cannot be the name of a destination; use letters, digits and \".-_\", and not %q", name, sandboxName))
		}
		var n Named
		s.place[inDestination(name, "")] = place{f, e.Key}
		err := f.walk(e.Value, n.table(), func(r row, value ast.Node) error {
			s.place[inDestination(name, r.key)] = place{f, value}
			_, err := f.apply(r, value)
			return err
		})
		if err != nil {
			return err
		}
		if key, err := n.check(); err != nil {
			return s.wrong(inDestination(name, key), fmt.Sprintf("destination %q: %v", name, err), "")
		}
		s.Destinations[name] = n
	}
	return nil
}

// walk visits the keys of a mapping.
func (f file) walk(node ast.Node, rows []row, visit func(row, ast.Node) error) error {
	entries, err := f.Entries(node)
	if err != nil {
		return err
	}
	byKey := make(map[string]row)
	for _, r := range rows {
		byKey[r.key] = r
	}
	for _, e := range entries {
		key := e.Key.GetToken().Value
		r, ok := byKey[key]
		if !ok {
			return f.ErrorAt(e.Key, fmt.Sprintf("unknown key %q%s", key, strictyaml.Suggestion(key, slices.Sorted(maps.Keys(byKey)))))
		}
		if e.Value.Type() == ast.NullType { // "key:" without a value, as in a template
			continue
		}
		if err := visit(r, e.Value); err != nil {
			return err
		}
	}
	return nil
}

// apply stores the value of a key, and returns it as text.
func (f file) apply(r row, node ast.Node) ([]string, error) {
	values, err := f.values(r, node)
	if err != nil {
		return nil, err
	}
	if err := r.set(values); err != nil {
		return nil, f.ErrorAt(node, fmt.Sprintf("%s: %v", r.key, err))
	}
	return values, nil
}

// values reads the values of a key.
func (f file) values(r row, node ast.Node) ([]string, error) {
	nodes := []ast.Node{node}
	if sequence, ok := node.(*ast.SequenceNode); ok {
		if !r.list {
			return nil, f.ErrorAt(node, r.key+" takes one value, not a list")
		}
		nodes = sequence.Values
	}
	values := make([]string, 0, len(nodes))
	for _, n := range nodes {
		value, ok := strictyaml.Scalar(n)
		_, isBool := n.(*ast.BoolNode)
		switch {
		case !ok:
			return nil, f.ErrorAt(n, r.key+" takes a plain value")
		case isBool && !r.yesNo:
			return nil, f.ErrorAt(n, r.key+" takes text; put quotes around "+value)
		case !isBool && r.yesNo:
			return nil, f.ErrorAt(n, fmt.Sprintf("%s takes true or false, not %q", r.key, value))
		}
		if r.path {
			value = f.whole(value, r.url)
		}
		values = append(values, value)
	}
	return values, nil
}

// whole makes a path in the file independent of the current directory. A URL stays unchanged.
func (f file) whole(value string, mayBeURL bool) string {
	table, isTable := TableOf(value)
	switch {
	case mayBeURL && isTable:
		return tablePrefix + f.resolve(table)
	case mayBeURL && IsURL(value):
		return value
	}
	return f.resolve(value)
}

// resolve makes a path of the file one of the process: relative to the folder of the file, or to
// the home folder after "~/".
func (f file) resolve(path string) string {
	if rest, ok := strings.CutPrefix(path, "~/"); ok {
		if home, err := os.UserHomeDir(); err == nil {
			return filepath.Join(home, rest)
		}
	}
	if path == "" || filepath.IsAbs(path) {
		return path
	}
	return filepath.Join(filepath.Dir(f.Path), path)
}
