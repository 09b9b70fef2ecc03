package assets

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"assetferry/internal/retry"
	"assetferry/internal/token"
)

func TestStatusToClass(t *testing.T) {
	tests := []struct {
		statuses []int
		class    retry.Class
		requests int
	}{
		{[]int{301, 302, 307, 308}, retry.Permanent, 1},
		{[]int{400, 404, 405, 409, 410, 413, 415, 422, 501, 505}, retry.Permanent, 1},
		{[]int{401, 402, 403}, retry.Fatal, 1},
		{[]int{408, 425, 500, 502, 504, 520, 599}, retry.Transient, 5},
		{[]int{429, 503}, retry.Throttled, 5},
	}
	for _, tt := range tests {
		for _, status := range tt.statuses {
			t.Run(fmt.Sprint(status), func(t *testing.T) {
				a := answers(fmt.Sprintf(`%d {"message":"why","statusCode":%d,"data":null,"traceId":"t-1"}`, status, status))
				_, err := serve(t, a.ServeHTTP).Asset(t.Context(), "x")
				e, ok := errors.AsType[*Error](err)
				if !ok || e.Class() != tt.class || e.Status != status || e.Message != "why" || e.TraceID != "t-1" {
					t.Errorf("got %#v, want class %s", err, tt.class)
				}
				if a.count() != tt.requests {
					t.Errorf("got %d requests, want %d", a.count(), tt.requests)
				}
				if got := errors.Is(err, fs.ErrNotExist); got != (status == 404) {
					t.Errorf("does not exist: got %v", got)
				}
				if got := IsAuth(err); got != (status == 401 || status == 403) {
					t.Errorf("about credentials: got %v", got)
				}
				if errors.Is(err, ErrUnconfirmed) {
					t.Error("in doubt")
				}
			})
		}
	}
}

func TestRepeatable(t *testing.T) {
	calls := map[string]func(context.Context, *Client) error{
		"read":   func(ctx context.Context, c *Client) error { _, err := c.Asset(ctx, "x"); return err },
		"update": func(ctx context.Context, c *Client) error { _, err := c.Update(ctx, "x", Changes{}); return err },
		"trash":  func(ctx context.Context, c *Client) error { return c.Trash(ctx, "x") },
		"limits": func(ctx context.Context, c *Client) error { _, err := c.Limits(ctx); return err },
	}
	for name, call := range calls {
		t.Run(name, func(t *testing.T) {
			a := answers("500", "200 <html>", `200 {"statusCode":503}`, `200 {"id":"x"}`)
			if name == "trash" {
				a = answers("500", "502", `200 {"statusCode":503}`, "204")
			}
			if name == "limits" {
				a = answers("500", "200 ", `200 {"statusCode":503}`, "200 {}")
			}
			if err := call(t.Context(), serve(t, a.ServeHTTP)); err != nil || a.count() != 4 {
				t.Errorf("got %v after %d requests", err, a.count())
			}
		})
	}
}

func TestErrorText(t *testing.T) {
	tests := []struct {
		err  Error
		want string
	}{
		{Error{Op: "upload", Subject: `"a.jpg"`, Status: 400, Message: "extension not allowed", TraceID: "t-1"},
			`upload "a.jpg": 400 Bad Request: extension not allowed (trace t-1)`},
		{Error{Op: "list folders", Status: 500}, "list folders: 500 Internal Server Error"},
		{Error{Op: "upload", Status: 500, Unconfirmed: true}, "upload: 500 Internal Server Error; unconfirmed: the request may have been executed"},
		{Error{Op: "upload", Err: io.ErrUnexpectedEOF}, "upload: unexpected EOF"},
		{Error{Op: "x", Status: 401, Skew: 5 * time.Minute}, "x: 401 Unauthorized; the local clock is 5m0s behind the server clock: set the clock, or use --compensate-clock"},
		{Error{Op: "x", Status: 401, Skew: -31 * time.Second}, "x: 401 Unauthorized; the local clock is 31s ahead of the server clock: set the clock, or use --compensate-clock"},
		{Error{Op: "x", Status: 401, Skew: 30 * time.Second}, "x: 401 Unauthorized"},
	}
	for _, tt := range tests {
		if got := tt.err.Error(); got != tt.want {
			t.Errorf("got  %s\nwant %s", got, tt.want)
		}
	}
}

