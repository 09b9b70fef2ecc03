package aiprobe_test

import (
	"cmp"
	"context"
	"encoding/json"
	"maps"
	"net/http"
	"net/http/httptest"
	"path"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	gocmp "github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"assetferry/internal/ai"
	"assetferry/internal/ai/aiprobe"
	"assetferry/internal/retry"
	"assetferry/internal/sandbox/aiservice"
	"assetferry/internal/sandbox/aiservice/aiservicetest"
	"assetferry/internal/sandbox/fault"
	"assetferry/internal/token"
)

// clients returns a function that makes clients of a stand-in without waits between attempts.
func clients(t *testing.T, s aiservicetest.Running, permissions ...string) func(aiprobe.Wrap) (*ai.Client, *ai.Client, error) {
	return func(wrap aiprobe.Wrap) (*ai.Client, *ai.Client, error) {
		minter, err := token.NewMinter(token.NewSecret(string(s.Environment.AccessKey)), token.Claims{Environment: s.Environment.ID, User: "tester", Service: "ai", Permissions: permissions})
		if err != nil {
			return nil, nil, err
		}
		c, err := ai.New(ai.Options{BaseURL: s.URL, Tokens: minter, Transport: wrap(ai.NewTransport(nil)), Retry: retry.Policy{Rand: func(time.Duration) time.Duration { return 0 }}})
		if err == nil {
			t.Cleanup(c.CloseIdleConnections)
		}
		return c, c, err
	}
}

// probed probes a stand-in. It verifies that nothing is billed and that no conversation is left.
func probed(t *testing.T, o aiservice.Options, permissions ...string) aiprobe.Profile {
	t.Helper()
	if permissions == nil {
		permissions = []string{"ai:conversations:*", "ai:models:*", "ai:admin"}
	}
	s := aiservicetest.Run(t, o)
	got, err := aiprobe.Run(t.Context(), aiprobe.Options{NewClients: clients(t, s, permissions...), Service: s.URL})
	if err != nil || !got.Measured || got.Left != nil {
		t.Fatalf("got %+v, %v", got, err)
	}
	if got.Requests > int64(aiprobe.MostCalls()) || got.Requests == 0 {
		t.Errorf("%d requests, and at most %d were said", got.Requests, aiprobe.MostCalls())
	}
	if stats := s.Stats(t); stats.BilledRequests != 0 || stats.Conversations != 0 {
		t.Errorf("%d calls were billed, and %d conversations are left", stats.BilledRequests, stats.Conversations)
	}
	for what := range unmeasured() {
		if got.Profile.Unknown[what] == "" {
			t.Errorf("%s is not named as what cannot be measured", what)
		}
	}
	return got.Profile
}

func unmeasured() map[string]bool {
	return map[string]bool{"stream": true, "credits": true, "rate": true, "moderation": true, "default_page": true, "contexts": true}
}

func own() aiservice.Profile {
	return aiservice.Profile{Version: 1, Lists: "page", Messages: "page", Models: "items", LargestPage: 100, Order: "honour", Created: 201, Deleted: 204,
		DeletedAgain: "refuse", TakenIDs: "refuse", ReusedIDs: "accept", MaxID: 128, Group: "optional", TinyImages: "accept", IdleUsers: "list"}
}

// asRead returns a measured profile as a stand-in reads it.
func asRead(t *testing.T, p aiprobe.Profile) aiservice.Profile {
	t.Helper()
	text, err := p.Encode()
	if err != nil {
		t.Fatal(err)
	}
	read, err := aiservice.ReadProfile("profile.yaml", strings.NewReader(string(text)))
	if err != nil {
		t.Fatalf("%v\n%s", err, text)
	}
	return read
}

