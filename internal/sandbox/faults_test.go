package sandbox_test

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"assetferry/internal/sandbox"
	"assetferry/internal/sandbox/fault"
)

func faulty(t testing.TB, rules ...string) sandbox.Options {
	t.Helper()
	var o sandbox.Options
	for _, r := range rules {
		o.Faults = append(o.Faults, mustFault(t, r))
	}
	return o
}

// folders creates n folders and returns the status of each attempt; 0 is a closed connection.
func (c *client) folders(n int) (statuses []int) {
	category := c.category("Documents")
	for i := range n {
		r, err := c.send("POST", "/folders", "", strings.NewReader(fmt.Sprintf(`{"name":"%d","categoryId":"%s"}`, i, category)))
		status := 0
		if err == nil {
			status = r.StatusCode
		}
		statuses = append(statuses, status)
	}
	return statuses
}

func TestFaults(t *testing.T) {
	for rule, test := range map[string]struct {
		statuses []int
		made     string // folders that exist afterwards
	}{
		"POST /folders status=503":                       {[]int{503, 503, 503, 503}, ""},
		"POST /folders status=503 nth=2":                 {[]int{201, 503, 201, 503}, "0,2"},
		"POST /folders status=503 once=2":                {[]int{201, 503, 201, 201}, "0,2,3"},
		"POST /folders status=503 nth=2 commit=before":   {[]int{201, 503, 201, 503}, "0,2"},
		"POST /folders status=503 nth=2 commit=after":    {[]int{201, 503, 201, 503}, "0,1,2,3"},
		"POST /folders status=200 once=1 commit=after":   {[]int{200, 201, 201, 201}, "0,1,2,3"},
		"POST /folders drop=before once=3":               {[]int{201, 201, 0, 201}, "0,1,3"},
		"POST /folders drop=after once=3":                {[]int{201, 201, 0, 201}, "0,1,2,3"},
		"POST /folders status=500 rate=1":                {[]int{500, 500, 500, 500}, ""},
		"POST /folders status=500 rate=0":                {[]int{201, 201, 201, 201}, "0,1,2,3"},
		"* /folders/{whatever} status=500":               {[]int{201, 201, 201, 201}, "0,1,2,3"},
		"PUT * status=500":                               {[]int{201, 201, 201, 201}, "0,1,2,3"},
		"POST * status=429 once=4":                       {[]int{201, 201, 201, 429}, "0,1,2"},
		"POST /folders limit=2/h":                        {[]int{201, 429, 429, 429}, "0"},
		"POST /folders limit=2/h status=503":             {[]int{201, 503, 503, 503}, "0"},
		"POST /folders delay=1ms":                        {[]int{201, 201, 201, 201}, "0,1,2,3"},
		"POST /folders delay=1ms status=404 once=1":      {[]int{404, 201, 201, 201}, "1,2,3"},
		"POST /folders status=500 once=9 retry-after=10": {[]int{201, 201, 201, 201}, "0,1,2,3"},
	} {
		t.Run(rule, func(t *testing.T) {
			c := start(t, faulty(t, rule))
			if got := c.folders(4); !slices.Equal(got, test.statuses) {
				t.Errorf("statuses %v, want %v", got, test.statuses)
			}
			if got := strings.Join(column(c.get("/folders"), "name"), ","); got != test.made {
				t.Errorf("folders %s, want %s", got, test.made)
			}
		})
	}
}

func TestFaultsCountEveryRequest(t *testing.T) {
	c := start(t, faulty(t, "POST /folders status=500 once=1", "POST /folders status=502 nth=2", "* /folders status=503 once=4"))
	if got, want := c.folders(5), []int{500, 502, 201, 502, 201}; !slices.Equal(got, want) {
		t.Errorf("statuses %v, want %v: the first rule decides, all count", got, want)
	}
}

func TestFaultRateIsDeterministic(t *testing.T) {
	run := func(rule string) []int { return start(t, faulty(t, rule)).folders(60) }
	first := run("POST /folders status=503 rate=0.3 seed=7")
	if !slices.Equal(first, run("POST /folders status=503 rate=0.3 seed=7")) {
		t.Error("equal seeds differ")
	}
	if slices.Equal(first, run("POST /folders status=503 rate=0.3 seed=8")) {
		t.Error("other seeds do not differ")
	}
	n := 0
	for _, status := range first {
		if status == 503 {
			n++
		}
	}
	if n < 8 || n > 30 {
		t.Errorf("%d of 60 went wrong at a rate of 0.3", n)
	}
}