func TestFaultBodies(t *testing.T) {
	long := strings.Repeat("x", 1000)
	tests := []struct{ body, message, trace string }{
		{``, "", ""},
		{`<html><title>502</title>`, "", ""},
		{"plain\n\ttext\x1b[31m \x00", "plain text [31m", ""},
		{`{"message":{"a":1},"traceId":7}`, `{"a":1}`, ""},
		{`{"message":"m","statusCode":"400","data":[1],"traceId":"t\nt"}`, "m", "t t"},
		{`[1,2]`, "[1,2]", ""},
		{`null`, "", ""},
		{`{"message":"` + long + `"}`, long[:300] + "…", ""},
		{"\xff\xfe", "\uFFFD", ""},
	}
	for _, tt := range tests {
		a := answers("400 " + tt.body)
		_, err := serve(t, a.ServeHTTP).Asset(t.Context(), "x")
		e, ok := errors.AsType[*Error](err)
		if !ok || e.Message != tt.message || e.TraceID != tt.trace {
			t.Errorf("%.50q: got %#v", tt.body, err)
		}
	}
}

// TestForeignAnswers verifies that answers which are not from the service are marked as foreign.
func TestForeignAnswers(t *testing.T) {
	for answer, want := range map[string]bool{
		`403 <?xml version="1.0"?><Error><Code>AccessDenied</Code></Error>`: true,
		`404 <html><title>Not Found</title>`:                                true,
		`403 Forbidden`:                                                     true,
		`401 {"error":"who are you"}`:                                       true,
		`400 [1]`:                                                           true,
		`403 {"message":"no","statusCode":403,"data":null,"traceId":"t"}`: false,
		`200 {"message":"no","statusCode":403,"data":null,"traceId":"t"}`: false,
		`403 `: false, // an empty body may be from the service
	} {
		a := answers(answer)
		_, err := serve(t, a.ServeHTTP).Asset(t.Context(), "x")
		if e, ok := errors.AsType[*Error](err); !ok || e.Foreign != want {
			t.Errorf("%s: got %#v", answer, err)
		}
	}
	page := answers("200 <html>", "200 <html>", "200 <html>", "200 <html>", "200 <html>")
	_, err := serve(t, page.ServeHTTP).Asset(t.Context(), "x")
	if e, ok := errors.AsType[*Error](err); !ok || !e.Foreign {
		t.Errorf("a page: got %#v", err)
	}
}

func TestRefusalData(t *testing.T) {
	refusal := func(data string) *Error {
		a := answers(`400 {"message":"m","statusCode":400,"traceId":"t","data":` + data + `}`)
		_, err := serve(t, a.ServeHTTP).Upload(t.Context(), upload(1))
		e, ok := errors.AsType[*Error](err)
		if !ok {
			t.Fatalf("got %v", err)
		}
		return e
	}
	if e := refusal(`{"sizeLimit":52428800}`); true {
		if got, ok := e.SizeLimit(); got != 52428800 || !ok || e.Class() != retry.Permanent {
			t.Errorf("got %v, %v, %v", got, ok, e.Class())
		}
	}
	if e := refusal(`{"megapixelsLimit":"50.5"}`); true {
		if got, ok := e.MegapixelsLimit(); got != 50.5 || !ok || e.Class() != retry.Permanent {
			t.Errorf("got %v, %v, %v", got, ok, e.Class())
		}
	}
	if e := refusal(`{"limit":1e12}`); true {
		if got, ok := e.QuotaLimit(); got != 1e12 || !ok || e.Class() != retry.Fatal {
			t.Errorf("got %v, %v, %v", got, ok, e.Class())
		}
	}
	for _, data := range []string{`null`, `{}`, `{"limit":null}`, `{"limit":"lots"}`, `"x"`} {
		if _, ok := refusal(data).QuotaLimit(); ok {
			t.Errorf("%s: has a limit", data)
		}
	}
}

