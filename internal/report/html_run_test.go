package report_test

import (
	"bytes"
	"fmt"
	"strings"
	"testing"
	"time"

	"assetferry/migrate"
)

// The page of a run has its results, who can see its assets, and what failed.
func TestPageOfARun(t *testing.T) {
	w := newWorld(t, "POST /assets status=400 once=1")
	w.put("a/1.jpg", "one", "b/contract.txt", "signed", "b/odd.odd", "?", "c/2.jpg", "two")
	rules := migrate.DefaultRules()
	rules.Unsupported = "skip"
	r := w.read(w.migrate(rules))
	if len(r.Problems) != 1 || len(r.Problems[0].Examples) != 1 {
		t.Fatalf("one upload was rejected: %+v", r.Problems)
	}
	var b bytes.Buffer
	must(t, r.WriteHTML(t.Context(), &b, time.UTC))
	page := b.String()
	for _, p := range r.Results.States {
		if !strings.Contains(page, fmt.Sprintf(`<data id="results-%s-bytes" value="%d">`, strings.ReplaceAll(p.State, "_", "-"), p.Bytes)) {
			t.Errorf("the page has no bytes of the state %s", p.State)
		}
	}
	for _, want := range []string{
		r.Run.ID, "Incomplete", `<data id="results-created-objects" value="2">`, `<bdi class="key">` + r.Problems[0].Examples[0].Key + `</bdi></th><td>failed</td>`,
		"anyone with the URL (public)", "authorised users (private)", "b/odd.odd",
	} {
		if !strings.Contains(page, want) {
			t.Errorf("the page has no %s", want)
		}
	}
}
