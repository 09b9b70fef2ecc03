package sandbox_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"testing"

	"assetferry/internal/sandbox/tokens"
)

func TestCredentials(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "new")
	all := make([]tokens.Credentials, 8)
	var wg sync.WaitGroup
	for i := range all {
		wg.Go(func() {
			var err error
			if all[i], err = tokens.LoadOrCreateCredentials(dir); err != nil {
				t.Error(err)
			}
		})
	}
	wg.Wait()
	for _, c := range all {
		if c != all[0] {
			t.Fatal("several processes got different credentials")
		}
	}
	if len(all[0].EnvironmentID) != 20 || len(all[0].AccessKey) < 40 {
		t.Errorf("lengths %d and %d", len(all[0].EnvironmentID), len(all[0].AccessKey))
	}
	entries, err := os.ReadDir(dir)
	if err != nil || len(entries) != 1 {
		t.Errorf("left in the directory: %v, %v", entries, err)
	}
	info, err := os.Stat(filepath.Join(dir, "credentials.env"))
	if err != nil {
		t.Fatal(err)
	}
	if runtime.GOOS != "windows" && info.Mode().Perm() != 0o600 {
		t.Errorf("mode %v", info.Mode())
	}
}

func TestDamagedCredentials(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, "credentials.env")
	if err := os.WriteFile(path, []byte("ASSETFERRY_ACCESS_KEY=secret\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	_, err := tokens.LoadOrCreateCredentials(dir)
	if err == nil || !strings.Contains(err.Error(), path) || strings.Contains(err.Error(), "secret") {
		t.Errorf("error %v", err)
	}
}

func TestAccessKeyDoesNotShow(t *testing.T) {
	e := tokens.Environment{ID: "e", AccessKey: "very-secret"}
	c := tokens.Credentials{EnvironmentID: "e", AccessKey: "very-secret"}
	var b bytes.Buffer
	for _, verb := range []string{"%v", "%+v", "%#v", "%s", "%q", "%x", "%d", "%T"} {
		fmt.Fprintf(&b, strings.Repeat(verb+"\n", 3), e, c, c.AccessKey)
	}
	fmt.Fprintln(&b, c.AccessKey.String(), c.AccessKey.GoString())
	for _, h := range []slog.Handler{slog.NewTextHandler(&b, nil), slog.NewJSONHandler(&b, nil)} {
		slog.New(h).Info("x", "environment", e, "credentials", c, "key", c.AccessKey)
	}
	if err := json.NewEncoder(&b).Encode([]any{e, c, c.AccessKey, map[tokens.AccessKey]int{}}); err != nil {
		t.Fatal(err)
	}
	for _, secret := range []string{"very-secret", fmt.Sprintf("%x", "very-secret")} {
		if strings.Contains(b.String(), secret) {
			t.Errorf("the key shows:\n%s", b.String())
		}
	}
}

func TestCredentialsAsPeopleWriteThem(t *testing.T) {
	for _, text := range []string{
		"ASSETFERRY_ENVIRONMENT_ID=env\nASSETFERRY_ACCESS_KEY=key\n",
		"export ASSETFERRY_ENVIRONMENT_ID='env'\nexport ASSETFERRY_ACCESS_KEY=\"key\"\n",
		"# mine\nASSETFERRY_ACCESS_KEY='key'\r\nASSETFERRY_ENVIRONMENT_ID=env",
	} {
		dir := t.TempDir()
		if err := os.WriteFile(filepath.Join(dir, "credentials.env"), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		c, err := tokens.LoadOrCreateCredentials(dir)
		if err != nil || c != (tokens.Credentials{EnvironmentID: "env", AccessKey: "key"}) {
			t.Errorf("%q: got %q and %q (%v)", text, c.EnvironmentID, string(c.AccessKey), err)
		}
	}
}
