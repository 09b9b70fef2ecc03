package altpages

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	pictures "image"
	"image/png"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"assetferry/internal/retry"
	"assetferry/internal/sandbox/answer"
)

// A folder contains test pages.
type folder struct {
	*testing.T
	path string
}

func newFolder(t *testing.T, files map[string]string) folder {
	f := folder{t, t.TempDir()}
	for name, content := range files {
		f.put(name, content)
	}
	return f
}

func (f folder) in(name string) string { return filepath.Join(f.path, filepath.FromSlash(name)) }

func (f folder) put(name, content string) {
	f.Helper()
	if err := errors.Join(os.MkdirAll(filepath.Dir(f.in(name)), 0o755), os.WriteFile(f.in(name), []byte(content), 0o640)); err != nil {
		f.Fatal(err)
	}
}

func (f folder) get(name string) string {
	f.Helper()
	content, err := os.ReadFile(f.in(name))
	if err != nil {
		f.Fatal(err)
	}
	return string(content)
}

func (f folder) names() (all []string) {
	f.Helper()
	for _, e := range must(os.ReadDir(f.path))(f.T) {
		all = append(all, e.Name())
	}
	return all
}

func must[V any](v V, err error) func(testing.TB) V {
	return func(t testing.TB) V {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
		return v
	}
}

func (f folder) look(o Options) Plan {
	f.Helper()
	return must(Look(f.Context(), []string{f.path}, o))(f.T)
}

// A service answers like the sandbox and records requests.
type service struct {
	sent  [][]string
	fails func(call int, documents []string) error
	alter func(Processed) Processed
}

func (s *service) Process(_ context.Context, documents []string, prompt string) ([]Processed, error) {
	s.sent = append(s.sent, documents)
	if s.fails != nil {
		if err := s.fails(len(s.sent), documents); err != nil {
			return nil, err
		}
	}
	var all []Processed
	for _, p := range (answer.Style{}).Process(prompt, documents, nil) {
		made := Processed(p)
		if s.alter != nil {
			made = s.alter(made)
		}
		all = append(all, made)
	}
	return all, nil
}

// run executes a plan and returns the result for each page by name.
func (f folder) run(p Plan, s Service, o Options) (Sum, map[string]string, error) {
	f.Helper()
	became := map[string]string{}
	sum, err := Run(f.Context(), p, s, o, func(r Result) { became[filepath.Base(r.Page.Path)] = fmt.Sprint(r.Refused) })
	return sum, became, err
}

func TestRunWritesResultsBesidePages(t *testing.T) {
	f := newFolder(t, map[string]string{
		"index.html": page, "about/us.HTM": "<img src=a.jpg>", "c.xhtml": `<img src="d.png"/>`, "done.html": `<img alt="" src="a">`, "text.html": "<p>hello", "note.txt": "<img>",
	})
	p := f.look(Options{})
	if len(p.Pages) != 3 || p.Complete != 2 || p.Images != 4 || p.Calls != 1 || p.Bytes != int64(len(page)+len("<img src=a.jpg>")+len(`<img src="d.png"/>`)) {
		t.Fatalf("%+v", p)
	}
	if names := f.names(); slices.ContainsFunc(names, func(n string) bool { return strings.Contains(n, "enriched") }) {
		t.Fatalf("looking wrote something: %q", names)
	}
	s := &service{}
	sum, became, err := f.run(p, s, Options{})
	if err != nil || sum != (Sum{Written: 3, Alts: 4, Calls: 1}) {
		t.Fatalf("%+v, %q, %v", sum, became, err)
	}
	if f.get("index.html") != page {
		t.Error("the page itself changed")
	}
	result := f.get("index.enriched.html")
	if d := mustParse(t, result); d.lacking() != 0 || !strings.Contains(result, "The old one") || !strings.Contains(result, "\r\n") {
		t.Errorf("got %q", result)
	}
	if !strings.HasPrefix(f.get("about/us.enriched.HTM"), `<img alt="`) {
		t.Error("a page below has no result")
	}
	if info := must(os.Stat(f.in("c.enriched.xhtml")))(t); info.Mode().Perm() != must(os.Stat(f.in("c.xhtml")))(t).Mode().Perm() {
		t.Errorf("the result has mode %v", info.Mode())
	}
	again := f.look(Options{})
	if len(again.Pages) != 0 || len(again.Ready) != 3 || again.Calls != 0 {
		t.Errorf("a page that is ready would be sent again: %+v", again)
	}
	summaries := f.in("summaries.jsonl")
	if err := WriteSummaries(summaries, again, Options{}); err != nil || strings.Count(f.get("summaries.jsonl"), `"alt":"`) != 4 || !strings.Contains(f.get("summaries.jsonl"), "alternative texts were set for 2 of 3") {
		t.Errorf("%v\n%s", err, f.get("summaries.jsonl"))
	}
}

