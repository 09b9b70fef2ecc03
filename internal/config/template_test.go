package config

import (
	"fmt"
	"regexp"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"pgregory.net/rapid"
)

// commentedOut matches a setting that is commented out.
var commentedOut = regexp.MustCompile(`(?m)^( *)#((?:- )?[a-z0-9_]+:)`)

func meaning(flag string) string { return "what --" + flag + " is for" }

// templates returns the templates that init may write.
func templates() map[string]Template {
	known := Named{URL: "https://api.ckbox.io", Environment: "0x1f", AccessKeyFile: "/etc/it's a key", Workspace: "true"}
	return map[string]Template{
		"nothing is known":  {Meaning: meaning},
		"the sandbox":       {To: "sandbox", Meaning: meaning},
		"all is known":      {To: TemplateName, Destination: known, Set: map[string]string{"unsupported": "skip"}, Meaning: meaning},
		"without a key yet": {To: TemplateName, Destination: Named{URL: "http://localhost:8080"}, Meaning: meaning},
	}
}

// TestTemplateIsAccepted verifies that a template can be read: it sets the known values, and all
// others have their defaults.
func TestTemplateIsAccepted(t *testing.T) {
	for name, template := range templates() {
		got := mustLoad(t, string(template.Encode()), nil, nil)
		want := defaults()
		want.File, want.To = DefaultFile, template.To
		if d := template.Destination; d.URL != "" {
			if d.credential() == "" { // the default, if the credential is unknown
				d.AccessKeyEnv = "ASSETFERRY_ACCESS_KEY"
			}
			want.Destinations = map[string]Named{TemplateName: d}
		}
		if p := template.Set["unsupported"]; p != "" {
			want.Unsupported = p
		}
		t.Run(name, func(t *testing.T) { diff(t, *got, want) })
	}
}

// TestTemplateHasEverySetting removes all comment signs and verifies that the file is valid and
// contains every setting.
func TestTemplateHasEverySetting(t *testing.T) {
	for name, template := range templates() {
		text := commentedOut.ReplaceAllString(string(template.Encode()), "$1$2")
		s := mustLoad(t, text, nil, nil)
		for _, k := range Keys() {
			if s.SourceOf(k.Name) != FromFile || strings.Count(text, "\n"+k.Name+": ") != 1 {
				t.Errorf("%s: %s is not there, or twice", name, k.Name)
			}
			if !strings.Contains(text, "# What --"+k.Flag+" is for\n") {
				t.Errorf("%s: %s is not explained", name, k.Name)
			}
		}
		if got := s.Jobs["photos"]; got.Source != "photos" || len(got.settings) != 1 {
			t.Errorf("%s: the job is %+v", name, got)
		}
		n, isThere := s.Destinations[TemplateName]
		if !isThere || n.URL == "" || n.Environment == "" || n.Workspace == "" || n.Service == "" || n.User == "" || n.CAFile == "" || n.credential() == "" {
			t.Errorf("%s: the destination is not complete: %+v", name, n)
		}
		for key := range n.credentialKeys() {
			if !strings.Contains(text, key) {
				t.Errorf("%s: %s is not told of", name, key)
			}
		}
	}
}

func TestTemplateFitsATerminal(t *testing.T) {
	long := strings.Repeat("a long explanation of it ", 9)
	for name, template := range templates() {
		template.Meaning = func(string) string { return long }
		for line := range strings.Lines(string(template.Encode())) {
			if utf8.RuneCountInString(line) > 81 {
				t.Errorf("%s: %s", name, line)
			}
		}
	}
}

// TestTemplateKeepsAnswers verifies that any answer is read from the file exactly as it was typed.
func TestTemplateKeepsAnswers(t *testing.T) {
	t.Chdir(t.TempDir())
	answer := rapid.OneOf(
		rapid.StringMatching(`[ -~äß漢]{1,20}`),
		rapid.SampledFrom([]string{"true", "no", "Null", "~", "0x1F", "1e3", "1_000", ".inf", "-", "- a", "a: b", "a #b", "'", "''", `"`, "{", "&a", "*a", "!a", "%a", "@a", "06:00", "2026-01-01", "<<", "=", "?", "|", ">"}),
	)
	rapid.Check(t, func(t *rapid.T) {
		want := Named{URL: "https://example.com", Environment: answer.Draw(t, "environment"), AccessKeyCommand: answer.Draw(t, "command"), Workspace: answer.Draw(t, "workspace")}
		template := Template{To: TemplateName, Destination: want, Set: map[string]string{"category": answer.Draw(t, "category")}, Meaning: meaning}
		s := newSettings(environment(nil))
		if err := s.parse(DefaultFile, template.Encode(), s.table()); err != nil {
			t.Fatalf("%v\n%s", err, template.Encode())
		}
		if got := s.Destinations[TemplateName]; got != want || s.Category != template.Set["category"] {
			t.Errorf("got %+v and %q, want %+v and %q", got, s.Category, want, template.Set["category"])
		}
	})
}

func TestPut(t *testing.T) {
	for _, tc := range []struct{ key, value, want string }{
		{"url", "https://api.ckbox.io", "<nil>"},
		{"url", "http://intranet.example.com", "<nil>"}, // checked when it is used
		{"url", "api.ckbox.io", "the URL does not begin with https:// or http://"},
		{"url", "https://me:secret@example.com", "the URL contains a user name or a password; credentials come from variables, a file or a command"},
		{"environment", "a\x1bb", `"a\x1bb" has a control character`},
		{"access_key", "hunter2", refuseSecret(nil).Error()},
		{"wibble", "1", `there is no key "wibble"`},
	} {
		var n Named
		if got := fmt.Sprint(n.Put(tc.key, tc.value)); got != tc.want {
			t.Errorf("%s %s: got %s, want %s", tc.key, tc.value, got, tc.want)
		}
	}
}

// TestTemplateJob verifies that the job of a template is the default one, also after all comment
// signs are removed.
func TestTemplateJob(t *testing.T) {
	for _, source := range []string{"./photos", "it's: my #photos", "s3://b/p", "table:a b.csv", "~/Pictures", "2024"} {
		text := string(Template{To: "sandbox", Meaning: meaning, Job: &TemplateJob{Name: "2024", Source: source, Private: true,
			Settings: []Setting{{"unsupported", "skip"}, {"delete", "trash"}, {"grace_period", "2d"}}}}.Encode())
		for _, text := range []string{text, commentedOut.ReplaceAllString(text, "$1$2")} {
			s := mustLoad(t, text, map[string][]string{"job": {"2024"}}, nil)
			if s.Unsupported != "skip" || s.Delete != "trash" || s.GracePeriod != 48*time.Hour || s.Mapping == nil || s.DefaultJob() != "2024" || !strings.HasSuffix(s.Source, strings.TrimLeft(source, "./~")) {
				t.Errorf("%s: got %q, unsupported %s, default job %q", source, s.Source, s.Unsupported, s.DefaultJob())
			}
		}
	}
}
