//go:build browser

package browser

import (
	"encoding/json"
	"fmt"
	"maps"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"assetferry/internal/sandbox"
	"assetferry/internal/sandbox/fault"
	"assetferry/internal/sandbox/sandboxtest"
	"assetferry/internal/test/built"
)

// widths are those of a phone and of a screen, in pixels.
var widths = []int{400, 1280}

// TestReportOfProblems checks the report of a run in a sandbox with every kind of failure, and keys
// that are difficult to display.
func TestReportOfProblems(t *testing.T) {
	library := map[string]string{
		"2024/harbour.jpg": "harbour", "2024/Harbour.jpg": "another", ".DS_Store": "junk", "brand/logo.unheard": "logo", "empty.jpg": "",
		"الصور/ربيع ٢٠٢٤/ميناء الإسكندرية.jpg":                                              "Arabic",
		"<script>document.title='no'</script>/a.jpg":                                        "HTML",
		"\"><img src=x onerror=alert(1)>&amp;.png":                                          "attribute",
		"line\nbreak\u202e and \x1b[31m colour.jpg":                                         "terminal",
		strings.Repeat("withoutspaces", 15) + "/" + strings.Repeat("verylong", 25) + ".jpg": "long",
	}
	for n := range 40 {
		library[fmt.Sprintf("folder %d/picture.png", n)] = strings.Repeat("x", n*n)
	}
	w := newWorld(t, library, true, "POST /assets status=400 nth=7")
	const finishedWithTrouble = 3
	w.run(finishedWithTrouble, "migrate", w.library, "--unsupported", "skip", "--on-collision", "conflict")
	p := w.checkReport(t, "Incomplete", "sandbox")

	var hostile bool
	p.eval(`document.title === "no" || document.querySelectorAll("main img, main script").length > 0`, &hostile)
	if hostile {
		t.Error("a key became a part of the page")
	}
}

// TestReportOfSuccess checks the report of a complete run in production, verified by checksum.
func TestReportOfSuccess(t *testing.T) {
	library := map[string]string{}
	for n := range 60 {
		library[fmt.Sprintf("%d/picture.%s", n, []string{"jpg", "png", "gif"}[n%3])] = strings.Repeat("x", n*n*n)
	}
	w := newWorld(t, library, false)
	w.run(0, "migrate", w.library)
	w.run(0, "verify", "--content")
	w.checkReport(t, "Complete and verified", "production")
}

// TestReportOfNothing checks the report of a run without a single object.
func TestReportOfNothing(t *testing.T) {
	w := newWorld(t, map[string]string{".DS_Store": "junk"}, true)
	w.run(0, "migrate", w.library)
	w.checkReport(t, "Nothing to do", "sandbox")
}

