package report

import (
	"fmt"

	"assetferry/internal/ui"
)

// A changeTable lists one kind of changes, with as many objects as a page has room for.
type changeTable struct {
	ID, Title string
	Change
	Rows  excerpt[Changed]
	Moved bool // the objects have previous keys
}

// layOutSync lays out the changes of a sync.
func (p *page) layOutSync(all string) {
	s := p.Sync
	if s == nil {
		return
	}
	for _, c := range s.Changes {
		p.Changes = append(p.Changes, tableOf("changed-"+hyphened(c.State), titleOf(c.State), c, all+"csv --only "+c.State))
	}
	for k, c := range s.Drift {
		p.Drift = append(p.Drift, tableOf(fmt.Sprintf("drift-%d", k+1), capital(ui.Sanitize(c.Message)), c, all+"csv"))
	}
	if s.Deleted != nil {
		p.Deleted = fewOf(s.Deleted.First, s.Deleted.Left(), all+"csv", func(o DeletedObject) []string { return []string{o.Key, o.Message} })
	}
	p.Failing = fewOf(s.Failing.First, s.Failing.Left(), all+"csv", func(o FailingObject) []string { return []string{o.Key} })
	if s.Recovered != nil {
		p.Recovered = tableOf("recovered", "Recovered", *s.Recovered, all+"csv --only done")
	}
}

func tableOf(id, title string, c Change, command string) changeTable {
	return changeTable{ID: id, Title: title, Change: c, Moved: c.State == moved,
		Rows: fewOf(c.First, c.Left(), command, func(o Changed) []string { return []string{o.Key, o.PreviousKey} })}
}

// fewOf takes as many rows as there is room for from a list of which only the first few are known.
func fewOf[T any](first []T, more int64, command string, texts func(T) []string) excerpt[T] {
	e := excerpt[T]{Command: command, room: roomForFew}
	for _, v := range first {
		e.add(v, texts(v)...)
	}
	e.Left += more
	return e
}

// ShowsChanges reports whether there is a section about the changes of a sync.
func (p page) ShowsChanges() bool {
	s := p.Sync
	return s != nil && (len(p.Changes) > 0 || len(s.Drift) > 0 || s.Deleted != nil && s.Deleted.Objects > 0 ||
		len(p.Failing.Rows) > 0 || p.Recovered.Objects > 0)
}

// InARow says in how many runs the object failed.
func (o FailingObject) InARow() string { return runsInARow(o.Runs) }

// Tone is the colour of a difference. Only more or fewer failures are bad or good by themselves.
func (m Measure) Tone() string {
	switch {
	case m.Name != failing || m.Difference() == 0:
		return ""
	case m.Difference() > 0:
		return "more-bad"
	}
	return "fewer-bad"
}