// A result stores its contexts. With other contexts it is only paid for again on request.
func TestContexts(t *testing.T) {
	f := newFolder(t, map[string]string{"a.html": page})
	style := Options{Contexts: []string{"style", "terms/file/f"}}
	if _, _, err := f.run(f.look(style), &service{}, style); err != nil {
		t.Fatal(err)
	}
	if m := must(readManifest(f.in("a.html"), ".enriched"))(t); !slices.Equal(m.Contexts, style.Contexts) {
		t.Errorf("the manifest has %q", m.Contexts)
	}
	again := style
	again.Again = true
	for what, tt := range map[string]struct {
		o            Options
		calls, other int
	}{
		"the same": {style, 0, 0}, "none": {Options{}, 0, 1}, "another one": {Options{Contexts: []string{"style"}}, 0, 1}, "again": {again, 1, 0},
	} {
		if p := f.look(tt.o); p.Calls != tt.calls || p.Other != tt.other {
			t.Errorf("%s: got %d calls and %d others, want %d and %d", what, p.Calls, p.Other, tt.calls, tt.other)
		}
	}
}

func TestRunResumes(t *testing.T) {
	f := newFolder(t, map[string]string{"a.html": page})
	s := &service{}
	run := func(what string, o Options, wantCalls int, want string) {
		t.Helper()
		p := f.look(o)
		if p.Calls != wantCalls {
			t.Errorf("%s: %d calls are planned, want %d", what, p.Calls, wantCalls)
		}
		sum, became, err := f.run(p, s, o)
		if err != nil || sum.Calls != wantCalls || became["a.html"] != want {
			t.Errorf("%s: %+v, %q, %v", what, sum, became, err)
		}
	}
	run("first", Options{}, 1, "<nil>")
	first := f.get("a.enriched.html")
	run("nothing changed", Options{}, 0, "")

	must(0, os.Remove(f.in("a.enriched.html")))(t)
	run("only the manifest was written", Options{}, 0, "<nil>")
	if f.get("a.enriched.html") != first {
		t.Error("the result made again is another one")
	}
	f.put("a.html", page+"<img src=new.jpg>")
	run("the page changed", Options{}, 1, "<nil>")
	second := f.get("a.enriched.html")
	f.put("a.enriched.html", first)
	run("the page changed, and only the manifest was written", Options{}, 0, "<nil>")
	if got := f.get("a.enriched.html"); got != second {
		t.Errorf("got %q", got)
	}
	run("once more", Options{Again: true}, 1, "<nil>")
	run("with another name", Options{Suffix: "-alt"}, 1, "<nil>")

	f.put("a.enriched.html", "edited")
	run("the result was edited", Options{}, 0, "")
	f.put("a.html", page)
	if p := f.look(Options{}); len(p.Skipped) != 1 || !strings.Contains(p.Skipped[0].Why, " was edited, and the page has changed since") {
		t.Errorf("the result was edited and the page changed: %+v", p)
	}
	f.put("a.enriched.html.json", `{"version": 7}`)
	if p := f.look(Options{}); len(p.Pages) != 0 || !strings.Contains(fmt.Sprint(p.Skipped), "version 7") {
		t.Errorf("a manifest of another version: %+v", p)
	}
}

func TestRunRefusesWhatCannotBeTrusted(t *testing.T) {
	for want, s := range map[string]*service{
		"the answer changes more than alternative texts": {alter: func(p Processed) Processed {
			return Processed{strings.Replace(p.Document, "Caf", "Kaf", 1), p.Summary}
		}},
		"the answer has no alternative text": {alter: func(Processed) Processed { return Processed{Document: page} }},
		"it is too rude":                     {fails: func(int, []string) error { return permanent("it is too rude") }},
	} {
		f := newFolder(t, map[string]string{"a.html": page})
		sum, became, err := f.run(f.look(Options{}), s, Options{})
		if err != nil || !strings.Contains(became["a.html"], want) || sum != (Sum{Refused: 1, Calls: 1}) || len(f.names()) != 1 {
			t.Errorf("%s: %+v, %q, %v, %q", want, sum, became, err, f.names())
		}
	}
}