// TestReportOfSync checks the report of a sync with all changes that safety checks allow, and of
// one that a safety check stops.
func TestReportOfSync(t *testing.T) {
	library := map[string]string{"stays.jpg": "stays", "changes.jpg": "before", "moves.jpg": "what is moved", "goes.jpg": "gone soon"}
	for n := range 40 {
		library[fmt.Sprintf("folder %d/%s.png", n%3, strings.Repeat("long", n+1))] = strings.Repeat("x", n*n)
	}
	w := newWorld(t, library, true)
	w.run(0, "sync", w.library)
	w.put("changes.jpg", "after")
	w.put("changes.jpg.json", `{"description": "`+strings.Repeat("long ", 300)+`"}`)
	w.put("new/<b>ميناء</b>.jpg", "new")
	w.put("new/<b>ميناء</b>.jpg.json", `{"description": `)
	for _, deleted := range []string{"goes.jpg", "folder 1"} {
		if err := os.RemoveAll(filepath.Join(w.library, deleted)); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.Rename(filepath.Join(w.library, "moves.jpg"), filepath.Join(w.library, "new", "moved.jpg")); err != nil {
		t.Fatal(err)
	}
	w.run(0, "sync", w.library, "--delete", "trash", "--grace-period", "0s", "--accept-rules")
	p := w.checkReport(t, "Complete", "sandbox")
	var said string
	p.eval(`document.querySelector("#trend").innerText + document.querySelector("#changes").innerText`, &said)
	for _, want := range []string{"moves.jpg", "new/moved.jpg", "changes.jpg", "<b>", "goes.jpg", "Deleted at the source", "↑ "} {
		if !strings.Contains(said, want) {
			t.Errorf("the page does not say %q:\n%s", want, said)
		}
	}
	p.eval(`document.querySelector("#warnings").innerText`, &said)
	for _, want := range []string{"Sidecars could not be read", "sidecar new/<b>ميناء</b>.jpg.json was not read: ", " of 1499 characters: the service accepts 1024"} {
		if !strings.Contains(said, want) {
			t.Errorf("the page does not say %q:\n%s", want, said)
		}
	}
	const stoppedBySafetyCheck = 6
	w.run(stoppedBySafetyCheck, "sync", w.library, "--delete", "trash", "--grace-period", "0s")
	w.checkReport(t, "Partly stopped by a safety check", "sandbox")
}

// A world has the program, a library, and a sandbox that the program is configured for.
type world struct {
	*testing.T
	program, library string
	environment      []string
	browser          *browser
}

// newWorld returns a world. A sandbox that does not identify itself is handled as production.
func newWorld(t *testing.T, library map[string]string, isSandbox bool, faults ...string) *world {
	t.Helper()
	var o sandbox.Options
	for _, rule := range faults {
		f, err := fault.Parse(rule)
		if err != nil {
			t.Fatal(err)
		}
		o.Faults = append(o.Faults, f)
	}
	s := sandboxtest.Run(t, o)
	rawURL := s.URL
	if !isSandbox {
		rawURL = silenced(t, s.URL)
	}
	home := t.TempDir()
	w := &world{T: t, program: built.Program(t, t.TempDir()), library: t.TempDir(), browser: startBrowser(t)}
	w.environment = append(os.Environ(), "HOME="+home, "XDG_STATE_HOME="+home, "XDG_DATA_HOME="+home, "ASSETFERRY_URL="+rawURL,
		"ASSETFERRY_ENVIRONMENT_ID="+s.Environment.ID, "ASSETFERRY_ACCESS_KEY="+string(s.Environment.AccessKey))
	for key, content := range library {
		w.put(key, content)
	}
	return w
}

// put writes a file of the library.
func (w *world) put(key, content string) {
	w.Helper()
	path := filepath.Join(w.library, filepath.FromSlash(key))
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		w.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(content), 0o644); err != nil {
		w.Fatal(err)
	}
}

// silenced returns the URL of a proxy that hides that a service is a sandbox.
func silenced(t *testing.T, rawURL string) string {
	t.Helper()
	u, err := url.Parse(rawURL)
	if err != nil {
		t.Fatal(err)
	}
	s := httptest.NewServer(&httputil.ReverseProxy{
		Rewrite: func(r *httputil.ProxyRequest) { r.SetURL(u); r.Out.Host = r.In.Host },
		ModifyResponse: func(r *http.Response) error {
			r.Header.Del("X-Sandbox")
			return nil
		},
	})
	t.Cleanup(s.Close)
	return s.URL
}

// run runs the program, which must end with a code, and returns its output.
func (w *world) run(code int, arguments ...string) string {
	w.Helper()
	c := exec.CommandContext(w.Context(), w.program, arguments...)
	c.Env = w.environment
	var stderr strings.Builder
	c.Stderr = &stderr
	out, err := c.Output()
	if got := c.ProcessState.ExitCode(); got != code {
		w.Fatalf("%q: %v, want exit code %d\n%s%s", arguments, err, code, out, stderr.String())
	}
	return string(out)
}

