package standin_test

import (
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"net/url"
	"slices"
	"strings"
	"testing"

	"assetferry/internal/sandbox/fault"
	"assetferry/internal/sandbox/standin"
)

func TestRouter(t *testing.T) {
	r := standin.NewRouter([]fault.Route{
		{Method: "GET", Pattern: "/things/new"},
		{Method: "GET", Pattern: "/things/{id}"},
		{Method: "POST", Pattern: "/things/{id}/parts/{part}"},
		{Method: "GET", Pattern: "/docs/"},
	})
	for request, want := range map[string]struct {
		index int // -1: there is no such route
		args  []string
	}{
		"GET /things/new":                {0, nil},
		"GET /things/old":                {1, []string{"old"}},
		"HEAD /things/old":               {1, []string{"old"}},
		"GET /things/a%2Fb%20c":          {1, []string{"a/b c"}},
		"GET /things/..":                 {1, []string{".."}},
		"POST /things/x/parts/y":         {2, []string{"x", "y"}},
		"GET /docs/":                     {3, nil},
		"GET /docs":                      {-1, nil},
		"GET /things/":                   {-1, nil},
		"GET //things/new":               {-1, nil},
		"GET /things/old/":               {-1, nil},
		"PUT /things/old":                {-1, nil},
		"GET /things/x/parts/y":          {-1, nil},
		"POST /things/x/parts":           {-1, nil},
		"GET /things/%6Eew":              {1, []string{"new"}},
		"GET /":                          {-1, nil},
		"POST /things/x/parts/%2F?q=a/b": {2, []string{"x", "/"}},
	} {
		method, path, _ := strings.Cut(request, " ")
		u, err := url.ParseRequestURI(path)
		if err != nil {
			t.Fatal(err)
		}
		index, args, ok := r.Match(method, u)
		if ok != (want.index >= 0) || ok && index != want.index || !slices.Equal(args, want.args) {
			t.Errorf("%s: route %d %q, %v; want %d %q", request, index, args, ok, want.index, want.args)
		}
	}
}

// exchange returns the answer to a request with a fault, how often it was handled, and the counted
// statuses.
func exchange(t *testing.T, rule string) (w *httptest.ResponseRecorder, handled int, counted []int) {
	t.Helper()
	f, err := fault.Parse("* * " + rule)
	if err != nil {
		t.Fatal(err)
	}
	w = httptest.NewRecorder()
	r := httptest.NewRequestWithContext(t.Context(), "POST", "/", strings.NewReader("body"))
	x := standin.NewExchange(w, r, func(status int) { counted = append(counted, status) })
	defer func() {
		if cut, _ := recover().(error); cut != nil && !errors.Is(cut, http.ErrAbortHandler) {
			t.Errorf("it panicked: %v", cut)
		}
	}()
	x.Misbehave(f, func() {
		handled++
		_ = x.Reply(http.StatusCreated, "made")
	}, func(status int, _ string) {
		x.Drain()
		_ = x.Reply(status, "refused")
	})
	return w, handled, counted
}

func TestMisbehave(t *testing.T) {
	for rule, want := range map[string]struct {
		body             string
		handled, counted int
	}{
		"status=503":                             {"\"refused\"\n", 0, 503},
		"status=503 commit=after retry-after=2":  {"\"refused\"\n", 1, 503},
		"status=503 commit=before retry-after=2": {"\"refused\"\n", 0, 503},
		"drop=before":                            {"", 0, 0},
		"drop=after":                             {"", 1, 0},
		"delay=1s":                               {"\"made\"\n", 1, 201},
		"stream=cut":                             {"\"made\"\n", 1, 201},
	} {
		w, handled, counted := exchange(t, rule)
		if w.Body.String() != want.body || handled != want.handled || !slices.Equal(counted, []int{want.counted}) {
			t.Errorf("%s: body %q, handled %d times, counted %v; want %+v", rule, w.Body, handled, counted, want)
		}
		if got := w.Header().Get("Retry-After") == "2"; got != strings.Contains(rule, "retry-after") {
			t.Errorf("%s: headers %v", rule, w.Header())
		}
	}
}

func TestBodyKnowsThatItWasCut(t *testing.T) {
	for name, test := range map[string]struct {
		body io.Reader
		cut  bool
	}{
		"whole": {strings.NewReader("body"), false},
		"cut":   {io.MultiReader(strings.NewReader("bo"), broken{}), true},
	} {
		r := httptest.NewRequestWithContext(t.Context(), "POST", "/", test.body)
		x := standin.NewExchange(httptest.NewRecorder(), r, func(int) {})
		if _, err := io.ReadAll(x.R.Body); (err != nil) != test.cut || x.Body.IsCut() != test.cut {
			t.Errorf("%s: error %v, cut: %v", name, err, x.Body.IsCut())
		}
	}
}

type broken struct{}

func (broken) Read([]byte) (int, error) { return 0, io.ErrUnexpectedEOF }
