package report

import (
	"bytes"
	"fmt"
	"io"
	"strings"
	"time"

	"assetferry/internal/event"
	"assetferry/internal/ui"
)

const textWidth = 80

// WriteText writes the report for people, in 80 columns where what it tells fits. Times
// are in the given zone.
func (r Report) WriteText(w io.Writer, zone *time.Location) error {
	t := &text{zone: zone}
	for _, write := range []func(Report){
		t.verdict, t.about, t.night, t.sum, t.leftOut, t.troubles, t.proof, t.names, t.privacy, t.alterations, t.undo, t.metadata, t.found, t.addresses, t.charts,
	} {
		write(r)
	}
	_, err := w.Write(t.b.Bytes())
	return err
}

// text is a report being written. All that comes from outside is sanitized by what
// writes it.
type text struct {
	b    bytes.Buffer
	zone *time.Location
}

// heading begins a section.
func (t *text) heading(title string) { fmt.Fprintf(&t.b, "\n%s\n", title) }

// say writes a paragraph at a margin.
func (t *text) say(margin int, format string, args ...any) {
	for _, line := range ui.Wrap(ui.Sanitize(fmt.Sprintf(format, args...)), textWidth-margin) {
		t.b.WriteString(strings.Repeat(" ", margin) + line + "\n")
	}
}

// quote writes a line that stays as it is, such as a key, whose spaces count.
func (t *text) quote(margin int, line string) {
	t.b.WriteString(strings.Repeat(" ", margin) + ui.Sanitize(line) + "\n")
}

func (t *text) table(columns []ui.Column, rows [][]string) {
	for line := range strings.Lines(ui.Table(columns, rows)) {
		t.b.WriteString("  " + line)
	}
}

func (t *text) at(when time.Time) string { return when.In(t.zone).Format(time.DateTime) }

func (t *text) verdict(r Report) {
	t.say(0, "%s", r.Verdict.Sentence)
	if r.Verdict.Next != "" {
		t.say(0, "Next: %s", r.Verdict.Next)
	}
	t.b.WriteString("\n")
}

func (t *text) about(r Report) {
	facts := []event.Fact{
		{Name: "Source", Value: r.Run.Source},
		{Name: "Destination", Value: r.Run.Destination + ", " + r.Run.Address},
		{Name: "", Value: purposeText(string(r.Run.Purpose))},
		{Name: "Run", Value: r.Run.ID + ", " + r.Run.Command + ", " + r.Run.State},
	}
	if r.Run.PlanHash != "" {
		facts = append(facts, event.Fact{Name: "Plan hash", Value: r.Run.PlanHash})
	}
	if a := r.Run.Approval; a != nil {
		facts = append(facts, event.Fact{Name: "Approver", Value: a.By + ", " + a.Known() + ", " + t.at(a.At)})
	}
	if r.Run.StartedBy != "" {
		facts = append(facts, event.Fact{Name: "Started by", Value: r.Run.StartedBy})
	}
	facts = append(facts, event.Fact{Name: "Began", Value: t.at(r.Run.BeganAt)})
	if !r.Run.ListedAt.Equal(r.Run.BeganAt) {
		facts = append(facts, event.Fact{Name: "Listed", Value: t.at(r.Run.ListedAt)})
	}
	if r.Run.FinishedAt != nil {
		took := time.Duration(r.Run.Seconds * float64(time.Second))
		facts = append(facts, event.Fact{Name: "Finished", Value: t.at(*r.Run.FinishedAt) + ", after " + ui.Duration(took)})
	}
	facts = append(facts, event.Fact{Name: "Reported", Value: t.at(r.MadeAt) + " by assetferry " + r.Tool})
	t.b.WriteString(ui.Facts(facts))
}

// purposeText says whether a destination is the real one.
func purposeText(purpose string) string {
	switch purpose {
	case "rehearsal":
		return "a sandbox: this is a rehearsal"
	case "production":
		return "a service: this is production"
	}
	return "whether it is a sandbox is not known"
}

