package config

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"assetferry/internal/metadata"
	"assetferry/internal/notify"
	"assetferry/internal/ratelimit"
)

// environment returns an Env of these variables.
func environment(variables map[string]string) Env {
	return func(name string) (string, bool) {
		value, ok := variables[name]
		return value, ok
	}
}

// load reads settings in a folder of its own that holds this default file.
func load(t *testing.T, yaml string, flags map[string][]string, variables map[string]string) (*Settings, error) {
	t.Helper()
	t.Chdir(t.TempDir())
	if yaml != "" {
		write(t, DefaultFile, yaml)
	}
	return Load(flags, environment(variables))
}

func mustLoad(t *testing.T, yaml string, flags map[string][]string, variables map[string]string) *Settings {
	t.Helper()
	s, err := load(t, yaml, flags, variables)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func write(t *testing.T, path, content string) {
	t.Helper()
	if err := os.WriteFile(path, []byte(content), 0o600); err != nil {
		t.Fatal(err)
	}
}

// usage returns the message and the hint of a *UsageError.
func usage(t *testing.T, err error) string {
	t.Helper()
	u, ok := errors.AsType[*UsageError](err)
	if !ok {
		t.Fatalf("got error %v, want a *UsageError", err)
	}
	if u.Hint == "" {
		return u.Msg
	}
	return u.Msg + "\nTry: " + u.Hint
}

func diff(t *testing.T, got, want any) {
	t.Helper()
	if d := cmp.Diff(want, got, cmpopts.IgnoreUnexported(Settings{}, Reference{}, Job{}), cmp.AllowUnexported(notify.Target{})); d != "" {
		t.Errorf("want -, got +:\n%s", d)
	}
}

func hook(t *testing.T, text string) notify.Target {
	t.Helper()
	target, err := notify.ParseTarget(text)
	if err != nil {
		t.Fatal(err)
	}
	return target
}

func defaults() Settings {
	return Settings{
		Service: "ckbox", User: "assetferry", Progress: "auto", Concurrency: 16, WordPressFolders: "date", Versions: 1, Symlinks: "skip", CategoryBy: "extension",
		Unsupported: "stop", OnCollision: "rename", OnExisting: "conflict", Duplicates: "keep", ScanTimeout: 2 * time.Minute, Provenance: "auto", Wait: time.Minute, KeepRuns: 400 * 24 * time.Hour,
		Delete: "never", GracePeriod: 20 * time.Hour, MaxDelete: 500, MaxDeletePercent: 1, MaxChanges: 1000, MaxChangesPercent: 20,
		DriftShare: 1.0 / 30, OnDestinationChange: "keep", OnReplaceRefused: "fail",
		Precedence: metadata.Precedence(), GPS: "keep", OnLimit: "cut", CollectionsAs: "tags", AILimits: "auto", AICompatibility: "1", EnrichPrivate: "never",
	}
}

func TestDefaults(t *testing.T) {
	diff(t, *mustLoad(t, "", nil, nil), defaults())
}

func TestFile(t *testing.T) {
	got := mustLoad(t, `
# every key there is
to: prod
destinations:
  prod:
    url: https://assets.example.com/
    environment: env1
    access_key_file: prod.key
    workspace: w1
    service: other
    user: u1
    ca_file: /etc/ca.pem
    service_profile: measured.yaml
  staging:
    url: https://staging.example.com
    access_key_env: STAGING_KEY
  plain: {url: "http://localhost:8080", token_command: "sign --for 'me too'"}
state: state.db
workspace: 42
service: box
user: nightly
concurrency: 8
include: ["*.jpg", '*.png']
exclude:
  - tmp/**
min_age: 1d12h
symlinks: follow
category_by: folder
category: Photos
unsupported: skip
on_collision: keep
on_existing: adopt
delete: trash
grace_period: 3d
max_delete: 9
max_delete_percent: 2.5
max_changes: 99
max_changes_percent: 30 %
sentinel: here.txt
drift_share: 1/4
on_destination_change: report
on_replace_refused: new-asset
scan_command: clamd:/run/clamd.ctl
scan_timeout: 30s
provenance: always
wait: 2h
max_duration: 6h
until: "06:30"
max_requests: 5000/h
bwlimit: 08:00,512K 19:00,off
compensate_clock: true
least_privilege: true
allow_http: false
ca_file: ca.pem
service_profile: other.yaml
progress: plain
log_file: /var/log/assetferry.log
metrics: metrics/assetferry.prom
notify: [https://hooks.example.com/x, "failure=https://hooks.example.com/y"]
notify_file: hooks.txt
source_name: library
wordpress_folders: post
metadata: described/all.csv
collections: described/albums.csv
collections_as: tags
collection_prefix: "Album: "
precedence: [exif, table]
gps: drop
on_limit: fail
ai_url: https://ai.example.com/v1
ai_limits: saas
ai_compatibility: "2"
ai_model: agent-1
ai_context: [house-style, glossary/file/terms]
ai_permission: "ai:conversations:*"
ai_route: StreamDocuments=POST /v2/documents
max_credits: 12.5
enrich_exclude: [people/**]
never_category: [Contracts]
never_tag: [no-ai]
enrich_private: allow
`, nil, nil)
	diff(t, *got, Settings{
		File: DefaultFile,
		To:   "prod",
		Destinations: map[string]Named{
			"prod": {
				URL: "https://assets.example.com/", Environment: "env1", AccessKeyFile: "prod.key",
				Workspace: "w1", Service: "other", User: "u1", CAFile: "/etc/ca.pem", ServiceProfile: "measured.yaml",
			},
			"staging": {URL: "https://staging.example.com", AccessKeyEnv: "STAGING_KEY"},
			"plain":   {URL: "http://localhost:8080", TokenCommand: "sign --for 'me too'"},
		},
		State: "state.db", Workspace: "42", Service: "box", User: "nightly", Concurrency: 8,
		Include: []string{"*.jpg", "*.png"}, Exclude: []string{"tmp/**"}, MinAge: 36 * time.Hour,
		WordPressFolders: "post", Versions: 1, Symlinks: "follow", CategoryBy: "folder", Category: "Photos", Unsupported: "skip", OnCollision: "keep",
		OnExisting: "adopt", Duplicates: "keep", CompensateClock: true, LeastPrivilege: true, CAFile: "ca.pem", ServiceProfile: "other.yaml", Progress: "plain",
		LogFile: "/var/log/assetferry.log", SourceName: "library", Metadata: "described/all.csv", Collections: "described/albums.csv", CollectionsAs: "tags", CollectionPrefix: "Album: ",
		ScanCommand: "clamd:/run/clamd.ctl", ScanTimeout: 30 * time.Second, Provenance: "always", Wait: 2 * time.Hour, KeepRuns: 400 * 24 * time.Hour, MaxDuration: 6 * time.Hour, Until: &TimeOfDay{6, 30},
		Delete: "trash", GracePeriod: 72 * time.Hour, MaxDelete: 9, MaxDeletePercent: 2.5, MaxChanges: 99, MaxChangesPercent: 30,
		Precedence: []metadata.Source{metadata.FromEXIF, metadata.FromTable, metadata.FromSidecar, metadata.FromStorage, metadata.FromXMP, metadata.FromIPTC},
		GPS:        "drop", OnLimit: "fail",
		AIURL: "https://ai.example.com/v1", AILimits: "saas", AICompatibility: "2", AIModel: "agent-1", AIContexts: []string{"house-style", "glossary/file/terms"}, AIPermissions: []string{"ai:conversations:*"},
		AIRoutes: []string{"StreamDocuments=POST /v2/documents"}, MaxCredits: 12.5,
		EnrichExclude: []string{"people/**"}, NeverCategory: []string{"Contracts"}, NeverTag: []string{"no-ai"}, EnrichPrivate: "allow",
		Sentinel: "here.txt", DriftShare: 0.25, OnDestinationChange: "report", OnReplaceRefused: "new-asset",
		MaxRequests: ratelimit.RequestLimit{Requests: 5000, Window: time.Hour},
		Metrics:     "metrics/assetferry.prom", NotifyFile: "hooks.txt", Notify: []notify.Target{hook(t, "https://hooks.example.com/x"), hook(t, "failure=https://hooks.example.com/y")},
		Bandwidth: ratelimit.Timetable{{From: 8 * time.Hour, Bytes: 512 << 10}, {From: 19 * time.Hour}},
	})
}

func TestEmptyFiles(t *testing.T) {
	for _, yaml := range []string{"\n", "# to: prod\n", "---\n", "\uFEFF# byte order mark\n", "to:\ndestinations:\n  # none yet\n"} {
		got := mustLoad(t, yaml, nil, nil)
		want := defaults()
		want.File = DefaultFile
		diff(t, *got, want)
	}
}

func TestPathsInTheFileAreRelativeToIt(t *testing.T) {
	t.Chdir(t.TempDir())
	home := t.TempDir()
	t.Setenv("HOME", home)
	t.Setenv("USERPROFILE", home)
	if err := os.Mkdir("etc", 0o700); err != nil {
		t.Fatal(err)
	}
	path := filepath.Join("etc", "nightly.yaml")
	write(t, path, "state: s.db\nca_file: ~/ca.pem\n")
	s, err := Load(map[string][]string{"config": {path}, "log-file": {"here.log"}}, environment(nil))
	if err != nil {
		t.Fatal(err)
	}
	diff(t, []string{s.State, s.CAFile, s.LogFile}, []string{filepath.Join("etc", "s.db"), filepath.Join(home, "ca.pem"), "here.log"})
}

func TestPrecedence(t *testing.T) {
	const yaml = "workspace: from-file\nconcurrency: 2\nexclude: [from-file]\n"
	variables := map[string]string{"ASSETFERRY_WORKSPACE_ID": "from-environment", "ASSETFERRY_USER_ID": ""}
	flags := map[string][]string{"workspace": {"first", "from-flag"}, "concurrency": {"3"}, "exclude": {"a", "b"}, "json": {"true"}, "limit": nil}
	tests := []struct {
		name                   string
		yaml                   string
		flags                  map[string][]string
		variables              map[string]string
		wantWorkspace          string
		wantConcurrency        int
		wantExclude            []string
		workspace, concurrency Origin
	}{
		{"nothing", "", nil, nil, "", 16, nil, FromDefault, FromDefault},
		{"file", yaml, nil, nil, "from-file", 2, []string{"from-file"}, FromFile, FromFile},
		{"environment", "", nil, variables, "from-environment", 16, nil, FromEnvironment, FromDefault},
		{"environment over file", yaml, nil, variables, "from-environment", 2, []string{"from-file"}, FromEnvironment, FromFile},
		{"flag over file", yaml, flags, nil, "from-flag", 3, []string{"a", "b"}, FromFlag, FromFlag},
		{"flag over all", yaml, flags, variables, "from-flag", 3, []string{"a", "b"}, FromFlag, FromFlag},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			s := mustLoad(t, test.yaml, test.flags, test.variables)
			if s.Workspace != test.wantWorkspace || s.Concurrency != test.wantConcurrency {
				t.Errorf("got workspace %q, concurrency %d, want %q, %d", s.Workspace, s.Concurrency, test.wantWorkspace, test.wantConcurrency)
			}
			diff(t, s.Exclude, test.wantExclude)
			if w, c := s.SourceOf("workspace"), s.SourceOf("concurrency"); w != test.workspace || c != test.concurrency {
				t.Errorf("got origins %v and %v, want %v and %v", w, c, test.workspace, test.concurrency)
			}
			if s.User != "assetferry" {
				t.Errorf("an empty variable counts: user %q", s.User)
			}
		})
	}
}

