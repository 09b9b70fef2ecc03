package report

import (
	"bytes"
	"fmt"
	"io"
	"slices"
	"strings"
	"time"

	"assetferry/internal/event"
	"assetferry/internal/ui"
	"assetferry/migrate"
)

const textWidth = 80

// WriteText writes the report as text, in 80 columns where no key or command is longer. Times are
// in the given zone.
func (r Report) WriteText(w io.Writer, zone *time.Location) error {
	t := &text{zone: zone}
	for _, write := range []func(Report){
		t.verdict, t.results, t.problems, t.warnings, t.skipped, t.sync, t.freeze, t.versions, t.verification, t.alterations, t.undo, t.renamed, t.privacy, t.metadata, t.urls, t.charts, t.about, t.next,
	} {
		write(r)
	}
	_, err := w.Write(t.b.Bytes())
	return err
}

// text is a report while it is written. Its methods sanitize everything from outside.
type text struct {
	b    bytes.Buffer
	zone *time.Location
}

// heading begins a section.
func (t *text) heading(title string) { fmt.Fprintf(&t.b, "\n%s\n", title) }

// say writes a paragraph with a margin.
func (t *text) say(margin int, format string, args ...any) {
	for _, line := range ui.Wrap(ui.Sanitize(fmt.Sprintf(format, args...)), textWidth-margin) {
		t.b.WriteString(strings.Repeat(" ", margin) + line + "\n")
	}
}

// quote writes a line that is not wrapped, such as a key, whose spaces count.
func (t *text) quote(margin int, line string) {
	t.b.WriteString(strings.Repeat(" ", margin) + ui.Sanitize(line) + "\n")
}

func (t *text) table(columns []ui.Column, rows [][]string) {
	for line := range strings.Lines(ui.Table(columns, rows)) {
		t.b.WriteString("  " + line)
	}
}

func (t *text) at(when time.Time) string { return when.In(t.zone).Format(time.DateTime) }

func (t *text) verdict(r Report) { t.say(0, "%s", r.Verdict.text()) }

func (t *text) next(r Report) {
	if r.Verdict.Next != "" {
		t.b.WriteString("\n")
		next := r.Verdict.NextStep()
		t.say(0, "Next: %s", next.Text)
		if next.Command != "" {
			t.quote(2, next.Command)
		}
	}
}

func (t *text) results(r Report) {
	t.heading("Results")
	var rows [][]string
	for _, p := range r.Results.States {
		rows = append(rows, amountRow(words(p.State), p.Amount))
		if p.State == adopted && r.Results.Shared.Objects > 0 {
			rows = append(rows, amountRow("  sharing the asset of an identical object", r.Results.Shared))
		}
	}
	rows = append(rows, amountRow("total", r.Results.Total))
	t.table([]ui.Column{{}, {Title: "Objects", Right: true}, {Title: "Bytes", Right: true}, {Right: true}}, rows)
	switch {
	case !r.Results.Accounted:
		t.say(2, "%s", r.Results.Message)
	case r.Results.Listed.Objects > 0:
		t.say(2, "All listed objects are accounted for.")
	}
	t.say(2, "At the destination, from all runs: %s, %s.", assets(r.Destination.Objects), ui.Bytes(r.Destination.Bytes))
}

// amountRow has exact bytes, which can be added up, and rounded ones.
func amountRow(name string, a Amount) []string {
	return []string{name, ui.Count(a.Objects), ui.Count(a.Bytes), ui.Bytes(a.Bytes)}
}

// brief shortens a name to fit into a table.
func brief(name string) string { return ui.Truncate(ui.Sanitize(name), 30) }

// problems has a section for each state of objects that need attention.
func (t *text) problems(r Report) {
	for _, s := range r.problemSections() {
		t.heading(fmt.Sprintf("%s: %s, %s", s.Title, objects(s.Objects), ui.Bytes(s.Bytes)))
		for _, p := range s.Problems {
			t.say(2, "%s: %s", capital(p.Message), objects(p.Objects))
			t.say(4, "Fix: %s", p.Remedy)
			for _, e := range p.Examples {
				t.quote(6, e.Key)
				if e.Error != "" {
					t.say(8, "%s", e.Error)
				}
			}
			t.more(p.Objects, len(p.Examples), p.State)
		}
	}
	if r.Unlistable > 0 {
		t.heading("Unreadable folders: " + ui.Count(r.Unlistable))
	}
}