func (t *text) sum(r Report) {
	t.heading("The sum")
	rows := [][]string{amountRow(r.Sum.Of, r.Sum.Listed)}
	for _, p := range r.Sum.Parts {
		rows = append(rows, amountRow("  "+p.Name, p.Amount))
		if p.Name == adopted && r.Sum.Shared.Objects > 0 {
			rows = append(rows, amountRow("    of these, copies", r.Sum.Shared))
		}
	}
	t.table([]ui.Column{{}, {Title: "Objects", Right: true}, {Title: "Bytes", Right: true}, {Right: true}}, rows)
	switch {
	case r.Run.PrunedAt != nil:
		t.say(2, "These sums were kept when its items were pruned, %s.", t.at(*r.Run.PrunedAt))
	case r.Sum.Closes:
		t.say(2, "It closes, in objects and bytes: every object is in exactly one of these lines.")
	default:
		t.say(2, "%s", r.Sum.Said)
	}
	if r.Sum.Shared.Objects > 0 {
		t.say(2, "The copies share the asset of another object, whose content they have.")
	}
	t.say(2, "At the destination from this source, by all runs: %s, %s.", assets(r.Destination.Objects), ui.Bytes(r.Destination.Bytes))
}

// amountRow tells bytes exactly, so that sums can be checked, and so that they can be
// read.
func amountRow(name string, a Amount) []string {
	return []string{name, ui.Count(a.Objects), ui.Count(a.Bytes), ui.Bytes(a.Bytes)}
}

// brief is as much of a name as there is room for in a table.
func brief(name string) string { return ui.Truncate(ui.Sanitize(name), 30) }

func (t *text) leftOut(r Report) {
	if len(r.LeftOut) == 0 {
		return
	}
	t.heading(wordsOf(r).NotTaken)
	for _, o := range r.LeftOut {
		t.say(2, "%s, %s: %s%s", objects(o.Objects), ui.Bytes(o.Bytes), o.Reason, o.NewText())
		t.say(4, "Decides: %s", o.Decides)
		for _, key := range o.Examples {
			t.quote(6, key)
		}
		t.more(o.Objects, len(o.Examples), "skipped")
	}
}

// NewText says how many of what a rule skips are new, where some are not.
func (o LeftOut) NewText() string {
	if !o.ByRule || o.New == o.Objects || o.New == 0 {
		return ""
	}
	return fmt.Sprintf(", %s of them for the first time", ui.Count(o.New))
}

// more says that there are more objects than those shown.
func (t *text) more(all int64, shown int, only string) {
	if rest := all - int64(shown); rest > 0 {
		t.say(6, "… and %s more: --only %s lists them", ui.Count(rest), strings.ReplaceAll(only, " ", "-"))
	}
}

func (t *text) troubles(r Report) {
	if len(r.Troubles) == 0 {
		return
	}
	t.heading("What did not come through, and what to do about it")
	for _, k := range r.Troubles {
		t.say(2, "%s, %s: %s", objects(k.Objects), ui.Bytes(k.Bytes), k.What)
		t.say(4, "Now: %s", partsText(k.Parts))
		t.say(4, "Try: %s", k.Remedy)
		for _, e := range k.Examples {
			t.quote(6, e.Key)
			if e.Error != "" {
				t.say(8, "%s", e.Error)
			}
		}
		t.more(k.Objects, len(k.Examples), k.Parts[0].Name)
	}
}

func partsText(all []Part) string {
	var said []string
	for _, p := range all {
		said = append(said, ui.Count(p.Objects)+" "+p.Name)
	}
	return strings.Join(said, ", ")
}

func (t *text) proof(r Report) {
	t.heading("Proof, of all that is at the destination from this source")
	p := r.Proof
	if p.At == nil {
		t.say(2, "It was never verified.")
		return
	}
	found := "no difference"
	if p.Differences > 0 {
		found = differences(p.Differences)
	}
	t.say(2, "Verified %s by %s: %s looked for by place, name and size, %s of them read back; %s.",
		t.at(*p.At), p.Level, assets(p.Receipts), ui.Count(p.ReadBack), found)
	if p.ByContent > p.ReadBack {
		t.say(2, "%s of %s were read back by this or an earlier verification, and have not changed since.", ui.Count(p.ByContent), assets(p.Verified))
	}
	if !p.Covers {
		t.say(2, "%s: content arrived after that, the last %s.", capital(verifiedText(p)), t.at(*p.LastArrival))
	}
	for _, d := range p.First {
		t.quote(4, d.Key)
		t.say(6, "asset %s %s", d.AssetID, d.What)
	}
	if rest := p.Differences - int64(len(p.First)); rest > 0 {
		t.say(4, "… and %s more", ui.Count(rest))
	}
}

