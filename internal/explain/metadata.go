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

// shownValue is the number of characters of a value that are shown.
const shownValue = 200

// addMetadata lists the metadata that was found at the last update, by its sources, and the
// metadata that the asset got from it.
func (p *Page) addMetadata(d state.Described) {
	found, err := metadata.DecodeFound(d.Found)
	if err != nil {
		p.line("Metadata", err.Error())
		return
	}
	o := rules.Object{Key: string(d.Key), Found: found}
	title := "Metadata"
	for _, s := range p.mapping().Explain(o, rules.Place{}).Seen {
		unused := ""
		if !s.Counts {
			unused = ", not used"
		}
		p.line(title, fmt.Sprintf("%s: %s (%s%s)", s.Field, shortened(s.Value), s.From, unused))
		title = ""
	}
	p.addConflicts(o)
	p.addUpdated(d)
}

// addConflicts lists the fields for which metadata sources have different values.
func (p *Page) addConflicts(o rules.Object) {
	var fields []string
	for _, c := range p.mapping().Conflicts(o) {
		fields = append(fields, c.Field)
		p.event("conflict", conflictLine(o.Key, c))
	}
	if len(fields) > 0 {
		p.line("Differences", "metadata sources disagree about "+strings.Join(fields, ", "))
	}
}

func conflictLine(key string, c rules.Conflict) event.Conflict {
	line := event.Conflict{Key: key, Field: c.Field}
	for _, s := range c.Said {
		line.Values = append(line.Values, event.FieldValue{MetadataSource: string(s.From), Value: s.Value})
	}
	return line
}

// addUpdated lists the metadata of the asset.
func (p *Page) addUpdated(d state.Described) {
	stored, err := metadata.Decode(d.Metadata)
	if err != nil {
		p.line("Asset data", err.Error())
		return
	}
	title := "Asset data"
	add := func(name, value string) {
		if value != "" {
			p.line(title, name+": "+shortened(value))
			title = ""
		}
	}
	add("description", stored.Description)
	add("tags", strings.Join(stored.Tags, ", "))
	for _, name := range slices.Sorted(maps.Keys(stored.Attributes)) {
		add("attribute "+name, stored.Attributes[name])
	}
}

// shortened returns a value in one line of limited length.
func shortened(value string) string {
	value = strings.Join(strings.Fields(value), " ")
	if all := []rune(value); len(all) > shownValue {
		return string(all[:shownValue]) + "…"
	}
	return value
}

// A Disagreement is an object whose metadata sources have different values.
type Disagreement struct {
	Key    string
	Fields []rules.Conflict
}

// Disagreements yields all objects with fields for which metadata sources disagree.
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

// Lines list the values of each field by metadata source; the first one is used.
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

// Events return the same as JSON events.
func (d Disagreement) Events() (events []Event) {
	for _, c := range d.Fields {
		events = append(events, Event{"conflict", conflictLine(d.Key, c)})
	}
	return events
}
