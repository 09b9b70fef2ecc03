package notify

import (
	"crypto/tls"
	"crypto/x509"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
)

// secret is a part of every URL in these tests, and must not occur in errors.
const secret = "T0000-hush"

func target(t *testing.T, text string) Target {
	t.Helper()
	got, err := ParseTarget(text)
	if err != nil {
		t.Fatal(err)
	}
	return got
}

// A receiver is a webhook that records messages.
type receiver struct {
	mu     sync.Mutex
	events []Event
	bodies []string
	answer func(n int, w http.ResponseWriter, r *http.Request) // n counts requests, from 1; nil: success
}

func (h *receiver) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	body, err := io.ReadAll(r.Body)
	var m Message
	if err == nil {
		err = json.Unmarshal(body, &m)
	}
	if err != nil || r.Method != http.MethodPost || r.Header.Get("Content-Type") != "application/json" || r.Header.Get("User-Agent") != "assetferry/test" {
		http.Error(w, fmt.Sprint(err), http.StatusBadRequest)
		return
	}
	h.mu.Lock()
	h.events, h.bodies = append(h.events, m.Event), append(h.bodies, string(body))
	n := len(h.events)
	h.mu.Unlock()
	if h.answer != nil {
		h.answer(n, w, r)
	}
}

// RoundTrip has no network between, so that it may be within a bubble.
func (h *receiver) RoundTrip(r *http.Request) (*http.Response, error) {
	w := httptest.NewRecorder()
	h.ServeHTTP(w, r)
	if err := r.Context().Err(); err != nil {
		return nil, err
	}
	return w.Result(), nil
}

func newNotifier(t *testing.T, o Options) *Notifier {
	t.Helper()
	o.UserAgent = "assetferry/test"
	n, err := New(o)
	if err != nil {
		t.Fatal(err)
	}
	return n
}

// run sends the notifications of a run without a network.
func run(t *testing.T, h *receiver, took time.Duration, targets ...string) (errs []error, waited time.Duration) {
	t.Helper()
	var o Options
	for _, text := range targets {
		o.Targets = append(o.Targets, target(t, text))
	}
	n := newNotifier(t, o)
	n.client.Transport = h
	n.Start(t.Context(), Message{Event: Start})
	time.Sleep(took)
	began := time.Now()
	errs = n.Finish(t.Context(), Message{Event: Failure, Message: "no"})
	return errs, time.Since(began)
}

func status(code int) func(int, http.ResponseWriter, *http.Request) {
	return func(_ int, w http.ResponseWriter, r *http.Request) {
		http.Error(w, "no, not at "+r.URL.String(), code)
	}
}

// hang does not respond until the request is cancelled.
func hang(_ int, _ http.ResponseWriter, r *http.Request) { <-r.Context().Done() }

