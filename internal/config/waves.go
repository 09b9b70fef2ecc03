package config

import (
	"fmt"
	"path"
	"slices"
	"strings"
	"time"

	"github.com/goccy/go-yaml/ast"

	"assetferry/internal/strictyaml"
)

// wavesKey is the key of the waves of a source.
const wavesKey = "waves"

// A Wave is a part of a source that has runs of its own; see migrate.Wave.
type Wave struct {
	Name             string
	Folders          []string
	Include, Exclude []string
	Freeze           time.Time // zero if there is none
}

// waves reads a list of waves. Folders that two waves have are a mistake.
func (f file) waves(node ast.Node) ([]Wave, error) {
	sequence, ok := node.(*ast.SequenceNode)
	if !ok || len(sequence.Values) == 0 {
		return nil, f.ErrorAt(node, "waves takes a list, with name and folders for each wave")
	}
	var all []Wave
	for _, n := range sequence.Values {
		w, err := f.wave(n)
		if err != nil {
			return nil, err
		}
		for _, other := range all {
			if w.Name == other.Name {
				return nil, f.ErrorAt(n, fmt.Sprintf("the wave %q appears twice", w.Name))
			}
			if folder := w.sharedFolder(other); folder != "" {
				return nil, f.ErrorAt(n, fmt.Sprintf("the waves %q and %q both have the folder %s; an object can be in one wave only", other.Name, w.Name, folder))
			}
		}
		all = append(all, w)
	}
	return all, nil
}

func (f file) wave(node ast.Node) (w Wave, err error) {
	rows := []row{
		{key: "name", set: text(&w.Name)},
		{key: "folders", set: folders(&w.Folders), list: true},
		{key: "include", set: list(&w.Include), list: true},
		{key: "exclude", set: list(&w.Exclude), list: true},
		{key: "freeze", set: parsed(&w.Freeze, parseFreeze)},
	}
	err = f.walk(node, rows, func(r row, value ast.Node) error { _, err := f.apply(r, value); return err })
	switch {
	case err != nil:
		return w, err
	case !isName(w.Name):
		return w, f.ErrorAt(node, fmt.Sprintf("%q cannot be the name of a wave; use letters, digits and \".-_\"", w.Name))
	case len(w.Folders)+len(w.Include)+len(w.Exclude) == 0:
		return w, f.ErrorAt(node, fmt.Sprintf("the wave %q needs folders, include or exclude", w.Name))
	}
	return w, nil
}

// folders accepts folders of a source. A slash at the end is omitted.
func folders(p *[]string) setter {
	return func(values []string) error {
		for _, v := range values {
			folder := path.Clean(v)
			if v == "" || folder == "." || strings.HasPrefix(folder, "/") || folder == ".." || strings.HasPrefix(folder, "../") {
				return fmt.Errorf("%q is not a folder of the source, such as press or press/2024", v)
			}
			*p = append(*p, folder)
		}
		return nil
	}
}

// parseFreeze parses a time with its zone.
func parseFreeze(value string) (time.Time, error) {
	t, err := time.Parse(time.RFC3339, value)
	if err != nil {
		return t, fmt.Errorf("%q is not a time such as 2026-12-04T18:00:00Z or 2026-12-04T18:00:00+01:00", value)
	}
	return t.UTC(), nil
}

// sharedFolder returns a folder whose objects are all in both waves; "" if their folders alone do
// not show one.
func (w Wave) sharedFolder(other Wave) string {
	if len(w.Include)+len(w.Exclude)+len(other.Include)+len(other.Exclude) > 0 {
		return ""
	}
	for _, a := range w.Folders {
		for _, b := range other.Folders {
			switch {
			case a == b, strings.HasPrefix(b, a+"/"):
				return b
			case strings.HasPrefix(a, b+"/"):
				return a
			}
		}
	}
	return ""
}

// checkWave returns an error if the chosen wave does not exist.
func (s *Settings) checkWave() error {
	if s.Wave == "" || slices.ContainsFunc(s.Waves, func(w Wave) bool { return w.Name == s.Wave }) {
		return nil
	}
	names := s.WaveNames()
	if len(names) == 0 {
		return s.wrong("wave", fmt.Sprintf("there is no wave %q: the configuration has no waves", s.Wave), "add waves to the configuration (see assetferry help cutover). Runs of a former wave stay: assetferry runs lists them, and report, urls and undo take one with --run ID")
	}
	return s.wrong("wave", fmt.Sprintf("there is no wave %q%s", s.Wave, strictyaml.Suggestion(s.Wave, names)), "the waves are "+strings.Join(names, ", ")+". A wave that was renamed or left the configuration keeps its runs under its former name: assetferry runs lists them, and report, urls and undo take one with --run ID")
}

// WaveNames returns the names of all waves.
func (s *Settings) WaveNames() []string {
	names := make([]string, len(s.Waves))
	for n, w := range s.Waves {
		names[n] = w.Name
	}
	return names
}

// waves returns the names of the waves.
func (s *Settings) waves() Effect {
	e := Effect{Name: wavesKey, Value: strings.Join(s.WaveNames(), " "), From: byDefault}
	if s.Waves != nil {
		e.From = map[Origin]string{FromFile: s.File, FromJob: s.fromJob()}[s.origin[wavesKey]]
	}
	return e
}
