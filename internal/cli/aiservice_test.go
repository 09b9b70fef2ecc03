package cli

import (
	"errors"
	"flag"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/rogpeppe/go-internal/testscript"

	"assetferry/internal/sandbox/aiservice"
	"assetferry/internal/sandbox/fault"
	"assetferry/internal/sandbox/openapitest"
	"assetferry/internal/sandbox/sandboxtest"
	"assetferry/internal/sandbox/tokens"
)

// A wordService is a stand-in of the AI content service on a loopback address in the process
// of the test.
type wordService struct {
	*aiservice.Server
	url    string
	server *httptest.Server
	conns  *sandboxtest.Connections
	check  *openapitest.Checker

	mu      sync.Mutex
	arrived func(*http.Request)             // called with each request before it is answered
	answer  func(http.Handler) http.Handler // wraps the stand-in; may be nil
}

// ServeHTTP answers a request.
func (w *wordService) ServeHTTP(rw http.ResponseWriter, r *http.Request) {
	w.mu.Lock()
	arrived, answer := w.arrived, w.answer
	w.mu.Unlock()
	if arrived != nil {
		arrived(r)
	}
	h := http.Handler(w.check)
	if answer != nil {
		h = answer(h)
	}
	h.ServeHTTP(rw, r)
}

// wrap replaces the handler that wraps the stand-in.
func (w *wordService) wrap(f func(http.Handler) http.Handler) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.answer = f
}

// onRequest sets a function that is called with every request from now on.
func (w *wordService) onRequest(f func(*http.Request)) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.arrived = f
}

func newWordService(o aiservice.Options) (*wordService, error) {
	s, err := aiservice.New(o)
	if err != nil {
		return nil, err
	}
	checked, err := openapitest.AI().Check(s)
	if err != nil {
		return nil, errors.Join(err, s.Close())
	}
	w := &wordService{Server: s, check: checked}
	w.server = httptest.NewUnstartedServer(w)
	w.conns = sandboxtest.KeepConnections(w.server)
	w.server.Start()
	w.url = w.server.URL
	return w, nil
}

func (w *wordService) close() error {
	w.server.CloseClientConnections()
	w.server.Close()
	return errors.Join(w.check.Err(), w.Server.Close())
}

// variables returns the environment variables that point a process at the stand-in.
func (w *wordService) variables() []string { return []string{"ASSETFERRY_AI_URL=" + w.url} }

// startWords runs a stand-in beside a service, with the same credentials, until the test ends.
func startWords(t testing.TB, beside *service, o aiservice.Options) *wordService {
	t.Helper()
	o.Environments = []tokens.Environment{beside.env}
	return startWordsOf(t, o)
}

// startWordsOf runs a stand-in with its own environments until the test ends.
func startWordsOf(t testing.TB, o aiservice.Options) *wordService {
	t.Helper()
	w, err := newWordService(o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := w.close(); err != nil {
			t.Errorf("close the AI sandbox: %v", err)
		}
	})
	return w
}

// cmdWords starts a stand-in of the AI content service beside the service, with the same
// credentials, and points the script at it:
//
//	words [-fault RULE]... [-credits N] [-rates LIMITS] [-premises] [-usage JSON] [-describe FILE] [-profile FILE]
//
// -usage sets the answer to requests for the usage. -describe sets the OpenAPI document.
func cmdWords(ts *testscript.TestScript, _ bool, args []string) {
	o := aiservice.Options{Environments: []tokens.Environment{serviceOf(ts).env}}
	f := flag.NewFlagSet("words", flag.ContinueOnError)
	f.Float64Var(&o.Credits, "credits", 0, "")
	f.BoolVar(&o.OnPremises, "premises", false, "")
	f.Func("rates", "", func(text string) (err error) {
		o.Limits, err = aiservice.ParseLimits(text)
		return err
	})
	f.Func("fault", "", func(text string) error {
		rule, err := fault.Parse(text)
		o.Faults = append(o.Faults, rule)
		return err
	})
	f.Func("profile", "", func(name string) (err error) {
		f, err := os.Open(ts.MkAbs(name))
		if err != nil {
			return err
		}
		defer f.Close()
		o.Profile, err = aiservice.ReadProfile(name, f)
		return err
	})
	used := f.String("usage", "", "")
	described := f.String("describe", "", "")
	ts.Check(f.Parse(args))
	w, err := newWordService(o)
	ts.Check(err)
	if *described != "" {
		w.wrap(answering("/v1/doc.json /v1/api/doc.json", ts.ReadFile(*described)))
	}
	if *used != "" {
		w.wrap(answering("/v1/admin/billing/usage", *used))
	}
	ts.Defer(func() { ts.Check(w.close()) })
	ts.Setenv("ASSETFERRY_AI_URL", w.url)
	benchOf(ts).words = w
}

// answering returns a wrapper that answers requests for some paths with body.
func answering(paths, body string) func(http.Handler) http.Handler {
	return func(next http.Handler) http.Handler {
		return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			if !slices.Contains(strings.Fields(paths), r.URL.Path) {
				next.ServeHTTP(w, r)
				return
			}
			w.Header().Set("Content-Type", "application/json")
			_, _ = io.WriteString(w, body)
		})
	}
}

// cmdBilled prints the counters of the stand-in of the AI content service: the billed requests and
// the existing conversations.
func cmdBilled(ts *testscript.TestScript, _ bool, _ []string) {
	w := benchOf(ts).words
	if w == nil {
		ts.Fatalf("there is no AI content service yet")
	}
	stats, err := w.Stats()
	ts.Check(err)
	fmt.Fprintf(ts.Stdout(), "billed %d\nconversations %d\n", stats.BilledRequests, stats.Conversations)
}

// cmdFound sets a variable to the first group of a pattern in stdout of the last command:
//
//	found run 'Run ([^ ]+) of'
func cmdFound(ts *testscript.TestScript, _ bool, args []string) {
	found := regexp.MustCompile("(?m)" + args[1]).FindStringSubmatch(ts.ReadFile("stdout"))
	if found == nil {
		ts.Fatalf("nothing like that was printed")
	}
	ts.Setenv(args[0], found[1])
}