// TestProfiles probes stand-ins with twelve profiles. It verifies that each key is measured as
// configured, and that a stand-in with the measured profile has the same profile again.
func TestProfiles(t *testing.T) {
	for name, change := range map[string]func(*aiservice.Profile){
		"its own":     func(*aiservice.Profile) {},
		"arrays":      func(p *aiservice.Profile) { p.Lists, p.Messages, p.LargestPage = "array", "array", 0 },
		"an array":    func(p *aiservice.Profile) { p.Messages = "array" },
		"models":      func(p *aiservice.Profile) { p.Models, p.Group = "models", "required" },
		"statuses":    func(p *aiservice.Profile) { p.Created, p.Deleted = 200, 200 },
		"forgiving":   func(p *aiservice.Profile) { p.DeletedAgain, p.TakenIDs = "accept", "accept" },
		"small pages": func(p *aiservice.Profile) { p.LargestPage, p.Order = 37, "ignore" },
		"large pages": func(p *aiservice.Profile) { p.LargestPage = -1 },
		"short IDs":   func(p *aiservice.Profile) { p.MaxID, p.ReusedIDs = 50, "refuse" },
		"long IDs":    func(p *aiservice.Profile) { p.MaxID, p.IdleUsers = -1, "omit" },
		"picky":       func(p *aiservice.Profile) { p.TinyImages, p.Group, p.MaxID = "refuse", "required", 255 },
		"all other than its own": func(p *aiservice.Profile) {
			*p = aiservice.Profile{Version: 1, Lists: "array", Messages: "array", Models: "models", Order: "ignore", Created: 200, Deleted: 200,
				DeletedAgain: "accept", TakenIDs: "accept", ReusedIDs: "refuse", MaxID: 64, Group: "required", TinyImages: "refuse", IdleUsers: "omit"}
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			set := own()
			change(&set)
			measured := asRead(t, probed(t, aiservice.Options{Profile: set}))
			ignored := cmpopts.IgnoreFields(aiservice.Profile{}, "Service", "MeasuredAt", "Unknown")
			if diff := gocmp.Diff(set, measured, ignored); diff != "" {
				t.Errorf("-set +measured:\n%s", diff)
			}
			wantUnknown := unmeasured()
			if set.Lists == "array" {
				wantUnknown["largest_page"] = true
			}
			if got, want := slices.Sorted(maps.Keys(measured.Unknown)), slices.Sorted(maps.Keys(wantUnknown)); !slices.Equal(got, want) {
				t.Errorf("not measured: got %v, want %v", got, want)
			}
			again := asRead(t, probed(t, aiservice.Options{Profile: measured}))
			if diff := gocmp.Diff(measured, again, ignored); diff != "" {
				t.Errorf("-first +second:\n%s", diff)
			}
		})
	}
}

// The test verifies that a missing permission or endpoint is reported, and that the rest is
// measured.
func TestLess(t *testing.T) {
	p := probed(t, aiservice.Options{}, "ai:conversations:*", "ai:models:*")
	if p.IdleUsers != "" || !strings.Contains(p.Unknown["idle_users"], "ai:admin") || p.ReusedIDs != "accept" {
		t.Errorf("without ai:admin: got %+v", p)
	}
	p = probed(t, aiservice.Options{OnPremises: true})
	if p.IdleUsers != "" || !strings.Contains(p.Unknown["idle_users"], "404") {
		t.Errorf("on premises: got %+v", p)
	}
}

// The test verifies that after any failure, all conversations are deleted or listed.
func TestCleansUp(t *testing.T) {
	for name, rule := range map[string]string{
		"lists fail":               "GET /v1/conversations status=500",
		"uploads fail":             "POST /v1/conversations/{conversationId}/files status=500",
		"answers of making lost":   "POST /v1/conversations drop=after nth=2",
		"the first one fails late": "POST /v1/conversations status=500 commit=after",
		"deleting fails once":      "DELETE /v1/conversations/{conversationId} status=500 once=1",
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := aiservicetest.Run(t, aiservice.Options{Faults: []fault.Rule{faultRule(t, rule)}})
			got, err := aiprobe.Run(t.Context(), aiprobe.Options{NewClients: clients(t, s, "ai:conversations:*", "ai:models:*", "ai:admin")})
			if stats := s.Stats(t); stats.Conversations != 0 || stats.BilledRequests != 0 || got.Left != nil {
				t.Errorf("%d conversations are left (%v), %d calls were billed; %v", stats.Conversations, got.Left, stats.BilledRequests, err)
			}
		})
	}
	t.Run("deleting fails", func(t *testing.T) {
		s := aiservicetest.Run(t, aiservice.Options{Faults: []fault.Rule{faultRule(t, "DELETE /v1/conversations/{conversationId} status=500")}})
		got, err := aiprobe.Run(t.Context(), aiprobe.Options{NewClients: clients(t, s, "ai:conversations:*", "ai:models:*", "ai:admin")})
		if n := s.Stats(t).Conversations; err == nil || n == 0 || len(got.Left) < n || !got.Measured || got.Profile.Lists != "page" {
			t.Errorf("got %+v, %v, and %d are left", got, err, n)
		}
	})
	t.Run("deleting is somewhere else", func(t *testing.T) {
		s := aiservicetest.Run(t, aiservice.Options{Faults: []fault.Rule{faultRule(t, "DELETE /v1/conversations/{conversationId} status=404")}})
		got, err := aiprobe.Run(t.Context(), aiprobe.Options{NewClients: clients(t, s, "ai:conversations:*", "ai:models:*", "ai:admin")})
		if n := s.Stats(t).Conversations; err == nil || n == 0 || len(got.Left) != n {
			t.Errorf("got %v, %v, and %d are left", got.Left, err, n)
		}
	})
	t.Run("answers of deleting are lost", func(t *testing.T) {
		s := aiservicetest.Run(t, aiservice.Options{Faults: []fault.Rule{faultRule(t, "DELETE /v1/conversations/{conversationId} drop=after nth=2")}})
		got, err := aiprobe.Run(t.Context(), aiprobe.Options{NewClients: clients(t, s, "ai:conversations:*", "ai:models:*", "ai:admin")})
		if n := s.Stats(t).Conversations; err != nil || n != 0 || got.Left != nil {
			t.Errorf("got %v, %v, and %d are left", got.Left, err, n)
		}
	})
	t.Run("interrupted", func(t *testing.T) {
		s := aiservicetest.Run(t, aiservice.Options{})
		ctx, cancel := context.WithCancel(t.Context())
		step := func(what string) {
			if what == "tiny_images" {
				cancel()
			}
		}
		got, err := aiprobe.Run(ctx, aiprobe.Options{NewClients: clients(t, s, "ai:conversations:*", "ai:models:*"), Step: step})
		if n := s.Stats(t).Conversations; err == nil || n != 0 || got.Measured {
			t.Errorf("got %+v, %v, and %d are left", got, err, n)
		}
	})
}

