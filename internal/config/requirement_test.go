package config

import (
	"strings"
	"testing"
)

const guarded = `destinations:
  prod:
    url: https://API.example.com/
    environment: env1
    require_approval: true
    approvers_file: /etc/approvers
  alias:
    url: https://cdn.example.org
    environment: env1
  staging:
    url: https://api.example.com
    environment: env2
    approvers_file: /etc/staging
  part:
    url: https://other.example.com
    environment: env3
    workspace: ws1
    require_approval: true
    approvers_file: /etc/part
  test:
    url: https://api.example.com
    environment: env4
    require_approval: true
    approvers_file: /etc/test
`

// TestRequirement verifies that the approval depends on where a command writes, whatever name or
// URL selects it.
func TestRequirement(t *testing.T) {
	s := mustLoad(t, guarded, nil, nil)
	for _, c := range []struct {
		name string
		at   Reached
		want string // the destination that requires approval, or ""
	}{
		{"by its name", Reached{Name: "prod", Environment: "env1"}, "prod"},
		{"another name that asks for approval", Reached{Name: "test", URL: "https://api.example.com", Environment: "env1"}, "prod"},
		{"by its name, with other credentials", Reached{Name: "prod", Environment: "env9"}, "prod"},
		{"another name", Reached{Name: "alias", URL: "https://cdn.example.org", Environment: "env1"}, "prod"},
		{"its URL", Reached{URL: "https://api.example.com", Environment: "env1"}, "prod"},
		{"any URL of the environment", Reached{URL: "https://10.0.0.1", Environment: "env1"}, "prod"},
		{"the environment in capitals", Reached{URL: "https://api.example.com", Environment: "ENV1"}, "prod"},
		{"another workspace of it", Reached{URL: "https://api.example.com", Environment: "env1", Workspace: "ws9"}, "prod"},
		{"another environment", Reached{Name: "staging", URL: "https://api.example.com", Environment: "env2"}, ""},
		{"another environment by its URL", Reached{URL: "https://api.example.com", Environment: "env2"}, ""},
		{"a command decides about the environment", Reached{URL: "https://api.example.com.:443", Environment: "env2", TokenCommand: true}, "prod"},
		{"a command, elsewhere", Reached{URL: "https://example.net", Environment: "env2", TokenCommand: true}, ""},
		{"a command, by a name of the file", Reached{Name: "staging", URL: "https://api.example.com", Environment: "env2", TokenCommand: true}, ""},
		{"the workspace that it names", Reached{URL: "https://x.example.com", Environment: "env3", Workspace: "ws1"}, "part"},
		{"another than the one that it names", Reached{URL: "https://other.example.com", Environment: "env3", Workspace: "ws2"}, ""},
		{"its name, with another workspace", Reached{Name: "part", Environment: "env3", Workspace: "ws2"}, "part"},
	} {
		t.Run(c.name, func(t *testing.T) {
			got := s.Requirement(c.at)
			if got.Required != (c.want != "") || got.Required && got.Destination != c.want || got.Required && got.ApproversFile == "" {
				t.Errorf("got %+v, want %s", got, c.want)
			}
		})
	}
	if got := s.Requirement(Reached{Name: "staging", Environment: "env2"}); got.ApproversFile != "/etc/staging" {
		t.Errorf("without a requirement: %+v", got)
	}
}

// TestRequirementIsComplete verifies that a destination that requires approval also names its
// environment, so that no variable can change it.
func TestRequirementIsComplete(t *testing.T) {
	for _, without := range []string{"    environment: env1\n    require_approval", "    approvers_file: /etc/approvers\n"} {
		text := strings.Replace(guarded, without, map[bool]string{true: "    require_approval"}[strings.Contains(without, "require")], 1)
		if _, err := load(t, text, nil, nil); err == nil || !strings.Contains(err.Error(), "require_approval needs environment and approvers_file") {
			t.Errorf("without %q: %v", without, err)
		}
	}
}
