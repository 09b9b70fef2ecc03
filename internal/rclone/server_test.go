package rclone

import (
	"context"
	"errors"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
	"time"

	"assetferry/internal/rclone/rclonetest"
)

// versions are one that listens on a socket, and one that listens on a port.
var versions = []Version{{Major: 1, Minor: 75}, {Major: 1, Minor: 60, Patch: 1, Suffix: "-DEV"}}

// environment returns an environment with folders of its own.
func environment(t *testing.T, more ...string) []string {
	t.Helper()
	dir, err := os.MkdirTemp("", "af") // the path of t.TempDir may be too long for a socket
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.RemoveAll(dir) })
	return append(os.Environ(), append([]string{"XDG_RUNTIME_DIR=" + dir, "TMPDIR=" + dir, "HOME=" + dir, "RCLONE_CONFIG=" + filepath.Join(dir, "rclone.conf")}, more...)...)
}

func start(t *testing.T, v Version, environ []string) *Server {
	t.Helper()
	s, err := Start(t.Context(), Program{executable(t), v}, Options{Environ: environ})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = s.Close() })
	return s
}

func forEachVersion(t *testing.T, test func(*testing.T, Version)) {
	for _, v := range versions {
		t.Run(v.String(), func(t *testing.T) { test(t, v) })
	}
}

func TestServer(t *testing.T) {
	forEachVersion(t, func(t *testing.T, v Version) {
		dir := t.TempDir()
		if err := os.WriteFile(filepath.Join(dir, "a b?.txt"), []byte("0123456789"), 0o600); err != nil {
			t.Fatal(err)
		}
		environ := environment(t)
		if err := os.WriteFile(valueOf(environ, "RCLONE_CONFIG"), []byte("[photos]\ntype = test\nroot = "+dir+"\n"), 0o600); err != nil {
			t.Fatal(err)
		}
		s := start(t, v, environ)
		if names, err := s.Remotes(t.Context()); err != nil || len(names) != 1 || names[0] != "photos" {
			t.Errorf("remotes: %v, %v", names, err)
		}
		if info, err := s.Info(t.Context(), "photos:"); err != nil || !info.Features["SlowHash"] || !info.HasTimes() {
			t.Errorf("info: %+v, %v", info, err)
		}
		res, err := s.Get(t.Context(), "photos:", "a b?.txt", http.Header{"Range": {"bytes=4-"}})
		if err != nil {
			t.Fatal(err)
		}
		defer res.Body.Close()
		if got, err := io.ReadAll(res.Body); err != nil || string(got) != "456789" || res.StatusCode != http.StatusPartialContent {
			t.Errorf("read %q, %v, %s", got, err, res.Status)
		}
		if _, err := s.Info(t.Context(), "other:"); !errors.Is(err, ErrUnknownRemote) {
			t.Errorf("unknown remote: %v", err)
		}
		if _, err := s.Memory(t.Context()); err != nil {
			t.Error(err)
		}
	})
}

// TestOnlyWeAreServed verifies that another user gets no answer: the port needs the password, and
// only this account can open the folder of the socket.
func TestOnlyWeAreServed(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("folders have no modes there, and all versions use the port")
	}
	port := start(t, versions[1], environment(t))
	res, err := http.Post(port.process.base+"config/listremotes", "application/json", strings.NewReader("{}"))
	if err != nil {
		t.Fatal(err)
	}
	_ = res.Body.Close()
	if res.StatusCode != http.StatusUnauthorized {
		t.Errorf("without a password: %s", res.Status)
	}
	http.DefaultClient.CloseIdleConnections()
	socket := start(t, versions[0], environment(t))
	if info, err := os.Stat(socket.process.folder.path); err != nil || info.Mode().Perm() != 0o700 {
		t.Errorf("folder of the socket: %v, %v", info.Mode(), err)
	}
	for _, s := range []*Server{port, socket} {
		if args := strings.Join(s.process.cmd.Args, " "); s.process.pass != "" && strings.Contains(args, s.process.pass) {
			t.Errorf("the password is an argument: %s", args)
		}
	}
}

func TestCloseRemovesTheFolder(t *testing.T) {
	environ := environment(t)
	s := start(t, versions[0], environ)
	if err := s.Close(); err != nil {
		t.Error(err)
	}
	left, err := os.ReadDir(valueOf(environ, "XDG_RUNTIME_DIR"))
	if err != nil || len(left) > 0 {
		t.Errorf("left: %v, %v", left, err)
	}
	if _, err := s.Remotes(t.Context()); !errors.Is(err, ErrClosed) {
		t.Errorf("after Close: %v", err)
	}
}

