package ai_test

import (
	"flag"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"slices"
	"strings"
	"testing"

	"assetferry/internal/ai"
	"assetferry/internal/ai/aitest"
	"assetferry/internal/sandbox/aiservice"
	"assetferry/internal/sandbox/aiservice/aiservicetest"
	"assetferry/internal/token"
)

// clients returns a function that makes clients of the service at a URL for any caller.
func clients(base, environment string, key token.Secret) func(testing.TB, aitest.Caller) *ai.Client {
	return func(t testing.TB, as aitest.Caller) *ai.Client {
		t.Helper()
		claims := token.Claims{Environment: environment, User: as.User, Service: "ai", Permissions: as.Permissions}
		if claims.User == "" {
			claims.User = "assetferry-test"
		}
		if claims.Permissions == nil {
			claims.Permissions = aitest.Permissions()
		}
		if as.Unknown {
			claims.Environment = "noSuchEnvironment0"
		}
		key := key
		if as.Forged {
			key = token.NewSecret("the key of somebody else")
		}
		minter, err := token.NewMinter(key, claims)
		if err != nil {
			t.Fatal(err)
		}
		c, err := ai.New(ai.Options{BaseURL: base, Tokens: minter})
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(c.CloseIdleConnections)
		return c
	}
}

// TestLaw runs the law on the stand-in, with and without the event that ends a stream and with
// other forms of answers, and on a real service if the environment names one.
func TestLaw(t *testing.T) {
	page := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "text/html; charset=utf-8")
		_, _ = io.WriteString(w, "<html><title>A page</title><body><p>About ferries.</p></body></html>")
	}))
	t.Cleanup(page.Close)
	other := aiservice.Profile{Lists: "array", Messages: "array", Models: "models", Created: 200, Deleted: 200, DeletedAgain: "accept", MaxID: -1, LargestPage: -1}
	for name, o := range map[string]aiservice.Options{"sandbox": {}, "without the last event": {NoDone: true}, "on premises": {OnPremises: true}, "other forms": {Profile: other}} {
		t.Run(name, func(t *testing.T) {
			running := aiservicetest.Run(t, o)
			aitest.Run(t, aitest.Service{
				NewClient: clients(running.URL, running.Environment.ID, token.NewSecret(string(running.Environment.AccessKey))),
				Admin:     append(aitest.Permissions(), "ai:admin"), Page: page.URL, Flagged: "Something with sandbox-flag:violence.", Billed: !o.OnPremises,
			})
			checkCalled(t, running, o.OnPremises)
			if left := running.Stats(t); left.Conversations > 0 {
				t.Errorf("the law left %d conversations behind", left.Conversations)
			}
		})
	}
	base := os.Getenv("ASSETFERRY_TEST_AI_URL")
	if base == "" {
		return
	}
	t.Run("service", func(t *testing.T) {
		service := aitest.Service{
			NewClient: clients(base, os.Getenv("ASSETFERRY_TEST_AI_ENVIRONMENT_ID"), token.NewSecret(os.Getenv("ASSETFERRY_TEST_AI_ACCESS_KEY"))),
			Page:      os.Getenv("ASSETFERRY_TEST_AI_PAGE"), Flagged: os.Getenv("ASSETFERRY_TEST_AI_FLAGGED"),
			Billed: os.Getenv("ASSETFERRY_TEST_AI_ON_PREMISES") == "",
		}
		if os.Getenv("ASSETFERRY_TEST_AI_ADMIN") != "" {
			service.Admin = append(aitest.Permissions(), "ai:admin")
		}
		aitest.Run(t, service)
	})
}

// checkCalled verifies that the law calls every endpoint of the client, and that the stand-in has
// the same routes.
func checkCalled(t *testing.T, running aiservicetest.Running, onPremises bool) {
	t.Helper()
	if t.Failed() || strings.Contains(flag.Lookup("test.run").Value.String(), "/") {
		return // only a part of the law ran
	}
	called := running.Checker.Called()
	for endpoint, route := range ai.DefaultRoutes() {
		if endpoint == "DescriptionOnPremises" || onPremises && endpoint == "Usage" {
			continue // the first is only called without the other description; the second does not exist on premises
		}
		if !slices.Contains(called, route.String()) {
			t.Errorf("%s, which is %s, is never called", endpoint, route)
		}
	}
}
