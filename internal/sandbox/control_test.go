package sandbox_test

import (
	"context"
	"errors"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"assetferry/internal/sandbox"
	"assetferry/internal/sandbox/sandboxtest"
	"assetferry/internal/sandbox/tokens"
)

func TestControl(t *testing.T) {
	env := sandboxtest.Environment()
	ctx, stopped := context.WithCancel(t.Context())
	defer stopped()
	options := sandbox.Options{
		Dir: t.TempDir(), Environments: []tokens.Environment{env}, Library: true, Latency: time.Hour,
		Stop: stopped, AI: func() string { return "http://127.0.0.1:1" },
	}
	s, err := sandbox.New(options)
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	served := make(chan error, 1)
	go func() { served <- errors.Join(s.Serve(ctx, l), s.Close()) }()
	control := sandbox.Control{URL: "http://" + l.Addr().String(), Key: env.AccessKey, Now: time.Now}

	for name, wrong := range map[string]sandbox.Control{
		"another key": {URL: control.URL, Key: "another", Now: time.Now},
		"long ago":    {URL: control.URL, Key: env.AccessKey, Now: func() time.Time { return time.Now().Add(-time.Hour) }},
		"nobody":      {URL: "http://127.0.0.1:1", Key: env.AccessKey, Now: time.Now},
	} {
		if err := wrong.Stop(t.Context()); !errors.Is(err, sandbox.ErrNotRunning) {
			t.Errorf("%s: %v", name, err)
		}
	}
	for _, ask := range []string{"GET", "POST"} {
		r, err := http.NewRequestWithContext(t.Context(), ask, control.URL+"/_sandbox/control/stop", nil)
		if err != nil {
			t.Fatal(err)
		}
		resp, err := http.DefaultClient.Do(r)
		if err != nil {
			t.Fatal(err)
		}
		if _ = resp.Body.Close(); resp.StatusCode != http.StatusForbidden {
			t.Errorf("%s without proof: %d", ask, resp.StatusCode)
		}
	}

	is, err := control.Status(t.Context())
	if err != nil || is.Process == 0 || is.AI != "http://127.0.0.1:1" || !strings.HasPrefix(is.Library, control.URL+"/?key=") {
		t.Fatalf("%+v, %v", is, err)
	}
	if err := control.Stop(t.Context()); err != nil {
		t.Error(err)
	}
	if next, err := sandbox.New(options); err != nil {
		t.Errorf("right after its end: %v", err)
	} else if err := next.Close(); err != nil {
		t.Error(err)
	}
	if err := <-served; err != nil {
		t.Error(err)
	}
	if _, err := control.Status(t.Context()); !errors.Is(err, sandbox.ErrNotRunning) {
		t.Errorf("after its end: %v", err)
	}
}

// TestControlOfOthers verifies that a program that accepts all requests, and a sandbox that is part
// of another command, are not stopped.
func TestControlOfOthers(t *testing.T) {
	other := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("X-Sandbox-Signature", "0")
		_, _ = w.Write([]byte(`{"process": 1}`))
	}))
	t.Cleanup(other.Close)
	if err := (sandbox.Control{URL: other.URL, Key: "key", Now: time.Now}).Stop(t.Context()); !errors.Is(err, sandbox.ErrNotRunning) {
		t.Errorf("another program: %v", err)
	}
	env := sandboxtest.Environment()
	s, err := sandbox.New(sandbox.Options{Environments: []tokens.Environment{env}})
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	embedded := httptest.NewServer(s)
	t.Cleanup(embedded.Close)
	control := sandbox.Control{URL: embedded.URL, Key: env.AccessKey, Now: time.Now}
	if err := control.Stop(t.Context()); err == nil || !strings.Contains(err.Error(), "part of another command") {
		t.Errorf("an embedded one: %v", err)
	}
	if is, err := control.Status(t.Context()); err != nil || is.Library != "" {
		t.Errorf("its status: %+v, %v", is, err)
	}
}
