package aiservice_test

import (
	"encoding/json"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"assetferry/internal/sandbox/aiservice"
)

// operations returns the operations of the description as routes.
func operations(t *testing.T) []aiservice.RouteInfo {
	t.Helper()
	text, err := aiservice.Description()
	if err != nil {
		t.Fatal(err)
	}
	var described struct {
		Paths map[string]map[string]json.RawMessage
	}
	if err := json.Unmarshal(text, &described); err != nil {
		t.Fatal(err)
	}
	var all []aiservice.RouteInfo
	for path, item := range described.Paths {
		for method, raw := range item {
			if method == "parameters" || path == "/_sandbox/stats" {
				continue
			}
			var op struct {
				Security *[]any
				Scopes   *[]string `json:"x-scopes"`
				Guess    bool      `json:"x-guess"`
			}
			if err := json.Unmarshal(raw, &op); err != nil {
				t.Fatal(err)
			}
			if (op.Security == nil) == (op.Scopes == nil) {
				t.Errorf("%s %s: want either security or x-scopes", method, path)
			}
			info := aiservice.RouteInfo{Method: strings.ToUpper(method), Pattern: path, Open: op.Security != nil, Guess: op.Guess}
			if op.Scopes != nil {
				info.Scope = strings.Join(*op.Scopes, " ")
			}
			all = append(all, info)
		}
	}
	return all
}

// TestEveryRouteIsDescribed verifies that every route is described, that every description has a
// route, and that guesses and scopes are stated.
func TestEveryRouteIsDescribed(t *testing.T) {
	wildcard := regexp.MustCompile(`\{[^}]+\}`)
	var routes []aiservice.RouteInfo
	for _, r := range aiservice.Routes() {
		if first := wildcard.FindString(r.Pattern); first != "" {
			r.Scope = strings.ReplaceAll(r.Scope, "{}", first)
		}
		routes = append(routes, r)
	}
	described := operations(t)
	byName := func(a, b aiservice.RouteInfo) int {
		return strings.Compare(a.Pattern+" "+a.Method, b.Pattern+" "+b.Method)
	}
	slices.SortFunc(routes, byName)
	slices.SortFunc(described, byName)
	if diff := cmp.Diff(routes, described); diff != "" {
		t.Errorf("routes (-) and openapi.yaml (+) differ:\n%s", diff)
	}
}

func TestDescriptionIsServed(t *testing.T) {
	c := start(t, aiservice.Options{})
	c.token = ""
	for _, path := range []string{"/v1/doc.json", "/v1/api/doc.json"} {
		if version, _ := c.must("GET", path, nil)["openapi"].(string); !strings.HasPrefix(version, "3.1.") {
			t.Errorf("%s is of version %q", path, version)
		}
	}
	for _, path := range []string{"/docs", "/docs/"} {
		if a := c.try("GET", path, nil); a.status != 307 || a.header.Get("Location") != "/v1/docs" {
			t.Errorf("GET %s: %d, to %s", path, a.status, a.header.Get("Location"))
		}
	}
	if a := c.try("GET", "/v1/docs", nil); a.status != 200 || !strings.Contains(a.text, `href="doc.json"`) {
		t.Errorf("GET /v1/docs: %d %.200s", a.status, a.text)
	}
}
