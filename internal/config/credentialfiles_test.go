package config

import (
	"os"
	"path/filepath"
	"runtime"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// TestCredentialFiles lists the secrets that can be files, under the variables that name
// them, and none for a destination that a flag names: no variable beats that.
func TestCredentialFiles(t *testing.T) {
	const file = "to: prod\ndestinations:\n" +
		"  prod: {url: https://prod.example.com, environment: e1, access_key_env: PROD_KEY}\n" +
		"  held: {url: https://held.example.com, environment: e1, access_key_file: held.key}\n"
	for name, tc := range map[string]struct {
		flags, variables map[string]string
		want             []CredentialFile
	}{
		"a variable of the file": {nil, map[string]string{"PROD_KEY": "k"}, []CredentialFile{{"access_key", "PROD_KEY", "", "ASSETFERRY_ACCESS_KEY_FILE"}}},
		"a file":                 {nil, map[string]string{"ASSETFERRY_URL": "held"}, []CredentialFile{{"access_key", "", "held.key", "ASSETFERRY_ACCESS_KEY_FILE"}}},
		"named by a flag":        {map[string]string{"to": "held"}, nil, nil},
		"a URL": {map[string]string{"to": "https://x.example.com"}, map[string]string{"ASSETFERRY_ENVIRONMENT_ID": "e", "ASSETFERRY_ACCESS_KEY": "k"},
			[]CredentialFile{{"access_key", "ASSETFERRY_ACCESS_KEY", "", "ASSETFERRY_ACCESS_KEY_FILE"}}},
		"all of them": {nil, map[string]string{"PROD_KEY": "k", "ASSETFERRY_SOURCE_HEADERS": "Cookie: a=b", "ASSETFERRY_WORDPRESS_USER": "jo", "ASSETFERRY_WORDPRESS_PASSWORD": "geheim", "ASSETFERRY_NOTIFY": "https://hooks.example.com/x"},
			[]CredentialFile{{"access_key", "PROD_KEY", "", "ASSETFERRY_ACCESS_KEY_FILE"}, {"source_headers", "ASSETFERRY_SOURCE_HEADERS", "", "ASSETFERRY_SOURCE_HEADERS_FILE"},
				{"wordpress_password", "ASSETFERRY_WORDPRESS_PASSWORD", "", "ASSETFERRY_WORDPRESS_PASSWORD_FILE"},
				{"notify", "ASSETFERRY_NOTIFY", "", "ASSETFERRY_NOTIFY_FILE"}}},
	} {
		t.Run(name, func(t *testing.T) {
			flags := map[string][]string{}
			for k, v := range tc.flags {
				flags[k] = []string{v}
			}
			s := mustLoad(t, file, flags, tc.variables)
			d, err := s.Destination()
			if err != nil {
				t.Fatal(err)
			}
			got, err := s.CredentialFiles(d)
			for i, c := range got {
				if c.File != "" && !filepath.IsAbs(c.File) {
					t.Errorf("%s is no absolute path", c.File)
				} else if c.File != "" {
					got[i].File = filepath.Base(c.File)
				}
			}
			if diff := cmp.Diff(tc.want, got); diff != "" && len(tc.want)+len(got) > 0 || err != nil {
				t.Errorf("%v, -want +got:\n%s", err, diff)
			}
		})
	}
}

// TestCredentialOfSystemd warns of a key that others can read, and not of one that systemd
// passed.
func TestCredentialOfSystemd(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("the mode says nothing")
	}
	path := filepath.Join(t.TempDir(), "access_key")
	if err := os.WriteFile(path, []byte("k"), 0o440); err != nil {
		t.Fatal(err)
	}
	for folder, want := range map[string]int{"": 1, filepath.Dir(path): 0, "/elsewhere": 1} {
		t.Setenv("CREDENTIALS_DIRECTORY", folder)
		warned := 0
		if _, err := readSecret(path, func(string) { warned++ }); err != nil || warned != want {
			t.Errorf("in %q: %d warnings (%v)", folder, warned, err)
		}
	}
}
