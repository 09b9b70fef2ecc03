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

// proposalFormats returns the output formats, the default first.
func proposalFormats() []string { return []string{"text", "html", "csv", "json"} }

type proposalsOptions struct {
	format, output string
	states         []string
	kind, language string
	run            string
	withoutImages  bool
}

func newProposalsCommand(f *command.Factory) *cobra.Command {
	var o proposalsOptions
	c := &cobra.Command{
		Use:   "proposals",
		Short: "Show proposals to accept, edit or reject",
		Long: `Proposals shows undecided proposals. --only selects others. The HTML page shows
each image, the current text, the proposed text and the cost. Accept, edit or
reject proposals on the page, and save the decisions as a file. In the CSV
table, write accept, reject or decorative in the decision column, and edit the
texts. To import a file of decisions:

    assetferry enrich import FILE

The page contains the images, so you can send it to other people.
`,
		Example: `  assetferry enrich proposals --format html --output proposals.html
  assetferry enrich proposals --only applied --format csv --output applied.csv`,
		Args: cobra.NoArgs,
		RunE: f.Do(func(ctx context.Context, _ *cobra.Command, _ []string) error { return listProposed(ctx, f, o) }),
	}
	flags := c.Flags()
	flags.StringVar(&o.format, "format", "text", "output `format`: "+strings.Join(proposalFormats(), ", "))
	flags.StringVar(&o.output, "output", "", "write to this `file`; - is stdout")
	flags.StringSliceVar(&o.states, "only", []string{string(enrichment.Proposed)}, "show proposals in this `state`: "+strings.Join(enrichmentStates(), ", ")+", or all")
	flags.StringVar(&o.kind, "kind", "", "show proposals of this `kind`: describe, review or translate")
	flags.StringVar(&o.language, "language", "", "show proposals in this `language`")
	flags.StringVar(&o.run, "run", "", "show proposals of the run with this `ID`")
	flags.BoolVar(&o.withoutImages, "no-pictures", false, "omit the images from the page")
	return c
}

func enrichmentStates() []string {
	return []string{string(enrichment.Proposed), string(enrichment.Accepted), string(enrichment.Rejected), string(enrichment.Applied), string(enrichment.Undone),
		string(enrichment.Conflict), string(enrichment.Failed), string(enrichment.Refused)}
}

