package ai

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"mime"
	"mime/multipart"
	"net/http"
	"os"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"assetferry/internal/ratelimit"
	"assetferry/internal/retry"
	"assetferry/internal/token"
)

// inSequence answers with its handlers in sequence, repeats the last one, and counts requests.
func inSequence(n *atomic.Int32, all ...http.HandlerFunc) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		all[min(int(n.Add(1)), len(all))-1](w, r)
	}
}

func refuse(status int, body string) http.HandlerFunc {
	return answer(status, "application/json", body)
}

func hangUp(http.ResponseWriter, *http.Request) { panic(http.ErrAbortHandler) }

const tooMany = `{"statusCode":429,"code":"rate-limits-exceeded","message":"Too many","traceId":"t"}`

// The test verifies that a billed request is repeated only if it certainly was not executed, and
// that other requests are repeated if that is safe.
func TestResends(t *testing.T) {
	reply := events("event: text-delta\ndata: {\"textDelta\":\"a\"}\n\n")
	for _, c := range []struct {
		name   string
		first  []http.HandlerFunc
		tries  int32 // attempts for a message; 0: until it succeeds
		billed bool
	}{
		{"rate", []http.HandlerFunc{refuse(429, tooMany), refuse(429, tooMany), refuse(429, tooMany)}, 0, false},
		{"rate for long", slices.Repeat([]http.HandlerFunc{refuse(429, tooMany)}, 12), 0, false},
		{"500", []http.HandlerFunc{refuse(500, "{}")}, 1, true},
		{"502 of a proxy", []http.HandlerFunc{refuse(502, "<html>")}, 1, true},
		{"503", []http.HandlerFunc{refuse(503, "{}")}, 1, true},
		{"408", []http.HandlerFunc{refuse(408, "{}")}, 1, true},
		{"hung up", []http.HandlerFunc{hangUp}, 1, true},
		{"422", []http.HandlerFunc{refuse(422, "{}")}, 1, false},
	} {
		t.Run(c.name, func(t *testing.T) {
			var n atomic.Int32
			client := serve(t, Options{}, inSequence(&n, append(c.first, reply)...))
			s, err := client.Send(t.Context(), "c", Message{})
			if err == nil {
				_ = s.Close()
			}
			want := c.tries
			if want == 0 {
				want = int32(len(c.first)) + 1
			}
			if (err == nil) != (c.tries == 0) || n.Load() != want || errors.Is(err, ErrMayBeBilled) != c.billed {
				t.Errorf("message: got %v after %d tries, may be billed: %v", err, n.Load(), errors.Is(err, ErrMayBeBilled))
			}
			n.Store(0)
			client = serve(t, Options{}, inSequence(&n, append(c.first, refuse(200, `{"items":[]}`))...))
			if _, err := client.Models(t.Context()); (err == nil) != (c.name != "422") || errors.Is(err, ErrMayBeBilled) {
				t.Errorf("models: got %v after %d tries", err, n.Load())
			}
			n.Store(0)
			client = serve(t, Options{}, inSequence(&n, append(c.first, refuse(200, `{"id":"1"}`))...))
			if _, err := client.CreateContext(t.Context(), Context{}); (err == nil) != (c.tries == 0) || errors.Is(err, ErrUnconfirmed) != c.billed {
				t.Errorf("context: got %v after %d tries", err, n.Load())
			}
		})
	}
}

// The test verifies that a request that was never sent is repeated, and cannot have been billed.
func TestConnectionRefused(t *testing.T) {
	c := newClient(t, Options{BaseURL: closedURL})
	waits := 0
	c.onWait = func(retry.Wait) { waits++ }
	_, err := c.Send(t.Context(), "c", Message{})
	e, ok := errors.AsType[*Error](err)
	if !ok || errors.Is(err, ErrMayBeBilled) || waits != maxTransient-1 || !strings.Contains(e.Hint(), "no process listens at http://127.0.0.1:1") {
		t.Errorf("got %v after %d waits", err, waits)
	}
}

