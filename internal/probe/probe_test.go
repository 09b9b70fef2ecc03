package probe_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"maps"
	"math"
	"net/http"
	"net/http/httptest"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"go.uber.org/goleak"

	"assetferry/internal/assets"
	"assetferry/internal/probe"
	"assetferry/internal/sandbox"
	"assetferry/internal/sandbox/fault"
	"assetferry/internal/sandbox/profile"
	"assetferry/internal/sandbox/sandboxtest"
	"assetferry/internal/sandbox/tokens"
	"assetferry/internal/token"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// A service is a sandbox that counts its requests.
type service struct {
	url       string
	transport http.RoundTripper // nil: over the network
	requests  atomic.Int64

	mu sync.Mutex
	on func(n int64) // called with the number of each request; may be nil
}

// begin starts a sandbox and counts its responses.
func begin(t *testing.T, o sandbox.Options) (*service, *sandbox.Server, http.HandlerFunc) {
	t.Helper()
	o.Environments = []tokens.Environment{sandboxtest.Environment()}
	box, err := sandbox.New(o)
	if err != nil {
		t.Fatal(err)
	}
	s := &service{}
	return s, box, func(w http.ResponseWriter, r *http.Request) {
		n := s.requests.Add(1)
		s.mu.Lock()
		on := s.on
		s.mu.Unlock()
		if on != nil {
			on(n)
		}
		box.ServeHTTP(w, r)
	}
}

func serve(t *testing.T, o sandbox.Options) *service {
	t.Helper()
	s, box, handler := begin(t, o)
	server := httptest.NewServer(handler)
	s.url = server.URL
	t.Cleanup(func() {
		server.Close()
		if err := box.Close(); err != nil {
			t.Error(err)
		}
	})
	return s
}

// serveBubble is serve without a network, for use in a bubble, where only intended waits take time.
func serveBubble(t *testing.T, o sandbox.Options) *service {
	t.Helper()
	s, box, handler := begin(t, o)
	s.url, s.transport = "http://localhost", sandboxtest.Transport(handler)
	t.Cleanup(func() {
		if err := box.Close(); err != nil {
			t.Error(err)
		}
	})
	return s
}

// observe calls a function for each request from now on.
func (s *service) observe(on func(n int64)) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.on = on
}

func (s *service) client(t *testing.T, role string, age time.Duration) *assets.Client {
	t.Helper()
	e := sandboxtest.Environment()
	m, err := token.NewMinter(token.NewSecret(string(e.AccessKey)), token.Claims{Environment: e.ID, Role: role})
	if err != nil {
		t.Fatal(err)
	}
	m.Life, m.Now = age+time.Hour, func() time.Time { return time.Now().Add(-age) }
	c, err := assets.New(assets.Options{BaseURL: s.url, Tokens: m, Transport: s.transport})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(c.CloseIdleConnections)
	return c
}

func (s *service) options(t *testing.T) probe.Options {
	return probe.Options{
		Client: s.client(t, "admin", 0), Service: "the service",
		Aged: func(age time.Duration) (*assets.Client, error) { return s.client(t, "admin", age), nil },
	}
}

func (s *service) probe(t *testing.T) probe.Profile {
	t.Helper()
	got, err := probe.Run(t.Context(), s.options(t))
	if err != nil || len(got.Left) > 0 {
		t.Fatalf("%v, left %v", err, got.Left)
	}
	s.checkClean(t)
	return got.Profile
}

// checkClean checks that a probe left nothing.
func (s *service) checkClean(t *testing.T) {
	t.Helper()
	for c, err := range s.client(t, "admin", 0).Categories(context.WithoutCancel(t.Context())) {
		if err != nil || strings.HasPrefix(c.Name, probe.Prefix) {
			t.Errorf("left: %q (%v)", c.Name, err)
		}
	}
}

// times are the values that vary.
var times = cmpopts.IgnoreFields(probe.Profile{}, "MeasuredAt", "Service", "Latency", "LatencyP95", "UploadLatency", "UploadLatencyP95", "UploadBandwidth", "UploadBandwidthTotal", "HighestRate", "Unknown")

