package ai

import (
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"testing"
)

// pagesOf serves a list of count conversations, with their numbers as cursors.
func pagesOf(count int) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		at, _ := strconv.Atoi(r.URL.Query().Get("cursor"))
		limit, _ := strconv.Atoi(r.URL.Query().Get("limit"))
		items := []map[string]string{}
		for n := at; n < min(at+limit, count); n++ {
			items = append(items, map[string]string{"id": strconv.Itoa(n)})
		}
		page := map[string]any{"items": items, "nextCursor": nil, "previousCursor": nil}
		if at+limit < count {
			page["nextCursor"] = strconv.Itoa(at + limit)
		}
		if at > 0 {
			page["previousCursor"] = strconv.Itoa(max(0, at-limit))
		}
		_ = json.NewEncoder(w).Encode(page)
	}
}

func ids(t *testing.T, c *Client, pages ...Page) (all []string) {
	t.Helper()
	for one, err := range c.Conversations(t.Context(), ConversationFilter{}, pages...) {
		if err != nil {
			t.Fatal(err)
		}
		all = append(all, one.ID)
	}
	return all
}

func TestPaging(t *testing.T) {
	c := serve(t, Options{}, pagesOf(7))
	var cursors []string
	forward := ids(t, c, Page{Limit: 3, OnPage: func(next, previous string) { cursors = append(cursors, previous+"<>"+next) }})
	if fmt.Sprint(forward) != "[0 1 2 3 4 5 6]" || fmt.Sprint(cursors) != "[<>3 0<>6 3<>]" {
		t.Errorf("got %v by %v", forward, cursors)
	}
	if got := ids(t, c, Page{Limit: 3, Cursor: "3"}); fmt.Sprint(got) != "[3 4 5 6]" {
		t.Errorf("from a cursor: got %v", got)
	}
	backward := ids(t, c, Page{Limit: 3, Cursor: "6", Backward: true})
	slices.Reverse(backward)
	if !slices.Equal(backward, forward) {
		t.Errorf("backward: got %v", backward)
	}
	for range c.Conversations(t.Context(), ConversationFilter{}, Page{Limit: 1}) {
		break // another request would panic
	}
}

// The test verifies that repeated cursors end a list with an error.
func TestPagingThatGoesRound(t *testing.T) {
	for _, length := range []int{1, 2, 3, 10} {
		pages := 0
		c := serve(t, Options{}, func(w http.ResponseWriter, r *http.Request) {
			at, _ := strconv.Atoi(r.URL.Query().Get("cursor"))
			pages++
			_, _ = fmt.Fprintf(w, `{"items":[{"id":"%d"}],"nextCursor":"%d"}`, pages, at%length+1)
		})
		n := 0
		var last error
		for _, last = range c.Conversations(t.Context(), ConversationFilter{}) {
			if n++; n > 100 {
				t.Fatalf("%d pages: no end", length)
			}
		}
		if last == nil || !strings.Contains(last.Error(), "same cursor twice") {
			t.Errorf("%d pages: got %v", length, last)
		}
	}
}

// The test verifies that a repeated page with new cursors ends a list with an error, and that many
// empty pages do, too.
func TestPagingWithoutEnd(t *testing.T) {
	for _, items := range []string{`[{"id":"x"}]`, `[]`} {
		asked := 0
		c := serve(t, Options{}, func(w http.ResponseWriter, _ *http.Request) {
			asked++
			next := fmt.Sprintf(`"%d"`, asked)
			if asked > 1000 {
				next = "null" // the test has failed already
			}
			_, _ = fmt.Fprintf(w, `{"items":%s,"nextCursor":%s}`, items, next)
		})
		n := 0
		var last error
		for _, last = range c.Conversations(t.Context(), ConversationFilter{}) {
			n++
		}
		if last == nil || !strings.HasPrefix(last.Error(), "list conversations: the list returned the same page twice") || asked > 200 || n > 2 {
			t.Errorf("%s: got %v after %d pages with %d items", items, last, asked, n)
		}
	}
}

