package enrichcmd

import (
	"bytes"
	"context"
	"encoding/base64"
	"errors"
	"fmt"
	"io"
	"iter"
	"math"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"assetferry/internal/assets"
	"assetferry/internal/cli/command"
	"assetferry/internal/cli/exit"
	"assetferry/internal/clock"
	"assetferry/internal/enrich/proposals"
	"assetferry/internal/event"
	"assetferry/internal/ui"
	"assetferry/state/enrichment"
)

// proposalFormats are the forms in which proposals are shown, the default first.
func proposalFormats() []string { return []string{"text", "html", "csv", "json"} }

type proposalsOptions struct {
	format, output  string
	states          []string
	kind, language  string
	run             string
	withoutPictures bool
}

func newProposalsCommand(f *command.Factory) *cobra.Command {
	var o proposalsOptions
	c := &cobra.Command{
		Use:   "proposals",
		Short: "Show proposals to accept, edit or reject",
		Long: `Proposals shows undecided proposals; --only selects others. The HTML page shows
image, old text, new text and cost. People edit, accept or reject each proposal
in it, and save a file. The page contains the images, so it can be sent to
others. In a CSV file, write accept, reject or decorative into the column
decision, and edit the texts. Import either file with

    assetferry enrich import FILE
`,
		Example: `  assetferry enrich proposals --format html --output proposals.html
  assetferry enrich proposals --only applied --format csv --output applied.csv`,
		Args: cobra.NoArgs,
		RunE: f.Do(func(ctx context.Context, _ *cobra.Command, _ []string) error { return listProposed(ctx, f, o) }),
	}
	flags := c.Flags()
	flags.StringVar(&o.format, "format", "text", "`"+strings.Join(proposalFormats(), "|")+"`: output format")
	flags.StringVar(&o.output, "output", "", "write to this `file`; - is stdout")
	flags.StringSliceVar(&o.states, "only", []string{string(enrichment.Proposed)}, "proposals in this `state`: "+strings.Join(enrichmentStates(), ", ")+", or all")
	flags.StringVar(&o.kind, "kind", "", "`describe|review|translate`: proposals of this kind")
	flags.StringVar(&o.language, "language", "", "proposals in this `language`")
	flags.StringVar(&o.run, "run", "", "proposals of the run with this `ID`")
	flags.BoolVar(&o.withoutPictures, "no-pictures", false, "omit the images from the page")
	return c
}

func enrichmentStates() []string {
	return []string{string(enrichment.Proposed), string(enrichment.Accepted), string(enrichment.Rejected), string(enrichment.Applied), string(enrichment.Undone),
		string(enrichment.Conflict), string(enrichment.Failed), string(enrichment.Refused)}
}

// filter says which proposals are wanted.
func (o proposalsOptions) filter() (f enrichment.Filter, err error) {
	if !slices.Contains(proposalFormats(), o.format) {
		return f, exit.Usage(fmt.Errorf("--format: there is no form %q", o.format), "one of "+strings.Join(proposalFormats(), ", "))
	}
	f = enrichment.Filter{Kind: enrichment.Kind(o.kind), Language: o.language, Run: o.run}
	kinds := []enrichment.Kind{"", enrichment.KindDescribe, enrichment.KindReview, enrichment.KindTranslate}
	if !slices.Contains(kinds, f.Kind) {
		return f, exit.Usage(fmt.Errorf("--kind: there is no kind %q", o.kind), "describe, review or translate")
	}
	if slices.Contains(o.states, "all") {
		return f, nil
	}
	for _, s := range o.states {
		if !slices.Contains(enrichmentStates(), s) {
			return f, exit.Usage(fmt.Errorf("--only: there is no state %q", s), "one of "+strings.Join(enrichmentStates(), ", ")+", or all")
		}
		f.States = append(f.States, enrichment.State(s))
	}
	return f, nil
}

