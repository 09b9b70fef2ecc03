package aiservice_test

import (
	"fmt"
	"net/url"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"assetferry/internal/sandbox/aiservice"
	"assetferry/internal/sandbox/tokens"
)

// A clock is set by tests, also while a server reads it.
type clock struct {
	mu  sync.Mutex
	now time.Time
}

func newClock() *clock { return &clock{now: time.Now()} }

func (c *clock) read() time.Time {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.now
}

func (c *clock) pass(d time.Duration) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.now = c.now.Add(d)
}

func TestConversation(t *testing.T) {
	at := newClock()
	c := start(t, aiservice.Options{Now: at.read})
	path := c.conversation("first")
	c.refused("POST", "/v1/conversations", map[string]string{"id": "first"}, 409, "conversation-exists")
	for name, body := range map[string]any{
		"no ID": map[string]string{"group": "x"}, "a slash": map[string]string{"id": "a/b"}, "a long ID": map[string]string{"id": strings.Repeat("x", 129)},
		"another field": map[string]string{"id": "x", "name": "y"}, "no object": `[]`, "no UTF-8": "{\"id\":\"\xff\"}",
	} {
		if data := c.refused("POST", "/v1/conversations", body, 400, "invalid-request-data"); data["issues"] == nil {
			t.Errorf("%s: no issues", name)
		}
	}
	made := c.must("GET", path, nil)
	if made["id"] != "first" || made["group"] != "tests" || made["title"] != "" || made["pinned"] != false {
		t.Errorf("made: %v", made)
	}
	at.pass(time.Second)
	if got := c.must("PATCH", path, map[string]any{"title": "New", "pinned": true}); got["title"] != "New" || got["pinned"] != true {
		t.Errorf("changed: %v", got)
	}
	c.must("PATCH", path, map[string]any{"pinned": false})
	changed := c.must("GET", path, nil)
	if changed["title"] != "New" || changed["pinned"] != false || changed["createdAt"] != made["createdAt"] || changed["updatedAt"] == made["updatedAt"] {
		t.Errorf("changed: %v", changed)
	}
	c.refused("PATCH", path, map[string]any{}, 400, "invalid-request-data")
	c.refused("PATCH", path, map[string]any{"title": strings.Repeat("x", 1001)}, 400, "invalid-request-data")
	c.must("DELETE", path, nil)
	for _, method := range []string{"GET", "DELETE"} {
		c.refused(method, path, nil, 404, "conversation-not-found")
	}
	c.refused("PATCH", path, map[string]any{"title": "x"}, 404, "conversation-not-found")
	c.conversation("first") // its ID can be used again
}

func TestConversationsAreListed(t *testing.T) {
	at := newClock()
	c := start(t, aiservice.Options{Now: at.read})
	for i := range 5 {
		at.pass(time.Second)
		c.must("POST", "/v1/conversations", map[string]any{"id": fmt.Sprint("c", i), "group": fmt.Sprint("g", i%2)})
	}
	at.pass(time.Second)
	c.say("/v1/conversations/c1", map[string]any{"prompt": "Hello"})
	for query, want := range map[string]string{
		"":                                    "c4 c3 c2 c1 c0",
		"?sortBy=createdAt&order=asc":         "c0 c1 c2 c3 c4",
		"?sortBy=updatedAt":                   "c1 c4 c3 c2 c0",
		"?sortBy=updatedAt&order=asc":         "c0 c2 c3 c4 c1",
		"?group=g0":                           "c4 c2 c0",
		"?group=none":                         "",
		"?excludeEmpty=true":                  "c1",
		"?excludeEmpty=false&limit=2":         "c4 c3",
		"?group=g1&excludeEmpty=true&limit=9": "c1",
	} {
		if got := strings.Join(column(c.items("/v1/conversations"+query), "id"), " "); got != want {
			t.Errorf("%s: %s, want %s", query, got, want)
		}
	}
	for _, query := range []string{"limit=0", "limit=101", "limit=x", "sortBy=title", "order=up", "excludeEmpty=1"} {
		c.refused("GET", "/v1/conversations?"+query, nil, 400, "invalid-request-data")
	}
}

func TestPagesBothWays(t *testing.T) {
	c := start(t, aiservice.Options{})
	var all []string
	for i := range 7 {
		all = append(all, fmt.Sprint("c", i))
		c.conversation(all[i])
	}
	const list = "/v1/conversations?order=asc&limit=3"
	page := func(cursor any) (ids string, next, previous any) {
		path := list
		if cursor != nil {
			path += "&cursor=" + url.QueryEscape(cursor.(string))
		}
		v := c.must("GET", path, nil)
		return strings.Join(column(v["items"].([]any), "id"), " "), v["nextCursor"], v["previousCursor"]
	}
	first, next, previous := page(nil)
	if first != "c0 c1 c2" || previous != nil {
		t.Errorf("first page %s, before it %v", first, previous)
	}
	second, next, previous := page(next)
	if second != "c3 c4 c5" || previous == nil {
		t.Errorf("second page %s, before it %v", second, previous)
	}
	back, forth, before := page(previous)
	if back != "c0 c1 c2" || before != nil || forth == nil {
		t.Errorf("back is %s, before it %v", back, before)
	}
	if again, _, _ := page(forth); again != second {
		t.Errorf("forth again is %s", again)
	}
	last, beyond, previous := page(next)
	if last != "c6" || beyond != nil {
		t.Errorf("last page %s, after it %v", last, beyond)
	}
	for _, id := range []string{"c3", "c4", "c5", "c6"} { // deletions meanwhile cause no error
		c.must("DELETE", "/v1/conversations/"+id, nil)
	}
	if rest, _, _ := page(previous); rest != "c0 c1 c2" {
		t.Errorf("what is left before is %s", rest)
	}
	empty, after, before := page(next)
	if empty != "" || after != nil || before == nil {
		t.Errorf("beyond the end is %q, after it %v, before it %v", empty, after, before)
	}
	if rest, _, _ := page(before); rest != "c0 c1 c2" {
		t.Errorf("back from beyond the end is %s", rest)
	}
}