type permanent string

func (e permanent) Error() string    { return string(e) }
func (permanent) Class() retry.Class { return retry.Permanent }

func TestRunFindsThePageThatTheServiceRefuses(t *testing.T) {
	f := newFolder(t, map[string]string{"a.html": "<img src=a>", "b.html": "<img src=bad>", "c.html": "<img src=c>"})
	s := &service{fails: func(_ int, documents []string) error {
		if strings.Contains(strings.Join(documents, ""), "bad") {
			return permanent("it is bad")
		}
		return nil
	}}
	sum, became, err := f.run(f.look(Options{}), s, Options{})
	want := map[string]string{"a.html": "<nil>", "b.html": "it is bad", "c.html": "<nil>"}
	if err != nil || !cmp.Equal(became, want) || sum != (Sum{Written: 2, Refused: 1, Alts: 2, Calls: 4}) {
		t.Errorf("%+v, %q, %v", sum, became, err)
	}
}

func TestRunEnds(t *testing.T) {
	files := map[string]string{}
	for n := range 9 {
		files[fmt.Sprint(n, ".html")] = fmt.Sprintf("<img src=%d>", n)
	}
	f := newFolder(t, files)
	o := Options{Batch: 1}
	broken := errors.New("no connection")
	s := &service{fails: func(call int, _ []string) error {
		if call == 3 {
			return broken
		}
		return nil
	}}
	if sum, _, err := f.run(f.look(o), s, o); !errors.Is(err, broken) || sum != (Sum{Written: 2, Alts: 2, Calls: 3, Unfinished: 7}) {
		t.Errorf("an error of the run: %+v, %v", sum, err)
	}
	s = &service{fails: func(int, []string) error { return permanent("always the same") }}
	if sum, _, err := f.run(f.look(o), s, o); err == nil || !strings.Contains(err.Error(), "refused 5 pages in a row: always the same") || sum != (Sum{Refused: 5, Calls: 5, Unfinished: 2}) {
		t.Errorf("always the same refusal: %+v, %v", sum, err)
	}
	stop := make(chan struct{})
	s = &service{fails: func(int, []string) error { close(stop); return nil }}
	sum, err := Run(retry.WithDrain(t.Context(), stop), f.look(o), s, o, func(Result) {})
	if err != nil || sum != (Sum{Written: 1, Alts: 1, Calls: 1, Unfinished: 6}) {
		t.Errorf("what drains finishes what it began: %+v, %v", sum, err)
	}
	ctx, cancel := context.WithCancelCause(t.Context())
	p := f.look(o)
	cancel(broken)
	if sum, err := Run(ctx, p, &service{}, o, func(Result) {}); !errors.Is(err, broken) || sum != (Sum{Unfinished: 6}) {
		t.Errorf("cancelled: %+v, %v", sum, err)
	}
	if _, err := Look(ctx, []string{f.path}, o); !errors.Is(err, broken) {
		t.Errorf("cancelled while looking: %v", err)
	}
}

func TestRunLooksOnceMoreBeforeItSendsAndWrites(t *testing.T) {
	f := newFolder(t, map[string]string{"a.html": "<img src=a>", "b.html": "<img src=b>"})
	p := f.look(Options{})
	f.put("a.html", "<img src=secret>")
	s := &service{}
	s.fails = func(int, []string) error {
		f.put("b.enriched.html", "of somebody else")
		return nil
	}
	sum, became, err := f.run(p, s, Options{})
	if err != nil || sum.Refused != 2 || !strings.Contains(became["a.html"], "has changed since the plan") || !strings.Contains(became["b.html"], "another program wrote to ") || f.get("b.enriched.html") != "of somebody else" {
		t.Errorf("%+v, %q, %v", sum, became, err)
	}
	if !cmp.Equal(s.sent, [][]string{{"<img src=b>"}}) {
		t.Errorf("sent %q", s.sent)
	}
}