// The test verifies that the client waits for the end of a limit per minute, although the service
// does not report its duration.
func TestOutlastsAMinute(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		start, most := time.Now(), time.Duration(0)
		c := newClient(t, Options{
			BaseURL: closedURL, Retry: retry.Policy{Rand: func(n time.Duration) time.Duration { return n - 1 }},
			OnWait: func(w retry.Wait) { most = max(most, w.Delay) },
			Transport: fakeTransport(func(r *http.Request) (*http.Response, error) {
				status, body := 200, `{"items":[]}`
				if time.Since(start) < 3*time.Minute {
					status, body = 429, tooMany
				}
				return &http.Response{StatusCode: status, Header: http.Header{}, Body: io.NopCloser(strings.NewReader(body))}, nil
			}),
		})
		if _, err := c.Models(t.Context()); err != nil || most > time.Minute {
			t.Errorf("got %v after %v, with waits of %v", err, time.Since(start), most)
		}
		start = time.Now().Add(time.Hour)
		began := time.Now()
		if _, err := c.Models(t.Context()); err == nil || time.Since(began) > 5*time.Minute {
			t.Errorf("got %v after %v", err, time.Since(began))
		}
	})
}

// The test verifies that an answer that trickles is ended, also an error, unless it is a stream.
func TestAnswersThatTrickle(t *testing.T) {
	for name, tt := range map[string]struct {
		status int
		ask    func(context.Context, *Client) error
	}{
		"models":      {200, func(ctx context.Context, c *Client) error { _, err := c.Models(ctx); return err }},
		"list":        {200, func(ctx context.Context, c *Client) error { return drain(c.Conversations(ctx, ConversationFilter{})) }},
		"description": {200, func(ctx context.Context, c *Client) error { _, err := c.Description(ctx); return err }},
		"error":       {400, func(ctx context.Context, c *Client) error { _, err := c.Models(ctx); return err }},
		"refused":     {400, func(ctx context.Context, c *Client) error { _, err := c.Send(ctx, "c", Message{}); return err }},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				c := newClient(t, Options{BaseURL: closedURL, Retry: retry.Policy{Attempts: 1}, Transport: fakeTransport(func(r *http.Request) (*http.Response, error) {
					return &http.Response{StatusCode: tt.status, Header: http.Header{}, Body: io.NopCloser(&trickle{ctx: r.Context()})}, nil
				})})
				began := time.Now()
				err := tt.ask(t.Context(), c)
				if took := time.Since(began); err == nil || took > 2*defaultIdleTimeout {
					t.Errorf("after %v: %v", took, err)
				}
			})
		})
	}
}

// A trickle returns a byte every ten seconds, for hours.
type trickle struct {
	ctx context.Context
	n   int
}

func (b *trickle) Read(p []byte) (int, error) {
	if b.n++; b.n > 10_000 {
		return 0, io.EOF
	}
	select {
	case <-b.ctx.Done():
		return 0, b.ctx.Err()
	case <-time.After(10 * time.Second):
	}
	p[0] = ' '
	return 1, nil
}

func TestRenewsToken(t *testing.T) {
	for _, c := range []struct {
		name  string
		takes string
		ok    bool
		spent int
	}{{"the next one", "Bearer " + secret + "-2", true, 1}, {"none", "", false, 1}} {
		t.Run(c.name, func(t *testing.T) {
			var n atomic.Int32
			source := &tokens{}
			client := serve(t, Options{Tokens: source}, func(w http.ResponseWriter, r *http.Request) {
				n.Add(1)
				if r.Header.Get("Authorization") != c.takes {
					refuse(401, `{"code":"invalid-jwt","message":"expired: `+strings.TrimPrefix(r.Header.Get("Authorization"), "Bearer ")+`"}`)(w, r)
				}
			})
			s, err := client.Send(t.Context(), "c", Message{})
			if err == nil {
				_ = s.Close()
			}
			if (err == nil) != c.ok || n.Load() != 2 || source.spent != c.spent {
				t.Errorf("got %v after %d requests, %d invalidated", err, n.Load(), source.spent)
			}
			if err != nil && strings.Contains(err.Error(), secret) {
				t.Errorf("shows the token: %v", err)
			}
		})
	}
}

