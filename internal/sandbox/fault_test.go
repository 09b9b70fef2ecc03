package sandbox_test

import (
	"strings"
	"testing"

	"assetferry/internal/sandbox"
)

func TestParseFault(t *testing.T) {
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
	} {
		f, err := sandbox.ParseFault(text)
		if err != nil {
			t.Errorf("%s: %v", text, err)
		} else if f.String() != want {
			t.Errorf("%s: became %s, want %s", text, f, want)
		}
	}
}

func TestParseFaultSaysWhatIsWrong(t *testing.T) {
	for text, says := range map[string]string{
		"":                                       "METHOD ROUTE",
		"POST":                                   "METHOD ROUTE",
		"FETCH /assets status=500":               "GET, HEAD, POST",
		"POST assets status=500":                 "route",
		"POST /assets":                           "status, drop, limit, delay",
		"POST /assets broken":                    "key=value",
		"POST /assets stauts=500":                "status, commit, drop",
		"POST /assets status=99":                 "from 200 to 599",
		"POST /assets status=abc":                "from 200 to 599",
		"POST /assets status=500 status=501":     "twice",
		"POST /assets status=500 commit=maybe":   "commit=before or commit=after",
		"POST /assets drop=now":                  "drop=before or drop=after",
		"POST /assets drop=after status=500":     "do not go together",
		"POST /assets delay=5":                   "duration",
		"POST /assets delay=-5s":                 "duration",
		"POST /assets status=500 rate=2":         "from 0 to 1",
		"POST /assets status=500 rate=NaN":       "from 0 to 1",
		"POST /assets status=500 nth=0":          "from 1",
		"POST /assets status=500 once=-1":        "from 1",
		"POST /assets status=500 rate=1 nth=2":   "do not go together",
		"POST /assets limit=5/s once=2":          "do not go together",
		"POST /assets limit=5":                   "200/s",
		"POST /assets limit=0/s":                 "200/s",
		"POST /assets limit=Inf/s":               "200/s",
		"POST /assets delay=1s commit=after":     "commit needs status",
		"POST /assets drop=after commit=after":   "commit needs status",
		"POST /assets drop=after retry-after=1":  "retry-after needs",
		"POST /assets status=500 seed=1":         "seed needs rate",
		"POST /assets status=500 rate=1 seed=-1": "seed",
		`POST /assets status=500 retry-after="x`: "quote",
		`POST /assets status=5 retry-after="x"y`: "quote",
		`* * status=500 retry-after="a\nb"`:      "line breaks",
	} {
		_, err := sandbox.ParseFault(text)
		if err == nil {
			t.Errorf("%s: no error", text)
		} else if !strings.Contains(err.Error(), says) || !strings.HasPrefix(err.Error(), "fault ") {
			t.Errorf("%s: %v, does not say %q", text, err, says)
		}
	}
}

func TestFaultOfUnknownRoute(t *testing.T) {
	f := mustFault(t, "POST /asset status=500")
	_, err := sandbox.New(sandbox.Options{Faults: []sandbox.Fault{f}})
	if err == nil || !strings.Contains(err.Error(), "PATCH /assets/{id}") {
		t.Errorf("error %v does not name the routes", err)
	}
}

func mustFault(t testing.TB, text string) sandbox.Fault {
	t.Helper()
	f, err := sandbox.ParseFault(text)
	if err != nil {
		t.Fatal(err)
	}
	return f
}

func FuzzParseFault(f *testing.F) {
	for _, text := range []string{
		"POST /assets status=429 rate=0.3 retry-after=1 seed=7", "* * drop=before", "* * limit=2/m status=503",
		`GET /{workspaceId}/assets/{id}/file delay=1h2m3s nth=4 status=200 commit=after retry-after="\x00 \u2028"`,
	} {
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text string) {
		fault, err := sandbox.ParseFault(text)
		if err != nil {
			return
		}
		again, err := sandbox.ParseFault(fault.String())
		if err != nil {
			t.Fatalf("%q became %q: %v", text, fault, err)
		}
		if again != fault {
			t.Errorf("%q became %q, then %q", text, fault, again)
		}
	})
}