// more counts the objects that are not shown.
func (t *text) more(all int64, shown int, only string) {
	if rest := all - int64(shown); rest > 0 {
		t.say(6, "… and %s more: --only %s", ui.Count(rest), only)
	}
}

func (t *text) warnings(r Report) {
	if len(r.Found.Remarks) == 0 {
		return
	}
	t.heading("Warnings")
	for _, k := range r.Found.Remarks {
		t.say(2, "%s: %s", k.What, objects(k.Objects))
		for _, e := range k.Examples {
			t.quote(6, e.Key)
			t.say(8, "%s", e.Error)
		}
		t.more(k.Objects, len(k.Examples), warning)
	}
}

func (t *text) skipped(r Report) {
	if len(r.Skipped) == 0 {
		return
	}
	t.heading("Skipped")
	for _, s := range r.shownSkips() {
		t.say(2, "%s, %s: %s%s", objects(s.Objects), ui.Bytes(s.Bytes), s.Message, s.NewText())
		t.say(4, "%s%s", s.Label(), s.Advice())
		for _, key := range s.Examples {
			t.quote(6, key)
		}
		if len(s.Examples) > 0 {
			t.more(s.Objects, len(s.Examples), skipped)
		}
	}
}

func (t *text) versions(r Report) {
	if r.Versions == nil {
		return
	}
	t.heading("Older versions")
	t.say(2, "%s", r.Versions.Text())
}

// shownSkips returns the skipped objects. Those that were deleted at the source have no examples if
// another section of the report lists them.
func (r Report) shownSkips() []Skipped {
	if r.Sync == nil || r.Sync.Deleted == nil {
		return r.Skipped
	}
	all := slices.Clone(r.Skipped)
	for n, s := range all {
		if deletedReasons[migrate.Reason(s.Reason)] {
			all[n].Examples = nil
		}
	}
	return all
}

// Label introduces the advice about skipped objects; empty if nothing has to be done.
func (s Skipped) Label() string {
	if strings.HasPrefix(s.Decides, migrate.NothingToDo) {
		return ""
	}
	return "To change this: "
}

// Advice says what decides about skipped objects, or why nothing has to be done.
func (s Skipped) Advice() string {
	if rest, ok := strings.CutPrefix(s.Decides, migrate.NothingToDo); ok {
		return capital(rest)
	}
	return s.Decides
}

// NewText counts the objects that a rule skips for the first time, unless that is all or none.
func (s Skipped) NewText() string {
	if !s.ByRule || s.New == s.Objects || s.New == 0 {
		return ""
	}
	return fmt.Sprintf(", %s for the first time", ui.Count(s.New))
}

// ShowsVerification reports whether there is more to show than the verdict says.
func (r Report) ShowsVerification() bool {
	return r.Verification.At != nil || r.Destination.Objects > 0 && !strings.Contains(r.Verdict.Message, "Not verified")
}

func (t *text) verification(r Report) {
	if !r.ShowsVerification() {
		return
	}
	t.heading("Verification")
	v := r.Verification
	if v.At == nil {
		t.say(2, "Not verified yet.")
		return
	}
	found := "no differences"
	if v.Differences > 0 {
		found = differences(v.Differences)
	}
	of := ""
	if v.Wave != "" {
		of = " of wave " + v.Wave
	}
	t.say(2, "%s: %s%s compared by %s; %s.", t.at(*v.At), assets(v.Compared), of, v.Method(), found)
	if v.ByChecksum > v.ComparedByChecksum {
		t.say(2, "Compared by checksum in this or an earlier verification, and unchanged since: %s of %s.", ui.Count(v.ByChecksum), assets(v.Verified))
	}
	if !v.Covers {
		t.say(2, "Not verified yet: %s; last upload: %s.", assets(v.NotVerified), t.at(*v.LastArrival))
	}
	for _, d := range v.First {
		t.quote(4, d.Key)
		t.say(6, "asset %s %s", d.AssetID, d.Message)
	}
	if rest := v.Differences - int64(len(v.First)); rest > 0 {
		t.say(4, "… and %s more", ui.Count(rest))
	}
}

// Method says how the assets were compared.
func (v Verification) Method() string {
	switch v.ComparedByChecksum {
	case 0:
		return "name and size"
	case v.Compared:
		return "name, size and checksum"
	}
	return "name and size, " + ui.Count(v.ComparedByChecksum) + " of them by checksum"
}

