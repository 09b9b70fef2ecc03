package aiservice

import "testing"

func TestCovers(t *testing.T) {
	for _, test := range []struct {
		granted, needed string
		want            bool
	}{
		{"ai:conversations:read", "ai:conversations:read", true},
		{"ai:conversations:read", "ai:conversations:write", false},
		{"ai:conversations:*", "ai:conversations:context:files:png", true},
		{"ai:conversations:*", "ai:conversations", false},
		{"ai:conversations:*", "ai:actions:custom", false},
		{"ai:models:openai", "ai:models:openai:gpt-5", false},
		{"ai:models:openai:*", "ai:models:openai:gpt-5", true},
		{"ai:models:openai:*", "ai:models:openai:gpt:5.4", true},
		{"ai:models:openai:gpt-4*", "ai:models:openai:gpt-4.1", true},
		{"ai:models:openai:gpt-4*", "ai:models:openai:gpt-5", false},
		{"ai:models:openai:gpt-4*", "ai:models:openai:gpt-4:1", false},
		{"ai:models:open*:gpt-5", "ai:models:openai:gpt-5", true},
		{"ai:models:*:gpt-5", "ai:models:openai:gpt-5", true},
		{"ai:models:*:gpt-5", "ai:models:openai:gpt-4", false},
		{"ai:models:a/b*", "ai:models:a/b/c", true},
		{"ai:models:gpt-?", "ai:models:gpt-5", false},
		{"ai:models:[a]*", "ai:models:a1", false},
		{"ai:*", "ai:conversations:read", false},
		{"ai:conv*:read", "ai:conversations:read", false},
		{"*", "ai:admin", false},
		{"", "ai:admin", false},
		{"AI:conversations:read", "ai:conversations:read", false},
	} {
		if got := covers(test.granted, test.needed); got != test.want {
			t.Errorf("%s covers %s: %v, want %v", test.granted, test.needed, got, test.want)
		}
	}
}
