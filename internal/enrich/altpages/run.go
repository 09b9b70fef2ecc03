package altpages

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"path/filepath"
	"strings"

	"assetferry/internal/retry"
)

// A Result is the result for a page.
type Result struct {
	Page    Page
	Added   []Alt
	Left    int    // images still without alternative text
	Summary string // the service's summary of its changes
	Refused error  // the reason if nothing was written, else nil
}

// A Sum counts the results of a run.
type Sum struct {
	Written, Refused int // pages
	Alts             int
	Left             int // images still without alternative text, in written pages
	Calls            int
	Unfinished       int // pages without a result, because the run was stopped or failed
}

// maxRefusalStreak is how many identical refusals in a row end a run.
const maxRefusalStreak = 5

// Run executes a plan and passes the result for each page to watch. A page that changed after
// the plan was made is refused. When the context drains, work in progress is finished.
//
// An error affects the whole run; the run can be repeated.
func Run(ctx context.Context, p Plan, s Service, o Options, watch func(Result)) (Sum, error) {
	r := &run{service: s, options: o.orDefault(), watch: watch}
	for _, page := range p.Pages {
		if page.known != nil {
			r.report(r.again(page))
		}
	}
	var err error
	for _, batch := range p.batches(r.options) {
		if isDraining(ctx) {
			break
		}
		if err = context.Cause(ctx); err == nil {
			err = r.carryOut(ctx, batch)
		}
		if err != nil {
			break
		}
	}
	r.sum.Unfinished = len(p.Pages) - r.sum.Written - r.sum.Refused
	return r.sum, err
}

func isDraining(ctx context.Context) bool {
	select {
	case <-retry.Draining(ctx):
		return true
	default:
		return false
	}
}

type run struct {
	service       Service
	options       Options
	watch         func(Result)
	sum           Sum
	refusal       string // last refusal of the service
	refusalStreak int    // identical refusals in a row
}

func (r *run) report(result Result) {
	if result.Refused != nil {
		r.sum.Refused++
	} else {
		r.sum.Written++
		r.sum.Alts += len(result.Added)
		r.sum.Left += result.Left
	}
	r.watch(result)
}

// again makes the result from a stored answer.
func (r *run) again(page Page) Result {
	result := Result{Page: page, Added: page.known.Added, Left: page.known.Left, Summary: page.known.Summary}
	content, mode, err := read(page.Path, r.options.Most)
	if err == nil && checksum(content) != page.checksum {
		err = errChanged
	}
	var d document
	if err == nil {
		d, err = parse(string(content))
	}
	if err == nil {
		var filled string
		if filled, err = d.known(page.known); err == nil {
			err = write(page.Result, []byte(filled), mode)
		}
	}
	result.Refused = err
	return result
}

// known inserts the texts of a manifest, which a person may have edited.
func (d document) known(m *manifest) (string, error) {
	before := -1
	for _, a := range m.Added {
		if a.Image <= before || a.Image >= len(d.images) || !d.images[a.Image].lacksAlt {
			return "", errors.New("the manifest belongs to another page")
		}
		before = a.Image
	}
	filled := d.fill(m.Added)
	if checksum([]byte(filled)) != m.ResultSHA256 {
		return "", errors.New("the manifest does not match its result")
	}
	return filled, nil
}

var errChanged = errors.New("the page has changed since the plan: run the same command again")

// carryOut sends the pages of a batch. After a refusal it sends them one by one.
func (r *run) carryOut(ctx context.Context, batch []Page) error {
	var pages []Page
	var ready []prepared
	for _, page := range batch {
		p, err := prepare(ctx, page.Path, r.options)
		if ctx.Err() != nil {
			return context.Cause(ctx)
		}
		if err == nil && p.checksum != page.checksum {
			err = errChanged
		}
		if err != nil {
			r.report(Result{Page: page, Refused: err})
			continue
		}
		pages, ready = append(pages, page), append(ready, p)
	}
	if len(ready) == 0 {
		return nil
	}
	err := r.ask(ctx, pages, ready)
	if len(ready) == 1 || !isPermanent(err) {
		return r.refuse(pages, err)
	}
	for i := range ready {
		if err := r.refuse(pages[i:i+1], r.ask(ctx, pages[i:i+1], ready[i:i+1])); err != nil {
			return err
		}
	}
	return nil
}