func listProposed(ctx context.Context, f *command.Factory, o proposalsOptions) error {
	filter, err := o.filter()
	if err != nil {
		return err
	}
	sumUpEnrich(f)
	dest, err := f.OpenDestination(ctx, true)
	if err != nil {
		return err
	}
	f.Summary.Destination = dest.Identity()
	store, err := f.ReadState(ctx)
	if err != nil {
		return err
	}
	shown := &shownProposals{ctx: ctx, store: enrichment.In(store), dest: dest, filter: filter, runs: map[string]enrichment.Run{}, pictures: o.format == "html" && !o.withoutPictures}
	if o.output == "" && (o.format == "text" || f.Out.JSON()) {
		err = listProposals(f, shown)
	} else {
		err = f.WriteOutput(o.output, func(w io.Writer) error { return shown.write(w, o.format) })
	}
	if err != nil {
		return err
	}
	if o.output != "" && o.output != "-" {
		f.Out.Notef("Wrote %s", ui.Sanitize(o.output))
	}
	f.Out.Notef("%s", ui.Counted(shown.n, "proposal"))
	if shown.unpictured > 0 {
		f.Out.Notef("%s could not be shown: %v", ui.Counted(shown.unpictured, "picture"), shown.why)
	}
	return nil
}

// shownProposals are proposals on their way to a person.
type shownProposals struct {
	ctx      context.Context
	store    *enrichment.Store
	dest     *command.Destination
	filter   enrichment.Filter
	pictures bool
	runs     map[string]enrichment.Run // by ID, that were looked up

	n, unpictured int64
	why           error // of the last picture that is missing
}

func (s *shownProposals) rows() iter.Seq2[proposals.Row, error] {
	return func(yield func(proposals.Row, error) bool) {
		for c, err := range s.store.Enrichments(s.ctx, s.dest.Identity(), s.filter) {
			var row proposals.Row
			if err == nil {
				s.n++
				if row, err = s.rowOf(c); err != nil {
					yield(row, err)
					return
				}
				if s.pictures && s.n <= proposals.MostOnPage {
					row.Thumbnail = s.picture(c)
				}
			}
			if !yield(row, err) || err != nil {
				return
			}
		}
	}
}

// rowOf is a proposal as people see it, with its share of what its run cost.
func (s *shownProposals) rowOf(c enrichment.Enrichable) (proposals.Row, error) {
	row, id := rowOf(c), c.Enrichment.Run
	run, known := s.runs[id]
	if !known {
		var err error
		if run, err = s.store.Run(s.ctx, id); err != nil {
			return row, err
		}
		s.runs[id] = run
	}
	if run.Credits != nil && run.Calls > 0 {
		share := math.Round(*run.Credits*float64(row.Calls)/float64(run.Calls)*100) / 100
		row.Credits = &share
	}
	return row, nil
}

// rowOf is a proposal as people see it.
func rowOf(c enrichment.Enrichable) proposals.Row {
	e := c.Enrichment
	remark := e.Error
	if remark == "" {
		remark = e.Proposal.Note
	}
	if len(e.Flagged) > 0 {
		remark = "refused by the moderation of the service: " + strings.Join(e.Flagged, ", ")
	}
	name := c.Name
	if c.Extension != "" {
		name += "." + c.Extension
	}
	return proposals.Row{
		ID: strconv.FormatInt(e.Num, 10), Asset: e.Asset, Name: name, Category: c.CategoryName, Folder: c.Folder,
		Kind: string(e.Kind), Language: e.Language, State: string(e.State), Link: c.URL, Attribute: e.Basis.Attribute,
		Old:        proposals.Text{Description: e.Basis.Description, Tags: e.Basis.Tags},
		New:        proposals.Text{Description: e.Proposal.Text, Tags: e.Proposal.Tags},
		Decorative: e.Proposal.Decorative, Calls: e.Calls, Model: e.Proposal.Model, Remark: remark,
	}
}

// thumbWidth is how wide the pictures on a page are at the most, in pixels.
const thumbWidth = 320