// The test verifies that the hint comes from the error that has one.
func TestHintOfCause(t *testing.T) {
	endpoint := &token.EndpointError{Origin: "https://example.com:443", Status: 404}
	c := newClient(t, Options{BaseURL: closedURL, Tokens: &tokens{err: endpoint}, Quota: NewQuota(SaaSLimits(), nil)})
	_, err := c.Models(t.Context())
	if e, ok := errors.AsType[*Error](err); !ok || e.Hint() != endpoint.Hint() || !e.IsAuth() {
		t.Errorf("got %v", err)
	}
	c.tokens = &tokens{}
	_, err = c.Send(t.Context(), "c", Message{InputTokens: 1e7})
	if e, ok := errors.AsType[*Error](err); !ok || e.Class() != retry.Permanent || e.Hint() != "send less in each request" || e.MayBeBilled {
		t.Errorf("got %v", err)
	}
}

func TestNoToken(t *testing.T) {
	broken := errors.New("broken")
	c := newClient(t, Options{BaseURL: closedURL, Tokens: &tokens{err: broken}})
	_, err := c.Models(t.Context())
	if e, ok := errors.AsType[*Error](err); !ok || !errors.Is(err, broken) || !e.IsAuth() || e.Class() != retry.Fatal || e.Hint() == "" {
		t.Errorf("got %v", err)
	}
}

// The test verifies that redirects are not followed with the token.
func TestNoRedirect(t *testing.T) {
	var n atomic.Int32
	elsewhere := serve(t, Options{}, func(http.ResponseWriter, *http.Request) { n.Add(1) })
	c := serve(t, Options{}, func(w http.ResponseWriter, r *http.Request) {
		http.Redirect(w, r, elsewhere.base.String(), http.StatusTemporaryRedirect)
	})
	_, err := c.Models(t.Context())
	if e, ok := errors.AsType[*Error](err); !ok || e.Status != 307 || !strings.Contains(e.Hint(), "redirect") || n.Load() != 0 {
		t.Errorf("got %v, and %d requests elsewhere", err, n.Load())
	}
}