// The test verifies that no error contains a secret from any input.
func TestErrorsHoldNoSecrets(t *testing.T) {
	var said []string
	note := func(err error) {
		t.Helper()
		if err == nil {
			t.Error("no error")
			return
		}
		said = append(said, err.Error(), fmt.Sprintf("%+v", err))
		if e, ok := errors.AsType[*Error](err); ok {
			said = append(said, e.Hint(), fmt.Sprintf("%#v", *e))
		}
		var b strings.Builder
		slog.New(slog.NewJSONHandler(&b, nil)).Info("x", "err", err)
		said = append(said, b.String())
	}
	echo := func(w http.ResponseWriter, r *http.Request) {
		w.WriteHeader(400)
		fmt.Fprintf(w, `{"message":"bad %s","traceId":"%[1]s","data":{"a":"%[1]s"}}`, r.Header.Get("Authorization"))
	}
	c := serve(t, echo)
	_, err := c.Asset(t.Context(), "x")
	note(err)
	_, err = c.Upload(t.Context(), upload(1))
	note(err)
	_, _, err = c.Download(t.Context(), c.base.String()+"/file?signature="+secret, 0)
	note(err)
	_, _, err = c.Download(t.Context(), "https://u:"+secret+"@localhost:1/file?signature="+secret+"#"+secret, 0)
	note(err)
	_, _, err = c.Download(t.Context(), "http://u:"+secret+"@example.com/file?signature="+secret, 0)
	note(err)
	_, _, err = c.Download(t.Context(), "https://%zz"+secret, 0)
	note(err)
	for _, base := range []string{
		"https://u:" + secret + "@host", "https://host?x=" + secret, "http://u:" + secret + "@host", "https://host:" + secret + "/",
		"://" + secret, "ftp://u:" + secret + "@host", secret, "https://host/%zz" + secret,
	} {
		_, err = New(Options{BaseURL: base, Tokens: &tokens{}})
		note(err)
	}
	for _, bad := range []string{secret + "\n", secret + "\x00"} { // A header with these characters cannot be sent.
		c := newClient(t, Options{BaseURL: c.base.String(), Tokens: fixed(bad)})
		_, err = c.Asset(t.Context(), "x")
		note(err)
	}
	for _, s := range said {
		if strings.Contains(s, secret) {
			t.Errorf("secret in %s", s)
		}
	}
}

type fixed string

func (f fixed) Token(context.Context) (token.Secret, error) { return token.NewSecret(string(f)), nil }
func (fixed) Invalidate()                                   {}

func TestNewChecksURL(t *testing.T) {
	tests := []struct {
		base      string
		allowHTTP bool
		ok        bool
	}{
		{"https://api.ckbox.io", false, true},
		{"https://api.ckbox.io/", false, true},
		{"https://proxy.example/ckbox/", false, true},
		{"HTTPS://API.example", false, true},
		{"http://localhost:8080", false, true},
		{"http://127.0.0.1", false, true},
		{"http://[::1]:8080", false, true},
		{"http://10.0.0.1", false, false},
		{"http://localhost.example.com", false, false},
		{"http://10.0.0.1", true, true},
		{"ftp://localhost", true, false},
		{"api.ckbox.io", false, false},
		{"", false, false},
		{"https://", false, false},
	}
	for _, tt := range tests {
		_, err := New(Options{BaseURL: tt.base, AllowHTTP: tt.allowHTTP, Tokens: &tokens{}})
		if (err == nil) != tt.ok {
			t.Errorf("%s, %v: got %v", tt.base, tt.allowHTTP, err)
		}
	}
	if _, err := New(Options{BaseURL: "https://localhost"}); err == nil {
		t.Error("no tokens: no error")
	}
}