// The test verifies that an interrupt during the creation of a conversation does not let the
// service create it after the deletion.
func TestInterruptedWhileMaking(t *testing.T) {
	s := aiservicetest.Run(t, aiservice.Options{})
	ctx, cancel := context.WithCancel(t.Context())
	last := &late{cancel: cancel, nth: 2}
	plain := clients(t, s, "ai:conversations:*", "ai:models:*")
	got, err := aiprobe.Run(ctx, aiprobe.Options{NewClients: func(wrap aiprobe.Wrap) (*ai.Client, *ai.Client, error) {
		return plain(func(next http.RoundTripper) http.RoundTripper { last.next = next; return wrap(last) })
	}})
	last.arrive(t)
	if n := s.Stats(t).Conversations; err == nil || n != 0 || got.Left != nil {
		t.Errorf("got %+v, %v, and %d are left", got, err, n)
	}
}

// late interrupts a probe during the creation of the nth conversation. If that request is
// cancelled, it reaches the service after all others.
type late struct {
	next     http.RoundTripper
	cancel   func()
	nth, now int
	given    *http.Request
}

func (l *late) RoundTrip(r *http.Request) (*http.Response, error) {
	if r.Method == http.MethodPost && strings.HasSuffix(r.URL.Path, "/conversations") {
		if l.now++; l.now == l.nth {
			l.cancel()
			select {
			case <-r.Context().Done():
				l.given = r
				return nil, r.Context().Err()
			case <-time.After(100 * time.Millisecond):
			}
		}
	}
	return l.next.RoundTrip(r)
}

func (l *late) arrive(t *testing.T) {
	if l.given == nil {
		return
	}
	r := l.given.Clone(t.Context())
	r.Body, _ = l.given.GetBody()
	answer, err := l.next.RoundTrip(r)
	if err != nil {
		t.Fatal(err)
	}
	_ = answer.Body.Close()
}

// The test verifies that a timeout of a proxy and a missing endpoint do not count as a rejection.
func TestWhatIsNoRefusal(t *testing.T) {
	for _, status := range []string{"408", "404"} {
		s := aiservicetest.Run(t, aiservice.Options{Faults: []fault.Rule{faultRule(t, "POST /v1/conversations/{conversationId}/files status="+status)}})
		got, err := aiprobe.Run(t.Context(), aiprobe.Options{NewClients: clients(t, s, "ai:conversations:*", "ai:models:*", "ai:admin")})
		if err != nil || got.Profile.TinyImages != "" || !strings.Contains(got.Profile.Unknown["tiny_images"], status) {
			t.Errorf("%s: got %+v, %v", status, got.Profile, err)
		}
	}
}

// The test verifies that a rejected ID does not count as accepted after a lost answer.
func TestTakenIDAfterALostAnswer(t *testing.T) {
	s := aiservicetest.Run(t, aiservice.Options{Faults: []fault.Rule{faultRule(t, "POST /v1/conversations drop=before nth=3")}})
	got, err := aiprobe.Run(t.Context(), aiprobe.Options{NewClients: clients(t, s, "ai:conversations:*", "ai:models:*", "ai:admin")})
	if err != nil || got.Profile.TakenIDs != "refuse" {
		t.Errorf("got %+v, %v", got.Profile, err)
	}
}

// The test verifies that the order is detected for a service that stores and sorts times in whole
// seconds.
func TestOrderByWholeSeconds(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		plain := clients(t, aiservicetest.Running{URL: "https://localhost", Environment: aiservicetest.Environment()})
		got, err := aiprobe.Run(t.Context(), aiprobe.Options{NewClients: func(wrap aiprobe.Wrap) (*ai.Client, *ai.Client, error) {
			return plain(func(http.RoundTripper) http.RoundTripper { return wrap(&coarse{}) })
		}})
		if err != nil || got.Profile.Order != "honour" {
			t.Errorf("got %+v, %v", got.Profile, err)
		}
	})
}

