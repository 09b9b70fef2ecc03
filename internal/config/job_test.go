package config

import (
	"path/filepath"
	"testing"
	"time"
)

const twoJobs = `
to: prod
state: all.db
exclude: [tmp/**]
min_age: 1h
jobs:
  nightly:
    source: ./photos
    exclude: [drafts/**, "*.psd"]
    state: nightly.db
    concurrency: 4
    log_file: /var/log/nightly.log
    allow_http: true
  bucket: {source: "s3://photos/2026", to: other, min_age: 0s}
  absolute: {source: /srv/photos}
`

func TestJobs(t *testing.T) {
	s := mustLoad(t, twoJobs, nil, nil)
	if s.Job != "" || s.Source != "" || s.State != "all.db" || s.Concurrency != 16 {
		t.Errorf("a job counts that was not chosen: %+v", s)
	}
	for name, want := range map[string]string{"nightly": "photos", "bucket": "s3://photos/2026", "absolute": "/srv/photos"} {
		if got := s.Jobs[name].Source; got != want {
			t.Errorf("%s: source %q, want %q", name, got, want)
		}
	}

	s = mustLoad(t, twoJobs, map[string][]string{"job": {"nightly"}}, nil)
	if s.Job != "nightly" || s.Source != "photos" {
		t.Errorf("chosen: %q of %q", s.Job, s.Source)
	}
	diff(t, s.Exclude, []string{"drafts/**", "*.psd"}) // and not those above as well
	if s.To != "prod" || s.State != "nightly.db" || s.Concurrency != 4 || s.MinAge != time.Hour || s.LogFile != "/var/log/nightly.log" || !s.AllowHTTP {
		t.Errorf("got %+v", s)
	}
	for key, want := range map[string]Origin{"state": FromJob, "to": FromFile, "service": FromDefault} {
		if got := s.SourceOf(key); got != want {
			t.Errorf("%s comes from %d, want %d", key, got, want)
		}
	}
}

// TestJobPrecedence sets the same setting in every possible place and verifies which one counts.
func TestJobPrecedence(t *testing.T) {
	const yaml = "to: file\njobs:\n  j: {source: s, to: job}\n"
	for _, tc := range []struct {
		job, env, flag, want string
		from                 Origin
	}{
		{"", "", "", "file", FromFile},
		{"j", "", "", "job", FromJob},
		{"j", "https://env.example.com", "", "https://env.example.com", FromEnvironment},
		{"j", "https://env.example.com", "flag", "flag", FromFlag},
	} {
		flags := map[string][]string{}
		if tc.job != "" {
			flags["job"] = []string{tc.job}
		}
		if tc.flag != "" {
			flags["to"] = []string{tc.flag}
		}
		s := mustLoad(t, yaml, flags, map[string]string{"ASSETFERRY_URL": tc.env})
		if s.To != tc.want || s.SourceOf("to") != tc.from {
			t.Errorf("%+v: got %q from %d", tc, s.To, s.SourceOf("to"))
		}
	}
}

// TestJobAndDestination verifies that a job has precedence over the settings of its destination.
func TestJobAndDestination(t *testing.T) {
	yaml := twoDestinations + "jobs:\n  j: {source: s, to: prod, workspace: job-workspace}\n"
	for _, tc := range []struct {
		flags map[string][]string
		want  string
	}{
		{map[string][]string{"job": {"j"}}, "job-workspace"},
		{map[string][]string{"job": {"j"}, "to": {"prod"}}, "prod-workspace"}, // the flag selects the destination with its settings
		{map[string][]string{"to": {"prod"}}, "prod-workspace"},
	} {
		d, err := mustLoad(t, yaml, tc.flags, credentials()).Destination()
		if err != nil || d.Workspace != tc.want {
			t.Errorf("%v: workspace %q, want %q (%v)", tc.flags, d.Workspace, tc.want, err)
		}
	}
}

// TestJobPaths verifies that paths in a job are relative to the configuration file, not to the
// current directory.
func TestJobPaths(t *testing.T) {
	dir := t.TempDir()
	file := filepath.Join(dir, "assetferry.yaml")
	write(t, file, twoJobs)
	s := mustLoad(t, "", map[string][]string{"config": {file}, "job": {"nightly"}}, nil)
	if s.Source != filepath.Join(dir, "photos") || s.State != filepath.Join(dir, "nightly.db") {
		t.Errorf("got %q and %q", s.Source, s.State)
	}
	t.Setenv("HOME", dir)
	s = mustLoad(t, "jobs:\n  j: {source: ~/photos}\n", map[string][]string{"job": {"j"}}, nil)
	if s.Source != filepath.Join(dir, "photos") {
		t.Errorf("got %q", s.Source)
	}
}