func TestHints(t *testing.T) {
	secure := httptest.NewUnstartedServer(http.NotFoundHandler())
	secure.Config.ErrorLog = slog.NewLogLogger(slog.DiscardHandler, 0)
	secure.StartTLS()
	t.Cleanup(secure.Close)
	open := httptest.NewServer(http.NotFoundHandler())
	t.Cleanup(open.Close)
	tests := []struct {
		name, base, hint string
		class            retry.Class
		config           *tls.Config
	}{
		{"private authority", secure.URL, "--ca-file", retry.Fatal, nil},
		{"other name", secure.URL, "the certificate is for another host", retry.Fatal, &tls.Config{ServerName: "elsewhere.test", RootCAs: secure.Client().Transport.(*http.Transport).TLSClientConfig.RootCAs}},
		{"no TLS", "https" + strings.TrimPrefix(open.URL, "http"), "does not support TLS", retry.Fatal, nil},
		{"no server", closedURL, "no process listens", retry.Transient, nil},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			c := newClient(t, Options{BaseURL: tt.base, Transport: NewTransport(tt.config)})
			_, err := c.Asset(t.Context(), "x")
			e, ok := errors.AsType[*Error](err)
			if !ok || !strings.Contains(e.Hint(), tt.hint) || e.Class() != tt.class || e.Status != 0 {
				t.Errorf("got %v, %+v", err, e)
			}
		})
	}
	for status, hint := range map[string]string{"401": "access key", "403": "role", "302": "check the URL of the service"} {
		_, err := serve(t, answers(status).ServeHTTP).Asset(t.Context(), "x")
		if e, ok := errors.AsType[*Error](err); !ok || !strings.Contains(e.Hint(), hint) {
			t.Errorf("%s: got %v, %q", status, err, e.Hint())
		}
	}
}

func TestTokenErrors(t *testing.T) {
	broken := errors.New("no key")
	a := answers("200 {}")
	srv := httptest.NewServer(a)
	t.Cleanup(srv.Close)
	c := newClient(t, Options{BaseURL: srv.URL, Tokens: &tokens{err: broken}})
	_, err := c.Asset(t.Context(), "x")
	if class, _ := retry.Classify(err); !IsAuth(err) || !errors.Is(err, broken) || class != retry.Fatal || a.count() != 0 {
		t.Errorf("got %v, %v", err, class)
	}
}

func TestReadOnly(t *testing.T) {
	a := answers(`200 {"id":"x","items":[]}`)
	srv := httptest.NewServer(a)
	t.Cleanup(srv.Close)
	c := newClient(t, Options{BaseURL: srv.URL, ReadOnly: true})
	closed := false
	u := upload(10)
	u.Open = func(context.Context) (io.ReadCloser, error) {
		return &closing{strings.NewReader("0123456789"), &closed}, nil
	}
	_, up := c.Upload(t.Context(), u)
	_, folder := c.CreateFolder(t.Context(), NewFolder{Name: "n", CategoryID: "c"})
	_, category := c.CreateCategory(t.Context(), NewCategory{Name: "n"})
	_, workspace := c.CreateWorkspace(t.Context(), "n")
	_, update := c.Update(t.Context(), "x", Changes{})
	for _, err := range []error{up, folder, category, workspace, update, c.Trash(t.Context(), "x")} {
		if class, _ := retry.Classify(err); !errors.Is(err, ErrReadOnly) || class != retry.Fatal || errors.Is(err, ErrUnconfirmed) {
			t.Errorf("got %v, %v", err, class)
		}
	}
	if a.count() != 0 || !closed {
		t.Errorf("got %d requests, content closed: %v", a.count(), closed)
	}
	if _, err := c.Asset(t.Context(), "x"); err != nil {
		t.Error(err)
	}
}

type closing struct {
	io.Reader
	closed *bool
}

func (c *closing) Close() error { *c.closed = true; return nil }
