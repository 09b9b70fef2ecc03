package aiservice_test

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"assetferry/internal/sandbox/aiservice"
	"assetferry/internal/sandbox/aiservice/aiservicetest"
	"assetferry/internal/sandbox/datadir"
	"assetferry/internal/sandbox/tokens"
)

// never is longer than any test.
const never = 24 * time.Hour

// begin sends a message and returns once the reply has begun. leave closes the connection.
func (c *client) begin(conversation string) (leave func()) {
	c.Helper()
	ctx, cancel := context.WithCancel(c.Context())
	r, err := http.NewRequestWithContext(ctx, "POST", c.URL+conversation+"/messages", strings.NewReader(`{"prompt":"Tell me.","model":"agent-1"}`))
	if err != nil {
		c.Fatal(err)
	}
	r.Header.Set("Authorization", "Bearer "+c.token)
	response, err := http.DefaultTransport.RoundTrip(r)
	if err != nil {
		c.Fatal(err)
	}
	if line, err := bufio.NewReader(response.Body).ReadString('\n'); err != nil || line != "event: message-metadata\n" {
		c.Fatalf("%q, %v", line, err)
	}
	return func() {
		cancel()
		_ = response.Body.Close()
	}
}

func TestOneReplyAtATime(t *testing.T) {
	c := start(t, aiservice.Options{EventInterval: never})
	path := c.conversation("one")
	leave := c.begin(path)
	defer leave()
	message := map[string]any{"prompt": "And now?", "model": "agent-1"}
	c.refused("POST", path+"/messages", message, 409, "conversation-in-use")
	if roles := column(c.items(path+"/messages"), "role"); !slices.Equal(roles, []string{"user"}) {
		t.Errorf("kept so far: %v", roles)
	}
	other := c.begin(c.conversation("two"))
	defer other()
	leave()
	c.refused("POST", path+"/messages", message, 409, "conversation-in-use") // the reply continues
	if s := c.Stats(t); s.BilledRequests != 2 {
		t.Errorf("%d calls were billed", s.BilledRequests)
	}
	c.must("DELETE", path, nil)
	c.conversation("one")
}

// TestReplyGoesOnWithoutListener verifies that a reply continues without a client, and that closing
// the stand-in waits for it.
func TestReplyGoesOnWithoutListener(t *testing.T) {
	dir := t.TempDir()
	t.Run("first life", func(t *testing.T) {
		c := start(t, aiservice.Options{Dir: dir, EventInterval: never})
		c.file(c.conversation("one"), "a.txt", "", []byte("kept"))
		c.begin("/v1/conversations/one")()
		if _, err := aiservice.New(aiservice.Options{Dir: dir}); !errors.Is(err, datadir.ErrInUse) {
			t.Errorf("a second one on the directory: %v", err)
		}
	})
	c := start(t, aiservice.Options{Dir: dir})
	messages := c.items("/v1/conversations/one/messages")
	if roles := column(messages, "role"); !slices.Equal(roles, []string{"user", "assistant"}) {
		t.Errorf("kept: %v", roles)
	}
	if s := c.Stats(t); s.BilledRequests != 1 || s.Conversations != 1 {
		t.Errorf("statistics %+v", s)
	}
	id := column(c.items("/v1/conversations/one/files"), "id")[0]
	c.say("/v1/conversations/one", map[string]any{"prompt": "What is in it?", "content": []any{map[string]any{"type": "file", "id": id}}})
}

func TestDirectoryOfSomethingElse(t *testing.T) {
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "ai.db"), []byte(strings.Repeat("no database ", 100)), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := aiservice.New(aiservice.Options{Dir: dir}); err == nil || !strings.Contains(err.Error(), "ai.db") {
		t.Errorf("error %v", err)
	}
	for name, e := range map[string][]tokens.Environment{"no key": {{ID: "x"}}, "no ID": {{AccessKey: "x"}}, "twice": {{ID: "x", AccessKey: "y"}, {ID: "x", AccessKey: "z"}}} {
		if _, err := aiservice.New(aiservice.Options{Environments: e}); err == nil {
			t.Errorf("%s: no error", name)
		}
	}
	if _, err := aiservice.New(faulty(t, "POST /v1/conversation status=500")); err == nil || !strings.Contains(err.Error(), "POST /v1/conversations") {
		t.Errorf("a fault of an unknown route: %v", err)
	}
	if _, err := aiservice.New(faulty(t, "GET /health stream=cut")); err == nil || !strings.Contains(err.Error(), messagesRoute) {
		t.Errorf("a fault of what is no stream: %v", err)
	}
}

const childDir = "ASSETFERRY_AI_SANDBOX_TEST_DIR"

// TestChildServes is not a test: it is the process that TestKilled kills.
func TestChildServes(t *testing.T) {
	dir := os.Getenv(childDir)
	if dir == "" {
		return
	}
	s, err := aiservice.New(aiservice.Options{Dir: dir, Environments: []tokens.Environment{aiservicetest.Environment()}, EventInterval: 200 * time.Microsecond})
	if err != nil {
		t.Fatal(err)
	}
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	fmt.Println("listening", l.Addr())
	if err := s.Serve(context.Background(), l); err != nil {
		t.Fatal(err)
	}
}

// A child is a stand-in in its own process.
type child struct {
	*client
	process *exec.Cmd
}