func TestLookListsSkipped(t *testing.T) {
	f := newFolder(t, map[string]string{
		"a.html": "<img>", "large.html": "<img>" + strings.Repeat(" ", 300), "latin.html": "<img title=caf\xe9>", "cut.html": "<img", "b.html": "<img>", "b.enriched.html": "of somebody", "named.php": "<img>",
	})
	if err := errors.Join(os.Symlink(f.in("a.html"), f.in("link.html")), os.Symlink(f.path, f.in("loop"))); err != nil {
		t.Fatal(err)
	}
	p, err := Look(t.Context(), []string{f.path, f.in("named.php"), f.in("a.html"), f.in("link.html"), f.in("b.enriched.html")}, Options{Most: 200})
	if err != nil {
		t.Fatal(err)
	}
	why := map[string]string{}
	for _, s := range p.Skipped {
		why[filepath.Base(s.Path)] = s.Why
	}
	want := map[string]string{
		"large.html": "the file has 305 bytes; the limit is 200", "latin.html": errNotUTF8.Error(), "cut.html": errCut.Error(), "b.enriched.html": "it is a result of an earlier run",
		"b.html": f.in("b.enriched.html") + " exists and is not a result: move the file to another place", "link.html": "symbolic links are not followed",
	}
	if diff := cmp.Diff(want, why); diff != "" || len(p.Pages) != 2 {
		t.Errorf("%d pages\n%s", len(p.Pages), diff)
	}
	if _, err := Look(t.Context(), []string{f.in("nothing")}, Options{}); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("what is not there: %v", err)
	}
}

func TestBatchesHaveLimits(t *testing.T) {
	files := map[string]string{}
	for n := range 7 {
		files[fmt.Sprint(n, ".html")] = "<img>" + strings.Repeat(" ", 95)
	}
	f := newFolder(t, files)
	for _, test := range []struct {
		o    Options
		want []int
	}{{Options{}, []int{5, 2}}, {Options{Batch: 3}, []int{3, 3, 1}}, {Options{Most: 200}, []int{2, 2, 2, 1}}} {
		var got []int
		for _, batch := range f.look(test.o).batches(test.o.orDefault()) {
			got = append(got, len(batch))
		}
		if !slices.Equal(got, test.want) {
			t.Errorf("%+v: %v, want %v", test.o, got, test.want)
		}
	}
}

func TestEmbedSendsOnlyFilesBelowThePage(t *testing.T) {
	var b bytes.Buffer
	if err := png.Encode(&b, pictures.NewNRGBA(pictures.Rect(0, 0, 700, 20))); err != nil {
		t.Fatal(err)
	}
	f := newFolder(t, map[string]string{"outside.png": b.String(), "site/a b.png": b.String(), "site/img/b.png": b.String(), "site/text.png": "no picture", "site/described.png": b.String()})
	if err := os.Symlink(f.in("outside.png"), f.in("site/link.png")); err != nil {
		t.Fatal(err)
	}
	body := `<img src="a%20b.png?v=1"><img src="./img/../img/b.png"><img src="img/b.png"><img src="../outside.png"><img src="/a b.png"><img src="https://a.example/a.png"><img src="link.png"><img src="text.png"><img src="gone.png"><img src="img"><img><img alt="x" src="described.png">`
	f.put("site/page.html", body)
	o := Options{Embed: true}
	p := f.look(o)
	var names []string
	for _, e := range p.Pages[0].Embedded {
		names = append(names, e.File)
	}
	if !slices.Equal(names, []string{"a b.png", "img/b.png"}) {
		t.Errorf("embedded are %q", names)
	}
	s := &service{}
	if sum, became, err := f.run(p, s, o); err != nil || sum.Alts != 11 || sum.Written != 1 {
		t.Fatalf("%+v, %q, %v", sum, became, err)
	}
	if sent := s.sent[0][0]; strings.Count(sent, `src="data:image/png;base64,`) != 3 || int64(len(sent)) != p.Bytes {
		t.Errorf("sent %d bytes, planned %d: %.300s", len(sent), p.Bytes, sent)
	}
	if got := f.get("site/page.enriched.html"); strings.Contains(got, "data:") || !strings.Contains(got, `src="a%20b.png?v=1"`) {
		t.Errorf("the result has what was embedded: %s", got)
	}
	if p := f.look(Options{Embed: true, Most: int64(len(body)) + 50}); len(p.Pages) != 0 && len(p.Pages[0].Embedded) != 0 {
		t.Error("more was embedded than there is room for")
	}
}

func TestPromptNamesTheLanguage(t *testing.T) {
	if got := (Options{}).Prompt(); !strings.Contains(got, "in the language of the document") {
		t.Errorf("got %s", got)
	}
	if got := (Options{Language: "de"}).Prompt(); !strings.Contains(got, "in the language de") {
		t.Errorf("got %s", got)
	}
}