// filter returns the selection of proposals.
func (o proposalsOptions) filter() (f enrichment.Filter, err error) {
	if !slices.Contains(proposalFormats(), o.format) {
		return f, exit.Usage(fmt.Errorf("--format: unknown format %q", o.format), "use one of "+strings.Join(proposalFormats(), ", "))
	}
	f = enrichment.Filter{Kind: enrichment.Kind(o.kind), Language: o.language, Run: o.run}
	kinds := []enrichment.Kind{"", enrichment.KindDescribe, enrichment.KindReview, enrichment.KindTranslate}
	if !slices.Contains(kinds, f.Kind) {
		return f, exit.Usage(fmt.Errorf("--kind: unknown kind %q", o.kind), "use describe, review or translate")
	}
	if slices.Contains(o.states, "all") {
		return f, nil
	}
	for _, s := range o.states {
		if !slices.Contains(enrichmentStates(), s) {
			return f, exit.Usage(fmt.Errorf("--only: unknown state %q", s), "use one of "+strings.Join(enrichmentStates(), ", ")+", or all")
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
	shown := &shownProposals{name: dest.Environment + "-" + clock.Now().UTC().Format("20060102-150405"), ctx: ctx, store: enrichment.In(store), dest: dest, filter: filter, runs: map[string]enrichment.Run{}, pictures: o.format == "html" && !o.withoutImages}
	if o.output == "" && (o.format == "text" || f.Out.JSON()) {
		err = listProposals(f, shown)
	} else {
		err = f.WriteOutput(o.output, func(w io.Writer) error { return shown.write(w, o.format) })
	}
	if err != nil {
		return err
	}
	if shown.unpictured > 0 {
		f.Out.Notef("%s could not be loaded: %v", ui.Counted(shown.unpictured, "image"), shown.why)
	}
	printShown(f, o, shown)
	return nil
}

// printShown prints the result and how to decide on the proposals.
func printShown(f *command.Factory, o proposalsOptions, shown *shownProposals) {
	isFile := o.output != "" && o.output != "-"
	if isFile {
		f.Out.Notef("%s written to %s", ui.Counted(shown.n, "proposal"), ui.Sanitize(o.output))
	} else {
		f.Out.Notef("%s", ui.Counted(shown.n, "proposal"))
	}
	switch {
	case shown.n == 0:
	case isFile && o.format == "html":
		f.Out.Notef("Open the page in a browser, decide, and save the decisions.")
		printNext(f, "enrich import", []string{proposals.DecisionsFile(shown.name)})
	case isFile && o.format == "csv":
		printNext(f, "enrich import", []string{o.output})
	case o.format == "text":
		printRepeat(f, "--format", "html", "--output", "proposals.html")
	}
}

// shownProposals reads proposals for output.
type shownProposals struct {
	name     string // part of the name of the file of decisions
	ctx      context.Context
	store    *enrichment.Store
	dest     *command.Destination
	filter   enrichment.Filter
	pictures bool
	runs     map[string]enrichment.Run // by ID

	n, unpictured int64
	why           error // of the last missing image
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

// rowOf returns a proposal for output, with its share of the cost of its run.
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

// rowOf returns a proposal for output.
func rowOf(c enrichment.Enrichable) proposals.Row {
	e := c.Enrichment
	remark := e.Error
	if remark == "" {
		remark = e.Proposal.Note
	}
	if len(e.Flagged) > 0 {
		remark = "refused by moderation: " + strings.Join(e.Flagged, ", ")
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

// thumbWidth is the maximum width of images on a page in pixels.
const thumbWidth = 320

// picture returns a thumbnail of an asset as a data: URL. Failures are counted.
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
		return nil, errors.New("the image is larger than 1 MB")
	case !bytes.HasPrefix(data, []byte{0xff, 0xd8}):
		return nil, errors.New("the image is not a JPEG")
	}
	return data, nil
}

func (s *shownProposals) write(w io.Writer, format string) error {
	switch format {
	case "html":
		return proposals.WriteHTML(w, proposals.Head{
			Run: s.name, Destination: s.dest.String(), MadeAt: clock.Now(), Zone: time.Local,
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

// proposalText formats a proposal for the terminal.
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
		text := t.Description
		if len(t.Tags) > 0 {
			text += " [" + strings.Join(t.Tags, ", ") + "]"
		}
		text = strings.Join(strings.Fields(text), " ") // Out wraps only lines without columns
		fmt.Fprintf(&b, "    %s  %s\n", name, ui.Sanitize(text))
	}
	line("Current: ", r.Old)
	line("Proposed:", r.New)
	if r.Decorative {
		b.WriteString("    Proposed:  no description, the image is decorative\n")
	}
	for _, w := range append(r.Warnings(), r.Remark) {
		if w != "" {
			fmt.Fprintf(&b, "    Note:      %s\n", ui.Sanitize(w))
		}
	}
	return b.String()
}

// listProposals prints proposals as text or JSON.
func listProposals(f *command.Factory, s *shownProposals) error {
	for r, err := range s.rows() {
		if err != nil {
			return err
		}
		f.Out.Printf("%s", proposalText(r))
		f.Out.Event("proposal", event.Proposal{
			ID: r.ID, AssetID: r.Asset, Name: r.Name, Category: r.Category, Folder: r.Folder, Kind: r.Kind, Language: r.Language, State: r.State,
			OldDescription: r.Old.Description, OldTags: r.Old.Tags, Description: r.New.Description, Tags: r.New.Tags,
			Attribute: r.Attribute, Decorative: r.Decorative, Requests: r.Calls, Model: r.Model, Note: r.Remark,
		})
	}
	return nil
}
