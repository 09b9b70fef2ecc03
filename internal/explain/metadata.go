package explain

import (
	"context"
	"fmt"
	"iter"
	"maps"
	"slices"
	"strings"

	"assetferry/internal/event"
	rules "assetferry/internal/mapping"
	"assetferry/internal/metadata"
	"assetferry/state"
)

// shownValue is how many characters of a value are shown where many are.
const shownValue = 200

// addMetadata says what was found of an object when its asset was described last, what
// counts of it, and what was made of that.
func (p *Page) addMetadata(d state.Described) {
	found, err := metadata.DecodeFound(d.Found)
	if err != nil {
		p.line("Found", err.Error())
		return
	}
	o := rules.Object{Key: string(d.Key), Found: found}
	title := "Found"
	for _, s := range p.mapping().Explain(o, rules.Place{}).Seen {
		overruled := ""
		if !s.Counts {
			overruled = ", overruled"
		}
		p.line(title, fmt.Sprintf("%s: %s (%s%s)", s.Field, shortened(s.Value), s.From, overruled))
		title = ""
	}
	p.addConflicts(o)
	p.addSaid(d)
}

// addConflicts says of which fields origins say different things.
func (p *Page) addConflicts(o rules.Object) {
	var fields []string
	for _, c := range p.mapping().Conflicts(o) {
		fields = append(fields, c.Field)
		p.event("conflict", conflictLine(o.Key, c))
	}
	if len(fields) > 0 {
		p.line("Disagree", "origins on "+strings.Join(fields, ", "))
	}
}

func conflictLine(key string, c rules.Conflict) event.Conflict {
	line := event.Conflict{Key: key, Field: c.Field}
	for _, s := range c.Said {
		line.Values = append(line.Values, event.FieldValue{MetadataSource: string(s.From), Value: s.Value})
	}
	return line
}

// addSaid says what was made of what was found.
func (p *Page) addSaid(d state.Described) {
	said, err := metadata.Decode(d.Metadata)
	if err != nil {
		p.line("Described", err.Error())
		return
	}
	title := "Described"
	tell := func(name, value string) {
		if value != "" {
			p.line(title, name+": "+shortened(value))
			title = ""
		}
	}
	tell("description", said.Description)
	tell("tags", strings.Join(said.Tags, ", "))
	for _, name := range slices.Sorted(maps.Keys(said.Attributes)) {
		tell("attribute "+name, said.Attributes[name])
	}
}

// shortened is a value in one line that is not too long.
func shortened(value string) string {
	value = strings.Join(strings.Fields(value), " ")
	if all := []rune(value); len(all) > shownValue {
		return string(all[:shownValue]) + "…"
	}
	return value
}

// A Disagreement is an object of which metadata sources say different things.
type Disagreement struct {
	Key    string
	Fields []rules.Conflict
}

// Disagreements yields all of them.
func (e *Explainer) Disagreements(ctx context.Context) iter.Seq2[Disagreement, error] {
	return func(yield func(Disagreement, error) bool) {
		pairs, err := e.Store.Pairs(ctx)
		if err != nil {
			yield(Disagreement{}, err)
			return
		}
		mapping := e.Mapping()
		for _, p := range pairs {
			if !e.disagreementsOf(ctx, p.ID, mapping, yield) {
				return
			}
		}
	}
}

func (e *Explainer) disagreementsOf(ctx context.Context, pair int64, m *rules.Mapping, yield func(Disagreement, error) bool) bool {
	for d, err := range e.Store.FoundTwice(ctx, pair) {
		var of Disagreement
		if err == nil {
			of, err = disagreementOf(m, d)
		}
		if err == nil && len(of.Fields) == 0 {
			continue
		}
		if !yield(of, err) || err != nil {
			return false
		}
	}
	return true
}

func disagreementOf(m *rules.Mapping, d state.Described) (Disagreement, error) {
	found, err := metadata.DecodeFound(d.Found)
	if err != nil {
		return Disagreement{}, fmt.Errorf("%q: %w", d.Key, err)
	}
	return Disagreement{string(d.Key), m.Conflicts(rules.Object{Key: string(d.Key), Found: found})}, nil
}

// Lines are what sources say of each field; the first one counts.
func (d Disagreement) Lines() (lines []Line) {
	for _, c := range d.Fields {
		title := c.Field
		for _, s := range c.Said {
			lines = append(lines, Line{title, fmt.Sprintf("%s (%s)", shortened(s.Value), s.From)})
			title = ""
		}
	}
	return lines
}

// Events are the same for programs.
func (d Disagreement) Events() (events []Event) {
	for _, c := range d.Fields {
		events = append(events, Event{"conflict", conflictLine(d.Key, c)})
	}
	return events
}
