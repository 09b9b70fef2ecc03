package posts

import (
	"strings"
	"unicode/utf8"

	"assetferry/internal/rewrite"
)

// show shows the changed lines of a post.
func (s *Session) show(name, old, new string) error {
	if !s.Session.Excerpts {
		return nil
	}
	e := rewrite.NewExcerpts(func(h rewrite.Hunk) error { return s.Watch.Hunk(name, h) })
	e.Most = s.Session.Shown
	was, is := lines(old), lines(new)
	if len(was) != len(is) { // a gallery became a block of other lines
		was, is = []string{old}, []string{new}
	}
	line := int64(1)
	for n := range was {
		if err := changedLine(e, was[n], is[n], line); err != nil {
			return err
		}
		line += int64(strings.Count(was[n], "\n"))
	}
	if err := e.Close(); err != nil {
		return err
	}
	s.Watch.Done(name, e.Hidden)
	return nil
}

func lines(text string) []string { return strings.SplitAfter(text, "\n") }

// changedLine passes a line to excerpts: its common beginning, the change, its common end.
func changedLine(e *rewrite.Excerpts, old, new string, line int64) error {
	if old == new {
		return e.Keep([]byte(old))
	}
	begin := 0
	for begin < min(len(old), len(new)) && old[begin] == new[begin] {
		begin++
	}
	for begin > 0 && begin < len(old) && !utf8.RuneStart(old[begin]) {
		begin--
	}
	end := 0
	for end < min(len(old), len(new))-begin && old[len(old)-1-end] == new[len(new)-1-end] {
		end++
	}
	for end > 0 && !utf8.RuneStart(old[len(old)-end]) {
		end--
	}
	if err := e.Keep([]byte(old[:begin])); err != nil {
		return err
	}
	spot := rewrite.Spot{Kind: rewrite.Replaced, Old: []byte(old[begin : len(old)-end]), New: []byte(new[begin : len(new)-end]), Line: line}
	if err := e.Spot(spot); err != nil {
		return err
	}
	return e.Keep([]byte(old[len(old)-end:]))
}