func TestWhichFileIsRead(t *testing.T) {
	t.Chdir(t.TempDir())
	write(t, DefaultFile, "workspace: default")
	write(t, "e.yaml", "workspace: environment")
	write(t, "f.yaml", "workspace: flag")
	variables := environment(map[string]string{"ASSETFERRY_CONFIG": "e.yaml"})
	flags := map[string][]string{"config": {"f.yaml"}}
	for _, test := range []struct {
		flags map[string][]string
		env   Env
		want  string
	}{
		{nil, environment(nil), "default"},
		{nil, variables, "environment"},
		{flags, variables, "flag"},
	} {
		s, err := Load(test.flags, test.env)
		if err != nil || s.Workspace != test.want {
			t.Errorf("got %v, %v, want workspace %s", s, err, test.want)
		}
	}

	_, err := Load(map[string][]string{"config": {"gone.yaml"}}, environment(nil))
	if got, want := usage(t, err), "there is no configuration file \"gone.yaml\"\nTry: check the path, or omit --config"; got != want {
		t.Errorf("got %s, want %s", got, want)
	}
	_, err = Load(nil, environment(map[string]string{"ASSETFERRY_CONFIG": "gone.yaml"}))
	usage(t, err)
	_, err = Load(map[string][]string{"config": {""}}, environment(nil))
	usage(t, err)
	_, err = Load(map[string][]string{"config": {"."}}, environment(nil)) // a folder
	if err == nil || !strings.HasPrefix(err.Error(), "configuration: ") {
		t.Errorf("got %v for a folder", err)
	}
}

