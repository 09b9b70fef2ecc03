//go:build rclone

package rclone

import (
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"assetferry/internal/rclone"
	"assetferry/internal/test/processtest"
	"assetferry/sources"
	remotes "assetferry/sources/rclone"
)

// listRemote lists a remote as the program does, and returns its keys.
func listRemote(t *testing.T, p rclone.Program, config, name string, extra ...string) (keys string, err error) {
	t.Helper()
	server := startServer(t, p, config, extra...)
	r, err := rclone.ParseRemote(name)
	must(t, err)
	behind, err := server.Behind(t.Context(), r)
	must(t, err)
	s, err := remotes.New(t.Context(), server, name, remotes.Options{Upstreams: behind.Upstreams, Encrypted: behind.Encrypted, Names: behind.Names})
	if err != nil {
		return "", err
	}
	for o, err := range s.Objects(t.Context(), "") {
		if err != nil {
			return keys, err
		}
		keys += string(o.Key) + " " + string(o.Obstacle) + "\n"
	}
	return keys, nil
}

// folderOf makes a folder with a file of one byte for each name.
func folderOf(t *testing.T, names ...string) string {
	t.Helper()
	dir := t.TempDir()
	for _, name := range names {
		must(t, errors.Join(os.MkdirAll(filepath.Dir(filepath.Join(dir, name)), 0o700), os.WriteFile(filepath.Join(dir, name), []byte("x"), 0o600)))
	}
	return dir
}

// TestUnions lists unions with a part that does not answer or is missing: rclone itself lists the rest,
// without an error.
func TestUnions(t *testing.T) {
	forEach(t, func(t *testing.T, p rclone.Program, _ []string) {
		one, other := folderOf(t, "a.jpg"), folderOf(t, "b.jpg", "c/d.jpg")
		config := "[dead]\ntype = webdav\nurl = http://127.0.0.1:" + processtest.FreePort(t) + "/\n[pool]\ntype = union\nupstreams = " + one + " "
		for upstream, want := range map[string]string{other: "", "dead:": "dead:, which is a part of the union", filepath.Join(other, "missing"): "which is a part of the union: directory not found"} {
			keys, err := listRemote(t, p, config+upstream+"\n", "pool:", "RCLONE_LOW_LEVEL_RETRIES=1")
			if want == "" && (err != nil || keys != "a.jpg \nb.jpg \nc/d.jpg \n") || want != "" && (err == nil || !strings.Contains(err.Error(), want)) {
				t.Errorf("%s: %q, %v", upstream, keys, err)
			}
		}
	})
}

// cryptConfig returns the configuration of an encrypted remote.
func cryptConfig(t *testing.T, p rclone.Program, dir, password string) string {
	t.Helper()
	obscured, err := exec.Command(p.Path, "obscure", password).Output()
	must(t, err)
	return "[crypt]\ntype = crypt\nremote = " + dir + "\npassword = " + strings.TrimSpace(string(obscured)) + "\n"
}

// TestWrongCryptPassword lists an encrypted remote with a wrong password, and one in which only some names
// can be decrypted.
func TestWrongCryptPassword(t *testing.T) {
	forEach(t, func(t *testing.T, p rclone.Program, _ []string) {
		plain, secret := folderOf(t, "a.jpg", "c/d.jpg"), t.TempDir()
		config := func(password string) string { return cryptConfig(t, p, secret, password) }
		must(t, command(p, "copy", plain, "crypt:", "--config", configFile(t, config("right"))).Run())
		if keys, err := listRemote(t, p, config("right"), "crypt:"); err != nil || keys != "a.jpg \nc/d.jpg \n" {
			t.Errorf("%q, %v", keys, err)
		}
		if keys, err := listRemote(t, p, config("wrong"), "crypt:"); err == nil || keys != "" || !strings.Contains(err.Error(), "decrypt") {
			t.Errorf("wrong password: %q, %v", keys, err)
		}
		must(t, os.WriteFile(filepath.Join(secret, "foreign.txt"), nil, 0o600))
		keys, err := listRemote(t, p, config("right"), "crypt:")
		if omits := p.Version.Before(rclone.Version{Major: 1, Minor: 70}); omits && keys != "a.jpg \nc/d.jpg \n" || !omits && !errors.Is(err, rclone.ErrUndecryptable) {
			t.Errorf("a foreign file: %q, %v", keys, err)
		}
		if err != nil {
			if e, ok := errors.AsType[*sources.Error](err); !ok || !strings.Contains(e.Hint, "RCLONE_CRYPT_STRICT_NAMES=false") {
				t.Errorf("the hint of %v", err)
			}
			if keys, err := listRemote(t, p, config("right"), "crypt:", "RCLONE_CRYPT_STRICT_NAMES=false"); err != nil || keys != "a.jpg \nc/d.jpg \n" {
				t.Errorf("without strict names: %q, %v", keys, err)
			}
		}
	})
}

// TestWrongContentPassword reads an object of an encrypted remote with plain names and a wrong password.
func TestWrongContentPassword(t *testing.T) {
	forEach(t, func(t *testing.T, p rclone.Program, _ []string) {
		plain, secret := folderOf(t, "a b.jpg"), t.TempDir()
		config := func(password string) string {
			return cryptConfig(t, p, secret, password) + "filename_encryption = off\n"
		}
		must(t, command(p, "copy", plain, "crypt:", "--config", configFile(t, config("right"))).Run())
		s, err := remotes.New(t.Context(), startServer(t, p, config("wrong")), "crypt:", remotes.Options{})
		must(t, err)
		for o, err := range s.Objects(t.Context(), "") {
			must(t, err)
			_, err := readAll(t, s, o)
			want := "bad password?"
			if p.Version.Before(rclone.Version{Major: 1, Minor: 61}) {
				want = "rclone did not send everything: unexpected EOF" // it knows no more
			}
			if err == nil || !strings.Contains(err.Error(), want) || strings.Contains(err.Error(), "rclone ended") {
				t.Errorf("%v", err)
			}
		}
	})
}

// TestBrokenWebServer lists a web server that returns an error for one of its objects: rclone itself omits
// it, without an error.
func TestBrokenWebServer(t *testing.T) {
	forEach(t, func(t *testing.T, p rclone.Program, _ []string) {
		server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			const files = `<a href="a.jpg">a</a><a href="b.jpg">b</a>`
			switch r.URL.Path {
			case "/":
				w.Header().Set("Content-Type", "text/html")
				_, _ = io.WriteString(w, files+`<a href="c/">c</a>`)
			case "/c/":
				w.Header().Set("Content-Type", "text/html")
				_, _ = io.WriteString(w, files)
			case "/b.jpg", "/c/b.jpg":
				http.Error(w, "broken", http.StatusNotImplemented)
			default:
				_, _ = io.WriteString(w, "x")
			}
		}))
		defer server.Close()
		const broken = "b.jpg cannot be read: the server returns an error for it\n"
		keys, err := listRemote(t, p, "[web]\ntype = http\nurl = "+server.URL+"/\n", "web:")
		if err != nil || keys != "a.jpg \n"+broken+"c/a.jpg \nc/"+broken {
			t.Errorf("%q, %v", keys, err)
		}
	})
}
