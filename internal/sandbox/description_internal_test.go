package sandbox

import (
	"encoding/json"
	"slices"
	"strings"
	"testing"
)

// TestEveryRouteIsDescribed also finds descriptions of what is no route.
func TestEveryRouteIsDescribed(t *testing.T) {
	text, err := Description()
	if err != nil {
		t.Fatal(err)
	}
	var described struct {
		Paths map[string]map[string]json.RawMessage
	}
	if err := json.Unmarshal(text, &described); err != nil {
		t.Fatal(err)
	}
	var operations []string
	for path, item := range described.Paths {
		for method := range item {
			if method != "parameters" {
				operations = append(operations, strings.ToUpper(method)+" "+path)
			}
		}
	}
	have := []string{"GET " + statsPath}
	for _, r := range routes() {
		if r.handle != nil {
			have = append(have, r.method+" "+r.pattern)
		}
	}
	for _, op := range have {
		if !slices.Contains(operations, op) {
			t.Errorf("%s is not described in openapi.yaml", op)
		}
	}
	for _, op := range operations {
		if !slices.Contains(have, op) {
			t.Errorf("openapi.yaml describes %s, which is no route", op)
		}
	}
}