func (t *text) privacy(r Report) {
	if len(r.Privacy.Categories) == 0 {
		return
	}
	t.heading("Who can see what this run brought")
	var rows [][]string
	for _, c := range r.Privacy.Categories {
		rows = append(rows, append([]string{brief(c.Name), c.Privacy}, amountRow("", c.Amount)[1:]...))
	}
	t.table([]ui.Column{{Title: "Category"}, {Title: "It is"}, {Title: "Objects", Right: true}, {Title: "Bytes", Right: true}, {Right: true}}, rows)
	if r.Privacy.Unknown.Objects > 0 {
		t.say(2, "Where it is not known, take it for private. assetferry verify finds it out.")
	}
}

func (t *text) names(r Report) {
	if r.Names.Count == 0 {
		return
	}
	t.heading("Names that differ from the source")
	t.say(2, "%s of all that is at the destination:", assets(r.Names.Count))
	shown := r.Names.First[:min(shownExamples, len(r.Names.First))]
	for _, n := range shown {
		t.quote(4, n.Key)
		t.quote(6, "-> "+n.AssetName)
	}
	if rest := r.Names.Count - int64(len(shown)); rest > 0 {
		t.say(4, "… and %s more: --format json lists the first %d", ui.Count(rest), shownNames)
	}
}

func (t *text) alterations(r Report) {
	t.heading("Overwritten, moved, trashed")
	if len(r.Alterations) == 0 {
		t.say(2, "None of the assets that were there before.")
		return
	}
	for _, a := range r.Alterations {
		t.say(2, "%s %s, %s:", assets(a.Objects), a.Action, ui.Bytes(a.Bytes))
		t.moves(a.Moves)
		for _, key := range a.Examples[len(a.Moves):] {
			t.quote(4, key)
		}
		t.more(a.Objects, len(a.Examples), a.Action)
	}
}

func (t *text) moves(all []Move) {
	for _, m := range all {
		t.quote(4, m.From)
		t.quote(6, "-> "+m.To)
	}
}

func (t *text) undo(r Report) {
	for _, u := range r.Undo.By {
		t.say(2, "Run %s of %s undid this one (it is %s): %s went to the trash.", u.Run, t.at(u.At), u.State, assets(u.Trashed.Objects))
		if u.PutBack.Objects > 0 {
			t.say(4, "%s are as they were before.", capital(assets(u.PutBack.Objects)))
		}
	}
	switch {
	case r.Undo.Command != "" && r.Undo.Changed.Objects > 0:
		t.say(2, "To put the %s back that this run changed, and trash the %s that it created: %s shows what would happen, with --apply it does.",
			assets(r.Undo.Changed.Objects), ui.Count(r.Undo.Created.Objects), r.Undo.Command)
	case r.Undo.Command != "":
		t.say(2, "To take back the %s that this run created: %s shows what would happen, with --apply it does.", assets(r.Undo.Created.Objects), r.Undo.Command)
	}
}

func (t *text) metadata(r Report) {
	m := r.Metadata
	if m == (Metadata{}) {
		return
	}
	t.heading("Metadata")
	if m.Objects > 0 {
		t.say(2, "The source itself tells something of %s: a content type of %s, metadata of %s, tags of %s. It is kept in the journal; the mapping decides what assets have of it.",
			objects(m.Objects), ui.Count(m.ContentTypes), ui.Count(m.Fields), ui.Count(m.Tags))
	}
	if m.NotKept > 0 {
		t.say(2, "Of %s it could not be kept.", objects(m.NotKept))
	}
	if m.MetadataPending > 0 {
		t.say(2, "%s lack a description that they should have, or the note where they come from; the next run writes it.", capital(assets(m.MetadataPending)))
	}
	if m.EditsKept > 0 {
		t.say(2, "%s were described otherwise at the destination, and what people wrote stays.", capital(assets(m.EditsKept)))
	}
}