func (t *text) privacy(r Report) {
	if len(r.Privacy.Categories) == 0 {
		return
	}
	t.heading("Privacy")
	var rows [][]string
	for _, c := range r.Privacy.Categories {
		rows = append(rows, append([]string{brief(c.Name), c.Privacy}, amountRow("", c.Amount)[1:]...))
	}
	t.table([]ui.Column{{Title: "Category"}, {Title: "Privacy"}, {Title: "Assets", Right: true}, {Title: "Bytes", Right: true}, {Right: true}}, rows)
	if r.Privacy.Unknown.Objects > 0 {
		t.say(2, "assetferry treats categories with unknown privacy as private. To read the privacy from the service:")
		t.quote(4, "assetferry verify")
	}
}

func (t *text) renamed(r Report) {
	if r.Names.Count == 0 {
		return
	}
	t.heading("Renamed: " + assets(r.Names.Count) + ", from all runs")
	shown := r.Names.First[:min(shownExamples, len(r.Names.First))]
	for _, n := range shown {
		t.quote(4, n.Key)
		t.quote(6, "-> "+n.AssetName)
	}
	if rest := r.Names.Count - int64(len(shown)); rest > 0 {
		t.say(6, "… and %s more: --format csv has a column asset_name", ui.Count(rest))
	}
}

// alterations lists the changed assets. Those of a sync are in its own sections.
func (t *text) alterations(r Report) {
	if len(r.Alterations) == 0 || r.Sync != nil {
		return
	}
	t.heading("Changed assets")
	for _, a := range r.Alterations {
		t.say(2, "%s: %s, %s", capital(words(a.State)), assets(a.Objects), ui.Bytes(a.Bytes))
		t.moves(a.Moves)
		for _, key := range a.Examples[len(a.Moves):] {
			t.quote(4, key)
		}
		t.more(a.Objects, len(a.Examples), a.State)
	}
}

func (t *text) moves(all []Move) {
	for _, m := range all {
		t.quote(4, m.From)
		t.quote(6, "-> "+m.To)
	}
}

func (t *text) undo(r Report) {
	u := r.Undo
	if len(u.By) == 0 && u.Command == "" {
		return
	}
	t.heading("Undo")
	for _, by := range u.By {
		t.say(2, "Undone by run %s, started %s (%s): %s", by.Run, t.at(by.At), by.State, undoneText(by.Trashed.Objects, by.Restored.Objects, 0))
	}
	if u.Command == "" {
		return
	}
	t.say(2, "%s To preview the undo:", u.Effect())
	t.quote(4, u.Command)
	t.say(2, "To carry out the undo, add --apply.")
}

// Effect says what an undo of the run would change.
func (u Undo) Effect() string {
	text := "An undo trashes " + assets(u.Created.Objects) + " that this run created"
	switch {
	case u.Created.Objects == 0:
		text = "An undo restores " + assets(u.Changed.Objects) + " that this run changed"
	case u.Changed.Objects > 0:
		text += " and restores " + ui.Count(u.Changed.Objects) + " that it changed"
	}
	return text + "."
}

// ShowsMetadata reports whether there is anything in the section about metadata.
func (r Report) ShowsMetadata() bool {
	return r.Metadata.Objects > 0 || r.Metadata.Pending > 0 || r.Found.UnmappedFields > 0 || len(r.Found.Said()) > 0
}

func (t *text) metadata(r Report) {
	if !r.ShowsMetadata() {
		return
	}
	m, f := r.Metadata, r.Found
	t.heading("Metadata")
	if m.Objects > 0 {
		t.say(2, "%s", m.StorageText())
	}
	if m.Pending > 0 {
		t.say(2, "Pending: %s. The next run updates their metadata.", assets(m.Pending))
	}
	for _, sentence := range f.Said() {
		t.say(2, "%s", sentence)
	}
	if f.UnmappedFields == 0 {
		return
	}
	t.say(2, "Unmapped fields: %s. To map these fields, see:", ui.Count(f.UnmappedFields))
	t.quote(4, "assetferry help mapping")
	var rows [][]string
	for _, m := range f.Unmapped[:min(len(f.Unmapped), shownFields)] {
		rows = append(rows, []string{brief(m.Name), m.From, ui.Count(m.Objects)})
	}
	t.table([]ui.Column{{Title: "Field"}, {Title: "Metadata source"}, {Title: "Objects", Right: true}}, rows)
	if rest := f.UnmappedFields - int64(len(rows)); rest > 0 {
		t.say(6, "… and %s more: --format json", ui.Count(rest))
	}
}

