package config

import (
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

var update = flag.Bool("update", false, "rewrite the golden files")

// TestErrorTexts compares the complete messages for mistakes.
func TestErrorTexts(t *testing.T) {
	golden, err := filepath.Abs(filepath.Join("testdata", "errors.txt"))
	if err != nil {
		t.Fatal(err)
	}
	files := []string{
		"to: prod\nconcurency: 4\n",
		"min-age: 4h\n",
		"wibble: 4\n",
		"foo: 4\n",
		"concurrency: many\n",
		"concurrency: 0\n",
		"concurrency: [1, 2]\n",
		"concurrency: {n: 1}\n",
		"state: true\n",
		"allow_http: yes\n",
		"allow_http: \"true\"\n",
		"include: [a, {b: c}]\n",
		"include: [a, \"\"]\n",
		"symlinks: maybe\r\nto: x\r\n",
		"min_age: soon\n",
		"category: \"a\\x1bb\"\n",
		"to: a\nto: b\n",
		"to: \"a\n",
		"\tto: a\n",
		"to: a\n\tstate: b\n",
		"destinations:\n  prod:\n  \turl: https://example.com\n",
		"to a\nstate: b\n",
		"category: a: b\n",
		"include: [a, b\n",
		"destinations: {prod: {url: x}\n",
		"category: @home\n",
		"destinations:\n  prod:\n    url: https://example.com\n    url: https://example.com\n",
		"concurrency:\n  n: 1\n",
		"to: &x a\n",
		"to: a\n---\nto: b\n",
		"- to\n",
		"to\n",
		"\xff\xfe",
		"to: a\ncategory: caf\xe9\n",
		"to: a\x00b\n",
		strings.Repeat("#", 257<<10),
		strings.Repeat("[", 200<<10),
		strings.Repeat("- ", 100<<10),
		"destinations: [prod]\n",
		"destinations:\n  sandbox: {url: https://example.com}\n",
		"destinations:\n  a/b: {url: https://example.com}\n",
		"destinations:\n  prod: https://example.com\n",
		"destinations:\n  prod:\n    environment: e\n",
		"destinations:\n  prod:\n    url: https://example.com\n    access_key: hunter2\n",
		"destinations:\n  prod: {url: https://example.com, \"access_key\": hunter2}\n",
		"destinations:\n  prod:\n    url: https://example.com\n    acess_key: hunter2\n",
		"destinations:\n  prod:\n    acess_key: \"hunter2\n",
		"destinations:\n  prod: {url: https://me:hunter2@example.com, wibble: 1}\n",
		"destinations:\n  prod:\n    url: https://me:hunter2@example.com\n",
		"destinations:\n  prod:\n    url: ftp://example.com\n",
		"destinations:\n  prod:\n    url: https://example.com?a=b\n",
		"destinations:\n  prod:\n    url: example.com\n",
		"destinations:\n  prod:\n    url: https://example.com\n    access_key_env: A\n    access_key_file: b\n",
		"jobs: [nightly]\n",
		"jobs:\n  nightly:\n",
		"jobs:\n  nightly: ./photos\n",
		"jobs:\n  every night: {source: ./photos}\n",
		"jobs:\n  nightly: {to: prod}\n",
		"jobs:\n  nightly:\n    source: ''\n",
		"jobs:\n  nightly: {source: [a, b]}\n",
		"jobs:\n  nightly:\n    source: ./photos\n    exlude: [drafts/**]\n",
		"jobs:\n  nightly:\n    source: ./photos\n    concurrency: 0\n",
		"jobs:\n  nightly:\n    source: ./photos\n    jobs: {}\n",
		"jobs:\n  nightly: {source: a}\n  nightly: {source: b}\n",
	}
	var got strings.Builder
	for _, yaml := range files {
		_, err := load(t, yaml, nil, nil)
		fmt.Fprintf(&got, "%s\n\n", usage(t, err))
	}
	const named = "destinations:\n  prod:\n    url: https://example.com\n  staging:\n    url: http://staging.example.com\n"
	const jobs = "jobs:\n  nightly: {source: ./photos}\n  archive: {source: ./archive, to: prodd}\n"
	for _, tc := range []struct{ yaml, job string }{
		{jobs, "nightli"}, {jobs, "x"}, {"to: prod\n", "nightly"}, {"", "nightly"}, {jobs, ""},
	} {
		_, err := load(t, tc.yaml, map[string][]string{"job": {tc.job}}, nil)
		fmt.Fprintf(&got, "%s\n\n", usage(t, err))
	}
	for _, tc := range []struct {
		yaml  string
		flags map[string][]string
	}{ // errors that occur only on use
		{named + jobs, map[string][]string{"job": {"archive"}}},
		{"to: prodd\n" + named, nil},
		{named, map[string][]string{"to": {"prodd"}}},
		{"to: prod\n" + named, map[string][]string{"to": {"nonsense"}}},
		{"to: example.com:80\n", nil},
		{"to: https://example.com\n", nil},
		{"to: prod\n" + named, nil},
		{named, map[string][]string{"to": {"staging"}}},
	} {
		s := mustLoad(t, tc.yaml, tc.flags, nil)
		_, err := s.Destination()
		fmt.Fprintf(&got, "%s\n\n", usage(t, err))
	}
	s := mustLoad(t, "endpoint: http://s3.example.com\n", nil, nil)
	_, err = s.S3Endpoint()
	fmt.Fprintf(&got, "%s\n\n", usage(t, err))
	for _, flags := range []map[string][]string{
		{"concurrency": {"257"}}, {"symlinks": {"sometimes"}}, {"exclude": {""}},
	} {
		_, err := load(t, "", flags, nil)
		fmt.Fprintf(&got, "%s\n\n", usage(t, err))
	}
	for _, variables := range []map[string]string{{"ASSETFERRY_WORKSPACE_ID": "a\nb"}} {
		_, err := load(t, "", nil, variables)
		fmt.Fprintf(&got, "%s\n\n", usage(t, err))
	}

	if strings.Contains(got.String(), "hunter2") {
		t.Error("a secret is shown")
	}
	if *update {
		write(t, golden, got.String())
	}
	want, err := os.ReadFile(golden)
	if err != nil {
		t.Fatal(err)
	}
	diff(t, got.String(), string(want))
}

func FuzzFile(f *testing.F) {
	for _, seed := range []string{
		"", "to: prod\n", "destinations:\n  prod: {url: https://example.com, environment: e}\n", "include: [a, b]\n", "concurrency: 4\nmin_age: 7d\n",
		"jobs:\n  nightly:\n    source: ./photos\n    exclude: [drafts/**]\n", "jobs: {a: {source: s3://b/c, to: d}, e: {source: ~/f}}\n", "jobs:\n  a:\n", "jobs: {a: {source: &x b}}\n",
		"a: &x [1]\nb: *x\n", "<<: {to: a}\n", "? a\n: b\n", "to: |\n  a\n", "to: !!str a\n", "- a\n", "{", "a: b: c", "\t", "--- a\n...\n",
	} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		s := newSettings(environment(nil))
		if err := s.parse("assetferry.yaml", data, s.table()); err != nil {
			usage(t, err)
			return
		}
		if s.Concurrency < 0 || s.Concurrency > 256 {
			t.Errorf("concurrency %d", s.Concurrency)
		}
		for name, j := range s.Jobs {
			if err := s.choose([]string{name}, s.table()); err != nil || j.Source == "" || s.Source != j.Source {
				t.Errorf("job %q: %v", name, err)
			}
		}
	})
}