func TestErrors(t *testing.T) {
	for _, c := range []struct {
		status int
		body   string
		is     error
		class  retry.Class
		text   string
		hint   string
	}{
		{403, `{"statusCode":403,"code":"missing-permissions","message":"No permissions to the resource","traceId":"abc","data":{"missingPermissions":["ai:admin","ai:x"]}}`, nil, retry.Fatal, "missing ai:admin, ai:x (trace abc)", "the token needs ai:admin, ai:x"},
		{403, `{"message":"no"}`, nil, retry.Fatal, "403 Forbidden: no", "auth.ai.permissions"},
		{401, `{"code":"environment-not-found","message":"Environment not found"}`, nil, retry.Fatal, "environment-not-found", "does not know the environment"},
		{401, `{"code":"invalid-jwt-signature"}`, nil, retry.Fatal, "invalid-jwt-signature", "access key"},
		{401, ``, nil, retry.Fatal, "401 Unauthorized", "access key"},
		{402, `{}`, ErrCredits, retry.Fatal, "402", "credits"},
		{403, `{"code":"credits-exhausted"}`, ErrCredits, retry.Fatal, "credits", "no credits left"},
		{404, `{"code":"MODEL_NOT_FOUND","message":"gone"}`, ErrModel, retry.Permanent, "gone", "choose another one with --ai-model"},
		{400, `{"code":"model_not_found"}`, ErrModel, retry.Permanent, "400", "choose another one with --ai-model"},
		{404, `{"code":"conversation-not-found"}`, fs.ErrNotExist, retry.Permanent, "conversation-not-found", ""},
		{409, `{"code":"conversation-exists"}`, fs.ErrExist, retry.Permanent, "409", ""},
		{409, `{"message":"conversation in use"}`, ErrConversationInUse, retry.Permanent, "409", "new conversation"},
		{422, `{"code":"moderation-flagged","data":{"flaggedCategories":["violence"]}}`, nil, retry.Permanent, "flagged as violence", "moderation rejects this content"},
		{422, `{"message":"x","data":{"flaggedCategories":["hate"]}}`, nil, retry.Permanent, "flagged as hate", "moderation rejects this content"},
		{413, `{"code":"image-too-large","data":{"limit":5000000}}`, nil, retry.Permanent, "image-too-large", "5000000 bytes: send a smaller image"},
		{413, `{"code":"file-too-large"}`, nil, retry.Permanent, "413", "send less"},
		{415, `{"code":"unsupported-file-type"}`, nil, retry.Permanent, "415", "PNG, JPEG"},
		{422, `{"code":"too-many-pdf-pages"}`, nil, retry.Permanent, "422", "several conversations"},
		{422, `{"code":"web-resource-download-error"}`, nil, retry.Permanent, "422", "needs no sign-in"},
		{400, `{"status_code":400,"trace_id":"old","message":"m","explanation":"because","action":"do it"}`, nil, retry.Permanent, "m: because (trace old)", "do it"},
		{400, `{"message":{"a":1},"data":[1],"code":7}`, nil, retry.Permanent, `{"a":1}`, ""},
		{400, "plain words\n" + secret, nil, retry.Permanent, "plain words [redacted]", ""},
		{400, "<html>" + secret, nil, retry.Permanent, "400 Bad Request", ""},
		{400, `{"message":"` + strings.Repeat("x", 1000) + `"}`, nil, retry.Permanent, "xxx…", ""},
		{501, `{}`, nil, retry.Transient, "501", ""},
	} {
		t.Run(fmt.Sprint(c.status, " ", c.hint), func(t *testing.T) {
			client := serve(t, Options{}, refuse(c.status, c.body))
			_, err := client.Conversation(t.Context(), "c")
			e, ok := errors.AsType[*Error](err)
			if !ok || e.Status != c.status || e.Class() != c.class || !strings.Contains(err.Error(), c.text) || !strings.HasPrefix(err.Error(), "read conversation c: ") {
				t.Fatalf("got %v of class %s", err, e.Class())
			}
			if !strings.Contains(e.Hint(), c.hint) || c.hint == "" && e.Hint() != "" {
				t.Errorf("hint: got %q, want %q", e.Hint(), c.hint)
			}
			for _, one := range []error{ErrCredits, ErrModel, fs.ErrNotExist, fs.ErrExist, ErrConversationInUse, ErrMayBeBilled, ErrUnconfirmed} {
				if errors.Is(err, one) != (one == c.is) {
					t.Errorf("is %q: %v", one, errors.Is(err, one))
				}
			}
			if text := fmt.Sprintf("%v %+v %#v %s", err, err, e, e.Hint()); strings.Contains(text, secret) {
				t.Errorf("shows the token: %s", text)
			}
		})
	}
}

// The test verifies that deleting a missing object is a success.
func TestDeleteMissing(t *testing.T) {
	c := serve(t, Options{}, refuse(404, `{"code":"conversation-not-found"}`))
	if err := c.DeleteConversation(t.Context(), "c"); err != nil {
		t.Error(err)
	}
}

// The test verifies that a conversation that an earlier attempt created is accepted, but not one
// that existed before.
func TestCreateAgain(t *testing.T) {
	taken := refuse(409, `{"code":"conversation-exists"}`)
	for name, c := range map[string]struct {
		handlers []http.HandlerFunc
		ok       bool
	}{
		"taken":              {[]http.HandlerFunc{taken}, false},
		"taken behind a 429": {[]http.HandlerFunc{refuse(429, tooMany), taken}, false},
		"behind a cut":       {[]http.HandlerFunc{hangUp, taken}, true},
		"behind a 502":       {[]http.HandlerFunc{refuse(502, ""), taken}, true},
	} {
		var n atomic.Int32
		client := serve(t, Options{}, inSequence(&n, c.handlers...))
		id, err := client.CreateConversation(t.Context(), NewConversation{ID: "c"})
		if c.ok && (err != nil || id != "c") || !c.ok && !errors.Is(err, fs.ErrExist) {
			t.Errorf("%s: got %q, %v", name, id, err)
		}
	}
}