func TestNotifications(t *testing.T) {
	const all = "https://hooks.example.com/" + secret
	tests := []struct {
		name    string
		answer  func(int, http.ResponseWriter, *http.Request)
		took    time.Duration // by the run
		targets []string
		want    []Event
		errs    int
		most    time.Duration // time limit of the end
	}{
		{"success", nil, time.Minute, []string{all}, []Event{Start, Failure}, 0, 0},
		{"short run", nil, 0, []string{all}, []Event{Start, Failure}, 0, 0},
		{"only failures", nil, time.Minute, []string{"failure=" + all}, []Event{Failure}, 0, 0},
		{"only successes", nil, time.Minute, []string{"success=" + all}, nil, 0, 0},
		{"each event to its own URL", nil, time.Minute, []string{"start=" + all, "success,failure=" + all}, []Event{Start, Failure}, 0, 0},
		{"no targets", nil, time.Minute, nil, nil, 0, 0},
		{"always 500", status(500), time.Minute, []string{all}, slices.Repeat([]Event{Start, Failure}, 3), 2, 3 * time.Second},
		{"always 500, short run", status(500), 0, []string{"failure=" + all}, []Event{Failure, Failure, Failure}, 1, 3 * time.Second},
		{"429 once", func(n int, w http.ResponseWriter, r *http.Request) {
			if n == 1 {
				w.WriteHeader(http.StatusTooManyRequests)
			}
		}, time.Minute, []string{all}, []Event{Start, Start, Failure}, 0, 0},
		{"404 is not retried", status(404), time.Minute, []string{all}, []Event{Start, Failure}, 2, 0},
		{"no response", hang, time.Hour, []string{all}, []Event{Start, Start, Failure, Failure}, 2, patience},
		{"no response, short run", hang, 0, []string{all}, []Event{Start, Failure, Failure}, 2, patience},
		{"two without response", hang, time.Hour, []string{"failure=" + all, "failure=" + all}, []Event{Failure, Failure, Failure, Failure}, 2, patience},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				h := &receiver{answer: tt.answer}
				errs, waited := run(t, h, tt.took, tt.targets...)
				got := slices.Clone(h.events)
				if tt.took > 0 {
					slices.Sort(got) // several at once
				}
				want := slices.Clone(tt.want)
				if tt.took > 0 {
					slices.Sort(want)
				}
				if diff := cmp.Diff(want, got); diff != "" {
					t.Errorf("-want +got:\n%s", diff)
				}
				if len(errs) != tt.errs || waited > tt.most {
					t.Errorf("%d errors after %v, want %d within %v: %v", len(errs), waited, tt.errs, tt.most, errs)
				}
				for _, err := range errs {
					if text := err.Error(); strings.Contains(text, secret) || !strings.Contains(text, " to https://hooks.example.com: ") {
						t.Errorf("the error is %q", text)
					}
				}
			})
		})
	}
}

// TestOutlivesInterrupt verifies that the notification about an interrupted run is sent.
func TestOutlivesInterrupt(t *testing.T) {
	h := &receiver{}
	n := newNotifier(t, Options{Targets: []Target{target(t, "https://hooks.example.com/"+secret)}})
	n.client.Transport = h
	ctx := interrupted(t)
	n.Start(ctx, Message{Event: Start})
	if errs := n.Finish(ctx, Message{Event: Failure}); errs != nil || !slices.Equal(h.events, []Event{Start, Failure}) {
		t.Errorf("sent %v, %v", h.events, errs)
	}
}

// TestMessage checks the messages that are sent.
func TestMessage(t *testing.T) {
	h := &receiver{}
	n := newNotifier(t, Options{Targets: []Target{target(t, "https://hooks.example.com/"+secret)}})
	n.client.Transport = h
	n.Start(t.Context(), Message{
		Event: Start, Time: "2026-11-21T02:00:00Z", Tool: "assetferry v1.4.0", Command: "sync", Job: "daily", Source: "/srv/photos", Destination: "env/ws",
	})
	six, bytes, seconds := 6, int64(1<<20), 12.5
	errs := n.Finish(t.Context(), Message{
		Event: Failure, Time: "2026-11-21T02:00:12Z", Tool: "assetferry v1.4.0", Command: "sync", Job: "daily", Source: "/srv/photos", Destination: "env/ws",
		Run: "20261121-0200-abcde", Exit: &six, Class: "safety_check", Message: "900 objects would change", Hint: "look at them",
		Actions: map[string]int64{"replace": 900}, States: map[string]int64{"planned": 900}, Bytes: &bytes, Seconds: &seconds, Report: "assetferry report",
	})
	want := []string{
		`{"event":"start","version":1,"time":"2026-11-21T02:00:00Z","text":"assetferry sync daily: start","tool":"assetferry v1.4.0","command":"sync",` +
			`"job":"daily","source":"/srv/photos","destination":"env/ws"}`,
		`{"event":"failure","version":1,"time":"2026-11-21T02:00:12Z","text":"assetferry sync daily: failure (exit code 6, safety_check): 900 objects would change",` +
			`"tool":"assetferry v1.4.0","command":"sync","job":"daily","source":"/srv/photos","destination":"env/ws","run":"20261121-0200-abcde","exit":6,"class":"safety_check",` +
			`"message":"900 objects would change","hint":"look at them","actions":{"replace":900},"states":{"planned":900},"bytes":1048576,"seconds":12.5,"report":"assetferry report"}`,
	}
	if diff := cmp.Diff(want, h.bodies); diff != "" || errs != nil {
		t.Errorf("%v, -want +got:\n%s", errs, diff)
	}
}