func TestStartFails(t *testing.T) {
	environ := environment(t, rclonetest.FailVariable+"=no such network, access_token=abcdefghijklmnop")
	_, err := Start(t.Context(), Program{executable(t), versions[0]}, Options{Environ: environ})
	e, ok := errors.AsType[*StartError](err)
	if !ok || !strings.Contains(e.Log, "no such network") || strings.Contains(err.Error(), "abcdefgh") || e.Hint() == "" {
		t.Errorf("start: %v", err)
	}
}

func TestConfiguration(t *testing.T) {
	for _, test := range []struct {
		content, password string
		want              error
	}{
		{"[a]\n", "", nil},
		{"RCLONE_ENCRYPT_V0:secret\n[a]\n", "", ErrEncrypted},
		{"RCLONE_ENCRYPT_V0:secret\n[a]\n", "wrong", ErrWrongPassword},
		{"RCLONE_ENCRYPT_V0:secret\n[a]\n", "secret", nil},
	} {
		environ := environment(t, "RCLONE_CONFIG_PASS="+test.password)
		if err := os.WriteFile(valueOf(environ, "RCLONE_CONFIG"), []byte(test.content), 0o600); err != nil {
			t.Fatal(err)
		}
		s, err := Start(t.Context(), Program{executable(t), versions[0]}, Options{Environ: environ})
		if s != nil {
			_ = s.Close()
		}
		if !errors.Is(err, test.want) {
			t.Errorf("%q with %q: %v", test.content, test.password, err)
		}
		if e, ok := errors.AsType[*StartError](err); test.want != nil && (!ok || !strings.Contains(e.Hint(), "RCLONE_CONFIG_PASS")) {
			t.Errorf("%q with %q: no hint of %v", test.content, test.password, err)
		}
	}
}

func TestRestarts(t *testing.T) {
	forEachVersion(t, func(t *testing.T, v Version) {
		s := start(t, v, environment(t))
		for range maxRestarts + 1 {
			killed, err := s.running(t.Context())
			if err != nil {
				t.Fatal(err)
			}
			killed.kill()
			<-killed.done
		}
		for range 2 { // the error stays
			if _, err := s.Remotes(t.Context()); !errors.Is(err, ErrTooManyCrashes) || !strings.Contains(err.Error(), "4 times") {
				t.Errorf("after four crashes: %v", err)
			}
		}
	})
}

func TestInterruptedRequest(t *testing.T) {
	s := start(t, versions[0], environment(t))
	p := s.process
	p.kill()
	<-p.done
	req, err := http.NewRequestWithContext(t.Context(), http.MethodPost, p.base+"core/pid", nil)
	if err != nil {
		t.Fatal(err)
	}
	_, err = p.send(req)
	if _, ok := errors.AsType[*InterruptedError](err); !ok || strings.Contains(err.Error(), "core/pid") {
		t.Errorf("request to a dead rclone: %v", err)
	}
}

func TestCancelledStart(t *testing.T) {
	ctx, cancel := context.WithTimeout(t.Context(), time.Nanosecond)
	defer cancel()
	<-ctx.Done()
	if _, err := Start(ctx, Program{executable(t), versions[0]}, Options{Environ: environment(t)}); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("cancelled: %v", err)
	}
}

func TestObjectPath(t *testing.T) {
	for _, test := range [][3]string{
		{"drive:photos", "a/b c.jpg", "%5Bdrive:photos%5D/a/b%20c.jpg"},
		{"/srv/a]b/c", "d]#?%.jpg", "%5B%2Fsrv%2F%5D/a%5Db/c/d%5D%23%3F%25.jpg"},
		{"drive:a]b", "c", "%5Bdrive:%5D/a%5Db/c"},
		{"my disk,links=true:a/[b] c:d/e", "f", "%5Bmy%20disk%2Clinks=true:a%2F%5D/%5Bb%5D%20c:d/e/f"},
		{`:local,description="a:b/c":/srv/a]`, "b", "%5B:local%2Cdescription=%22a:b%2Fc%22:%2Fsrv%2F%5D/a%5D/b"},
	} {
		if got, err := objectPath(test[0], test[1]); err != nil || got != test[2] {
			t.Errorf("%v: %s, %v", test, got, err)
		}
	}
	for _, fs := range []string{":sftp,host='[::1]':x", "a]"} {
		if _, err := objectPath(fs, "a"); !errors.Is(err, errBracket) {
			t.Errorf("%s: %v", fs, err)
		}
	}
}
