package config

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
)

const twoDestinations = `
workspace: file-workspace
destinations:
  prod:
    url: https://prod.example.com/
    environment: prod-env
    access_key_env: PROD_KEY
    workspace: prod-workspace
  bare:
    url: https://bare.example.com
`

// credentials returns the variables in the environment of the tests.
func credentials() map[string]string {
	return map[string]string{
		"ASSETFERRY_ENVIRONMENT_ID": "my-env", "ASSETFERRY_ACCESS_KEY": "my-key", "PROD_KEY": "prod-key",
	}
}

func with(variables map[string]string, pairs ...string) map[string]string {
	for i := 0; i < len(pairs); i += 2 {
		variables[pairs[i]] = pairs[i+1]
	}
	return variables
}

func TestDestination(t *testing.T) {
	to := func(to string, more ...string) map[string][]string {
		flags := map[string][]string{"to": {to}}
		for i := 0; i < len(more); i += 2 {
			flags[more[i]] = []string{more[i+1]}
		}
		return flags
	}
	tests := []struct {
		name      string
		yaml      string
		flags     map[string][]string
		variables map[string]string
		want      string // name, URL, environment, key, workspace, service, user; or the error
	}{
		{"nothing", "", nil, nil, "no destination is configured"},
		{"nothing but a file", twoDestinations, nil, credentials(), "no destination is configured"},
		{"sandbox", "", to("sandbox"), nil, "sandbox     ckbox assetferry"},
		{"sandbox takes nothing from the environment", "workspace: w\nservice: s\n", to("sandbox"), with(credentials(), "ASSETFERRY_WORKSPACE_ID", "w", "ASSETFERRY_USER_ID", "u"), "sandbox     ckbox assetferry"},
		{"sandbox takes switches", "", to("sandbox", "workspace", "w", "user", "u"), nil, "sandbox    w ckbox u"},
		{"sandbox from the environment", "", nil, map[string]string{"ASSETFERRY_URL": "sandbox"}, "sandbox     ckbox assetferry"},
		{"URL", "", to("https://example.com/"), credentials(), " https://example.com my-env my-key  ckbox assetferry"},
		{"URL from the environment", "", nil, with(credentials(), "ASSETFERRY_URL", "https://example.com"), " https://example.com my-env my-key  ckbox assetferry"},
		{"URL without credentials", "", to("https://example.com"), nil, "the URL has no credentials: ASSETFERRY_ENVIRONMENT_ID and ASSETFERRY_ACCESS_KEY not set"},
		{"URL without an environment", "", to("https://example.com"), map[string]string{"ASSETFERRY_ACCESS_KEY": "k"}, "the URL has no credentials: ASSETFERRY_ENVIRONMENT_ID not set"},
		{"token command", "", to("https://example.com"), map[string]string{"ASSETFERRY_ENVIRONMENT_ID": "e", "ASSETFERRY_TOKEN_COMMAND": "sign it"}, " https://example.com e command:sign it  ckbox assetferry"},
		{"named on the command line beats the environment", twoDestinations, to("prod"), with(credentials(), "ASSETFERRY_WORKSPACE_ID", "w"), "prod https://prod.example.com prod-env prod-key prod-workspace ckbox assetferry"},
		{"a switch beats it all the same", twoDestinations, to("prod", "workspace", "flag"), credentials(), "prod https://prod.example.com prod-env prod-key flag ckbox assetferry"},
		{"named in the file does not", "to: prod" + twoDestinations, nil, with(credentials(), "ASSETFERRY_WORKSPACE_ID", "w"), "prod https://prod.example.com my-env my-key w ckbox assetferry"},
		{"named in the environment does not", twoDestinations, nil, with(credentials(), "ASSETFERRY_URL", "prod", "ASSETFERRY_WORKSPACE_ID", "w"), "prod https://prod.example.com my-env my-key w ckbox assetferry"},
		{"the destination beats the rest of the file", "to: prod" + twoDestinations, nil, map[string]string{"PROD_KEY": "prod-key"}, "prod https://prod.example.com prod-env prod-key prod-workspace ckbox assetferry"},
		{"gaps are filled", twoDestinations, to("bare"), credentials(), "bare https://bare.example.com my-env my-key file-workspace ckbox assetferry"},
		{"gaps that are not", twoDestinations, to("bare"), nil, "assetferry.yaml:9:3: destination \"bare\" has no credentials: ASSETFERRY_ENVIRONMENT_ID and ASSETFERRY_ACCESS_KEY not set"},
		{"the key of another environment", "to: prod" + twoDestinations, nil, map[string]string{"ASSETFERRY_ENVIRONMENT_ID": "my-env", "PROD_KEY": "k"}, "the environment ID comes from ASSETFERRY_ENVIRONMENT_ID, but the credentials come from destination \"prod\", which needs an environment ID of its own"},
		{"unknown name", twoDestinations, to("pord"), nil, "there is no destination \"pord\"; did you mean \"prod\"?"},
		{"password in a URL", "", to("https://me:hunter2@example.com"), nil, "destination: the URL contains a user name or a password; credentials come from variables, a file or a command"},
		{"password in half a URL", "", to("me:hunter2@example.com"), nil, "destination: the URL does not begin with https:// or http://"},
		{"password in a broken URL", "", to("https://me:hunter2@exa mple.com"), nil, "destination: the URL is not valid"},
		{"no scheme", "", to("localhost:8080"), nil, "destination: the URL does not begin with https:// or http://"},
		{"plain HTTP", "", to("http://example.com"), nil, "destination: plain HTTP to example.com exposes the credentials on the network; use https:// or --allow-http"},
		{"plain HTTP at home", "", to("http://[::1]:8080"), credentials(), " http://[::1]:8080 my-env my-key  ckbox assetferry"},
		{"plain HTTP allowed", "", to("http://example.com", "allow-http", "true"), credentials(), " http://example.com my-env my-key  ckbox assetferry"},
		{"two keys", "", to("https://example.com"), with(credentials(), "ASSETFERRY_ACCESS_KEY_FILE", "f"), "ASSETFERRY_ACCESS_KEY and ASSETFERRY_ACCESS_KEY_FILE are both set"},
		{"two environments", "", to("https://example.com"), with(credentials(), "ASSETFERRY_ENVIRONMENT_ID_COMMAND", "c"), "ASSETFERRY_ENVIRONMENT_ID and ASSETFERRY_ENVIRONMENT_ID_COMMAND are both set"},
		{"key and token command", "", to("https://example.com"), with(credentials(), "ASSETFERRY_TOKEN_COMMAND", "c"), "ASSETFERRY_ACCESS_KEY and ASSETFERRY_TOKEN_COMMAND are both set"},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			d, err := mustLoad(t, test.yaml, test.flags, test.variables).Destination()
			got := ""
			if err != nil {
				got, _, _ = strings.Cut(usage(t, err), "\n")
			} else {
				key := resolve(t, d.AccessKey)
				if d.TokenCommand != "" {
					key = "command:" + d.TokenCommand
				}
				got = strings.Join([]string{d.Name, d.URL, resolve(t, d.Environment), key, d.Workspace, d.Service, d.User}, " ")
			}
			if got != test.want {
				t.Errorf("got  %s\nwant %s", got, test.want)
			}
			if strings.Contains(fmt.Sprintf("%v %+v %#v", d, d, err), "-key") {
				t.Errorf("the key shows in %+v", d)
			}
		})
	}
}

