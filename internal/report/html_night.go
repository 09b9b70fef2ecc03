package report

import (
	"fmt"

	"assetferry/internal/ui"
)

// A changeTable is a kind of changes with as many of its objects as a page has room for.
type changeTable struct {
	ID, Title string
	Change
	Rows  excerpt[Changed]
	Moved bool // the objects have another key than before
}

// layOutNight lays out what a sync found; nothing of what is no sync.
func (p *page) layOutNight(all string) {
	n := p.Night
	if n == nil {
		return
	}
	for _, c := range n.Changes {
		p.Changes = append(p.Changes, tableOf("changed-"+c.What, titleOf(c.What), c, all+"csv --only "+c.What))
	}
	for k, c := range n.Drift {
		p.Drift = append(p.Drift, tableOf(fmt.Sprintf("drift-%d", k+1), capital(ui.Sanitize(c.What)), c, all+"csv"))
	}
	if n.Gone != nil {
		p.Gone = fewOf(n.Gone.First, n.Gone.Left(), all+"csv", func(o GoneObject) []string { return []string{o.Key, o.Reason} })
	}
	p.Failing = fewOf(n.Failing.First, n.Failing.Left(), all+"csv", func(o FailingObject) []string { return []string{o.Key, o.Error} })
	if n.Recovered != nil {
		p.Recovered = tableOf("recovered", "Came through again", *n.Recovered, all+"csv --only done")
	}
}

func tableOf(id, title string, c Change, command string) changeTable {
	return changeTable{ID: id, Title: title, Change: c, Moved: c.What == moved,
		Rows: fewOf(c.First, c.Left(), command, func(o Changed) []string { return []string{o.Key, o.From} })}
}

// fewOf takes as much as there is room for of a list that has but the first few.
func fewOf[T any](first []T, more int64, command string, texts func(T) []string) excerpt[T] {
	e := excerpt[T]{Command: command, room: roomForFew}
	for _, v := range first {
		e.add(v, texts(v)...)
	}
	e.Left += more
	return e
}

// InARow says for how many runs it fails.
func (o FailingObject) InARow() string { return runsInARow(o.Runs) }

// Tone is the colour of a measure's difference: no number is good or bad by itself but
// that of failures.
func (m Measure) Tone() string {
	switch {
	case m.Name != failing || m.Difference() == 0:
		return ""
	case m.Difference() > 0:
		return "more-bad"
	}
	return "fewer-bad"
}