// finish sends the notification about the end of a run to a server.
func finish(t *testing.T, o Options, url string) []error {
	t.Helper()
	o.Targets = []Target{target(t, url)}
	n := newNotifier(t, o)
	defer n.client.CloseIdleConnections()
	return n.Finish(t.Context(), Message{Event: Success})
}

func TestRedirects(t *testing.T) {
	other := &receiver{}
	elsewhere := httptest.NewServer(other)
	defer elsewhere.Close()
	tests := []struct {
		name  string
		code  int
		to    string
		taken bool
	}{
		{"within the host", http.StatusTemporaryRedirect, "/taken", true},
		{"permanent", http.StatusPermanentRedirect, "/taken", true},
		{"without the message", http.StatusFound, "/taken", false},
		{"to another host", http.StatusTemporaryRedirect, elsewhere.URL + "/" + secret, false},
		{"in a loop", http.StatusTemporaryRedirect, "/" + secret, false},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			taken := false
			s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				if r.URL.Path == "/taken" {
					body, err := io.ReadAll(r.Body)
					if from := r.Header.Get("Referer"); from != "" {
						t.Errorf("the URL is sent as Referer: %s", from)
					}
					taken = err == nil && strings.Contains(string(body), `"event":"success"`)
					return
				}
				http.Redirect(w, r, tt.to, tt.code)
			}))
			defer s.Close()
			errs := finish(t, Options{}, s.URL+"/"+secret)
			if taken != tt.taken || (errs == nil) != tt.taken {
				t.Errorf("taken: %v, %v; want %v", taken, errs, tt.taken)
			}
			if strings.Contains(fmt.Sprint(errs), secret) {
				t.Errorf("the error is %v", errs)
			}
		})
	}
	if other.events != nil {
		t.Error("another host got a message")
	}
}

func TestTLS(t *testing.T) {
	h := &receiver{}
	s := httptest.NewUnstartedServer(h)
	s.Config.ErrorLog = quiet()
	s.StartTLS()
	defer s.Close()
	trust := x509.NewCertPool()
	trust.AddCert(s.Certificate())
	if errs := finish(t, Options{TLS: &tls.Config{RootCAs: trust}}, s.URL+"/"+secret); errs != nil || len(h.events) != 1 {
		t.Errorf("with the authority: %v", errs)
	}
	n := newNotifier(t, Options{Targets: []Target{target(t, s.URL+"/"+secret)}})
	err := n.post(t.Context(), n.hooks[0].Target, []byte("{}"))
	if e, ok := errors.AsType[*tls.CertificateVerificationError](err); !ok {
		t.Errorf("without the authority: %v, %v", e, err)
	}
}

func TestPlainHTTP(t *testing.T) {
	for url, want := range map[string]bool{
		"https://hooks.example.com/x": true, "http://127.0.0.1:8080/x": true, "http://localhost/x": true, "http://[::1]/x": true,
		"http://hooks.example.com/x": false, "http://192.0.2.1/x": false,
	} {
		targets := []Target{target(t, url)}
		if _, err := New(Options{Targets: targets}); (err == nil) != want {
			t.Errorf("%s: %v, want %v", url, err, want)
		}
		if _, err := New(Options{Targets: targets, AllowHTTP: true}); err != nil {
			t.Errorf("%s with --allow-http: %v", url, err)
		}
	}
}
