package report

import (
	"fmt"
	"slices"

	"assetferry/internal/ui"
	"assetferry/migrate"
)

// sync lists the changes of a sync and compares it with the previous one.
func (t *text) sync(r Report) {
	s := r.Sync
	if s == nil {
		return
	}
	t.trend(s)
	for _, c := range s.Changes {
		t.change(titleOf(c.State), c, c.State)
	}
	t.deleted(s.Deleted)
	if len(s.Drift) > 0 {
		t.heading("Changed at the destination")
	}
	for _, c := range s.Drift {
		t.say(2, "%s: %s", capital(c.Message), objects(c.Objects))
		t.changed(c)
	}
	t.failing(s.Failing)
	if s.Recovered != nil && s.Recovered.Objects > 0 {
		t.change("Recovered", *s.Recovered, "")
	}
}

func (t *text) trend(s *Sync) {
	t.heading("Trend")
	columns := []ui.Column{{}, {Title: "This sync", Right: true}}
	if s.Previous == nil {
		t.say(2, "This is the first sync of this source.")
	} else {
		t.say(2, "Previous sync: run %s, started %s.", s.Previous.Run, t.at(s.Previous.At))
		columns = append(columns, ui.Column{Title: "Previous", Right: true}, ui.Column{Title: "Difference", Right: true})
	}
	var rows [][]string
	for _, m := range s.Shown() {
		row := []string{m.Title(), m.text(m.Now)}
		if m.Before != nil {
			row = append(row, m.text(*m.Before), m.Arrow())
		}
		rows = append(rows, row)
	}
	t.table(columns, rows)
}

// Shown returns the trend without adopted objects if there are none, which is usual.
func (s *Sync) Shown() []Measure {
	return slices.DeleteFunc(slices.Clone(s.Trend), func(m Measure) bool { return m.Name == adopted && m.Now == 0 && m.Difference() == 0 })
}

// text formats a number of the measure.
func (m Measure) text(n int64) string {
	if m.Name == bytesMeasured {
		return ui.Bytes(n)
	}
	return ui.Count(n)
}

// Title returns the label of the measure.
func (m Measure) Title() string { return titleOf(m.Name) }

// Arrow shows the difference and its direction.
func (m Measure) Arrow() string { return arrow(m.Difference(), m.text) }

// change lists one kind of changes.
func (t *text) change(title string, c Change, only string) {
	t.heading(fmt.Sprintf("%s: %s, %s", title, objects(c.Objects), ui.Bytes(c.Bytes)))
	t.changed(c)
	if only != "" {
		t.more(c.Objects, min(len(c.First), shownExamples), only)
	} else {
		t.rest(c.Objects, len(c.First))
	}
}

// rest counts the objects that are not shown.
func (t *text) rest(all int64, known int) {
	if rest := all - int64(min(known, shownExamples)); rest > 0 {
		t.say(6, "… and %s more", ui.Count(rest))
	}
}

func (t *text) changed(c Change) {
	for _, o := range c.First[:min(len(c.First), shownExamples)] {
		if o.PreviousKey == "" {
			t.quote(4, o.Key)
			continue
		}
		t.moves([]Move{{o.PreviousKey, o.Key}})
	}
}

func (t *text) deleted(d *Deleted) {
	if d == nil || d.Objects == 0 {
		return
	}
	t.heading(fmt.Sprintf("Deleted at the source: %s, %s new", objects(d.Objects), ui.Count(d.New.Objects)))
	if d.Kept.Objects > 0 {
		t.say(2, "Assets kept: %s, %s.", ui.Count(d.Kept.Objects), ui.Bytes(d.Kept.Bytes))
	}
	if d.InGrace.Objects > 0 {
		t.say(2, "Within the grace period: %s. The first grace period ends at %s; after that, a sync may trash the asset.", ui.Count(d.InGrace.Objects), t.at(*d.GraceEnds))
	}
	for _, o := range d.First[:min(len(d.First), shownExamples)] {
		t.quote(4, o.Key)
		t.say(6, "%s", t.deletedText(o))
	}
	t.rest(d.Objects, len(d.First))
}

// deletedText says when an object was deleted, as far as that is known, and what happens to its asset.
func (t *text) deletedText(o DeletedObject) string {
	text := "asset " + o.Asset()
	if o.GraceEnds != nil {
		text += " until " + t.at(*o.GraceEnds)
	}
	switch {
	case o.New:
		text += ", object newly deleted"
	case o.Since != nil:
		text += ", object missing since " + t.at(*o.Since)
	}
	if note := o.Note(); note != "" {
		text += ": " + note
	}
	return text
}

// Asset says what happens to the asset.
func (o DeletedObject) Asset() string {
	if o.State == skipped {
		return "kept"
	}
	return words(o.State)
}

// Note returns the reason, unless the heading and the state of the object say it.
func (o DeletedObject) Note() string {
	switch migrate.Reason(o.Reason) {
	case migrate.ReasonDeletedAtSource, migrate.ReasonGracePeriod, migrate.ReasonGracePeriodOver:
		return ""
	}
	return o.Message
}

// failing lists since when objects fail; their errors are under Failed.
func (t *text) failing(f Failing) {
	if f.Objects == 0 || len(f.First) == 0 {
		return
	}
	t.heading("Ongoing failures")
	for _, o := range f.First[:min(len(f.First), shownExamples)] {
		t.quote(4, o.Key)
		since := ""
		if o.Since != nil {
			since = ", since " + t.at(*o.Since)
		}
		if o.Runs > 0 {
			since += ", " + runsInARow(o.Runs)
		}
		t.say(6, "%s%s", words(o.State), since)
	}
	t.rest(f.Objects, len(f.First))
}
