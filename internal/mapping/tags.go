package mapping

import (
	"slices"
	"strings"
)

// tag sets the tags: those of the first rule that has any, else those of the object. All rules split
// them. Then collections are added, all rules rename and drop tags, and then add tags.
func (d *description) tag() error {
	tags, err := d.tagsToBegin()
	if err != nil {
		return err
	}
	tags = append(d.split(tags), d.collectionTags()...)
	tags = d.rename(tags)
	if tags, err = d.drop(tags); err != nil {
		return err
	}
	for _, r := range d.matching {
		added, err := lists(d.scope, r.add)
		if err != nil {
			return err
		}
		tags = append(tags, added...)
	}
	d.said.Tags = tags
	return nil
}

// tagsToBegin returns the initial tags as a new list.
func (d *description) tagsToBegin() ([]string, error) {
	for _, r := range d.matching {
		if r.tags == nil {
			continue
		}
		tags, err := lists(d.scope, r.tags.templates)
		if err != nil {
			return nil, err
		}
		if len(tags) > 0 || len(r.tags.templates) == 0 {
			d.taggedBy = reason{rule: r}
			return tags, nil
		}
	}
	if d.bare {
		return nil, nil
	}
	tags, from := d.first(d.object.Found, wordTags)
	d.taggedBy = reason{word: wordTags, from: from}
	return slices.Clone(tags), nil
}

// lists returns the results of templates without empty texts.
func lists(s *scope, templates []*template) (all []string, err error) {
	for _, t := range templates {
		texts, err := t.list(s)
		if err != nil {
			return nil, err
		}
		for _, text := range texts {
			if strings.TrimSpace(text) != "" {
				all = append(all, text)
			}
		}
	}
	return all, nil
}

// split splits tags by the separators of the first rule that has some.
func (d *description) split(tags []string) []string {
	at := slices.IndexFunc(d.matching, func(r *rule) bool { return len(r.split) > 0 })
	if at < 0 {
		return tags
	}
	for _, separator := range d.matching[at].split {
		var pieces []string
		for _, t := range tags {
			pieces = append(pieces, strings.Split(t, separator)...)
		}
		tags = pieces
	}
	return tags
}

// rename renames each tag by the first rule with a new name for it.
func (d *description) rename(tags []string) []string {
	for i, t := range tags {
		for _, r := range d.matching {
			if to, ok := r.rename[folded(t)]; ok {
				tags[i] = to
				break
			}
		}
	}
	return tags
}

// drop removes the tags that rules drop.
func (d *description) drop(tags []string) ([]string, error) {
	for _, r := range d.matching {
		dropped, err := lists(d.scope, r.drop)
		if err != nil {
			return nil, err
		}
		tags = slices.DeleteFunc(tags, func(t string) bool {
			return slices.ContainsFunc(dropped, func(tag string) bool { return strings.EqualFold(strings.TrimSpace(tag), strings.TrimSpace(t)) })
		})
	}
	return tags, nil
}