func TestWrongCursors(t *testing.T) {
	c := start(t, aiservice.Options{})
	for i := range 3 {
		c.conversation(fmt.Sprint("c", i))
	}
	next := c.must("GET", "/v1/conversations?limit=1", nil)["nextCursor"].(string)
	for _, query := range []string{"cursor=", "cursor=x", "cursor=bnVsbA", "cursor=e30", "group=tests&cursor=" + next, "order=asc&cursor=" + next} {
		c.refused("GET", "/v1/conversations?"+query, nil, 400, "invalid-cursor")
	}
	c.refused("GET", "/v1/conversations/c0/messages?cursor="+next, nil, 400, "invalid-cursor")
}

func TestEveryListPages(t *testing.T) {
	c := start(t, aiservice.Options{})
	path := c.conversation("one")
	admin := "/v1/admin/contexts/" + c.must("POST", "/v1/admin/contexts", map[string]any{"name": "House style"})["id"].(string)
	for i := range 3 {
		c.file(path, fmt.Sprintf("%d.txt", i), "text/plain", []byte("text"))
		c.must("POST", path+"/documents", map[string]any{"content": "<p>x</p>"})
		c.must("POST", admin+"/prompts", map[string]any{"name": "p", "prompt": "Do."})
		c.must("POST", "/v1/admin/context-libraries", map[string]any{"name": "l"})
		c.must("POST", "/v1/admin/contexts", map[string]any{"name": "c"})
		c.conversation(fmt.Sprint("more", i))
		c.say(path, map[string]any{"prompt": "Hello"})
		if a := c.upload(admin+"/files", "f.txt", "text/plain", []byte("text"), ""); a.status != 201 {
			t.Fatal(a.text)
		}
	}
	for _, list := range []string{
		path + "/files", path + "/documents", path + "/messages", admin + "/prompts", admin + "/files",
		"/v1/admin/context-libraries", "/v1/admin/contexts", "/v1/contexts", "/v1/admin/conversations", "/v1/conversations",
	} {
		whole := column(c.items(list), "id")
		var got []string
		for cursor := ""; ; {
			p := c.must("GET", list+"?limit=2"+cursor, nil)
			got = append(got, column(p["items"].([]any), "id")...)
			if p["nextCursor"] == nil {
				break
			}
			cursor = "&cursor=" + p["nextCursor"].(string)
		}
		if len(whole) < 3 || !slices.Equal(got, whole) {
			t.Errorf("%s: %v page by page, and %v in one", list, got, whole)
		}
	}
}

func TestUsersSeeOnlyTheirOwn(t *testing.T) {
	other := tokens.Environment{ID: "another", AccessKey: "another-key"}
	mine := tokens.Environment{ID: "mine", AccessKey: "my-key"}
	c := start(t, aiservice.Options{Environments: []tokens.Environment{mine, other}})
	path := c.conversation("secret")
	file := c.file(path, "a.txt", "text/plain", []byte("text"))
	document := c.must("POST", path+"/documents", map[string]any{"content": "<p>x</p>"})["id"].(string)
	abroad := *c
	abroad.Environment = other
	for name, stranger := range map[string]*client{"another user": c.as("other", "ai:admin"), "another environment": abroad.as("tester", "ai:admin")} {
		t.Run(name, func(t *testing.T) {
			c := *stranger
			c.TB = t
			for _, p := range []string{"", "/messages", "/files", "/files/" + file, "/documents", "/documents/" + document} {
				c.refused("GET", path+p, nil, 404, "conversation-not-found")
			}
			for _, p := range []string{"", "/files/" + file, "/documents/" + document} {
				c.refused("DELETE", path+p, nil, 404, "conversation-not-found")
			}
			c.refused("POST", path+"/messages", map[string]any{"prompt": "x", "model": "agent-1"}, 404, "conversation-not-found")
			if all := c.items("/v1/conversations"); len(all) != 0 {
				t.Errorf("it sees %v", all)
			}
			own := c.conversation("secret") // another user's ID is not in use here
			c.refused("POST", own+"/messages", map[string]any{"prompt": "x", "model": "agent-1", "content": []any{map[string]any{"type": "file", "id": file}}},
				404, "file-not-found")
			c.must("DELETE", own, nil)
		})
	}
	if got := column(c.items(path+"/files"), "id"); !slices.Equal(got, []string{file}) {
		t.Errorf("files are now %v", got)
	}
}
