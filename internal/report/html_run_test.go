package report_test

import (
	"bytes"
	"fmt"
	"strings"
	"testing"
	"time"

	"assetferry/migrate"
)

// The page of a run from its journal has the sum, what is public and what did not arrive.
func TestPageOfARun(t *testing.T) {
	w := newWorld(t, "POST /assets status=400 once=1")
	w.put("a/1.jpg", "one", "b/contract.txt", "signed", "b/odd.odd", "?", "c/2.jpg", "two")
	rules := migrate.DefaultRules()
	rules.Unsupported = "skip"
	r := w.read(w.migrate(rules))
	if len(r.Troubles) != 1 || len(r.Troubles[0].Examples) != 1 {
		t.Fatalf("one upload was refused: %+v", r.Troubles)
	}
	var b bytes.Buffer
	must(t, r.WriteHTML(t.Context(), &b, time.UTC))
	page := b.String()
	for _, p := range r.Sum.Parts {
		if !strings.Contains(page, fmt.Sprintf(`<data id="sum-%s-bytes" value="%d">`, strings.ReplaceAll(p.Name, " ", "-"), p.Bytes)) {
			t.Errorf("the page does not have the bytes of what was %s", p.Name)
		}
	}
	for _, want := range []string{
		r.Run.ID, "Not everything arrived", `<data id="sum-created-objects" value="2">`, `<bdi class="key">` + r.Troubles[0].Examples[0].Key + `</bdi></th><td>failed</td>`,
		"anybody (public)", "users (private)", "b/odd.odd",
	} {
		if !strings.Contains(page, want) {
			t.Errorf("the page has no %s", want)
		}
	}
}
