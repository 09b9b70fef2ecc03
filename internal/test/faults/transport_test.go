package faults_test

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync/atomic"
	"testing"

	"assetferry/internal/test/faults"
)

// TestTransport verifies the client's result for each kind of fault, and whether the service has
// processed the request.
func TestTransport(t *testing.T) {
	for name, want := range map[string]struct {
		done   bool
		status int // 0: no answer
		body   string
		err    error // of reading the body
	}{
		"dial refused":        {},
		"cut before":          {},
		"cut after":           {done: true},
		"timeout after":       {done: true},
		"truncated answer":    {true, 201, `{"id"`, io.ErrUnexpectedEOF},
		"garbled answer":      {true, 201, `{"id"`, nil},
		"slow answer":         {true, 201, `{"id":"a"}`, nil},
		"error in 200 before": {false, 200, `"statusCode":500`, nil},
		"error in 200 after":  {true, 200, `"statusCode":500`, nil},
		"429 before":          {false, 429, `"statusCode":429`, nil},
		"500 before":          {false, 500, `"statusCode":500`, nil},
		"500 after":           {true, 500, `"statusCode":500`, nil},
		"503 before":          {false, 503, `"statusCode":503`, nil},
		"503 after":           {true, 503, `"statusCode":503`, nil},
	} {
		t.Run(name, func(t *testing.T) {
			var done atomic.Int64
			server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				if body, err := io.ReadAll(r.Body); err == nil && string(body) == "content" {
					done.Add(1)
				}
				w.WriteHeader(http.StatusCreated)
				_, _ = io.WriteString(w, `{"id":"a"}`)
			}))
			defer server.Close()
			transport := &faults.Transport{Next: http.DefaultTransport, Moment: faults.At(1), Kind: kind(t, name)}
			for call := range 3 {
				req, err := http.NewRequestWithContext(t.Context(), http.MethodPost, server.URL, strings.NewReader("content"))
				if err != nil {
					t.Fatal(err)
				}
				req.Header.Set("Accept", "application/json")
				before := done.Load()
				resp, err := transport.RoundTrip(req)
				if call != 1 {
					if err != nil || resp.StatusCode != http.StatusCreated {
						t.Fatalf("call %d goes wrong, too: %v", call, err)
					}
					resp.Body.Close()
					continue
				}
				if got := done.Load() > before; got != want.done {
					t.Errorf("carried out: got %v, want %v", got, want.done)
				}
				if (err == nil) != (want.status > 0) || err != nil && !errors.Is(err, faults.Err) {
					t.Fatalf("got error %v, want status %d", err, want.status)
				}
				if err != nil {
					continue
				}
				body, err := io.ReadAll(resp.Body)
				resp.Body.Close()
				if resp.StatusCode != want.status || !strings.Contains(string(body), want.body) || !errors.Is(err, want.err) {
					t.Errorf("got %d %q (%v), want %+v", resp.StatusCode, body, err, want)
				}
				if want.body == `{"id"` && json.Valid(body) {
					t.Errorf("%q is readable", body)
				}
			}
			if !transport.Came() {
				t.Error("the moment did not come")
			}
		})
	}
	if got := len(faults.TransportKinds()); got != 14 {
		t.Errorf("%d kinds, and 14 are tested", got)
	}
}

func kind(t *testing.T, name string) faults.TransportKind {
	t.Helper()
	for _, k := range faults.TransportKinds() {
		if k.Name == name {
			return k
		}
	}
	t.Fatalf("there is no kind %q", name)
	return faults.TransportKind{}
}

func TestTimeoutIsOne(t *testing.T) {
	server := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) {}))
	defer server.Close()
	req, err := http.NewRequestWithContext(context.Background(), http.MethodGet, server.URL, nil)
	if err != nil {
		t.Fatal(err)
	}
	transport := &faults.Transport{Next: http.DefaultTransport, Moment: faults.At(0), Kind: kind(t, "timeout after")}
	_, err = transport.RoundTrip(req)
	if e, ok := errors.AsType[net.Error](err); !ok || !e.Timeout() {
		t.Errorf("got %v, want a timeout", err)
	}
}

func TestOnlyWhatMatchesCounts(t *testing.T) {
	server := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) {}))
	defer server.Close()
	transport := &faults.Transport{
		Next: http.DefaultTransport, Moment: faults.From(1), Kind: kind(t, "cut after"),
		Match: func(r *http.Request) bool { return r.Method == http.MethodPost },
	}
	var failed []int
	for n, method := range []string{"GET", "POST", "GET", "POST", "GET", "POST"} {
		req, err := http.NewRequestWithContext(t.Context(), method, server.URL, nil)
		if err != nil {
			t.Fatal(err)
		}
		resp, err := transport.RoundTrip(req)
		if err != nil {
			failed = append(failed, n)
			continue
		}
		resp.Body.Close()
	}
	if want := []int{3, 5}; !slices.Equal(failed, want) {
		t.Errorf("got requests %v failed, want %v", failed, want)
	}
}

// TestContentIsNotGarbled verifies that only JSON documents are garbled, since garbled content
// cannot be detected.
func TestContentIsNotGarbled(t *testing.T) {
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { _, _ = io.WriteString(w, "content") }))
	defer server.Close()
	transport := &faults.Transport{Next: http.DefaultTransport, Moment: faults.At(0), Kind: kind(t, "garbled answer")}
	req, err := http.NewRequestWithContext(t.Context(), http.MethodGet, server.URL, nil)
	if err != nil {
		t.Fatal(err)
	}
	resp, err := transport.RoundTrip(req)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	if body, err := io.ReadAll(resp.Body); err != nil || string(body) != "content" || transport.Came() {
		t.Errorf("got %q (%v)", body, err)
	}
}