func resolve(t *testing.T, r Reference) string {
	t.Helper()
	if r.IsZero() {
		return ""
	}
	secret, err := r.Resolve(t.Context(), func(w string) { t.Errorf("warning: %s", w) })
	if err != nil {
		t.Fatal(err)
	}
	return secret.Reveal()
}

func TestHints(t *testing.T) {
	for _, test := range []struct{ yaml, to, want string }{
		{"", "", "use --to sandbox for a test, or --to with a URL, or add a destination to assetferry.yaml"},
		{twoDestinations, "", "use --to sandbox for a test, or --to with a URL, or one of bare, prod"},
		{twoDestinations, "x", "use --to sandbox, a URL that begins with https://, or one of bare, prod"},
		{"", "https://example.com", "set ASSETFERRY_ENVIRONMENT_ID and ASSETFERRY_ACCESS_KEY, or --to sandbox to try it out"},
	} {
		_, err := mustLoad(t, test.yaml, map[string][]string{"to": {test.to}}, nil).Destination()
		if _, hint, _ := strings.Cut(usage(t, err), "\nTry: "); hint != test.want {
			t.Errorf("--to %q: got hint %q, want %q", test.to, hint, test.want)
		}
	}
}

func TestReferenceToAFile(t *testing.T) {
	path := filepath.Join(t.TempDir(), "key")
	warnings := func(r Reference) (value string, warned []string, err error) {
		secret, err := r.Resolve(t.Context(), func(w string) { warned = append(warned, w) })
		return secret.Reveal(), warned, err
	}
	r := Reference{Origin: "ASSETFERRY_ACCESS_KEY_FILE", file: path}

	if _, _, err := warnings(r); err == nil || !strings.HasPrefix(usage(t, err), "ASSETFERRY_ACCESS_KEY_FILE: ") {
		t.Errorf("got %v for a file that is not there", err)
	}
	for content, want := range map[string]string{"k": "k", "k\n": "k", "k\r\n": "k", "k\n\n": "k\n", " k ": " k "} {
		write(t, path, content)
		if got, warned, err := warnings(r); got != want || len(warned) > 0 || err != nil {
			t.Errorf("%q: got %q, %v, %v, want %q", content, got, warned, err, want)
		}
	}
	write(t, path, "\n")
	if _, _, err := warnings(r); err == nil || usage(t, err) != "ASSETFERRY_ACCESS_KEY_FILE: "+path+" is empty or not set" {
		t.Errorf("got %v for an empty file", err)
	}
	if runtime.GOOS == "windows" {
		return // its files have no such mode
	}
	write(t, path, "k")
	if err := os.Chmod(path, 0o640); err != nil {
		t.Fatal(err)
	}
	got, warned, err := warnings(r)
	if got != "k" || err != nil {
		t.Errorf("got %q, %v", got, err)
	}
	diff(t, warned, []string{path + " can be read by others; chmod 600 keeps it private"})
	if _, err := r.Resolve(t.Context(), nil); err != nil {
		t.Errorf("without anybody to warn: %v", err)
	}
}