func TestUpload(t *testing.T) {
	c := serve(t, Options{}, func(w http.ResponseWriter, r *http.Request) {
		_, params, _ := mime.ParseMediaType(r.Header.Get("Content-Type"))
		form, err := multipart.NewReader(r.Body, params["boundary"]).ReadForm(1 << 20)
		if err != nil {
			t.Error(err)
			return
		}
		header := form.File["file"][0]
		f, err := header.Open()
		if err != nil {
			t.Error(err)
			return
		}
		content, _ := io.ReadAll(f)
		if header.Filename != `a "b".PNG` || header.Header.Get("Content-Type") != "image/png" || string(content) != "hello" || form.Value["attributes"][0] != `{"label":"l"}` || r.ContentLength <= 0 {
			t.Errorf("got %q, %v, %q, %v", header.Filename, header.Header, content, form.Value)
		}
		_, _ = io.WriteString(w, `{"id":"f"}`)
	})
	f := textFile()
	f.Name, f.Attributes = `a "b".PNG`, map[string]string{"label": "l"}
	if id, err := c.UploadFile(t.Context(), "c", f); err != nil || id != "f" {
		t.Errorf("got %q, %v", id, err)
	}
}

// The test verifies that a file that differs from its announced size is a permanent local error.
func TestUploadBroken(t *testing.T) {
	var n atomic.Int32
	c := serve(t, Options{}, func(w http.ResponseWriter, r *http.Request) {
		n.Add(1)
		if _, err := io.Copy(io.Discard, r.Body); err == nil {
			t.Error("all of the body came")
		}
	})
	waits := 0
	c.onWait = func(retry.Wait) { waits++ }
	for name, change := range map[string]func(*File){
		"not there": func(f *File) { f.Body = func() (io.ReadCloser, error) { return os.Open("/nowhere") } },
		"short":     func(f *File) { f.Size++ },
		"long":      func(f *File) { f.Size-- },
	} {
		f := textFile()
		change(&f)
		_, err := c.UploadFile(t.Context(), "c", f)
		if class, _ := retry.Classify(err); class != retry.Permanent || waits > 0 {
			t.Errorf("%s: got %v of class %s after %d waits", name, err, class, waits)
		}
	}
}

func TestUnreadable(t *testing.T) {
	for _, body := range []string{"", "<html>", "[]", "{}", `{"items":null}`, `{"items":[{"limits":7}]}`} {
		c := serve(t, Options{Retry: retry.Policy{Attempts: 1}}, answer(200, "application/json", body))
		_, err := c.Models(t.Context())
		if e, ok := errors.AsType[*Error](err); !ok || e.Class() != retry.Transient || !strings.Contains(err.Error(), "not readable") {
			t.Errorf("%q: got %v", body, err)
		}
		if _, err := c.ProcessDocuments(t.Context(), Processing{Documents: []string{"x"}}); err == nil {
			t.Errorf("%q: no error", body)
		}
	}
}

// The test verifies that a wrong number of results is a permanent error: another attempt would
// return the same and be billed again.
func TestAnotherNumberOfDocuments(t *testing.T) {
	for _, body := range []string{`{"documents":[]}`, `{"documents":[{"document":"a"},{"document":"b"}]}`} {
		c := serve(t, Options{}, answer(200, "application/json", body))
		_, err := c.ProcessDocuments(t.Context(), Processing{Documents: []string{"x"}})
		if e, ok := errors.AsType[*Error](err); !ok || e.Class() != retry.Permanent || !errors.Is(err, ErrMayBeBilled) {
			t.Errorf("%s: got %v", body, err)
		}
	}
}

type zeros struct{}

func (zeros) Read(p []byte) (int, error) { clear(p); return len(p), nil }

