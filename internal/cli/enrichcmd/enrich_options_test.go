package enrichcmd

import "testing"

func TestHasCredentials(t *testing.T) {
	for _, test := range []struct {
		name, value string
		want        bool
	}{
		{"capabilities", `{"webSearch":{}}`, false},
		{"maxTokens", `100`, false},
		{"context", `[{"id":"x"}]`, false},
		{"note", `"Authorization"`, false},
		{"extraHttpHeaders", `[]`, true},
		{"fetch", `[{"with":{"Authorization":"x"}}]`, true},
		{"x", `{"api_key":1}`, true},
		{"accessToken", `1`, true},
		{"x", `{"tokenOf":{}}`, true},
		{"Cookie", `""`, true},
	} {
		if got := hasCredentials(test.name, []byte(test.value)); got != test.want {
			t.Errorf("%s=%s: got %v", test.name, test.value, got)
		}
	}
}
