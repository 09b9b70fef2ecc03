package config

import (
	"strings"
	"testing"
)

// TestAI verifies the URL and the credentials of the AI content service.
func TestAI(t *testing.T) {
	const production = "destinations:\n  production:\n    url: https://api.example.com\n    environment: library\n    access_key_env: KEY\n    user: ferry\n"
	own := map[string]string{"ASSETFERRY_ENVIRONMENT_ID": "assets", "ASSETFERRY_ACCESS_KEY": "k", "ASSETFERRY_AI_URL": "https://ai.example.com/v1/"}
	with := func(more ...string) map[string]string {
		all := map[string]string{}
		for name, value := range own {
			all[name] = value
		}
		for n := 0; n < len(more); n += 2 {
			all[more[n]] = more[n+1]
		}
		return all
	}
	for _, test := range []struct {
		name, yaml string
		flags      map[string][]string
		variables  map[string]string
		want       string // URL, environment, credentials, user; or the error
	}{
		{"as the destination", "", nil, own, "https://ai.example.com/v1 ASSETFERRY_ENVIRONMENT_ID ASSETFERRY_ACCESS_KEY assetferry"},
		{"as the destination in the file", production + "to: production\nai_url: https://ai.example.com\n", nil, nil,
			`https://ai.example.com destination "production" destination "production" ferry`},
		{"an environment of its own", "", nil, with("ASSETFERRY_AI_ENVIRONMENT_ID", "words", "ASSETFERRY_AI_ACCESS_KEY_FILE", "f"),
			"https://ai.example.com/v1 ASSETFERRY_AI_ENVIRONMENT_ID ASSETFERRY_AI_ACCESS_KEY_FILE assetferry"},
		{"a key of its own", "", nil, with("ASSETFERRY_AI_ACCESS_KEY", "k2"),
			"https://ai.example.com/v1 ASSETFERRY_ENVIRONMENT_ID ASSETFERRY_AI_ACCESS_KEY assetferry"},
		{"an environment without its key", "", nil, with("ASSETFERRY_AI_ENVIRONMENT_ID", "words"), "its access key is not"},
		{"a token endpoint", "", nil, with("ASSETFERRY_AI_TOKEN_URL", "https://cms.example.com/token"),
			"https://ai.example.com/v1  ASSETFERRY_AI_TOKEN_URL assetferry"},
		{"a command", "", nil, map[string]string{"ASSETFERRY_AI_URL": "https://ai.example.com", "ASSETFERRY_AI_TOKEN_COMMAND": "sign"},
			"https://ai.example.com  sign assetferry"},
		{"two ways", "", nil, with("ASSETFERRY_AI_TOKEN_URL", "https://cms.example.com/token", "ASSETFERRY_AI_TOKEN_COMMAND", "sign"), "are both set"},
		{"a command for assets only", "", nil,
			map[string]string{"ASSETFERRY_AI_URL": "https://ai.example.com", "ASSETFERRY_ENVIRONMENT_ID": "e", "ASSETFERRY_TOKEN_COMMAND": "sign"}, "takes others"},
		{"no credentials", "", nil, map[string]string{"ASSETFERRY_AI_URL": "https://ai.example.com"}, "has no credentials"},
		{"no URL", "", nil, map[string]string{}, "no AI content service is configured"},
		{"plain HTTP", "", nil, with("ASSETFERRY_AI_URL", "http://ai.example.com"), "http"},
		{"the sandbox, whatever the environment says", "", map[string][]string{"to": {"sandbox"}}, own, "the sandbox"},
		{"the sandbox with another service", "", map[string][]string{"to": {"sandbox"}, "ai-url": {"https://other.example.com"}}, own,
			"https://other.example.com ASSETFERRY_ENVIRONMENT_ID ASSETFERRY_ACCESS_KEY assetferry"},
	} {
		t.Run(test.name, func(t *testing.T) {
			ai, err := mustLoad(t, test.yaml, test.flags, test.variables).AI()
			if err != nil {
				if said := usage(t, err); !strings.Contains(said, test.want) {
					t.Errorf("got %q, want something with %q", said, test.want)
				}
				return
			}
			got := "the sandbox"
			if ai.Kind == URL {
				got = strings.Join([]string{ai.URL, ai.Environment.Origin, ai.AccessKey.Origin + ai.TokenURL.Origin + ai.TokenCommand, ai.User}, " ")
			}
			if got != test.want {
				t.Errorf("got  %s\nwant %s", got, test.want)
			}
		})
	}
}
