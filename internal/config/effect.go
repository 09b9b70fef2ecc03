package config

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
)

// An Effect is a setting in effect.
type Effect struct {
	Name  string // key in the file
	Value string
	From  string // shown to people: a flag, a variable, a file, "default"
}

// Effects lists job, source, mapping and account, and all settings that are not at their defaults.
// The URL of the destination is omitted, because "to" may be a name.
func (s *Settings) Effects() []Effect {
	n := s.Destinations[s.To]
	all := []Effect{
		{"job", s.Job, s.jobFrom()},
		{"source", s.Source, s.fromJob()},
		s.chosen("workspace", s.Workspace, n.Workspace, "the default one"),
		s.chosen("service", s.Service, n.Service, ""),
		s.chosen("user", s.User, n.User, ""),
		s.chosen("ca_file", s.CAFile, n.CAFile, ""),
		s.chosen("service_profile", s.ServiceProfile, n.ServiceProfile, ""),
		s.mapping(),
		s.oldURLs(),
		s.waves(),
		s.effect("notify", strings.Trim(fmt.Sprint(s.Notify), "[]")),
	}
	if s.Job == "" {
		all = all[2:]
	}
	for _, r := range s.table() {
		listed := func(e Effect) bool { return e.Name == r.key }
		if r.key != "to" && !slices.ContainsFunc(all, listed) {
			all = append(all, s.effect(r.key, strings.Join(s.values[r.key], " ")))
		}
	}
	return slices.DeleteFunc(all, func(e Effect) bool {
		return e.From == byDefault && e.Name != "workspace" && e.Name != "user"
	})
}

const byDefault = "default"

// ToFrom returns the origin of the destination.
func (s *Settings) ToFrom() string { return s.from("to") }

// chosen returns a setting that a destination in the file can decide.
func (s *Settings) chosen(key, own, fromDestination, absent string) Effect {
	e := s.effect(key, own)
	if value := s.prefer(key, fromDestination); value == fromDestination && value != "" && value != own {
		e = Effect{key, value, fmt.Sprintf("destination %q in %s", s.To, s.File)}
	}
	if s.To == sandboxName && s.origin[key] != FromFlag { // see sandbox
		d := s.sandbox()
		e = Effect{key, map[string]string{"workspace": d.Workspace, "service": d.Service, "user": d.User}[key], byDefault}
	}
	e.Value = cmp.Or(e.Value, absent)
	return e
}

// mapping returns the number of mapping rules.
func (s *Settings) mapping() Effect {
	e := Effect{Name: "mapping", From: byDefault}
	if s.Mapping != nil {
		e.Value = s.Mapping.String()
		e.From = map[Origin]string{FromFile: s.File, FromJob: s.fromJob()}[s.origin[e.Name]]
	}
	return e
}

func (s *Settings) effect(key, value string) Effect { return Effect{key, value, s.from(key)} }

// from returns the origin of a setting for people.
func (s *Settings) from(key string) string {
	for _, r := range s.table() {
		if r.key != key {
			continue
		}
		switch s.origin[key] {
		case FromFlag:
			return "--" + r.flag()
		case FromEnvironment:
			return r.env
		case FromJob:
			return s.fromJob()
		case FromFile:
			return s.File
		case FromPreset:
			return "preset " + s.Preset
		}
	}
	return byDefault
}

// jobFrom returns the origin of the job for people.
func (s *Settings) jobFrom() string {
	switch {
	case !s.JobIsDefault:
		return "--job"
	case s.defaultJob != "":
		return "default_job in " + s.File
	}
	return "the only job in " + s.File
}

// fromJob names the job for people.
func (s *Settings) fromJob() string { return fmt.Sprintf("job %q in %s", s.Job, s.File) }
