package config

import (
	"cmp"
	"fmt"
	"strconv"
	"strings"
)

// An Effect is a setting as it is in effect.
type Effect struct {
	Name  string // as in the file
	Value string
	From  string // for people: a switch, a variable, a file, "default"
}

// Effects lists what decides where a run goes and under whose name, and what else is
// not at its default. The address is left out: it may not be one.
func (s *Settings) Effects() []Effect {
	n := s.Destinations[s.To]
	all := []Effect{
		s.chosen("workspace", s.Workspace, n.Workspace, "the default one"),
		s.chosen("service", s.Service, n.Service, ""),
		s.chosen("user", s.User, n.User, ""),
		s.chosen("ca_file", s.CAFile, n.CAFile, ""),
		s.effect("state", s.State),
		s.effect("source_name", s.SourceName),
		s.effect("endpoint", s.Endpoint),
		s.effect("s3_anonymous", strconv.FormatBool(s.S3Anonymous)),
		s.effect("s3_requester_pays", strconv.FormatBool(s.S3RequesterPays)),
		s.effect("s3_tags", strconv.FormatBool(s.S3Tags)),
		s.effect("concurrency", strconv.Itoa(s.Concurrency)),
		s.effect("include", strings.Join(s.Include, " ")),
		s.effect("exclude", strings.Join(s.Exclude, " ")),
		s.effect("category_by", s.CategoryBy),
		s.effect("category", s.Category),
		s.effect("unmatched", s.Unmatched),
		s.effect("on_existing", s.OnExisting),
		s.effect("compensate_clock", strconv.FormatBool(s.CompensateClock)),
		s.effect("least_privilege", strconv.FormatBool(s.LeastPrivilege)),
		s.effect("allow_http", strconv.FormatBool(s.AllowHTTP)),
		s.effect("log_file", s.LogFile),
	}
	shown := all[:0]
	for _, e := range all {
		if e.From != byDefault || e.Name == "workspace" || e.Name == "user" {
			shown = append(shown, e)
		}
	}
	return shown
}

const byDefault = "default"

// ToFrom says where it was decided where to write.
func (s *Settings) ToFrom() string { return s.from("to") }

// chosen is a setting that a destination in the file may decide.
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

func (s *Settings) effect(key, value string) Effect { return Effect{key, value, s.from(key)} }

// from says for people where the value of a key came from.
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
		case FromFile:
			return s.File
		}
	}
	return byDefault
}
