package config

import (
	"path/filepath"
	"strings"
	"testing"
)

func TestFolders(t *testing.T) {
	if filepath.Separator != '/' {
		t.Skip("the expectations are written with slashes")
	}
	tests := []struct {
		goos      string
		variables map[string]string
		want      string
	}{
		{"linux", map[string]string{"XDG_STATE_HOME": "/x", "HOME": "/home/me"}, "/x/assetferry"},
		{"linux", map[string]string{"HOME": "/home/me"}, "/home/me/.local/state/assetferry"},
		{"linux", map[string]string{"XDG_STATE_HOME": "relative", "HOME": "/home/me"}, "/home/me/.local/state/assetferry"},
		{"darwin", map[string]string{"HOME": "/Users/me"}, "/Users/me/.local/state/assetferry"},
		{"windows", map[string]string{"LocalAppData": "/l", "HOME": "/h"}, "/l/assetferry"},
	}
	for _, test := range tests {
		got, err := folder(test.goos, environment(test.variables), "XDG_STATE_HOME", ".local/state")
		if err != nil || got != test.want {
			t.Errorf("%s %v: got %q, %v, want %q", test.goos, test.variables, got, err, test.want)
		}
	}
	_, err := DefaultState(environment(nil), "e", "w")
	if got, want := usage(t, err), "no folder for the files of assetferry: XDG_STATE_HOME and HOME are not set\nTry: set XDG_STATE_HOME to a folder"; got != want {
		t.Errorf("got %s, want %s", got, want)
	}
	dir, err := SandboxDir(environment(map[string]string{"XDG_DATA_HOME": "/d"}))
	if err != nil || dir != "/d/assetferry/sandbox" {
		t.Errorf("got %q, %v", dir, err)
	}
}

func TestDefaultState(t *testing.T) {
	env := environment(map[string]string{"XDG_STATE_HOME": t.TempDir()})
	name := func(environment, workspace string) string {
		path, err := DefaultState(env, environment, workspace)
		if err != nil {
			t.Fatal(err)
		}
		return filepath.Base(path)
	}
	for _, test := range []struct{ environment, workspace, want string }{
		{"env1", "w1", "env1-w1.db"},
		{"env1", "", "env1-default.db"},
		{"../../etc", "w", "______etc_"},
		{"a/b", "w", "a_b_"},
		{"a:b", "w", "a_b_"},
		{strings.Repeat("x", 300), "w", strings.Repeat("x", 64) + "_"},
	} {
		got := name(test.environment, test.workspace)
		if !strings.HasPrefix(got, test.want) || len(got) > 160 || strings.ContainsAny(got, `/\:`) {
			t.Errorf("%q, %q: got %q, want %q", test.environment, test.workspace, got, test.want)
		}
	}
	if a, b := name("a/b", "w"), name("a:b", "w"); a == b {
		t.Errorf("two environments share %s", a)
	}
}
