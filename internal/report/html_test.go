package report

import (
	"bytes"
	"encoding/xml"
	"errors"
	"flag"
	"fmt"
	"io"
	"iter"
	"maps"
	"math"
	"os"
	"path/filepath"
	"regexp"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"
)

var update = flag.Bool("update", false, "write the golden files")

// The golden page is that of a run with every kind of problem.
func TestPageGolden(t *testing.T) {
	got := failedSample().html(t)
	got = strings.Replace(got, style, "\n/* page.css */\n", 1)
	got = regexp.MustCompile(`sha256-[^&]*`).ReplaceAllString(got, "sha256-…")
	golden := filepath.Join("testdata", "page.html")
	if *update {
		if err := os.WriteFile(golden, []byte(got), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(golden)
	if err != nil {
		t.Fatal(err)
	}
	if got != string(want) {
		t.Errorf("the page differs from %s; after a look at it: go test ./internal/report -run Golden -update\n%s", golden, firstDifference(got, string(want)))
	}
}

func firstDifference(got, want string) string {
	g, w := strings.Split(got, "\n"), strings.Split(want, "\n")
	for n := range min(len(g), len(w)) {
		if g[n] != w[n] {
			return fmt.Sprintf("line %d: got\n%s\nwant\n%s", n+1, g[n], w[n])
		}
	}
	return fmt.Sprintf("%d lines, want %d", len(g), len(w))
}

// An element is a tag of a page with its attributes and its text.
type element struct {
	name  string
	attrs map[string]string
	text  string // directly in it
	under []string
}

// parse reads a page as strictly as XML, and fails unless all of it is well-formed.
func parse(t testing.TB, html string) (all []*element) {
	t.Helper()
	d := xml.NewDecoder(strings.NewReader(html))
	var open []*element
	for {
		token, err := d.Token()
		if errors.Is(err, io.EOF) {
			return all
		} else if err != nil {
			t.Fatalf("the page is not well-formed: %v", err)
		}
		switch token := token.(type) {
		case xml.StartElement:
			e := &element{name: token.Name.Local, attrs: map[string]string{}}
			for _, a := range token.Attr {
				e.attrs[a.Name.Local] = a.Value
			}
			for _, o := range open {
				e.under = append(e.under, o.name)
			}
			all, open = append(all, e), append(open, e)
		case xml.EndElement:
			open = open[:len(open)-1]
		case xml.CharData:
			if len(open) > 0 {
				open[len(open)-1].text += string(token)
			}
		}
	}
}

// Any page is complete and accessible, and loads nothing.
func TestPages(t *testing.T) {
	for name, s := range samples() {
		t.Run(name, func(t *testing.T) {
			all := parse(t, s.html(t))
			checkIDs(t, all)
			checkHeadings(t, all)
			checkTables(t, all)
			checkCharts(t, all)
			checkStandsAlone(t, all)
			checkPolicy(t, all)
		})
	}
}

// checkIDs fails unless ids are unique and everything that names one finds it.
func checkIDs(t *testing.T, all []*element) {
	t.Helper()
	ids := map[string]bool{}
	for _, e := range all {
		id, ok := e.attrs["id"]
		if ok && (ids[id] || id == "") {
			t.Errorf("the id %q is there twice", id)
		}
		ids[id] = true
	}
	for _, e := range all {
		named := strings.Fields(e.attrs["aria-labelledby"])
		if link := e.attrs["href"]; link != "" {
			named = append(named, strings.TrimPrefix(link, "#"))
		}
		for _, id := range named {
			if !ids[id] {
				t.Errorf("<%s %v> names %q, which is not there", e.name, e.attrs, id)
			}
		}
	}
}

// checkHeadings fails unless there is one main heading and no level is skipped.
func checkHeadings(t *testing.T, all []*element) {
	t.Helper()
	level, mains := 0, 0
	for _, e := range all {
		if len(e.name) != 2 || e.name[0] != 'h' || e.name[1] < '1' || e.name[1] > '6' {
			continue
		}
		here := int(e.name[1] - '0')
		if here > level+1 {
			t.Errorf("after h%d comes %s: %s", level, e.name, e.text)
		}
		if level = here; level == 1 {
			mains++
		}
	}
	if mains != 1 {
		t.Errorf("there are %d h1", mains)
	}
	for _, landmark := range []string{"header", "nav", "main", "footer", "title"} {
		if !slices.ContainsFunc(all, func(e *element) bool { return e.name == landmark }) {
			t.Errorf("there is no %s", landmark)
		}
	}
}

// checkTables fails unless each table has a caption, and each heading of a column or row a scope.
func checkTables(t *testing.T, all []*element) {
	t.Helper()
	count := map[string]int{}
	for _, e := range all {
		count[e.name]++
		if e.name == "th" && e.attrs["scope"] == "" {
			t.Errorf("<th %v>%s has no scope", e.attrs, e.text)
		}
	}
	if count["table"] == 0 || count["table"] != count["caption"] {
		t.Errorf("%d tables have %d captions", count["table"], count["caption"])
	}
}

// checkCharts fails unless each chart has a title and a description.
func checkCharts(t *testing.T, all []*element) {
	t.Helper()
	for n, e := range all {
		if e.name != "svg" || slices.Contains(e.under, "svg") {
			continue
		}
		title, desc := all[n+1], all[n+2]
		if e.attrs["role"] != "img" || title.name != "title" || title.text == "" || desc.name != "desc" || desc.text == "" ||
			e.attrs["aria-labelledby"] != title.attrs["id"]+" "+desc.attrs["id"] {
			t.Errorf("<svg %v> has title %q and desc %q", e.attrs, title.text, desc.text)
		}
	}
}

// checkStandsAlone fails if the page runs or loads anything.
func checkStandsAlone(t *testing.T, all []*element) {
	t.Helper()
	allowed := strings.Fields("html head meta title style body a header div p strong h1 h2 h3 bdi span time main section dl dt dd data nav ul li " +
		"table caption thead tbody tfoot tr th td code figure figcaption footer svg desc g rect text line path")
	for _, e := range all {
		if !slices.Contains(allowed, e.name) {
			t.Errorf("there is a <%s %v>", e.name, e.attrs)
		}
		for name, value := range e.attrs {
			if strings.HasPrefix(name, "on") || name == "style" || name == "src" || name == "srcset" || name == "href" && !strings.HasPrefix(value, "#") {
				t.Errorf("<%s> has %s=%q", e.name, name, value)
			}
		}
	}
	for _, bad := range []string{"url(", "@import", "http:", "https:", "<", "expression("} {
		if strings.Contains(style, bad) {
			t.Errorf("the style contains %q", bad)
		}
	}
}

// checkPolicy fails unless the policy allows only the style.
func checkPolicy(t *testing.T, all []*element) {
	t.Helper()
	var content, policies []string
	for _, e := range all {
		switch {
		case e.name == "style":
			content = append(content, e.text)
		case e.attrs["http-equiv"] == "Content-Security-Policy":
			policies = append(policies, e.attrs["content"])
		}
	}
	if len(content) != 1 || content[0] != style {
		t.Error("the style is not on the page as it is")
	}
	if len(policies) != 1 || !strings.HasPrefix(policies[0], "default-src 'none'; style-src 'sha256-") || strings.Contains(policies[0], "unsafe") {
		t.Errorf("policies: %q", policies)
	}
}

// Keys, names of categories and responses of services may contain anything.
func TestPageEscapes(t *testing.T) {
	html := failedSample().html(t)
	for _, bad := range []string{"<script", "<img", "<b>", "\u202e", "\x1b", "\x00"} {
		if strings.Contains(html, bad) {
			t.Errorf("the page contains %q", bad)
		}
	}
	for _, shown := range []string{`\u202egpj.exe\x1b[31m`, arabic} {
		if !strings.Contains(html, shown) {
			t.Errorf("the page does not show %q", shown)
		}
	}
}

// resultsOf reads the results of a page as the comment of WriteHTML says.
func resultsOf(t testing.TB, html string) map[string]int64 {
	t.Helper()
	sum := map[string]int64{}
	for _, m := range regexp.MustCompile(`<data id="results-([a-z-]+)" value="(\d+)">`).FindAllStringSubmatch(html, -1) {
		n, err := strconv.ParseInt(m[2], 10, 64)
		if err != nil {
			t.Fatal(err)
		}
		sum[m[1]] = n
	}
	return sum
}

func TestPageHasTheResults(t *testing.T) {
	for name, s := range samples() {
		sum := resultsOf(t, s.html(t))
		want := map[string]int64{
			"total-objects": s.Results.Total.Objects, "total-bytes": s.Results.Total.Bytes,
		}
		for _, p := range s.Results.States {
			id := strings.ReplaceAll(p.State, "_", "-")
			want[id+"-objects"], want[id+"-bytes"] = p.Objects, p.Bytes
		}
		if !maps.Equal(sum, want) {
			t.Errorf("%s: the page has %v, want %v", name, sum, want)
		}
	}
}

// many is a list whose rows are created when they are read.
func many[T any](n int, pulled *int, row func(int) T) iter.Seq2[T, error] {
	return func(yield func(T, error) bool) {
		for i := range n {
			*pulled++
			if !yield(row(i), nil) {
				return
			}
		}
	}
}

// The page of a run in which 300,000 objects with long keys fail is small, and needs little memory.
func TestPageStaysSmall(t *testing.T) {
	const objects = 300_000
	worst := strings.Repeat(`"&'<>`, 5_000)
	key := func(n int) string { return strconv.Itoa(n) + worst }
	r := failedSample().Report
	r.Results.States = []Part{part(failed, objects, objects)}
	r.Skipped, r.Problems, r.Alterations, r.Verification.First, r.Privacy.Categories = nil, nil, nil, nil, nil
	r.Verification.Differences = objects
	for n := range 200 {
		r.Skipped = append(r.Skipped, Skipped{Message: key(n), Decides: key(n), Examples: []string{key(n), key(n)}})
		r.Problems = append(r.Problems, Problem{State: problemStates[n%len(problemStates)], Message: key(n), Remedy: key(n), Examples: []Example{{key(n), key(n)}}})
		r.Alterations = append(r.Alterations, Alteration{State: key(n), Examples: []string{key(n)}})
		r.Verification.First = append(r.Verification.First, Difference{key(n), key(n), key(n), key(n)})
		r.Privacy.Categories = append(r.Privacy.Categories, Category{Name: key(n), ID: key(n)})
		r.Found.Unmapped = append(r.Found.Unmapped, Field{key(n), key(n), objects})
		r.Found.Remarks = append(r.Found.Remarks, Remark{TooLong, key(n), objects, []Example{{key(n), key(n)}}})
		r.Throughput = append(r.Throughput, Point{noon.Add(time.Duration(n) * time.Minute), 1, math.MaxInt32, math.MaxInt64})
	}
	r.Types = []Slice{{worst, Amount{1, 1}}, {worst, Amount{1, 1}}}
	var linesPulled, foldersPulled int
	lines := many(objects, &linesPulled, func(n int) Line { return Line{Key: key(n), State: failed, Error: worst} })
	folders := many(objects, &foldersPulled, func(n int) Folder { return Folder{Name: strconv.Itoa(n) + worst[:500], Listed: Amount{1, 1}} })

	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	p, err := layOut(r, lines, folders, time.UTC)
	if err != nil {
		t.Fatal(err)
	}
	runtime.GC()
	runtime.ReadMemStats(&after)
	if grown := int64(after.HeapAlloc) - int64(before.HeapAlloc); grown > 64<<20 {
		t.Errorf("the page takes %d MB of memory", grown>>20)
	}
	var b bytes.Buffer
	if err := p.write(&b); err != nil {
		t.Fatal(err)
	}
	t.Logf("the page takes %d kB", b.Len()/1000)
	if b.Len() > 5_000_000 {
		t.Errorf("the page takes %d bytes", b.Len())
	}
	if linesPulled > mostRows+1 {
		t.Errorf("%d lines were read", linesPulled)
	}
	html := b.String()
	parse(t, html)
	for name, left := range map[string]int64{"lines": p.Lines.Left, "folders": p.Folders.Left, "differences": p.Differences.Left} {
		shown := map[string]int64{"lines": p.Lines.Shown(), "folders": p.Folders.Shown(), "differences": p.Differences.Shown()}[name]
		if shown < 5 || shown+left != objects {
			t.Errorf("of %s %d are shown and %d are left", name, shown, left)
		}
		if !strings.Contains(html, fmt.Sprintf(`<data value="%d">`, left)) {
			t.Errorf("the page does not say how many %s are left", name)
		}
	}
}

// An error of the state database is not the end of a list.
func TestPageOfABrokenState(t *testing.T) {
	broken := errors.New("disk")
	s := failedSample()
	fails := func(yield func(Line, error) bool) { yield(Line{}, broken) }
	if _, err := layOut(s.Report, fails, none[Folder], time.UTC); !errors.Is(err, broken) {
		t.Errorf("lines: %v", err)
	}
	noFolder := func(yield func(Folder, error) bool) { yield(Folder{}, broken) }
	if _, err := layOut(s.Report, none[Line], noFolder, time.UTC); !errors.Is(err, broken) {
		t.Errorf("folders: %v", err)
	}
}

func TestClean(t *testing.T) {
	long := strings.Repeat("ü", 3_000) + "end.jpg"
	got := clean(long)
	if !strings.HasPrefix(got, "üü") || !strings.HasSuffix(got, "end.jpg") || !strings.Contains(got, " [… 2,008 bytes …] ") || len(got) > roomForText+40 {
		t.Errorf("%d bytes: %.30q … %.60q", len(got), got, got[2_990:])
	}
	if got := clean("a\nb\x1b"); got != `a\nb\x1b` {
		t.Errorf("%q", got)
	}
}

// Each kind of verdict has a sign of its own, and each state a meaning. Only what was done as
// configured is green.
func TestFaces(t *testing.T) {
	seen := map[string]bool{}
	for _, k := range []Kind{Complete, Selection, Partial, Incomplete, Different, Unfinished, PlanOnly, Stopped, Undone} {
		f := faceOf(k)
		if f.Sign == "?" || seen[f.Sign] || (f.Tone == "good") != (k == Complete) {
			t.Errorf("%s has %+v", k, f)
		}
		seen[f.Sign] = true
	}
	if faceOf(Verified) != faceOf(Complete) {
		t.Errorf("a verified run has %+v", faceOf(Verified))
	}
	for _, code := range order {
		if meaning(code) == "" {
			t.Errorf("%s has no meaning", code)
		}
	}
}

// Assets that were undone must not look as if they were at the destination.
func TestPageOfAnUndoneRun(t *testing.T) {
	created := part(created, 300, 3000)
	undone := reportOf(production, Verdict{Undone, "Undone", "300 assets trashed.", ""}, created)
	undone.Undo.By = []UndoneBy{{Run: "later", State: "finished", At: noon, Trashed: created.Amount}}
	inPart := undone
	inPart.Undo.Created, inPart.Undo.Command = Amount{20, 200}, "assetferry undo"
	undo := reportOf(production, Verdict{Incomplete, "Partly undone", "280 assets trashed, 20 not undone.", ""}, part(trashed, 280, 2800), part(conflict, 20, 200))
	undo.Undo.Undoes = "earlier"
	for _, test := range []struct {
		r    Report
		want []string
	}{
		{undone, []string{"Undone</h2>", "Done, later undone</dt>", "an undo later trashed 300"}},
		{inPart, []string{"Undone</h2>", "Done, later partly undone</dt>", "An undo trashes 20 assets that this run created."}},
		{undo, []string{"Partly undone</h2>", "Undone</dt>", "Conflicts</dt>", "created by the run, now in the trash", "<dt>Undoes run</dt>"}},
	} {
		html := sample{Report: test.r}.html(t)
		for _, want := range test.want {
			if !strings.Contains(html, want) {
				t.Errorf("the page has no %s", want)
			}
		}
		for _, bad := range []string{"Done</dt>", "Incomplete"} {
			if strings.Contains(html, bad) {
				t.Errorf("the page says %s", bad)
			}
		}
	}
}

func TestGroups(t *testing.T) {
	var sum Results
	for _, code := range order {
		p := part(code, 1, 10)
		sum.States = append(sum.States, p)
		sum.Listed = sum.Listed.plus(p.Amount)
	}
	groups := groupsOf(sum.Listed, sum.States, Undo{})
	var total Amount
	for _, g := range groups[1:] {
		total = total.plus(g.Amount)
	}
	if groups[0].Amount != sum.Listed || total != sum.Listed {
		t.Errorf("the groups do not add up: %+v", groups)
	}
	if n := problemCount(sum); n != int64(len(problemStates)) {
		t.Errorf("%d objects need attention, and the page lists %d states", n, len(problemStates))
	}
}

func TestShare(t *testing.T) {
	for objects, want := range map[int64]string{1: "less than 0.1%", 1_000: "0.1%", 999_999: "99.9%", 1_000_000: "100.0%"} {
		if got := (group{Amount: Amount{objects, 0}}).Share(Amount{1_000_000, 0}); got != want {
			t.Errorf("%d of a million are %s, want %s", objects, got, want)
		}
	}
}

func TestBytesPerSecond(t *testing.T) {
	for rate, want := range map[float64]string{0: "0 B/s", 0.5: "0.5 B/s", 500: "500 B/s", 2e6: "2 MB/s", 2.5e6: "2.5 MB/s", 1e19: "9 EB/s"} {
		if got := bytesPerSecond(rate); got != want {
			t.Errorf("%v is %s, want %s", rate, got, want)
		}
	}
}

// A point of several minutes ends where the next one begins.
func TestRatesOfPoints(t *testing.T) {
	c := chartRates([]Point{{noon, 5, 100, 3000}, {noon.Add(2 * time.Minute), 5, 50, 6000}}, time.UTC)
	if want := "M0 100V16.67H285.71V83.33H1000.00V100"; c.Items.Line != want {
		t.Errorf("the line is %s, want %s", c.Items.Line, want)
	}
	if !strings.Contains(c.Items.Desc, "Peak: 50 objects") || !strings.Contains(c.Bytes.Desc, "Peak: 25 B/s") {
		t.Errorf("%s %s", c.Items.Desc, c.Bytes.Desc)
	}
	if chartRates(nil, time.UTC) != nil || chartSlices("x", "", "", []Slice{{"empty", Amount{}}}) != nil {
		t.Error("there are empty charts")
	}
}

// Times are in the zone of the reader.
func TestPageInAZone(t *testing.T) {
	zone := time.FixedZone("somewhere", 2*3600)
	p, err := layOut(verifiedSample().Report, none[Line], none[Folder], zone)
	if err != nil {
		t.Fatal(err)
	}
	var b bytes.Buffer
	if err := p.write(&b); err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{`<time datetime="2025-11-21T12:00:00Z">2025-11-21 14:00:00</time>`, "Times are in UTC&#43;02:00", ">14:10</text>"} {
		if !strings.Contains(b.String(), want) {
			t.Errorf("the page has no %s", want)
		}
	}
}