// StorageText counts the objects with storage metadata.
func (m Metadata) StorageText() string {
	var kinds []string
	for _, k := range []struct {
		n    int64
		name string
	}{{m.ContentTypes, "with a content type"}, {m.Fields, "with metadata fields"}, {m.Tags, "with tags"}} {
		if k.n > 0 {
			kinds = append(kinds, ui.Count(k.n)+" "+k.name)
		}
	}
	if len(kinds) == 0 {
		return fmt.Sprintf("%s storage metadata.", have(m.Objects))
	}
	return fmt.Sprintf("%s storage metadata: %s.", have(m.Objects), strings.Join(kinds, ", "))
}

func (t *text) urls(r Report) {
	if r.URLs.Mapped == 0 {
		return
	}
	t.heading("URLs")
	verb := "have"
	if r.URLs.Mapped == 1 {
		verb = "has"
	}
	t.say(2, "%s of this run %s a URL, %s of them public. To list old and new URLs:", assets(r.URLs.Mapped), verb, ui.Count(r.URLs.Public))
	t.quote(4, r.URLs.Command)
}

func (t *text) charts(r Report) {
	if r.Charted.Objects == 0 {
		return
	}
	t.heading("Types and sizes")
	if r.Charted != r.Results.Listed {
		t.say(2, "Unchanged objects are not included: the state database stores only a count of them.")
	}
	t.slices("Type", r.Types)
	t.slices("Object size", r.Sizes)
	t.throughput(r)
}

// slices writes a table of the slices that are not empty.
func (t *text) slices(title string, all []Slice) {
	var rows [][]string
	for _, s := range all {
		if s.Objects > 0 {
			rows = append(rows, amountRow(brief(s.Name), s.Amount))
		}
	}
	if len(rows) > 0 {
		t.table([]ui.Column{{Title: title}, {Title: "Objects", Right: true}, {Title: "Bytes", Right: true}, {Right: true}}, rows)
	}
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
	t.heading("Throughput")
	t.say(2, "%s in %s of work. Peak: %s per minute, at %s.", capital(objects(items)),
		ui.Counted(int64(minutes), "minute"), ui.Count(busiest.Items/int64(busiest.Minutes)), t.at(busiest.At))
}

func (t *text) about(r Report) {
	t.heading("Run")
	var facts []event.Fact
	add := func(name, value string) { facts = append(facts, event.Fact{Name: "  " + name, Value: value}) }
	add("Run", r.Run.ID+", "+r.Run.Command+", "+r.Run.State)
	add("Source", r.Run.Source)
	if r.Run.Wave != "" {
		add("Wave", r.Run.Wave)
	}
	add("Destination", r.Run.Destination+", "+r.Run.URL)
	add("", purposeOf(r.Run.Purpose).text())
	if r.Undo.Undoes != "" {
		add("Undoes", r.Undo.Undoes)
	}
	if r.Run.PlanHash != "" {
		add("Plan hash", r.Run.PlanHash)
	}
	if a := r.Run.Approval; a != nil {
		add("Approver", a.By+", "+a.Known()+", "+t.at(a.At))
	}
	if r.Run.StartedBy != "" {
		add("Started by", r.Run.StartedBy)
	}
	add("Started", t.at(r.Run.BeganAt))
	if !r.Run.ListedAt.Equal(r.Run.BeganAt) {
		add("Listed", t.at(r.Run.ListedAt))
	}
	if r.Run.FinishedAt != nil {
		took := time.Duration(r.Run.Seconds * float64(time.Second))
		add("Finished", t.at(*r.Run.FinishedAt)+", after "+ui.Duration(took))
	}
	add("Reported", t.at(r.MadeAt)+" by assetferry "+r.Tool)
	t.b.WriteString(ui.Facts(facts))
}

// textForm writes a line for each object: its state, its key, and why.
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
		why = l.Message
	}
	if why != "" {
		why = ": " + ui.Sanitize(why)
	}
	_, err := fmt.Fprintf(w, "%-9s  %s%s\n", words(state), ui.Sanitize(l.Key), why)
	return err
}

func (textForm) end(w io.Writer, f Folder) error {
	_, err := fmt.Fprintf(w, "%s, %s\n", objects(f.Listed.Objects), ui.Bytes(f.Listed.Bytes))
	if len(f.States) > 1 && err == nil {
		_, err = fmt.Fprintf(w, "%s\n", partsText(f.States))
	}
	return err
}

func (textForm) beginIndex(w io.Writer, r Report) error {
	for _, text := range []string{r.Verdict.text(), r.Results.Message} {
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
		partsText(f.States), file)
	return err
}

func (textForm) endIndex(io.Writer, Report) error { return nil }