func isPermanent(err error) bool {
	class, _ := retry.Classify(err)
	return err != nil && class == retry.Permanent
}

// refuse reports pages that the service refused. Other errors end the run, and so do identical
// refusals in a row.
func (r *run) refuse(pages []Page, err error) error {
	if err == nil {
		r.refusalStreak = 0
		return nil
	}
	if !isPermanent(err) {
		return err
	}
	for _, page := range pages {
		r.report(Result{Page: page, Refused: err})
	}
	if err.Error() != r.refusal {
		r.refusal, r.refusalStreak = err.Error(), 0
	}
	if r.refusalStreak++; r.refusalStreak == maxRefusalStreak {
		return fmt.Errorf("the service refused %d pages in a row: %w", maxRefusalStreak, err)
	}
	return nil
}

// ask sends pages and writes the results.
func (r *run) ask(ctx context.Context, pages []Page, ready []prepared) error {
	documents := make([]string, len(ready))
	for i, p := range ready {
		documents[i] = p.sent
	}
	r.sum.Calls++
	answers, err := r.service.Process(ctx, documents, r.options.Prompt())
	if err != nil {
		return err
	}
	for i, page := range pages {
		result := Result{Page: page, Refused: fmt.Errorf("the service returned %d documents for %d", len(answers), len(pages))}
		if len(answers) == len(pages) {
			result = r.take(page, ready[i], answers[i])
		}
		r.report(result)
	}
	return nil
}

// take writes the result for a page, if the answer is valid.
func (r *run) take(page Page, p prepared, answer Processed) Result {
	result := Result{Page: page, Summary: answer.Summary}
	result.Added, result.Refused = p.added(p.sent, answer.Document)
	if result.Refused == nil && len(result.Added) == 0 {
		result.Refused = errors.New("the answer has no alternative text")
	}
	if result.Left = page.Images - len(result.Added); result.Refused == nil {
		result.Refused = r.keep(page, p, result)
	}
	return result
}

// keep writes the manifest and then the result.
func (r *run) keep(page Page, p prepared, result Result) error {
	filled := []byte(p.fill(result.Added))
	m := manifest{
		Version: manifestVersion, Original: filepath.Base(page.Path), OriginalSHA256: page.checksum, Result: filepath.Base(page.Result), ResultSHA256: checksum(filled),
		ReplacesSHA256: page.replaces, Contexts: r.options.Contexts, Summary: result.Summary, Added: result.Added, Left: result.Left,
	}
	text, err := json.MarshalIndent(m, "", "  ")
	if err != nil {
		return err
	}
	now, err := checksumOf(page.Result, 2*r.options.Most)
	if err == nil && now != page.replaces {
		err = fmt.Errorf("another program wrote to %s: move the file to another place", page.Result)
	}
	if err == nil {
		err = write(manifestOf(page.Path, r.options.Suffix), append(text, '\n'), p.mode)
	}
	if err == nil {
		err = write(page.Result, filled, p.mode)
	}
	return err
}

// A summary is a line in the file of summaries.
type summary struct {
	Page    string `json:"page"`
	Result  string `json:"result"`
	Summary string `json:"summary"`
	Added   []Alt  `json:"added"`
	Left    int    `json:"left"`
}

// WriteSummaries writes the changes in all pages as JSON Lines, from their manifests. Call it
// after [Run] with all pages of the plan.
func WriteSummaries(path string, p Plan, o Options) error {
	o = o.orDefault()
	pages := append([]string{}, p.Ready...)
	for _, page := range p.Pages {
		pages = append(pages, page.Path)
	}
	var b strings.Builder
	lines := json.NewEncoder(&b)
	lines.SetEscapeHTML(false)
	for _, page := range pages {
		m, err := readManifest(page, o.Suffix)
		if err == nil && m != nil {
			err = lines.Encode(summary{filepath.ToSlash(page), filepath.ToSlash(resultOf(page, o.Suffix)), m.Summary, m.Added, m.Left})
		}
		if err != nil {
			return err
		}
	}
	const mode = 0o644
	return write(path, []byte(b.String()), mode)
}