// picture is a small one of an asset, within the page. One that cannot be had is left out
// and told.
func (s *shownProposals) picture(c enrichment.Enrichable) string {
	data, err := s.readThumb(c.Enrichment.Asset)
	if err != nil {
		s.unpictured, s.why = s.unpictured+1, err
		return ""
	}
	return "data:image/jpeg;base64," + base64.StdEncoding.EncodeToString(data)
}

func (s *shownProposals) readThumb(asset string) ([]byte, error) {
	const most = 1 << 20
	body, _, err := s.dest.Client.Thumb(s.ctx, asset, assets.Rendition{Width: thumbWidth, Format: assets.JPEG})
	if err != nil {
		return nil, err
	}
	defer body.Close()
	data, err := io.ReadAll(io.LimitReader(body, most+1))
	switch {
	case err != nil:
		return nil, err
	case len(data) > most:
		return nil, errors.New("it is larger than 1 MB")
	case !bytes.HasPrefix(data, []byte{0xff, 0xd8}):
		return nil, errors.New("it is no JPEG")
	}
	return data, nil
}

func (s *shownProposals) write(w io.Writer, format string) error {
	switch format {
	case "html":
		return proposals.WriteHTML(w, proposals.Head{
			Run: s.dest.Environment + "-" + clock.Now().UTC().Format("20060102-150405"), Destination: s.dest.String(), MadeAt: clock.Now(), Zone: time.Local,
		}, s.rows())
	case "csv":
		return proposals.WriteCSV(w, s.rows())
	case "json":
		return proposals.WriteJSON(w, s.rows())
	}
	for r, err := range s.rows() {
		if err != nil {
			return err
		}
		if _, err := io.WriteString(w, proposalText(r)); err != nil {
			return err
		}
	}
	return nil
}

// proposalText is a proposal on a few lines.
func proposalText(r proposals.Row) string {
	var b strings.Builder
	path := strings.Trim(r.Category+"/"+strings.Trim(r.Folder+"/"+r.Name, "/"), "/")
	fmt.Fprintf(&b, "%s  %s, %s", ui.Sanitize(r.ID), r.State, r.Kind)
	if r.Language != "" {
		fmt.Fprintf(&b, " %s", ui.Sanitize(r.Language))
	}
	fmt.Fprintf(&b, "  %s\n", ui.Sanitize(path))
	line := func(name string, t proposals.Text) {
		if t.Description == "" && len(t.Tags) == 0 {
			return
		}
		fmt.Fprintf(&b, "    %s  %s", name, ui.Sanitize(t.Description))
		if len(t.Tags) > 0 {
			fmt.Fprintf(&b, "  [%s]", ui.Sanitize(strings.Join(t.Tags, ", ")))
		}
		b.WriteString("\n")
	}
	line("now", r.Old)
	line("new", r.New)
	if r.Decorative {
		b.WriteString("    it is said to be only decoration\n")
	}
	for _, w := range append(r.Warnings(), r.Remark) {
		if w != "" {
			fmt.Fprintf(&b, "    look: %s\n", ui.Sanitize(w))
		}
	}
	return b.String()
}

// listProposals shows proposals on the terminal, or as JSON.
func listProposals(f *command.Factory, s *shownProposals) error {
	for r, err := range s.rows() {
		if err != nil {
			return err
		}
		f.Out.Printf("%s", proposalText(r))
		f.Out.Event("proposal", event.Proposal{
			ID: r.ID, AssetID: r.Asset, Name: r.Name, Category: r.Category, Folder: r.Folder, Kind: r.Kind, Language: r.Language, State: r.State,
			OldDescription: r.Old.Description, OldTags: r.Old.Tags, Description: r.New.Description, Tags: r.New.Tags,
			Attribute: r.Attribute, Decorative: r.Decorative, Calls: r.Calls, Model: r.Model, Remark: r.Remark,
		})
	}
	return nil
}