func TestReferenceToAVariable(t *testing.T) {
	r := Reference{Origin: `destination "prod"`, variable: "PROD_KEY", env: environment(nil)}
	_, err := r.Resolve(t.Context(), nil)
	if got, want := usage(t, err), `destination "prod": PROD_KEY is empty or not set`; got != want {
		t.Errorf("got %s, want %s", got, want)
	}
}

func TestReferenceToACommand(t *testing.T) {
	if _, err := exec.LookPath("printf"); err != nil {
		t.Skip("no printf here")
	}
	secret, err := Reference{Origin: "o", command: `printf '%s\n' my-key`}.Resolve(t.Context(), nil)
	if err != nil || secret.Reveal() != "my-key" {
		t.Errorf("got %q, %v", secret.Reveal(), err)
	}
	for _, command := range []string{"false", "no-such-program-anywhere --secret hunter2", "printf ''", "printf 'a"} {
		secret, err := Reference{Origin: "o", command: command}.Resolve(t.Context(), nil)
		if err == nil || !strings.HasPrefix(err.Error(), "o: ") || strings.Contains(err.Error(), "hunter2") || !secret.IsEmpty() {
			t.Errorf("%s: got %q, %v", command, secret.Reveal(), err)
		}
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := (Reference{Origin: "o", command: "printf x"}).Resolve(ctx, nil); err == nil {
		t.Error("a cancelled context does not stop it")
	}
}