// The test verifies that only a limited part of an endless answer is kept.
func TestEndlessAnswer(t *testing.T) {
	c := newClient(t, Options{BaseURL: closedURL, Retry: retry.Policy{Attempts: 1}, Transport: fakeTransport(func(r *http.Request) (*http.Response, error) {
		status := 200
		if r.Method == http.MethodPatch {
			status = 400
		}
		return &http.Response{StatusCode: status, Header: http.Header{}, Body: io.NopCloser(zeros{})}, nil
	})})
	if _, err := c.Models(t.Context()); err == nil || !strings.Contains(err.Error(), "too large") {
		t.Errorf("got %v", err)
	}
	if err := c.PinConversation(t.Context(), "c", true); err == nil {
		t.Error("no error")
	}
	if _, err := all(t, send(t, c)); err == nil || !strings.Contains(err.Error(), "larger than") {
		t.Errorf("got %v", err)
	}
}

// The test verifies that each billable request is reported once, however often it is sent, and that
// other requests are not reported.
func TestOnCall(t *testing.T) {
	var n atomic.Int32
	var reported []Call
	c := serve(t, Options{OnCall: func(c Call) { reported = append(reported, c) }}, inSequence(&n, refuse(429, tooMany), events("")))
	s := send(t, c)
	_ = s.Close()
	if err := c.DeleteConversation(t.Context(), "c"); err != nil {
		t.Error(err)
	}
	if len(reported) != 1 || reported[0] != (Call{"Send", true}) {
		t.Errorf("got %v", reported)
	}
}

// The test verifies that a message waits for the quota before each attempt, and that the limiter
// counts the rejections.
func TestSendWaitsForQuota(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var sent []time.Duration
		start := time.Now()
		limiter := ratelimit.New(ratelimit.Options{Max: 4})
		c := newClient(t, Options{
			BaseURL: closedURL, Limiter: limiter, Quota: NewQuota(Limits{PerUser: Rates{LLMRequests: 63, WebSearches: 6.3}}, nil),
			Transport: fakeTransport(func(r *http.Request) (*http.Response, error) {
				sent = append(sent, time.Since(start).Round(time.Second))
				status := 200
				if len(sent) == 2 {
					status = 429
				}
				return &http.Response{StatusCode: status, Header: http.Header{}, Body: io.NopCloser(strings.NewReader(""))}, nil
			}),
		})
		for _, search := range []bool{false, false, true, true} {
			s, err := c.Send(t.Context(), "c", Message{WebSearch: search})
			if err != nil {
				t.Fatal(err)
			}
			_ = s.Close()
		}
		want := []time.Duration{0, 1 * time.Second, 2 * time.Second, 3 * time.Second, 13 * time.Second}
		if !slices.Equal(sent, want) || limiter.Throttling().Refused != 1 {
			t.Errorf("sent at %v, %d refused; want %v", sent, limiter.Throttling().Refused, want)
		}
	})
}

// FuzzFault verifies that any answer of a service results in an error of one line without the
// token.
func FuzzFault(f *testing.F) {
	for _, body := range []string{tooMany, "", "null", "[]", "<html>", `{"message":{},"data":{"missingPermissions":[1,"a\nb"],"flaggedCategories":"x","limit":"y"}}`, `{"statusCode":"x","code":"` + secret + `","trace_id":"t"}`} {
		f.Add(400, body)
	}
	f.Fuzz(func(t *testing.T, status int, body string) {
		status = 400 + int(uint(status)%200)
		c := newClient(t, Options{BaseURL: closedURL, Retry: retry.Policy{Attempts: 1}, Transport: fakeTransport(func(*http.Request) (*http.Response, error) {
			return &http.Response{StatusCode: status, Header: http.Header{}, Body: io.NopCloser(strings.NewReader(body))}, nil
		})})
		_, err := c.Conversation(t.Context(), "c")
		e, ok := errors.AsType[*Error](err)
		if !ok || e.Status != status || e.Class() == "" {
			t.Fatalf("got %v", err)
		}
		if text := err.Error() + strings.ReplaceAll(e.Hint(), "\n  assetferry ", " "); strings.ContainsAny(text, "\n\r\x00\x1b") || strings.Contains(text, secret) {
			t.Errorf("got %q", text)
		}
	})
}