func TestProbe(t *testing.T) {
	t.Parallel()
	s := serve(t, sandbox.Options{})
	got := s.probe(t)
	want := probe.Profile{
		Version: 1, EqualAssets: "accept", EqualFolders: "accept", EqualCategories: "accept",
		Folders: "top", CategoryListing: "direct", ListOrder: "honoured", DateFilter: "honoured",
		DefaultPage: 50, LargestPage: 500, TooLargePages: "refuse",
		MaxName: 256, MaxDescription: 1024, MaxTag: -1, MaxTags: -1, MaxAttributes: -1, MaxAttribute: -1,
		Attributes: "replace", Extensions: "folded", TokenAge: 24 * time.Hour, TimeResolution: time.Millisecond,
		Plan: "ckbox.personal", MaxFileSize: 5 << 30, MaxMegapixels: 50,
	}
	busy := cmpopts.IgnoreFields(probe.Profile{}, "Processing", "ListingDelay") // on a machine that is, it shows
	if diff := cmp.Diff(want, got, times, busy); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
	if got.Latency <= 0 || got.LatencyP95 < got.Latency || got.UploadLatency <= 0 || got.HighestRate <= 0 || got.Unknown["rate"] == "" {
		t.Errorf("got %+v", got)
	}
	if n := int(s.requests.Load()); n > probe.MostCalls() {
		t.Errorf("%d requests, and %d were said to be the most", n, probe.MostCalls())
	} else {
		t.Logf("%d requests of at most %d", n, probe.MostCalls())
	}
}

// odd are services that differ from the sandbox's own choices; with the first, twelve.
var odd = map[string]string{
	"its own": "",
	"strict": `
equal_assets: refuse
equal_folders: refuse
equal_categories: refuse
folders: flat
default_page: 20
largest_page: 100
too_large_pages: refuse
max_name: 100
max_description: 200
max_tag: 32
max_tags: 10
max_attributes: 7
max_attribute: 50
extensions: exact
lacks: [replace, head, ranges, etag, restore]
token_age: 1h
time_resolution: 1s
plan: odd
max_file_size: 1000000
max_megapixels: 3
`,
	"lenient": `
equal_assets: rename
category_listing: deep
default_page: 1000
largest_page: 2000
too_large_pages: shorten
max_name: 1000
max_description: -1
max_tag: 4095
max_tags: 1
max_attribute: 65535
attributes: merge
trash_served: true
bearer: true
lacks: [ranges]
token_age: 168h
processing: 400ms
`,
	"busy": `
rate: 12
retry_after: "0"
list_order: ignored
`,
	"less busy": "rate: 100\nretry_after: 1\n",
	"quick":     "rate: 230\n",
	"narrow": `
upload_latency: 40ms
upload_bandwidth: 1000000
upload_bandwidth_total: 3000000
`,
	"of one line": `
latency: 20ms
upload_bandwidth: 30000000
upload_bandwidth_total: 30000000
`,
	"flat and deep": `
folders: flat
category_listing: deep
`,
	"without an order": `
list_order: ignored
date_filter: ignored
extensions: exact
`,
	"without dates": `
date_filter: refused
listing_delay: 400ms
time_resolution: 100ms
`,
	"late": `
listing_delay: 12s
folders: flat
category_listing: deep
list_order: ignored
date_filter: ignored
`,
	"too late": `
listing_delay: 1h
folders: flat
processing: 1h
`,
	"slow": `
latency: 30ms
processing: 2s
token_age: 10m
lacks: [head]
`,
	"of small pages": `
default_page: 5
largest_page: 10
too_large_pages: shorten
category_listing: deep
equal_categories: refuse
max_attributes: 1
`,
	"without limits": `
largest_page: -1
max_name: -1
max_description: -1
attributes: merge
equal_folders: refuse
trash_served: true
lacks: [etag]
max_file_size: 4096
`,
}

// unmeasured are the keys that cannot be measured at a service, in addition to the rate of a service
// without a limit.
var unmeasured = map[string][]string{
	"too late": {"category_listing", "date_filter", "list_order", "listing_delay", "processing"},
}

// TestOddServices probes sandboxes with unusual settings. The profile contains the settings and the
// defaults, and lists what it could not measure. A sandbox with that profile behaves the same. Time is
// simulated, since a busy machine would change measured times.
func TestOddServices(t *testing.T) {
	t.Parallel()
	for name, text := range odd {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) { probeOdd(t, text, unmeasured[name]) })
		})
	}
}

