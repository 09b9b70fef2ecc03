package config

import (
	"strings"
	"testing"
)

// TestDefaultJob chooses the job that default_job names, or the only one.
func TestDefaultJob(t *testing.T) {
	for file, want := range map[string]string{
		"":                         "",
		"jobs: {a: {source: a}}\n": "a",
		"jobs: {a: {source: a}, b: {source: b}}\n":                      "",
		"default_job: b\njobs: {a: {source: a}, b: {source: b}}\n":      "b",
		"jobs: {a: {source: a}, b: {source: b}}\ndefault_job: a\n":      "a",
		"default_job:\njobs: {a: {source: a}, b: {source: b}}\n":        "",
		"jobs: {a: {source: a}}\nmapping:\n  rules:\n  - {folder: x}\n": "a",
	} {
		s := mustLoad(t, file, nil, nil)
		if got := s.DefaultJob(); got != want || s.Job != "" {
			t.Errorf("%q: got %q and %q chosen, want %q", file, got, s.Job, want)
		}
	}
	_, err := load(t, "default_job: aa\njobs: {a: {source: a}}\n", nil, nil)
	if err == nil || !strings.Contains(err.Error(), `1:14: default_job: there is no job "aa"; did you mean "a"?`) {
		t.Errorf("got %v", err)
	}
}
