package report

import (
	"fmt"
	"slices"

	"assetferry/internal/ui"
)

// night sets a sync against the one before it.
func (t *text) night(r Report) {
	n := r.Night
	if n == nil {
		return
	}
	if n.Stopped != "" {
		t.heading("Stopped by a guard")
		t.say(2, "%s", sentence(n.Stopped))
	}
	t.measures(n)
	for _, c := range n.Changes {
		t.change(titleOf(c.What), c, c.What)
	}
	t.goneObjects(n.Gone)
	if len(n.Drift) > 0 {
		t.heading("What people did at the destination")
	}
	for _, c := range n.Drift {
		t.say(2, "%s: %s", objects(c.Objects), c.What)
		t.changed(c)
	}
	t.failing(n.Failing)
	if n.Recovered != nil && n.Recovered.Objects > 0 {
		t.change("Came through again", *n.Recovered, "")
	}
}

func (t *text) measures(n *Night) {
	columns := []ui.Column{{}, {Title: "This sync", Right: true}}
	if n.Before == nil {
		t.heading("The first sync of this source")
	} else {
		t.heading("Against the sync before, run " + n.Before.Run + " of " + t.at(n.Before.At))
		columns = append(columns, ui.Column{Title: "The one before", Right: true}, ui.Column{Title: "Difference", Right: true})
	}
	var rows [][]string
	for _, m := range n.Shown() {
		row := []string{m.Title(), m.text(m.Now)}
		if m.Before != nil {
			row = append(row, m.text(*m.Before), m.Arrow())
		}
		rows = append(rows, row)
	}
	t.table(columns, rows)
	if n.Quiet {
		t.say(2, "Nothing changed.")
	}
}

// Shown are the measures that people want to see: all but adoption, which is rare.
func (n *Night) Shown() []Measure {
	return slices.DeleteFunc(slices.Clone(n.Measures), func(m Measure) bool { return m.Name == adopted && m.Now == 0 && m.Difference() == 0 })
}

// text formats a number of the measure.
func (m Measure) text(n int64) string {
	if m.Name == bytesMeasured {
		return ui.Bytes(n)
	}
	return ui.Count(n)
}

// Title is what people call the measure.
func (m Measure) Title() string { return titleOf(m.Name) }

// Arrow says which way the number went.
func (m Measure) Arrow() string { return arrow(m.Difference(), m.text) }

// change tells of one kind of changes.
func (t *text) change(title string, c Change, only string) {
	t.heading(fmt.Sprintf("%s: %s, %s", title, objects(c.Objects), ui.Bytes(c.Bytes)))
	t.changed(c)
	if only != "" {
		t.more(c.Objects, min(len(c.First), shownExamples), only)
	} else {
		t.rest(c.Objects, len(c.First))
	}
}

// rest says that there are more objects than those that are known or shown.
func (t *text) rest(all int64, known int) {
	if rest := all - int64(min(known, shownExamples)); rest > 0 {
		t.say(6, "… and %s more", ui.Count(rest))
	}
}

func (t *text) changed(c Change) {
	for _, o := range c.First[:min(len(c.First), shownExamples)] {
		if o.From == "" {
			t.quote(4, o.Key)
			continue
		}
		t.moves([]Move{{o.From, o.Key}})
	}
}

func (t *text) goneObjects(g *Gone) {
	if g == nil || g.Objects == 0 {
		return
	}
	t.heading(fmt.Sprintf("Gone from the source: %s, %s of them new", objects(g.Objects), ui.Count(g.New.Objects)))
	if g.Stay.Objects > 0 {
		t.say(2, "Assets that stay: %s, %s.", ui.Count(g.Stay.Objects), ui.Bytes(g.Stay.Bytes))
	}
	if g.GracePeriod.Objects > 0 {
		t.say(2, "In quarantine of these: %s. A sync from %s on may trash the first, unless its object comes back.", ui.Count(g.GracePeriod.Objects), t.at(*g.TrashedFrom))
	}
	for _, o := range g.First[:min(len(g.First), shownExamples)] {
		t.quote(4, o.Key)
		t.say(6, "%s%s: %s", o.State, t.since(o), o.Reason)
	}
	t.rest(g.Objects, len(g.First))
}

// since says since when an object is gone, as far as that is known.
func (t *text) since(o GoneObject) string {
	switch {
	case o.New:
		return ", new"
	case o.Since != nil:
		return ", gone since " + t.at(*o.Since)
	}
	return ""
}

func (t *text) failing(f Failing) {
	if f.Objects == 0 || len(f.First) == 0 {
		return
	}
	t.heading("Since when: what does not come through, the longest time first")
	for _, o := range f.First[:min(len(f.First), shownExamples)] {
		t.quote(4, o.Key)
		since := ""
		if o.Since != nil {
			since = " since " + t.at(*o.Since)
		}
		if o.Runs > 0 {
			since += ", " + runsInARow(o.Runs)
		}
		t.say(6, "%s%s: %s", o.State, since, o.Error)
	}
	t.rest(f.Objects, len(f.First))
}