// checkReport makes the program write the report of the last run, and checks the page in every
// width and on paper.
func (w *world) checkReport(t *testing.T, verdict, purpose string) (p *tab) {
	t.Helper()
	path := filepath.Join(t.TempDir(), "report.html")
	w.run(0, "report", "--format", "html", "--output", path)
	rawURL := "file://" + path
	for _, width := range widths {
		p = checkPage(t, w.browser, rawURL, width)
		p.checkAlone(rawURL)
		p.checkVerdict(verdict, purpose)
		p.checkResults(w.run(0, "report", "--format", "json"))
		p.checkStyled()
	}
	p.checkPrinted(filepath.Join(t.ArtifactDir(), "report.pdf"))
	return p
}

// checkVerdict fails the test unless the verdict and the counts are on the first screen.
func (p *tab) checkVerdict(verdict, purpose string) {
	p.Helper()
	var page struct {
		Verdict, Purpose string
		Bottom, Screen   float64
	}
	p.eval(`({
		verdict: document.querySelector("#verdict h2").innerText, purpose: document.querySelector(".purpose strong").innerText,
		bottom: document.querySelector("dl.tiles").getBoundingClientRect().bottom, screen: innerHeight,
	})`, &page)
	if !strings.Contains(page.Verdict, verdict) || !strings.EqualFold(page.Purpose, purpose) {
		p.Errorf("the verdict is %q in %q", page.Verdict, page.Purpose)
	}
	if page.Bottom > page.Screen {
		p.Errorf("the verdict and its numbers end at %.0f of a screen of %.0f pixels", page.Bottom, page.Screen)
	}
}

// checkResults fails the test unless the page has the results of the JSON form, and all objects are
// accounted for.
func (p *tab) checkResults(document string) {
	p.Helper()
	type amount struct{ Objects, Bytes int64 }
	var report struct {
		Results struct {
			Listed, Total amount
			States        []struct {
				State string
				amount
			}
		}
	}
	p.must(json.Unmarshal([]byte(document), &report))
	want := map[string]int64{}
	add := func(name string, a amount) {
		want["results-"+name+"-objects"], want["results-"+name+"-bytes"] = a.Objects, a.Bytes
	}
	add("total", report.Results.Total)
	for _, part := range report.Results.States {
		add(strings.ReplaceAll(part.State, "_", "-"), part.amount)
	}
	var got map[string]int64
	p.eval(`Object.fromEntries([...document.querySelectorAll("data[id^='results-']")].map(e => [e.id, +e.value]))`, &got)
	if !maps.Equal(got, want) || report.Results.Listed != report.Results.Total || report.Results.Listed.Objects == 0 {
		p.Errorf("the page has %v, and the JSON form %v", got, want)
	}
}

// checkStyled fails the test if the page's policy blocks its own style, or allows a script.
func (p *tab) checkStyled() {
	p.Helper()
	var page struct {
		Margin string
		Ran    bool
	}
	p.eval(`(() => {
		const script = document.createElement("script");
		script.textContent = "window.ran = true";
		document.body.append(script);
		script.remove();
		return {margin: getComputedStyle(document.body).marginTop, ran: !!window.ran};
	})()`, &page)
	if page.Margin != "0px" || page.Ran {
		p.Errorf("the page has a margin of %s; a script ran: %v", page.Margin, page.Ran)
	}
}

// checkPrinted fails the test if the printed page truncates content that scrolls on the screen.
func (p *tab) checkPrinted(path string) {
	p.Helper()
	const page = 20_000 // the smallest size in bytes of a page with content
	if size := p.print(path); size < page {
		p.Errorf("the print takes %d bytes", size)
	}
	p.emulate("print", "light")
	var cut []string
	p.eval(`[...document.querySelectorAll(".scroll")].filter(e => getComputedStyle(e).overflowX !== "visible" || getComputedStyle(e).maxHeight !== "none").map(e => e.getAttribute("aria-labelledby"))`, &cut)
	var shown bool
	p.eval(`document.querySelector("nav").checkVisibility()`, &shown)
	if len(cut) > 0 || shown {
		p.Errorf("on paper %q are cut; the contents, which lead nowhere there, are shown: %v", cut, shown)
	}
}