func TestParseDuration(t *testing.T) {
	for in, want := range map[string]time.Duration{
		"0s": 0, "30m": 30 * time.Minute, "24h": 24 * time.Hour, "7d": 168 * time.Hour, "1d12h30m": 36*time.Hour + 30*time.Minute, "0": 0,
	} {
		if got, err := ParseDuration(in); err != nil || got != want {
			t.Errorf("ParseDuration(%q) = %v, %v, want %v", in, got, err, want)
		}
	}
	for _, in := range []string{"", "d", "7", "-7d", "-1h", "1d-1h", "7d7d", "1.5d", "99999999d", "seven", "1w", " 1h", "9999999h"} {
		if got, err := ParseDuration(in); err == nil {
			t.Errorf("ParseDuration(%q) = %v, want an error", in, got)
		}
	}
}

func TestKeysAreUnique(t *testing.T) {
	seen := make(map[string]bool)
	for _, k := range Keys() {
		for _, name := range []string{"key " + k.Name, "variable " + k.Env} {
			if seen[name] && k.Env != "" {
				t.Errorf("%s occurs twice", name)
			}
			seen[name] = true
		}
		if strings.Contains(k.Flag, "_") {
			t.Errorf("switch --%s", k.Flag)
		}
	}
}

// TestKeysAreBuiltOnce verifies that the keys are computed once: every start of the program
// requests them for each flag of each command.
func TestKeysAreBuiltOnce(t *testing.T) {
	if n := testing.AllocsPerRun(10, func() { Keys() }); n > 0 {
		t.Errorf("Keys allocates %v times a call", n)
	}
}