func probeOdd(t *testing.T, text string, unknown []string) {
	settings := read(t, []byte("version: 1\n"+text))
	time.Sleep(123456789) // whole seconds have no measurable resolution
	first := serveBubble(t, sandbox.Options{Profile: settings}).probe(t)
	encoded, err := first.Encode()
	if err != nil {
		t.Fatal(err)
	}
	measured := read(t, encoded)
	checkKeys(t, text, unknown, measured)
	unknown = slices.Clone(unknown)
	if settings.Rate == 0 {
		unknown = append(unknown, "rate")
		if settings.Latency == 0 && first.HighestRate < 200 {
			t.Errorf("the highest rate is %d requests a second, want more than 200: bursts of up to 240 were accepted at once", first.HighestRate)
		}
	}
	if settings.UploadBandwidth == 0 {
		unknown = append(unknown, "upload_bandwidth")
	}
	if named := slices.Sorted(maps.Keys(first.Unknown)); !slices.Equal(named, slices.Sorted(slices.Values(unknown))) {
		t.Errorf("named as not measured: %q, want %q", named, unknown)
	}
	if slices.Contains(unknown, "processing") {
		return // the sandbox chooses unknown values itself
	}
	second := serveBubble(t, sandbox.Options{Profile: measured}).probe(t)
	round := cmpopts.IgnoreFields(probe.Profile{}, "Processing", "ListingDelay") // as close as the keys above
	if diff := cmp.Diff(first, second, times, round); diff != "" {
		t.Errorf("-first +second:\n%s", diff)
	}
}

// usual are the measured values of a sandbox without settings.
const usual = `
version: 1
equal_assets: accept
equal_folders: accept
equal_categories: accept
folders: top
category_listing: direct
list_order: honoured
date_filter: honoured
default_page: 50
largest_page: 500
too_large_pages: refuse
max_name: 256
max_description: 1024
max_tag: -1
max_tags: -1
max_attributes: -1
max_attribute: -1
attributes: replace
extensions: folded
trash_served: false
bearer: false
lacks:
token_age: 24h
time_resolution: 1ms
processing: 0s
listing_delay: 0s
latency: 100us
upload_bandwidth: 0
upload_bandwidth_total: 0
rate: 0
retry_after: ""
plan: ckbox.personal
max_file_size: 5368709120
max_megapixels: 50
`

// checkKeys compares every key of a measured profile with the settings or defaults of the service.
func checkKeys(t *testing.T, text string, unknown []string, measured profile.Profile) {
	t.Helper()
	settings, others := read(t, []byte("version: 1\n"+text)), read(t, []byte(usual))
	for _, key := range keys(usual) {
		from := others
		if slices.Contains(keys(text), key) {
			from = settings
		}
		want := value(t, from, key)
		if slices.Contains(unknown, key) {
			want = value(t, profile.Profile{}, key)
		}
		if key == "too_large_pages" && measured.LargestPage < 0 {
			want = `""` // there are none
		}
		if got := value(t, measured, key); !close(key, got, want) {
			t.Errorf("%s: measured %s, it is %s", key, got, want)
		}
	}
}

func read(t *testing.T, text []byte) profile.Profile {
	t.Helper()
	p, err := profile.Read("profile.yaml", bytes.NewReader(text))
	if err != nil {
		t.Fatalf("%v\n%s", err, text)
	}
	return p
}

// keys returns the keys of a profile.
func keys(text string) (all []string) {
	for line := range strings.Lines(strings.TrimSpace(text)) {
		key, _, _ := strings.Cut(line, ":")
		all = append(all, key)
	}
	return all
}

// value returns the value of a key in a profile.
func value(t *testing.T, p profile.Profile, key string) string {
	t.Helper()
	text, err := json.Marshal(p)
	if err != nil {
		t.Fatal(err)
	}
	var fields map[string]json.RawMessage
	if err := json.Unmarshal(text, &fields); err != nil {
		t.Fatal(err)
	}
	for name, v := range fields {
		if strings.EqualFold(name, strings.ReplaceAll(key, "_", "")) {
			return string(v)
		}
	}
	t.Fatalf("there is no %s", key)
	return ""
}

// close compares two values. The times of processing and listing have the resolution of the interval
// between two requests.
func close(key, got, want string) bool {
	g, gerr := strconv.ParseInt(got, 10, 64)
	w, werr := strconv.ParseInt(want, 10, 64)
	switch {
	case gerr != nil || werr != nil:
		return got == want
	case key == "latency": // its minimum is shown
		return max(g, int64(100*time.Microsecond)) == w
	case w > 0 && strings.HasPrefix(key, "upload_bandwidth"): // form fields are sent, too
		return math.Abs(float64(g-w)) <= 0.02*float64(w)
	case w > 0 && (key == "processing" || key == "listing_delay"):
		return g >= w && g < w*3/2
	}
	return g == w
}

