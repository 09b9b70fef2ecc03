package config

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/goccy/go-yaml/ast"

	"assetferry/internal/mapping"
	"assetferry/internal/oldurl"
	"assetferry/internal/strictyaml"
)

// A Job is a source with its own settings, under a name in the file.
type Job struct {
	Source   string
	settings []given
	mapping  *mapping.Rules     // nil: those around it
	oldURLs  []*oldurl.Template // the same
	waves    []Wave             // the same
}

// DefaultJob is the job of a command without a source and a job: default_job, or the only one. It
// is empty if there is none, or several.
func (s *Settings) DefaultJob() string {
	if s.defaultJob != "" || len(s.Jobs) != 1 {
		return s.defaultJob
	}
	for name := range s.Jobs {
		return name
	}
	return ""
}

// A given is a setting of a job.
type given struct {
	key    string
	values []string
	place  place
}

// parseJobs checks all jobs, not only the chosen one, so that a mistake does not wait for a
// scheduled run.
func (s *Settings) parseJobs(f file, node ast.Node) error {
	entries, err := f.Entries(node)
	if err != nil {
		return err
	}
	s.Jobs = make(map[string]Job)
	for _, e := range entries {
		name := e.Key.GetToken().Value
		if !isName(name) {
			return f.ErrorAt(e.Key, fmt.Sprintf("%q cannot be the name of a job; use letters, digits and \".-_\"", name))
		}
		var j Job
		if e.Value.Type() != ast.NullType {
			if j, err = parseJob(f, e.Value); err != nil {
				return err
			}
		}
		if j.Source == "" {
			return f.ErrorAt(e.Key, fmt.Sprintf("job %q: source is missing", name))
		}
		s.Jobs[name] = j
	}
	return nil
}

func parseJob(f file, node ast.Node) (j Job, err error) {
	source := row{key: "source", set: text(&j.Source), path: true, url: true}
	rules := row{key: "mapping"}
	rows := append(new(Settings).table(), source, rules, row{key: oldURLsKey}, row{key: wavesKey}) // check only, the result is discarded
	err = f.walk(node, rows, func(r row, value ast.Node) (err error) {
		if r.key == rules.key {
			j.mapping, err = mapping.Parse(f.File, value)
			return err
		}
		if r.key == oldURLsKey {
			j.oldURLs, err = f.oldURLs(value)
			return err
		}
		if r.key == wavesKey {
			j.waves, err = f.waves(value)
			return err
		}
		values, err := f.apply(r, value)
		if err == nil && r.key != source.key {
			j.settings = append(j.settings, given{r.key, values, place{f, value}})
		}
		return err
	})
	return j, err
}

// IsURL reports whether a source is a URL and not a folder.
func IsURL(source string) bool {
	_, isTable := TableOf(source)
	_, isRemote := RemoteOf(source)
	return isTable || isRemote || strings.Contains(source, "://")
}

// RemoteOf returns the REMOTE:path of a source that rclone reads.
func RemoteOf(source string) (remote string, ok bool) { return strings.CutPrefix(source, "rclone:") }

// tablePrefix is the start of a source that is a table.
const tablePrefix = "table:"

// TableOf returns the path of a source that is a table.
func TableOf(source string) (path string, ok bool) { return strings.CutPrefix(source, tablePrefix) }

// choose applies the settings of the job of --job over those of the rest of the file.
func (s *Settings) choose(flag []string, rows []row) error {
	if len(flag) == 0 {
		return nil
	}
	name := flag[len(flag)-1]
	j, ok := s.Jobs[name]
	if !ok {
		return s.noSuchJob(name)
	}
	s.Job, s.Source = name, j.Source
	if j.mapping != nil {
		s.Mapping, s.origin["mapping"] = j.mapping, FromJob
	}
	if j.oldURLs != nil {
		s.OldURLs, s.origin[oldURLsKey] = j.oldURLs, FromJob
	}
	if j.waves != nil {
		s.Waves, s.origin[wavesKey] = j.waves, FromJob
	}
	for _, g := range j.settings {
		at := slices.IndexFunc(rows, func(r row) bool { return r.key == g.key })
		if err := s.put(rows[at], g.values, FromJob); err != nil {
			return err
		}
		s.place[g.key] = g.place
	}
	return nil
}

func (s *Settings) noSuchJob(name string) error {
	known := slices.Sorted(maps.Keys(s.Jobs))
	e := &UsageError{Msg: fmt.Sprintf("there is no job %q%s", name, strictyaml.Suggestion(name, known))}
	switch {
	case s.File == "":
		e.Msg += ": there is no " + DefaultFile + " here"
		e.Hint = "name the file that has it with --config"
	case len(known) == 0:
		e.Hint = "add jobs to " + s.File + " (see assetferry help schedule)"
	default:
		e.Hint = "--job takes one of " + strings.Join(known, ", ")
	}
	return e
}
