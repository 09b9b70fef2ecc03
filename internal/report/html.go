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

	"assetferry/internal/ui"
)

// The page is well-formed XML, too, which tests rely on.
//
//go:embed page.html chart.html
var templates embed.FS

//go:embed page.css
var style string

// WriteHTML writes the report as one page of HTML that needs nothing else: no script, no
// font and no picture, and its policy forbids all of them. Times are in the given zone.
//
// Whatever the run, the page takes less than 5 MB: of long lists it has the first rows,
// the number of all others, and the command that lists them.
//
// The sum can be read back by programs. Each of its numbers is an element
//
//	<data id="sum-PART-objects" value="N">, <data id="sum-PART-bytes" value="N">
//
// where PART is the name of a part with a hyphen for the space (in-doubt), or listed,
// or total; other numbers are data elements without an id.
func (r Report) WriteHTML(ctx context.Context, w io.Writer, zone *time.Location) error {
	p, err := layOut(r, r.Lines(ctx, troubles...), r.Folders(ctx), zone)
	if err != nil {
		return err
	}
	return p.write(w)
}

// troubles are the parts of which a page lists the objects.
var troubles = []string{failed, parked, changed, conflict, waiting, unconfirmed}

// A page is a report with all that its template shows.
type page struct {
	Report
	Policy  string
	Style   template.CSS
	Zone    string
	Face    face
	Purpose purpose
	Words   words
	Groups  []group
	Whole   stack

	LeftOut     excerpt[LeftOut]
	Troubles    excerpt[Trouble]
	Lines       excerpt[Line]
	Differences excerpt[Difference]
	Alterations excerpt[Alteration]
	NameRows    excerpt[Name]
	Categories  excerpt[Category]
	Unmapped    excerpt[Field]
	Remarks     excerpt[Remark]
	Folders     excerpt[folderRow]
	Types       *sliceCharts
	Sizes       *sliceCharts
	Rates       *rateCharts
	Changes     []changeTable
	Drift       []changeTable
	Gone        excerpt[GoneObject]
	Failing     excerpt[FailingObject]
	Recovered   changeTable

	zone *time.Location
}

// layOut makes the page of a report, from its long lists as much as there is room for.
func layOut(r Report, lines iter.Seq2[Line, error], folders iter.Seq2[Folder, error], zone *time.Location) (page, error) {
	all := "assetferry report --run " + r.Run.ID + " --format "
	w := wordsOf(r)
	p := page{
		Report: r, Policy: policy(), Style: template.CSS(style), Face: faceOf(r), Purpose: purposeOf(r.Run.Purpose),
		Groups: groupsOf(r.Sum, w), Words: w, zone: zone, Zone: "UTC" + strings.TrimPrefix(r.MadeAt.In(zone).Format("-07:00"), "+00:00"),
		LeftOut:     cut(r.LeftOut, all+"json", leftOutTexts),
		Troubles:    cut(r.Troubles, all+"json", troubleTexts),
		Differences: cut(r.Proof.First, "assetferry verify --content", differenceTexts),
		Alterations: cut(r.Alterations, all+"json", alterationTexts),
		NameRows:    fewOf(r.Names.First, r.Names.Count-int64(len(r.Names.First)), all+"json", nameTexts),
		Categories:  cut(r.Privacy.Categories, all+"json", categoryTexts),
		Unmapped:    fewOf(r.Found.Unmapped, r.Found.UnmappedFields-int64(len(r.Found.Unmapped)), all+"json", fieldTexts),
		Remarks:     fewOf(r.Found.Remarks, 0, "assetferry report --run "+r.Run.ID+" --only remarked", remarkTexts),
		Types:       chartSlices("types", "Types", "Type", r.Types),
		Sizes:       chartSlices("sizes", "Sizes", "Size of an object", r.Sizes),
		Rates:       chartRates(r.Throughput, zone),
	}
	p.layOutNight(all)
	p.Differences.Left = r.Proof.Differences - int64(len(p.Differences.Rows))
	p.Whole = drawStack("whole", "What became of everything", p.Groups[1:])
	var err error
	if p.Lines, err = firstLines(lines, troubled(r.Sum), all+"csv"); err != nil {
		return page{}, err
	}
	p.Folders, err = firstFolders(folders, w, all+"csv --split-by folder")
	return p, err
}

// policy forbids everything but this style.
func policy() string {
	sum := sha256.Sum256([]byte(style))
	return "default-src 'none'; style-src 'sha256-" + base64.StdEncoding.EncodeToString(sum[:]) + "'; base-uri 'none'; form-action 'none'"
}

// A named amount can be found on the page.
type named struct {
	ID string
	Amount
}

func name(part string, a Amount) named { return named{strings.ReplaceAll(part, " ", "-"), a} }

func (p page) write(w io.Writer) error {
	t, err := template.New("").Funcs(template.FuncMap{
		"bytes": ui.Bytes, "count": ui.Count, "clean": clean, "tone": toneOf, "named": name, "measured": Measure.text,
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