// found tells what was found and is not in assets, as the end of the run did.
func (t *text) found(r Report) {
	f := r.Found
	if f.IsZero() {
		return
	}
	t.heading("Remarks on what came through")
	for _, k := range f.Remarks {
		t.say(2, "%s: %s", k.What, objects(k.Objects))
		for _, e := range k.Examples {
			t.quote(6, e.Key)
			t.say(8, "%s", e.Error)
		}
		t.more(k.Objects, len(k.Examples), remarked)
	}
	if f.UnmappedFields > 0 {
		t.say(2, "Fields that went nowhere; assetferry help mapping tells how to send them:")
		var rows [][]string
		for _, m := range f.Unmapped[:min(len(f.Unmapped), shownFields)] {
			rows = append(rows, []string{brief(m.Name), m.From, ui.Count(m.Objects)})
		}
		t.table([]ui.Column{{Title: "Field"}, {Title: "Found in"}, {Title: "Objects", Right: true}}, rows)
		if rest := f.UnmappedFields - int64(len(rows)); rest > 0 {
			t.say(6, "… and %s more: --format json lists them", ui.Count(rest))
		}
	}
	for _, said := range f.Said() {
		t.say(2, "%s", said)
	}
}

func (t *text) addresses(r Report) {
	if r.Addresses.Mapped == 0 {
		return
	}
	t.heading("Addresses")
	t.say(2, "%s of this run have an address, %s of them are public. %s lists them.",
		capital(assets(r.Addresses.Mapped)), ui.Count(r.Addresses.Public), r.Addresses.Command)
}

func (t *text) charts(r Report) {
	if r.Charted.Objects == 0 {
		return
	}
	t.heading("What it is")
	if r.Charted != r.Sum.Listed {
		t.say(2, "Of %s; the unchanged ones are only counted.", objects(r.Charted.Objects))
	}
	columns := []ui.Column{{}, {Title: "Objects", Right: true}, {Title: "Bytes", Right: true}, {Right: true}}
	for _, chart := range [][]Slice{r.Types, r.Sizes} {
		var rows [][]string
		for _, s := range chart {
			if s.Objects > 0 {
				rows = append(rows, amountRow(brief(s.Name), s.Amount))
			}
		}
		t.table(columns, rows)
	}
	t.throughput(r)
}

func (t *text) throughput(r Report) {
	var minutes int
	var items int64
	busiest := Point{Minutes: 1}
	for _, p := range r.Throughput {
		minutes += p.Minutes
		items += p.Items
		if p.Items*int64(busiest.Minutes) > busiest.Items*int64(p.Minutes) {
			busiest = p
		}
	}
	if items == 0 {
		return
	}
	t.say(2, "%s came to an outcome in %s at work; the most were %s a minute at %s.", capital(ui.Counted(items, "item")),
		ui.Counted(int64(minutes), "minute"), ui.Count(busiest.Items/int64(busiest.Minutes)), t.at(busiest.At))
}

// textForm writes a line for each object: what became of it, its key, and why.
type textForm struct{}

func (textForm) extension() string { return ".txt" }

func (textForm) begin(io.Writer, Report) error { return nil }

func (textForm) line(w io.Writer, l Line) error {
	state := l.State
	if l.Undone {
		state = undone
	}
	why := l.Error
	switch {
	case why != "":
	case l.PreviousKey != "":
		why = "from " + l.PreviousKey
	case !isDone(l.State):
		why = l.Reason
	}
	if why != "" {
		why = ": " + ui.Sanitize(why)
	}
	_, err := fmt.Fprintf(w, "%-9s  %s%s\n", state, ui.Sanitize(l.Key), why)
	return err
}

func (textForm) end(w io.Writer, f Folder) error {
	_, err := fmt.Fprintf(w, "%s, %s\n", objects(f.Listed.Objects), ui.Bytes(f.Listed.Bytes))
	if len(f.Parts) > 0 && err == nil {
		_, err = fmt.Fprintf(w, "%s\n", partsText(f.Parts))
	}
	return err
}

func (textForm) beginIndex(w io.Writer, r Report) error {
	for _, text := range []string{r.Verdict.Sentence, r.Sum.Said} {
		if _, err := io.WriteString(w, strings.Join(ui.Wrap(text, textWidth), "\n")+"\n"); err != nil {
			return err
		}
	}
	_, err := io.WriteString(w, "\n")
	return err
}

func (textForm) entry(w io.Writer, f Folder, file string) error {
	if file != "" {
		file = "  " + file + "\n"
	}
	_, err := fmt.Fprintf(w, "%s\n  %s, %s\n  %s\n%s", ui.Sanitize(f.title()), objects(f.Listed.Objects), ui.Bytes(f.Listed.Bytes),
		partsText(f.Parts), file)
	return err
}

func (textForm) endIndex(io.Writer, Report) error { return nil }