// The test verifies that statuses that a stand-in does not support are reported, and that it can
// read the profile.
func TestOtherStatuses(t *testing.T) {
	plain := clients(t, aiservicetest.Running{URL: "https://localhost", Environment: aiservicetest.Environment()})
	got, err := aiprobe.Run(t.Context(), aiprobe.Options{NewClients: func(wrap aiprobe.Wrap) (*ai.Client, *ai.Client, error) {
		return plain(func(http.RoundTripper) http.RoundTripper { return wrap(&coarse{status: http.StatusAccepted}) })
	}})
	if err != nil {
		t.Fatal(err)
	}
	read := asRead(t, got.Profile)
	if read.Created != 0 || read.Deleted != 0 || !strings.Contains(read.Unknown["created"], "202") || !strings.Contains(read.Unknown["deleted"], "202") || read.ReusedIDs != "accept" {
		t.Errorf("got %+v", read)
	}
}

// The test verifies that a rejected ID is not deleted, because a service that checks IDs everywhere
// would reject that, too.
func TestIDsAreCheckedEverywhere(t *testing.T) {
	plain := clients(t, aiservicetest.Running{URL: "https://localhost", Environment: aiservicetest.Environment()})
	got, err := aiprobe.Run(t.Context(), aiprobe.Options{NewClients: func(wrap aiprobe.Wrap) (*ai.Client, *ai.Client, error) {
		return plain(func(http.RoundTripper) http.RoundTripper { return wrap(&coarse{longest: 64}) })
	}})
	if err != nil || got.Left != nil || got.Profile.MaxID != 64 {
		t.Errorf("got %+v, %v", got, err)
	}
}

// coarse is a service that only has conversations, and sorts them by the second.
type coarse struct {
	made    []ai.Conversation
	status  int // status of creations and deletions; zero: the usual ones
	longest int // maximum length of an ID in any request; zero: no limit
}

func (s *coarse) RoundTrip(r *http.Request) (*http.Response, error) {
	answer := httptest.NewRecorder()
	switch {
	case r.Method == http.MethodGet && r.URL.Path == "/v1/conversations":
		items := slices.Clone(s.made)
		slices.SortStableFunc(items, func(a, b ai.Conversation) int {
			if r.URL.Query().Get("order") == "desc" {
				return b.CreatedAt.Compare(a.CreatedAt)
			}
			return a.CreatedAt.Compare(b.CreatedAt)
		})
		_ = json.NewEncoder(answer).Encode(map[string]any{"items": items})
	case r.Method == http.MethodPost && r.URL.Path == "/v1/conversations":
		n := ai.Conversation{CreatedAt: time.Now().Truncate(time.Second)}
		_ = json.NewDecoder(r.Body).Decode(&n)
		if s.longest > 0 && len(n.ID) > s.longest {
			answer.WriteHeader(http.StatusBadRequest)
			break
		}
		s.made = append(s.made, n)
		answer.WriteHeader(cmp.Or(s.status, http.StatusCreated))
	case r.Method == http.MethodDelete && s.longest > 0 && len(path.Base(r.URL.Path)) > s.longest:
		answer.WriteHeader(http.StatusBadRequest)
	case r.Method == http.MethodDelete:
		answer.WriteHeader(cmp.Or(s.status, http.StatusOK))
	default:
		answer.WriteHeader(http.StatusNotFound)
	}
	result := answer.Result()
	result.Request = r
	return result, nil
}

func faultRule(t *testing.T, rule string) fault.Rule {
	t.Helper()
	f, err := fault.Parse(rule)
	if err != nil {
		t.Fatal(err)
	}
	return f
}

// The test verifies that a probe sends no billed request.
func TestAsksNoModel(t *testing.T) {
	s := aiservicetest.Run(t, aiservice.Options{})
	plain := clients(t, s, "ai:conversations:*", "ai:models:*", "ai:admin")
	_, err := aiprobe.Run(t.Context(), aiprobe.Options{NewClients: func(wrap aiprobe.Wrap) (*ai.Client, *ai.Client, error) {
		return plain(func(next http.RoundTripper) http.RoundTripper { return wrap(&watched{t, next}) })
	}})
	if err != nil {
		t.Error(err)
	}
}

type watched struct {
	t    *testing.T
	next http.RoundTripper
}

func (w *watched) RoundTrip(r *http.Request) (*http.Response, error) {
	for _, billed := range []string{"/calls", "/documents/process", "/messages"} {
		if r.Method == http.MethodPost && strings.HasSuffix(r.URL.Path, billed) {
			w.t.Errorf("%s %s is billed", r.Method, r.URL.Path)
		}
	}
	return w.next.RoundTrip(r)
}
