package report

import (
	"bufio"
	"context"
	"crypto/sha256"
	"embed"
	"encoding/base64"
	"html/template"
	"io"
	"iter"
	"strings"
	"time"

	"assetferry/internal/pattern"
	"assetferry/internal/ui"
)

// The page is well-formed XML as well; tests rely on it.
//
//go:embed page.html chart.html
var templates embed.FS

//go:embed page.css
var style string

// WriteHTML writes the report as one page of HTML without scripts, fonts and pictures, which its
// policy forbids. Times are in the given zone.
//
// A page takes less than 5 MB: it contains the first rows of long lists, the number of the other
// rows, and the command that lists all.
//
// Programs can read the results: each number is an element
//
//	<data id="results-STATE-objects" value="N">, <data id="results-STATE-bytes" value="N">
//
// where STATE is a state with hyphens (retries-exhausted) or total, and also listed if that differs.
// Other numbers are data elements without an ID.
func (r Report) WriteHTML(ctx context.Context, w io.Writer, zone *time.Location) error {
	p, err := layOut(r, r.Lines(ctx, problemStates...), r.Folders(ctx), zone)
	if err != nil {
		return err
	}
	return p.write(w)
}

// A page is a report with everything that its template shows.
type page struct {
	Report
	Policy  string
	Style   template.CSS
	Zone    string
	Face    face
	Purpose purpose
	Groups  []group
	Whole   stack

	ProblemSections []problemTable
	SkippedRows     excerpt[Skipped]
	Lines           excerpt[Line]
	Differences     excerpt[Difference]
	Alterations     excerpt[Alteration]
	NameRows        excerpt[Name]
	Categories      excerpt[Category]
	Unmapped        excerpt[Field]
	Warnings        excerpt[Remark]
	Folders         excerpt[folderRow]
	Types           *sliceCharts
	Sizes           *sliceCharts
	Rates           *rateCharts
	Changes         []changeTable
	Drift           []changeTable
	Deleted         excerpt[DeletedObject]
	Failing         excerpt[FailingObject]
	Recovered       changeTable

	zone *time.Location
}

// A problemTable is a section about objects that need attention. It lists as many as a page has
// room for.
type problemTable struct {
	problemSection
	Rows excerpt[Problem]
}

// layOut returns the page of a report, with as much of its long lists as there is room for.
func layOut(r Report, lines iter.Seq2[Line, error], folders iter.Seq2[Folder, error], zone *time.Location) (page, error) {
	all := "assetferry report --run " + r.Run.ID + " --format "
	p := page{
		Report: r, Policy: policy(), Style: template.CSS(style), Face: faceOf(r.Verdict.Kind), Purpose: purposeOf(r.Run.Purpose),
		Groups: groupsOf(r.Results.Listed, r.Results.States, r.Undo), zone: zone, Zone: "UTC" + strings.TrimPrefix(r.MadeAt.In(zone).Format("-07:00"), "+00:00"),
		SkippedRows: cut(r.shownSkips(), all+"json", skippedTexts),
		Differences: cut(r.Verification.First, r.VerifyAgain("--content"), differenceTexts),
		NameRows:    fewOf(r.Names.First, r.Names.Count-int64(len(r.Names.First)), all+"json", nameTexts),
		Categories:  cut(r.Privacy.Categories, all+"json", categoryTexts),
		Unmapped:    fewOf(r.Found.Unmapped, r.Found.UnmappedFields-int64(len(r.Found.Unmapped)), all+"json", fieldTexts),
		Warnings:    fewOf(r.Found.Remarks, 0, "assetferry report --run "+r.Run.ID+" --only "+warning, remarkTexts),
		Types:       chartSlices("types", "Types", "Type", r.Types),
		Sizes:       chartSlices("sizes", "Sizes", "Object size", r.Sizes),
		Rates:       chartRates(r.Throughput, zone),
	}
	if r.Sync == nil { // those of a sync are in its own sections
		p.Alterations = cut(r.Alterations, all+"json", alterationTexts)
	}
	p.layOutProblems(all)
	p.layOutSync(all)
	p.Differences.Left = r.Verification.Differences - int64(len(p.Differences.Rows))
	p.Whole = drawStack("whole", "Results", p.Groups[1:])
	var err error
	if p.Lines, err = firstLines(lines, problemCount(r.Results), all+"csv"); err != nil {
		return page{}, err
	}
	p.Folders, err = firstFolders(folders, r.Undo, all+"csv --split-by folder")
	return p, err
}

// layOutProblems shares the room for problems between their sections.
func (p *page) layOutProblems(all string) {
	room := roomForList
	for _, s := range p.problemSections() {
		t := problemTable{s, excerpt[Problem]{Command: all + "json", room: room}}
		for _, v := range s.Problems {
			t.Rows.add(v, problemTexts(v)...)
		}
		room = t.Rows.room
		p.ProblemSections = append(p.ProblemSections, t)
	}
}

// policy returns a content security policy that allows only this style.
func policy() string {
	sum := sha256.Sum256([]byte(style))
	return "default-src 'none'; style-src 'sha256-" + base64.StdEncoding.EncodeToString(sum[:]) + "'; base-uri 'none'; form-action 'none'"
}

// A named amount has IDs on the page.
type named struct {
	ID string
	Amount
}

func name(code string, a Amount) named { return named{hyphened(code), a} }

// hyphened returns a code as it is written in IDs.
func hyphened(code string) string { return strings.ReplaceAll(code, "_", "-") }

// flagPattern matches flags in sentences.
var flagPattern = pattern.Lazy(`--[a-z][a-z-]*[a-z]`)

// flags escapes a text and keeps its flags from being broken at hyphens.
func flags(text string) template.HTML {
	return template.HTML(flagPattern().ReplaceAllString(template.HTMLEscapeString(clean(text)), `<span class="flag">$0</span>`))
}

func (p page) write(w io.Writer) error {
	t, err := template.New("").Funcs(template.FuncMap{
		"bytes": ui.Bytes, "count": ui.Count, "clean": clean, "tone": toneOf, "named": name, "measured": Measure.text, "words": words, "capital": capital, "flags": flags, "undoneText": undoneText,
		"took": func(seconds float64) string { return ui.Duration(time.Duration(seconds * float64(time.Second))) },
		"when": func(t time.Time) string { return t.In(p.zone).Format(time.DateTime) },
		"rfc":  func(t time.Time) string { return t.UTC().Format(time.RFC3339) },
	}).ParseFS(templates, "*.html")
	if err != nil {
		return err
	}
	b := bufio.NewWriter(w)
	if err := t.ExecuteTemplate(b, "page", p); err != nil {
		return err
	}
	return b.Flush()
}
