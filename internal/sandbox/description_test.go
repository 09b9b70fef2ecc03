package sandbox_test

import (
	"encoding/json"
	"slices"
	"strings"
	"testing"

	"assetferry/internal/sandbox"
)

// operations returns the operations of the description, such as "GET /assets/{id}".
func operations(t testing.TB) []string {
	t.Helper()
	text, err := sandbox.Description()
	if err != nil {
		t.Fatal(err)
	}
	var described struct {
		Paths map[string]map[string]json.RawMessage
	}
	if err := json.Unmarshal(text, &described); err != nil {
		t.Fatal(err)
	}
	var all []string
	for path, item := range described.Paths {
		for method := range item {
			if method != "parameters" {
				all = append(all, strings.ToUpper(method)+" "+path)
			}
		}
	}
	slices.Sort(all)
	return all
}

// TestEveryRouteIsDescribed verifies that every route is described, and that every description has
// a route.
func TestEveryRouteIsDescribed(t *testing.T) {
	described, routes := operations(t), []string{"GET /_sandbox/stats"}
	for _, r := range sandbox.Routes() {
		routes = append(routes, r.Method+" "+r.Pattern)
	}
	for _, route := range routes {
		if !slices.Contains(described, route) {
			t.Errorf("%s is not described in openapi.yaml", route)
		}
	}
	for _, op := range described {
		if !slices.Contains(routes, op) {
			t.Errorf("openapi.yaml describes %s, which is no route", op)
		}
	}
}

func TestDescriptionIsServed(t *testing.T) {
	c := start(t, sandbox.Options{})
	c.token = ""
	if version, _ := c.get("/docs.json")["openapi"].(string); !strings.HasPrefix(version, "3.1.") {
		t.Errorf("it is of version %q", version)
	}
}
