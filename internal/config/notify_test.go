package config

import (
	"fmt"
	"os"
	"runtime"
	"strings"
	"testing"

	"assetferry/internal/notify"
)

// TestTargets verifies each place that may contain notification URLs.
func TestTargets(t *testing.T) {
	const file = "# mine\nhttps://hooks.example.com/one\n\n  failure=https://hooks.example.com/two\r\n# https://hooks.example.com/no\n"
	one, two, three := hook(t, "https://hooks.example.com/one"), hook(t, "failure=https://hooks.example.com/two"), hook(t, "https://hooks.example.com/three")
	for name, test := range map[string]struct {
		yaml  string
		flags map[string][]string
		env   map[string]string
		want  []notify.Target
	}{
		"nowhere":   {},
		"file":      {"notify: https://hooks.example.com/three", nil, nil, []notify.Target{three}},
		"list":      {"notify:\n  - https://hooks.example.com/one\n  - failure=https://hooks.example.com/two", nil, nil, []notify.Target{one, two}},
		"variable":  {"notify: https://hooks.example.com/three", nil, map[string]string{"ASSETFERRY_NOTIFY": " https://hooks.example.com/one failure=https://hooks.example.com/two "}, []notify.Target{one, two}},
		"switches":  {"", map[string][]string{"notify": {"https://hooks.example.com/one", "https://hooks.example.com/three"}}, map[string]string{"ASSETFERRY_NOTIFY": "https://x.example"}, []notify.Target{one, three}},
		"own file":  {"", nil, map[string]string{"ASSETFERRY_NOTIFY_FILE": "hooks.txt"}, []notify.Target{one, two}},
		"file both": {"notify: https://hooks.example.com/three\nnotify_file: hooks.txt", nil, nil, []notify.Target{one, two, three}},
	} {
		t.Run(name, func(t *testing.T) {
			s := mustLoad(t, test.yaml, test.flags, test.env)
			write(t, "hooks.txt", file)
			got, err := s.Targets(func(warning string) { t.Error(warning) })
			if err != nil {
				t.Fatal(err)
			}
			diff(t, got, test.want)
		})
	}
}

// TestTargetsAreNotShown verifies that errors around a notification URL do not contain the URL,
// which is a secret.
func TestTargetsAreNotShown(t *testing.T) {
	const secret = "T0000-hush"
	url := "https://hooks.example.com/" + secret
	for name, test := range map[string]struct {
		yaml string
		env  map[string]string
	}{
		"no URL":           {"notify: " + secret, nil},
		"no event":         {"notify: never=" + url, nil},
		"other line":       {"notify:\n  - " + url + "\n  - [a]", nil},
		"line of flow":     {"notify: [\n  failure=" + url + ",\n  {a: b}]", nil},
		"a mapping":        {"notify: {" + url + "}", nil},
		"quoted":           {"\"notify\": 'x=" + url + "'", nil},
		"indented":         {"notify:\n  - " + url + "\n ok", nil},
		"variable":         {"", map[string]string{"ASSETFERRY_NOTIFY": "x=" + url}},
		"the file has one": {"notify_file: hooks.txt", nil},
	} {
		t.Run(name, func(t *testing.T) {
			s, err := load(t, test.yaml, nil, test.env)
			if err == nil {
				write(t, "hooks.txt", "x="+url)
				_, err = s.Targets(nil)
			}
			if text := usage(t, err); strings.Contains(text, secret) {
				t.Error(text)
			}
		})
	}
	s := mustLoad(t, "notify: "+url, nil, nil)
	if text := fmt.Sprintf("%v %+v %#v %v", s.Notify, *s, s.Notify, s.Effects()); strings.Contains(text, secret) || !strings.Contains(text, "https://hooks.example.com") {
		t.Error(text)
	}
}

func TestTargetsWarn(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("has no such modes")
	}
	s := mustLoad(t, "notify_file: hooks.txt", nil, nil)
	write(t, "hooks.txt", "https://hooks.example.com")
	if err := os.Chmod("hooks.txt", 0o644); err != nil {
		t.Fatal(err)
	}
	var warned []string
	if _, err := s.Targets(func(w string) { warned = append(warned, w) }); err != nil || len(warned) != 1 {
		t.Errorf("warned %q, %v", warned, err)
	}
	s.NotifyFile = "none"
	_, err := s.Targets(nil)
	usage(t, err)
}
