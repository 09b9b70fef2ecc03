package cli

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"

	"assetferry/internal/event"
	rules "assetferry/internal/mapping"
	"assetferry/internal/metadata"
	"assetferry/internal/ui"
	"assetferry/state"
)

// shownValue is how many characters of a value are shown where many are.
const shownValue = 200

// tellMetadata tells what was found of an object when its asset was described last, what
// counts of it, and what was made of that.
func (e *explainer) tellMetadata(d state.Described) {
	found, err := metadata.DecodeFound(d.Found)
	if err != nil {
		e.line("Found", err.Error())
		return
	}
	o := rules.Object{Key: string(d.Key), Found: found}
	title := "Found"
	for _, s := range e.settings.NewMapping().Explain(o, rules.Place{}).Seen {
		overruled := ""
		if !s.Counts {
			overruled = ", overruled"
		}
		e.line(title, fmt.Sprintf("%s: %s (%s%s)", s.Field, shortened(s.Value), s.From, overruled))
		title = ""
	}
	e.tellConflicts(o)
	e.tellSaid(d)
}

// tellConflicts notes of which fields origins say different things.
func (e *explainer) tellConflicts(o rules.Object) {
	var fields []string
	for _, c := range e.settings.NewMapping().Conflicts(o) {
		fields = append(fields, c.Field)
		e.out.Event("conflict", conflictLine(o.Key, c))
	}
	if len(fields) > 0 {
		e.line("Disagree", "origins on "+strings.Join(fields, ", "))
	}
}

func conflictLine(key string, c rules.Conflict) event.Conflict {
	line := event.Conflict{Key: key, Field: c.Field}
	for _, s := range c.Said {
		line.Said = append(line.Said, event.Said{From: string(s.From), Value: s.Value})
	}
	return line
}

// tellSaid tells what was made of what was found.
func (e *explainer) tellSaid(d state.Described) {
	said, err := metadata.Decode(d.Metadata)
	if err != nil {
		e.line("Described", err.Error())
		return
	}
	title := "Described"
	tell := func(name, value string) {
		if value != "" {
			e.line(title, name+": "+shortened(value))
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

// listConflicts lists the objects of which origins say different things, with all that they
// say.
func (e *explainer) listConflicts(ctx context.Context) error {
	pairs, err := e.journal.Pairs(ctx)
	if err != nil {
		return err
	}
	mapping := e.settings.NewMapping()
	var objects int64
	for _, p := range pairs {
		for d, err := range e.journal.FoundTwice(ctx, p.ID) {
			if err != nil {
				return err
			}
			found, err := metadata.DecodeFound(d.Found)
			if err != nil {
				return fmt.Errorf("%q: %w", d.Key, err)
			}
			all := mapping.Conflicts(rules.Object{Key: string(d.Key), Found: found})
			if len(all) == 0 {
				continue
			}
			objects++
			e.out.Printf("%s", ui.Sanitize(string(d.Key)))
			for _, c := range all {
				e.showConflict(string(d.Key), c)
			}
		}
	}
	e.out.Printf("Origins say different things of %s.", count(objects, "object"))
	return nil
}

// showConflict shows what origins say of a field; the first one counts.
func (e *explainer) showConflict(key string, c rules.Conflict) {
	title := c.Field
	for _, s := range c.Said {
		e.line(ui.Sanitize(title), fmt.Sprintf("%s (%s)", shortened(s.Value), s.From))
		title = ""
	}
	e.out.Event("conflict", conflictLine(key, c))
}