func TestFaultRetryAfter(t *testing.T) {
	for rule, want := range map[string]string{
		"GET /limits status=429":                        "",
		"GET /limits status=429 retry-after=3":          "3",
		"GET /limits status=503 retry-after=tomorrow":   "tomorrow",
		`GET /limits status=503 retry-after="in a bit"`: "in a bit",
	} {
		c := start(t, faulty(t, rule))
		r, err := c.send("GET", "/limits", "", nil)
		if err != nil {
			t.Fatal(err)
		}
		checkProblem(t, r)
		if got := r.Header.Get("Retry-After"); got != want {
			t.Errorf("%s: Retry-After %q, want %q", rule, got, want)
		}
	}
}

func TestFaultLimitRefills(t *testing.T) {
	clock := newClock()
	o := faulty(t, "GET /limits limit=2/s retry-after=1")
	o.Now = clock.now
	c := start(t, o)
	take := func() (n int) {
		for range 5 {
			r, err := c.send("GET", "/limits", "", nil)
			if err != nil {
				t.Fatal(err)
			}
			if r.StatusCode == 200 {
				n++
			} else if r.Header.Get("Retry-After") != "1" {
				t.Errorf("Retry-After %q", r.Header.Get("Retry-After"))
			}
		}
		return n
	}
	for _, step := range []struct {
		wait time.Duration
		want int
	}{{0, 2}, {0, 0}, {500 * time.Millisecond, 1}, {time.Hour, 2}} {
		clock.advance(step.wait)
		if got := take(); got != step.want {
			t.Errorf("%v later %d went through, want %d", step.wait, got, step.want)
		}
	}
}

func TestLatencyAndDelay(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		o := faulty(t, "GET /limits delay=5s once=2")
		o.Latency = 2 * time.Second
		s := newServer(t, o)
		for _, want := range []time.Duration{2 * time.Second, 7 * time.Second, 2 * time.Second} {
			begun := time.Now()
			w := httptest.NewRecorder()
			s.ServeHTTP(w, request(t, "GET", "/limits", nil, ""))
			if got := time.Since(begun); got != want || w.Code != http.StatusOK {
				t.Errorf("status %d after %v, want 200 after %v", w.Code, got, want)
			}
		}
	})
}

func TestStats(t *testing.T) {
	c := start(t, faulty(t, "POST /folders drop=before once=1"))
	c.token = ""
	if r := c.do(200, "GET", "/_sandbox/stats", nil); strings.TrimSpace(string(r.body)) != `{"requests":[]}` {
		t.Errorf("at first: %s", r.body)
	}
	c = c.as("user")
	a := c.upload("a.txt", "x")
	c.upload("b.txt", "x")
	path := "/" + c.env.ID + "/assets/" + a["id"].(string) + "/file"
	c.do(200, "GET", path, nil)
	c.do(200, "HEAD", path, nil)
	c.get("/assets/" + a["id"].(string))
	c.do(404, "GET", "/assets/none", nil)
	c.get("/limits")
	if _, err := c.send("POST", "/folders", "", strings.NewReader("{}")); err == nil { // the transport would repeat a GET
		t.Error("the connection was not cut")
	}
	c.do(501, "GET", "/nowhere", nil)
	c.do(501, "POST", "/nowhere", object{})
	c.do(501, "PUT", "/assets/"+a["id"].(string), object{})
	want := []string{
		"POST /assets 201 2",
		"GET /assets/{id} 200 1",
		"GET /assets/{id} 404 1",
		"POST /folders 0 1",
		"GET /limits 200 1",
		"GET /{workspaceId}/assets/{id}/file 200 1",
		"HEAD /{workspaceId}/assets/{id}/file 200 1",
		"GET unknown 501 1",
		"POST unknown 501 1",
		"PUT unknown 501 1",
	}
	var got []string
	for _, r := range c.get("/_sandbox/stats")["requests"].([]any) {
		r := r.(object)
		got = append(got, fmt.Sprint(r["method"], " ", r["route"], " ", r["status"], " ", r["count"]))
	}
	slices.Sort(got)
	slices.Sort(want)
	if !slices.Equal(got, want) {
		t.Errorf("got\n%s\nwant\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
	}
}

func TestFaultOfUnknownRoute(t *testing.T) {
	for rule, says := range map[string]string{
		"POST /asset status=500": "PATCH /assets/{id}",
		"* * stream=cut":         "no route with a streamed response",
	} {
		_, err := sandbox.New(faulty(t, rule))
		if err == nil || !strings.Contains(err.Error(), says) {
			t.Errorf("%s: error %v does not say %q", rule, err, says)
		}
	}
}

func mustFault(t testing.TB, text string) fault.Rule {
	t.Helper()
	f, err := fault.Parse(text)
	if err != nil {
		t.Fatal(err)
	}
	return f
}
