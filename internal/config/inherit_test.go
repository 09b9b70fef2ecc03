package config

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// TestInherit verifies the variables that another process needs to read the same file in another
// folder.
func TestInherit(t *testing.T) {
	const file = "to: prod\nca_file: ca.pem\nstate: state/journal.db\ndestinations:\n" +
		"  prod: {url: https://prod.example.com, environment: e1, access_key_env: PROD_KEY}\n" +
		"  held: {url: https://held.example.com, environment: e1, access_key_file: held.key}\n" +
		"  asked: {url: https://asked.example.com, environment: e1, access_key_command: pass show it}\n" +
		"  bare: {url: https://bare.example.com}\n" +
		"jobs:\n  j: {source: s, to: bare, log_file: log/nightly.log}\n"
	for name, tc := range map[string]struct {
		flags     map[string][]string
		variables map[string]string
		want      Inheritance // with paths in the folder of the file
	}{
		"the file says all but the key": {
			variables: map[string]string{"PROD_KEY": "geheim"},
			want: Inheritance{
				Variables: []Variable{{Name: "PROD_KEY", Secret: true}},
				Read:      []string{"ca.pem", DefaultFile}, Written: []string{"state/journal.db"},
			},
		},
		"a key in a file": {
			flags: map[string][]string{"to": {"held"}, "state": {"other.db"}, "allow-http": {"true"}, "compensate-clock": {"false"}},
			want: Inheritance{
				Switches: []string{"--to=held", "--state=other.db", "--compensate-clock=false", "--allow-http"},
				Read:     []string{"ca.pem", "held.key", DefaultFile}, Written: []string{"other.db"},
			},
		},
		"a key from a program": {
			flags: map[string][]string{"to": {"asked"}},
			want:  Inheritance{Switches: []string{"--to=asked"}, Read: []string{"ca.pem", DefaultFile}, Written: []string{"state/journal.db"}, Helper: true},
		},
		"a job, and the environment": {
			flags:     map[string][]string{"job": {"j"}},
			variables: map[string]string{"ASSETFERRY_ENVIRONMENT_ID": "e2", "ASSETFERRY_ACCESS_KEY_FILE": "my.key", "ASSETFERRY_USER_ID": "me", "ASSETFERRY_NOTIFY": "https://hooks.example.com/geheim"},
			want: Inheritance{
				Variables: []Variable{{Name: "ASSETFERRY_USER_ID", Value: "me"}, {Name: "ASSETFERRY_NOTIFY", Secret: true},
					{Name: "ASSETFERRY_ENVIRONMENT_ID", Value: "e2"}, {Name: "ASSETFERRY_ACCESS_KEY_FILE", Value: "my.key"}},
				Read: []string{"ca.pem", "my.key", DefaultFile}, Written: []string{"state/journal.db", "log/nightly.log"},
			},
		},
		"headers that open the source": {
			flags:     map[string][]string{"to": {"asked"}},
			variables: map[string]string{"ASSETFERRY_SOURCE_HEADERS_FILE": "session.txt"},
			want: Inheritance{
				Switches:  []string{"--to=asked"},
				Variables: []Variable{{Name: "ASSETFERRY_SOURCE_HEADERS_FILE", Value: "session.txt"}},
				Read:      []string{"ca.pem", "session.txt", DefaultFile}, Written: []string{"state/journal.db"}, Helper: true,
			},
		},
		"the account of a WordPress site": {
			flags:     map[string][]string{"to": {"asked"}},
			variables: map[string]string{"ASSETFERRY_WORDPRESS_USER": "jo", "ASSETFERRY_WORDPRESS_PASSWORD": "geheim"},
			want: Inheritance{
				Switches:  []string{"--to=asked"},
				Variables: []Variable{{Name: "ASSETFERRY_WORDPRESS_USER", Value: "jo"}, {Name: "ASSETFERRY_WORDPRESS_PASSWORD", Secret: true}},
				Read:      []string{"ca.pem", DefaultFile}, Written: []string{"state/journal.db"}, Helper: true,
			},
		},
		"programs that the environment names": {
			flags:     map[string][]string{"to": {"https://x.example.com"}},
			variables: map[string]string{"ASSETFERRY_ENVIRONMENT_ID_COMMAND": "which one", "ASSETFERRY_TOKEN_COMMAND": "sign --with geheim"},
			want: Inheritance{
				Switches:  []string{"--to=https://x.example.com"},
				Variables: []Variable{{Name: "ASSETFERRY_ENVIRONMENT_ID_COMMAND", Secret: true}, {Name: "ASSETFERRY_TOKEN_COMMAND", Secret: true}},
				Read:      []string{"ca.pem", DefaultFile}, Written: []string{"state/journal.db"}, Helper: true,
			},
		},
	} {
		t.Run(name, func(t *testing.T) {
			s := mustLoad(t, file, tc.flags, tc.variables)
			d, err := s.Destination()
			if err != nil {
				t.Fatal(err)
			}
			got, err := s.Inherit(d)
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(whole(t, tc.want), got); diff != "" {
				t.Errorf("-want +got:\n%s", diff)
			}
		})
	}
}

// whole has the paths of an inheritance begin in the folder of the test.
func whole(t *testing.T, i Inheritance) Inheritance {
	t.Helper()
	dir, err := os.Getwd()
	if err != nil {
		t.Fatal(err)
	}
	for _, paths := range [][]string{i.Read, i.Written} {
		for n := range paths {
			paths[n] = filepath.Join(dir, paths[n])
		}
	}
	for n, v := range i.Variables {
		if strings.HasSuffix(v.Name, "_FILE") {
			i.Variables[n].Value = filepath.Join(dir, v.Value)
		}
	}
	for n, s := range i.Switches {
		if s == "--state=other.db" {
			i.Switches[n] = "--state=" + filepath.Join(dir, "other.db")
		}
	}
	return i
}
