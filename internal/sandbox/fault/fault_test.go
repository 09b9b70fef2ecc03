package fault_test

import (
	"strings"
	"testing"
	"time"

	"assetferry/internal/sandbox/fault"
)

func TestParse(t *testing.T) {
	for text, want := range map[string]string{
		"POST /assets status=429 rate=0.3 retry-after=1 seed=7": "POST /assets status=429 retry-after=1 rate=0.3 seed=7",
		"  post\t/assets   status=500 ":                         "POST /assets status=500",
		"* * drop=before":                                       "* * drop=before",
		"GET /assets/{id} delay=1500ms once=3":                  "GET /assets/{id} delay=1.5s once=3",
		"POST /assets status=503 commit=after nth=2":            "POST /assets status=503 commit=after nth=2",
		"* * limit=120/m":                                       "* * limit=2/s",
		"* * limit=200/s status=503 retry-after=2":              "* * status=503 limit=200/s retry-after=2",
		`* * status=429 retry-after="a b\"c"`:                   `* * status=429 retry-after="a b\"c"`,
		`* * status=429 retry-after=""`:                         `* * status=429 retry-after=""`,
		`* * retry-after="soon" status=429`:                     `* * status=429 retry-after=soon`,
		"* * status=429 retry-after=-1":                         "* * status=429 retry-after=-1",
		"* * drop=after delay=1s":                               "* * drop=after delay=1s",
		"* * status=500 rate=0":                                 "* * status=500 rate=0",
		"POST * seed=7 rate=0.3 stream=cut":                     "POST * stream=cut rate=0.3 seed=7",
		"* * stream=slow delay=1s":                              "* * delay=1s stream=slow",
	} {
		f, err := fault.Parse(text)
		if err != nil {
			t.Errorf("%s: %v", text, err)
		} else if f.String() != want {
			t.Errorf("%s: became %s, want %s", text, f, want)
		}
	}
}

func TestParseSaysWhatIsWrong(t *testing.T) {
	for text, says := range map[string]string{
		"":                                       "METHOD ROUTE",
		"POST":                                   "METHOD ROUTE",
		"FETCH /assets status=500":               "GET, HEAD, POST",
		"POST assets status=500":                 "route",
		"POST /assets":                           "status, drop, limit, delay",
		"POST /assets broken":                    "key=value",
		"POST /assets stauts=500":                "status, commit, drop",
		"POST /assets stream=torn":               "error cut nodone",
		"POST /assets stream=cut status=500":     "cannot be used together",
		"POST /assets stream=cut drop=after":     "cannot be used together",
		"POST /assets stream=cut limit=1/s":      "cannot be used together",
		"POST /assets stream=cut retry-after=1":  "retry-after requires",
		"POST /assets status=99":                 "from 200 to 599",
		"POST /assets status=abc":                "from 200 to 599",
		"POST /assets status=500 status=501":     "twice",
		"POST /assets status=500 commit=maybe":   "commit=before or commit=after",
		"POST /assets drop=now":                  "drop=before or drop=after",
		"POST /assets drop=after status=500":     "cannot be used together",
		"POST /assets delay=5":                   "duration",
		"POST /assets delay=-5s":                 "duration",
		"POST /assets status=500 rate=2":         "from 0 to 1",
		"POST /assets status=500 rate=NaN":       "from 0 to 1",
		"POST /assets status=500 nth=0":          "from 1",
		"POST /assets status=500 once=-1":        "from 1",
		"POST /assets status=500 rate=1 nth=2":   "cannot be used together",
		"POST /assets limit=5/s once=2":          "cannot be used together",
		"POST /assets limit=5":                   "200/s",
		"POST /assets limit=0/s":                 "200/s",
		"POST /assets limit=Inf/s":               "200/s",
		"POST /assets delay=1s commit=after":     "commit requires status",
		"POST /assets drop=after commit=after":   "commit requires status",
		"POST /assets drop=after retry-after=1":  "retry-after requires",
		"POST /assets status=500 seed=1":         "seed requires rate",
		"POST /assets status=500 rate=1 seed=-1": "seed",
		`POST /assets status=500 retry-after="x`: "quote",
		`POST /assets status=5 retry-after="x"y`: "quote",
		`* * status=500 retry-after="a\nb"`:      "line breaks",
	} {
		_, err := fault.Parse(text)
		if err == nil {
			t.Errorf("%s: no error", text)
		} else if !strings.Contains(err.Error(), says) || !strings.HasPrefix(err.Error(), "fault ") {
			t.Errorf("%s: %v, does not say %q", text, err, says)
		}
	}
}

func TestSetKnowsItsRoutes(t *testing.T) {
	plain := fault.Route{Method: "GET", Pattern: "/assets/{id}"}
	stream := fault.Route{Method: "POST", Pattern: "/messages", Streams: true}
	for text, test := range map[string]struct {
		routes []fault.Route
		says   string // empty: the rule is valid
	}{
		"HEAD /assets/{any} status=500": {[]fault.Route{plain}, ""},
		"* * stream=cut":                {[]fault.Route{plain, stream}, ""},
		"GET * stream=cut":              {[]fault.Route{plain, stream}, "no such route; routes: POST /messages"},
		"* * stream=error":              {[]fault.Route{plain}, "no route with a streamed response"},
		"POST /asset status=500":        {[]fault.Route{plain, stream}, "routes: GET /assets/{id}, POST /messages"},
	} {
		rule, err := fault.Parse(text)
		if err != nil {
			t.Fatal(err)
		}
		_, err = fault.NewSet([]fault.Rule{rule}, test.routes, time.Now)
		if test.says == "" && err != nil || test.says != "" && (err == nil || !strings.Contains(err.Error(), test.says)) {
			t.Errorf("%s: error %v, want one that says %q", text, err, test.says)
		}
	}
}

func TestStreamsAreSpoiledOnlyWhereThereAreAny(t *testing.T) {
	rule, err := fault.Parse("* * stream=cut once=1")
	if err != nil {
		t.Fatal(err)
	}
	stream := fault.Route{Method: "POST", Pattern: "/messages", Streams: true}
	set, err := fault.NewSet([]fault.Rule{rule}, []fault.Route{stream}, time.Now)
	if err != nil {
		t.Fatal(err)
	}
	if _, fired := set.Next(fault.Route{Method: "GET", Pattern: "/assets"}); fired {
		t.Error("what is no stream was spoiled")
	}
	if got, fired := set.Next(stream); !fired || got.Stream != fault.Cut {
		t.Errorf("the first stream had the fault %v, %v", got, fired)
	}
}

func FuzzParse(f *testing.F) {
	for _, text := range []string{
		"POST /assets status=429 rate=0.3 retry-after=1 seed=7", "* * drop=before", "* * stream=error once=2", "* * limit=2/m status=503",
		`GET /{workspaceId}/assets/{id}/file delay=1h2m3s nth=4 status=200 commit=after retry-after="\x00 \u2028"`,
	} {
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text string) {
		rule, err := fault.Parse(text)
		if err != nil {
			return
		}
		again, err := fault.Parse(rule.String())
		if err != nil {
			t.Fatalf("%q became %q: %v", text, rule, err)
		}
		if again != rule {
			t.Errorf("%q became %q, then %q", text, rule, again)
		}
	})
}
