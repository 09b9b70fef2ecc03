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

// A Result is what became of a page.
type Result struct {
	Page    Page
	Added   []Alt
	Left    int    // images that still have no alternative text
	Summary string // what the service says that it did
	Refused error  // why nothing was written; nil if it was
}

// A Sum is what became of all pages of a run.
type Sum struct {
	Written, Refused int // pages
	Alts             int
	Left             int // images that still have no alternative text, of the pages that were written
	Calls            int
	Waiting          int // pages of which nothing became, because the run was asked to end or failed
}

// mostAlike is how many pages in a row may be refused by the service with the same words.
const mostAlike = 5

// Run carries a plan out and tells watch of each page. A page that has changed since the
// plan was made is refused. What is under way when the context drains is finished.
//
// An error is one of the run: run it again to go on.
func Run(ctx context.Context, p Plan, s Service, o Options, watch func(Result)) (Sum, error) {
	r := &run{service: s, options: o.orDefault(), watch: watch}
	for _, page := range p.Pages {
		if page.known != nil {
			r.tell(r.again(page))
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
	r.sum.Waiting = len(p.Pages) - r.sum.Written - r.sum.Refused
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
	service Service
	options Options
	watch   func(Result)
	sum     Sum
	refusal string // of the service, last
	alike   int    // times in a row
}

func (r *run) tell(result Result) {
	if result.Refused != nil {
		r.sum.Refused++
	} else {
		r.sum.Written++
		r.sum.Alts += len(result.Added)
		r.sum.Left += result.Left
	}
	r.watch(result)
}

// again makes a result of what is known.
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

// known fills in what a manifest says, which somebody may have edited.
func (d document) known(m *manifest) (string, error) {
	before := -1
	for _, a := range m.Added {
		if a.Image <= before || a.Image >= len(d.images) || !d.images[a.Image].lacksAlt {
			return "", errors.New("its manifest is of another page")
		}
		before = a.Image
	}
	filled := d.fill(m.Added)
	if checksum([]byte(filled)) != m.ResultSHA256 {
		return "", errors.New("its manifest does not give the result that it tells of")
	}
	return filled, nil
}

var errChanged = errors.New("it has changed since it was looked at: run the same command again")

// carryOut sends the pages of a batch, those that are refused together one by one.
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
			r.tell(Result{Page: page, Refused: err})
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

// refuse tells of pages that the service did not take. An error that is not of them ends
// the run, and so does one that comes again and again.
func (r *run) refuse(pages []Page, err error) error {
	if err == nil {
		r.alike = 0
		return nil
	}
	if !isPermanent(err) {
		return err
	}
	for _, page := range pages {
		r.tell(Result{Page: page, Refused: err})
	}
	if err.Error() != r.refusal {
		r.refusal, r.alike = err.Error(), 0
	}
	if r.alike++; r.alike == mostAlike {
		return fmt.Errorf("the service refused %d pages in a row: %w", mostAlike, err)
	}
	return nil
}

// ask sends pages, and writes what comes back.
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
		result := Result{Page: page, Refused: fmt.Errorf("%d documents came back where %d were sent", len(answers), len(pages))}
		if len(answers) == len(pages) {
			result = r.take(page, ready[i], answers[i])
		}
		r.tell(result)
	}
	return nil
}

// take writes what came back for a page, if it can be trusted.
func (r *run) take(page Page, p prepared, answer Processed) Result {
	result := Result{Page: page, Summary: answer.Summary}
	result.Added, result.Refused = p.added(p.sent, answer.Document)
	if result.Refused == nil && len(result.Added) == 0 {
		result.Refused = errors.New("no alternative text came back")
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
		err = fmt.Errorf("somebody wrote to %s meanwhile: move it away", page.Result)
	}
	if err == nil {
		err = write(manifestOf(page.Path, r.options.Suffix), append(text, '\n'), p.mode)
	}
	if err == nil {
		err = write(page.Result, filled, p.mode)
	}
	return err
}

// A summary is a line of the file of summaries.
type summary struct {
	Page    string `json:"page"`
	Result  string `json:"result"`
	Summary string `json:"summary"`
	Added   []Alt  `json:"added"`
	Left    int    `json:"left"`
}

// WriteSummaries writes what was done to pages as JSON Lines, from their manifests: a line
// for each that has one. Call it after [Run] with all pages of the plan.
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