func startChild(t *testing.T, dir string) *child {
	t.Helper()
	process := exec.Command(os.Args[0], "-test.run=^TestChildServes$")
	process.Env = append(os.Environ(), childDir+"="+dir)
	out, err := process.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := process.Start(); err != nil {
		t.Fatal(err)
	}
	addr := ""
	for lines := bufio.NewScanner(out); addr == "" && lines.Scan(); {
		addr, _ = strings.CutPrefix(lines.Text(), "listening ")
	}
	c := &client{TB: t, Running: aiservicetest.Running{URL: "http://" + addr, Environment: aiservicetest.Environment()}}
	return &child{client: c.as("tester", adminScope), process: process}
}

// talk creates conversations with a message each until the process ends, and calls onReply for each
// complete reply.
func (c *child) talk(name string, onReply func(conversation, reply string)) {
	for i := 0; ; i++ {
		id := fmt.Sprint(name, "-", i)
		a, err := c.send("POST", "/v1/conversations", "application/json", strings.NewReader(`{"id":"`+id+`"}`))
		if err != nil {
			return
		}
		if a.status != 201 {
			c.Errorf("conversation %s: %d %s", id, a.status, a.text)
			return
		}
		a, err = c.send("POST", "/v1/conversations/"+id+"/messages", "application/json", strings.NewReader(`{"prompt":"Tell me.","model":"agent-1"}`))
		if err != nil {
			return
		}
		onReply(id, text(events(c, a.text), "text-delta"))
	}
}

// TestKilled kills a stand-in during replies. It verifies that complete replies are stored, that
// each reply was billed once, and that no conversation is in use.
func TestKilled(t *testing.T) {
	dir := t.TempDir()
	c := startChild(t, dir)
	var mu sync.Mutex
	replies := map[string]string{}
	var clients sync.WaitGroup
	for i := range 3 {
		clients.Go(func() {
			c.talk(fmt.Sprint("life-", i), func(conversation, reply string) {
				mu.Lock()
				defer mu.Unlock()
				if replies[conversation] = reply; len(replies) == 40 {
					_ = c.process.Process.Kill()
				}
			})
		})
	}
	clients.Wait()
	_ = c.process.Wait() // a killed process returns an error
	if len(replies) < 40 {
		t.Fatalf("only %d replies were told", len(replies))
	}
	again := start(t, aiservice.Options{Dir: dir})
	asked := 0
	for _, id := range everyConversation(again) {
		path := "/v1/conversations/" + id
		messages := again.items(path + "/messages")
		if asked += min(1, len(messages)); len(messages) == 2 {
			kept := messages[1].(map[string]any)["content"].([]any)[0].(map[string]any)["content"]
			if reply, there := replies[id]; there && reply != kept {
				t.Errorf("%s: told was %q, kept is %q", id, reply, kept)
			}
			delete(replies, id)
		}
	}
	if len(replies) > 0 {
		t.Errorf("not kept: %v", replies)
	}
	if s := again.Stats(t); s.BilledRequests != asked {
		t.Errorf("%d calls were billed, and %d were asked", s.BilledRequests, asked)
	}
	again.say("/v1/conversations/life-0-0", map[string]any{"prompt": "Are you there?"})
}

func everyConversation(c *client) (ids []string) {
	c.Helper()
	cursor := ""
	for {
		p := c.must("GET", "/v1/conversations?limit=100"+cursor, nil)
		ids = append(ids, column(p["items"].([]any), "id")...)
		if p["nextCursor"] == nil {
			return ids
		}
		cursor = "&cursor=" + p["nextCursor"].(string)
	}
}

func TestServe(t *testing.T) {
	s, err := aiservice.New(aiservice.Options{})
	if err != nil {
		t.Fatal(err)
	}
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() { ended <- s.Serve(ctx, l) }()
	r, err := http.NewRequestWithContext(ctx, "GET", "http://"+l.Addr().String()+"/health", nil)
	if err != nil {
		t.Fatal(err)
	}
	transport := &http.Transport{DisableKeepAlives: true}
	response, err := transport.RoundTrip(r)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := io.ReadAll(response.Body); err != nil || response.StatusCode != 200 {
		t.Errorf("%s, %v", response.Status, err)
	}
	_ = response.Body.Close()
	cancel()
	if err := <-ended; err != nil {
		t.Error(err)
	}
	for range 2 { // the second Close returns no error
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	}
}

// TestManyAtOnce is for the race detector: many clients call all routes of one stand-in in
// parallel.
func TestManyAtOnce(t *testing.T) {
	c := start(t, aiservice.Options{Limits: aiservice.SaaS(), Now: newClock().read})
	red := picture(t, 8, 8)
	var users sync.WaitGroup
	for i := range 6 {
		users.Go(func() {
			c := c.as(fmt.Sprint("user-", i%3), adminScope)
			path := c.conversation(fmt.Sprint("one-", i))
			id := c.file(path, "a.png", "image/png", red)
			for range 3 {
				c.say(path, map[string]any{"prompt": "Describe it.", "content": []any{map[string]any{"type": "file", "id": id}}})
				c.items("/v1/conversations")
				c.must("GET", "/_sandbox/stats", nil)
			}
			c.must("DELETE", path, nil)
		})
	}
	users.Wait()
	if s := c.Stats(t); s.BilledRequests != 18 || s.Conversations != 0 || s.Limits[0].Organisation.Most != 18 || s.Limits[0].User.Most != 6 {
		t.Errorf("statistics %+v", s)
	}
}
