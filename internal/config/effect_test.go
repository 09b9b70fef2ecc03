package config

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestEffects(t *testing.T) {
	file := filepath.Join(t.TempDir(), "my.yaml")
	text := "to: p\nuser: file-user\nunsupported: skip\njobs:\n  j:\n    source: photos\n    unsupported: create\n    exclude: [a, b]\n    workspace: w3\ndestinations:\n  p:\n    url: https://x.example\n    workspace: w1\n    service: dam\n"
	if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	env := func(name string) (string, bool) {
		v, ok := map[string]string{"ASSETFERRY_USER_ID": "env-user"}[name]
		return v, ok
	}
	job := `job "j" in ` + file
	tests := []struct {
		name  string
		flags map[string][]string
		to    string
		want  []Effect
	}{
		{"file", nil, file, []Effect{
			{"workspace", "w1", `destination "p" in ` + file}, {"service", "dam", `destination "p" in ` + file},
			{"user", "env-user", "ASSETFERRY_USER_ID"}, {"unsupported", "skip", file},
		}},
		{"switches", map[string][]string{"to": {"https://y.example"}, "workspace": {"w2"}, "allow-http": {"true"}}, "--to", []Effect{
			{"workspace", "w2", "--workspace"}, {"user", "env-user", "ASSETFERRY_USER_ID"}, {"unsupported", "skip", file}, {"allow_http", "true", "--allow-http"},
		}},
		{"sandbox", map[string][]string{"to": {"sandbox"}}, "--to", []Effect{
			{"workspace", "the default one", "default"}, {"user", "assetferry", "default"}, {"unsupported", "skip", file},
		}},
		{"job", map[string][]string{"job": {"j"}, "exclude": {"c", "d"}}, file, []Effect{
			{"job", "j", "--job"}, {"source", filepath.Join(filepath.Dir(file), "photos"), job}, {"workspace", "w3", job},
			{"service", "dam", `destination "p" in ` + file}, {"user", "env-user", "ASSETFERRY_USER_ID"}, {"exclude", "c d", "--exclude"}, {"unsupported", "create", job},
		}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			flags := map[string][]string{"config": {file}}
			for k, v := range tt.flags {
				flags[k] = v
			}
			s, err := Load(flags, env)
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(tt.want, s.Effects()); diff != "" || s.ToFrom() != tt.to {
				t.Errorf("to from %s, -want +got:\n%s", s.ToFrom(), diff)
			}
		})
	}
}