// TestInterrupted: a probe that is interrupted at any request leaves nothing.
func TestInterrupted(t *testing.T) {
	t.Parallel()
	s := serve(t, sandbox.Options{})
	enough := errors.New("enough")
	for _, at := range []int64{1, 2, 3, 4, 5, 6, 7, 10, 20, 40, 80} {
		ctx, cancel := context.WithCancelCause(t.Context())
		from := s.requests.Load()
		s.observe(func(n int64) {
			if n == from+at {
				cancel(enough)
			}
		})
		got, err := probe.Run(ctx, s.options(t))
		if !errors.Is(err, enough) && !errors.Is(err, context.Canceled) || len(got.Left) > 0 {
			t.Errorf("at request %d: %v, left %v", at, err, got.Left)
		}
		s.observe(nil)
		s.checkClean(t)
		cancel(nil)
	}
}

// TestLeft: categories that cannot be deleted are listed, also without the endpoint.
func TestLeft(t *testing.T) {
	t.Parallel()
	for _, status := range []string{"500", "404"} {
		f, err := fault.Parse("DELETE /admin/categories/{id} status=" + status)
		if err != nil {
			t.Fatal(err)
		}
		got, err := probe.Run(t.Context(), serve(t, sandbox.Options{Faults: []fault.Rule{f}}).options(t))
		if err == nil || len(got.Left) != 2 || !strings.Contains(got.Left[0], probe.Prefix) {
			t.Errorf("%s: got %v, left %v", status, err, got.Left)
		}
		if !got.Measured || got.Profile.MaxName != 256 {
			t.Errorf("%s: what was measured is lost: %+v", status, got.Profile)
		}
	}
}

// TestUnlisted: categories are deleted by their IDs, also without a list of categories or if the list
// lacks new ones.
func TestUnlisted(t *testing.T) {
	t.Parallel()
	f, err := fault.Parse("GET /categories status=500")
	if err != nil {
		t.Fatal(err)
	}
	s := serve(t, sandbox.Options{Faults: []fault.Rule{f}})
	got, err := probe.Run(t.Context(), s.options(t))
	if err != nil || len(got.Left) > 0 {
		t.Errorf("%v, left %v", err, got.Left)
	}
	for c, err := range s.client(t, "admin", 0).CategoriesInUse(t.Context()) {
		if err != nil || strings.HasPrefix(c.Name, probe.Prefix) {
			t.Errorf("left: %q (%v)", c.Name, err)
		}
	}
}

// TestMadeWithoutAnAnswer: categories are found by name if no response contained the ID.
func TestMadeWithoutAnAnswer(t *testing.T) {
	t.Parallel()
	for _, rule := range []string{"POST /admin/categories status=500 commit=after", "POST /admin/categories drop=after nth=2"} {
		f, err := fault.Parse(rule)
		if err != nil {
			t.Fatal(err)
		}
		s := serve(t, sandbox.Options{Faults: []fault.Rule{f}})
		if got, _ := probe.Run(t.Context(), s.options(t)); len(got.Left) > 0 {
			t.Errorf("%s: left %v", rule, got.Left)
		}
		s.checkClean(t)
	}
}

// TestUnknown: a failed measurement is reported and the probe continues.
func TestUnknown(t *testing.T) {
	t.Parallel()
	var faults []fault.Rule
	for _, text := range []string{"GET /limits status=404", "POST /folders status=403 nth=3"} {
		f, err := fault.Parse(text)
		if err != nil {
			t.Fatal(err)
		}
		faults = append(faults, f)
	}
	got := serve(t, sandbox.Options{Faults: faults}).probe(t)
	if got.Unknown["limits"] == "" || got.Unknown["equal_folders"] == "" || got.MaxName != 256 {
		t.Errorf("got %+v", got)
	}
}

// TestNoAdministrator: without administrator access, a probe creates nothing and reports that.
func TestNoAdministrator(t *testing.T) {
	t.Parallel()
	s := serve(t, sandbox.Options{})
	got, err := probe.Run(t.Context(), probe.Options{Client: s.client(t, "user", 0)})
	if !assets.IsAuth(err) || len(got.Left) > 0 {
		t.Errorf("got %v, left %v", err, got.Left)
	}
}