// The test verifies that a few empty pages do not end a list, because the service may have filtered
// their items.
func TestPagingOverEmptyPages(t *testing.T) {
	asked := 0
	c := serve(t, Options{}, func(w http.ResponseWriter, _ *http.Request) {
		if asked++; asked <= 20 {
			_, _ = fmt.Fprintf(w, `{"items":[],"nextCursor":"%d"}`, asked)
			return
		}
		_, _ = fmt.Fprint(w, `{"items":[{"id":"x"}]}`)
	})
	if got := ids(t, c); fmt.Sprint(got) != "[x]" {
		t.Errorf("got %v", got)
	}
}

func TestNotAList(t *testing.T) {
	c := serve(t, Options{}, answer(200, "application/json", `{"nextCursor":"x"}`))
	c.policy.Attempts = 1
	for _, err := range c.Conversations(t.Context(), ConversationFilter{}) {
		if _, ok := errors.AsType[*Error](err); !ok {
			t.Errorf("got %v", err)
		}
	}
}

func TestModels(t *testing.T) {
	const full = `{"items":[{"id":"agent-1","name":"Agent","provider":"Agent","recommended":true,"allowed":true,
		"capabilities":{"webSearch":{"enabled":true,"allowed":false}},
		"limits":{"maxContextLength":256000,"maxFiles":100,"maxFileSize":25000000,"maxImageSize":5000000,"maxTotalFileSize":30000000,"maxTotalPdfFilePages":100}},
		{"id":"old","limits":{"maxConversationLength":1000},"removal":"2026-04-01"},{"id":"new","allowed":false,"removal":"2027-04-01T00:00:00.000Z"}]}`
	c := serve(t, Options{}, answer(200, "application/json", full))
	models, err := c.Models(t.Context())
	if err != nil || len(models) != 3 {
		t.Fatalf("got %v, %v", models, err)
	}
	agent, old, next := models[0], models[1], models[2]
	if agent.Limits != (ModelLimits{256000, 100, 25_000_000, 5_000_000, 30_000_000, 100}) || agent.WebSearch != (Capability{true, false}) || !agent.Removal.IsZero() {
		t.Errorf("got %+v", agent)
	}
	if !old.Allowed || old.Limits.MaxContextLength != 1000 || old.Removal.Year() != 2026 || !old.IsRemoved(next.Removal) || next.IsRemoved(old.Removal) || !next.IsRemoved(next.Removal) {
		t.Errorf("got %+v and %+v", old, next)
	}
	c = serve(t, Options{}, answer(200, "application/json", `{"models":[{"id":"agent-1","allowed":false,"features":[]}]}`))
	if models, err := c.Models(t.Context()); err != nil || len(models) != 1 || models[0].Allowed {
		t.Errorf("got %v, %v", models, err)
	}
}

func TestChooseModel(t *testing.T) {
	model := func(id, how string) Model {
		m := Model{ID: id, Allowed: !strings.Contains(how, "not allowed"), Recommended: strings.Contains(how, "recommended")}
		if strings.Contains(how, "goes") {
			m.Removal = m.Removal.AddDate(2027, 0, 0)
		}
		return m
	}
	for _, c := range []struct {
		all          []Model
		wanted, want string
	}{
		{[]Model{model("a", ""), model("b", "recommended"), model("agent-1", "")}, "", "b"},
		{[]Model{model("a", ""), model("b", "recommended, not allowed"), model("agent-1", "")}, "", "agent-1"},
		{[]Model{model("a", ""), model("b", "")}, "", "a"},
		{[]Model{model("a", "recommended, goes"), model("b", "")}, "", "b"},
		{[]Model{model("a", "goes")}, "", "a"},
		{[]Model{model("a", "not allowed")}, "", ""},
		{nil, "", ""},
		{[]Model{model("a", "recommended"), model("b", "goes")}, "b", "b"},
		{[]Model{model("a", "recommended"), model("b", "not allowed")}, "b", ""},
		{[]Model{model("a", "recommended")}, "c", ""},
	} {
		got, err := ChooseModel(c.all, c.wanted)
		if got.ID != c.want || (err == nil) != (c.want != "") || err != nil && !errors.Is(err, ErrModel) {
			t.Errorf("%v, wanted %q: got %q, %v", c.all, c.wanted, got.ID, err)
		}
	}
}
