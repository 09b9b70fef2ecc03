package config

import (
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestParseWorkspaceURL(t *testing.T) {
	for text, want := range map[string]WorkspaceURL{
		"prod": {"prod", ""}, "prod/": {"prod", ""}, "prod/w1": {"prod", "w1"}, "prod/w1/": {"prod", "w1"},
		"": {}, "/w1": {}, "user:secret@host": {}, "prod/w1/more": {}, "prod?key=secret": {}, "a b": {},
	} {
		got, err := ParseWorkspaceURL(text)
		if got != want || (err == nil) != (want.Name != "") {
			t.Errorf("%q gives %+v, %v", text, got, err)
		}
		if err != nil && strings.Contains(err.Error(), "secret") {
			t.Errorf("%v repeats what may be a secret", err)
		}
	}
}

// TestSourceWorkspace verifies that a source is opened only with its own credentials, and that
// settings of the destination have no effect on it.
func TestSourceWorkspace(t *testing.T) {
	own := map[string]string{"ASSETFERRY_SOURCE_URL": "https://old.example.com/", "ASSETFERRY_SOURCE_ACCESS_KEY": "old-key"}
	destination := with(credentials(), "ASSETFERRY_URL", "https://new.example.com", "ASSETFERRY_WORKSPACE_ID", "new-workspace")
	for _, tc := range []struct {
		name, yaml, url string
		variables       map[string]string
		want            string // name, URL, environment, key, workspace, service, user; or the error
	}{
		{"sandbox", "", "sandbox", destination, "sandbox     ckbox assetferry"},
		{"workspace of the sandbox", "", "sandbox/w", destination, "sandbox    w ckbox assetferry"},
		{"named", twoDestinations, "prod", destination, "prod https://prod.example.com prod-env prod-key prod-workspace ckbox assetferry"},
		{"workspace of a named one", twoDestinations, "prod/w", destination, "prod https://prod.example.com prod-env prod-key w ckbox assetferry"},
		{"environment", "", "old-env", own, "old-env https://old.example.com old-env old-key  ckbox assetferry"},
		{"workspace of an environment", "", "old-env/w", own, "old-env https://old.example.com old-env old-key w ckbox assetferry"},
		{"named without credentials", "destinations:\n  a:\n    url: https://a.example.com\n    environment: e\n", "a", own, "a https://a.example.com e old-key  ckbox assetferry"},
		{"not the key of the destination", "destinations:\n  a:\n    url: https://a.example.com\n    environment: e\n", "a", destination, `assetferry.yaml:2:3: destination "a" has no credentials to read it with: ASSETFERRY_SOURCE_ACCESS_KEY not set`},
		{"named without environment", twoDestinations, "bare", own, `destination "bare" has no environment ID`},
		{"unknown", twoDestinations, "prodd", destination, `there is no destination "prodd"; did you mean "prod"?`},
		{"two keys", "", "old-env", with(map[string]string{"ASSETFERRY_SOURCE_ACCESS_KEY_FILE": "f"}, "ASSETFERRY_SOURCE_ACCESS_KEY", "k"), "are both set"},
		{"key and command", "", "old-env", with(map[string]string{"ASSETFERRY_SOURCE_TOKEN_COMMAND": "f"}, "ASSETFERRY_SOURCE_ACCESS_KEY", "k"), "are both set"},
		{"plain HTTP", "", "old-env", with(map[string]string{"ASSETFERRY_SOURCE_URL": "http://old.example.com"}, "ASSETFERRY_SOURCE_ACCESS_KEY", "k"), "ASSETFERRY_SOURCE_URL: plain HTTP to old.example.com"},
		{"password", "", "old-env", with(map[string]string{"ASSETFERRY_SOURCE_URL": "https://me:secret@old.example.com"}, "ASSETFERRY_SOURCE_ACCESS_KEY", "k"), "ASSETFERRY_SOURCE_URL: the URL contains a user name"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			s := mustLoad(t, tc.yaml, nil, tc.variables)
			a, err := ParseWorkspaceURL(tc.url)
			if err != nil {
				t.Fatal(err)
			}
			d, err := s.SourceWorkspace(a)
			if err != nil {
				if !strings.Contains(err.Error(), tc.want) || strings.Contains(err.Error(), "secret") {
					t.Errorf("got %v, want %s", err, tc.want)
				}
				return
			}
			got := fmt.Sprint(d.Name, " ", d.URL, " ", resolved(t, d.Environment), " ", resolved(t, d.AccessKey), " ", d.Workspace, " ", d.Service, " ", d.User)
			if got != tc.want {
				t.Errorf("got %s, want %s", got, tc.want)
			}
		})
	}
}

func resolved(t *testing.T, r Reference) string {
	t.Helper()
	if r.IsZero() {
		return ""
	}
	secret, err := r.Resolve(t.Context(), nil)
	if err != nil {
		t.Fatal(err)
	}
	return secret.Reveal()
}

func TestInheritSource(t *testing.T) {
	s := mustLoad(t, twoDestinations, nil, map[string]string{"ASSETFERRY_SOURCE_URL": "https://old.example.com", "ASSETFERRY_SOURCE_ACCESS_KEY_COMMAND": "pass show old", "PROD_KEY": "k"})
	for url, want := range map[string]Inheritance{
		"prod":    {Variables: []Variable{{Name: "PROD_KEY", Secret: true}}},
		"old-env": {Variables: []Variable{{Name: "ASSETFERRY_SOURCE_ACCESS_KEY_COMMAND", Secret: true}, {Name: "ASSETFERRY_SOURCE_URL", Value: "https://old.example.com"}}, Helper: true},
		"sandbox": {},
	} {
		d, err := s.SourceWorkspace(WorkspaceURL{Name: url})
		if err != nil {
			t.Fatal(err)
		}
		got, err := s.InheritSource(Inheritance{}, d)
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("%s: -want +got:\n%s", url, diff)
		}
	}
}
