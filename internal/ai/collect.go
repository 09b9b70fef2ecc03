package ai

import (
	"fmt"
	"io"
	"strings"

	"assetferry/internal/pattern"
)

// maxText limits the bytes of an answer.
const maxText = 4 << 20

// errTooLong reports an answer longer than maxText.
var errTooLong = fmt.Errorf("the response is longer than %d bytes", maxText)

// each reads an answer, passes its events to use until it has enough, and closes the answer.
func each(s *Stream, use func(Event) (enough bool)) error {
	defer s.release()
	for {
		event, err := s.Next()
		switch {
		case err == io.EOF:
			return nil
		case err != nil:
			return err
		}
		if use(event) {
			return nil
		}
	}
}

// Text reads an answer and returns its text. Without text, the error is [ErrEmpty].
func Text(s *Stream) (string, error) {
	var b strings.Builder
	long := false
	add := func(text string) {
		if long = long || b.Len()+len(text) > maxText; !long {
			b.WriteString(text)
		}
	}
	err := each(s, func(event Event) bool {
		switch e := event.(type) {
		case TextDelta:
			add(e.Text)
		case ModificationDelta:
			if s.request.endpoint != "Send" { // in conversations it concerns a document, not the reply
				add(e.Text)
			}
		}
		return long
	})
	switch {
	case err != nil:
		return "", err
	case long:
		return "", s.failure(errTooLong)
	case strings.TrimSpace(b.String()) == "":
		return "", s.empty()
	}
	return s.client.redactor.Text(b.String()), nil
}

// Suggestions reads a review and returns the new content of elements by their data-id.
// Unchanged elements may be missing.
func Suggestions(s *Stream) (map[string]string, error) {
	parts := newParts[string]()
	err := each(s, func(event Event) bool {
		if e, ok := event.(ReviewDelta); ok {
			parts.add(e.DataID, e.Text)
		}
		return parts.size > maxText
	})
	switch {
	case err != nil:
		return nil, err
	case parts.size > maxText:
		return nil, s.failure(errTooLong)
	}
	all := map[string]string{}
	for id, b := range parts.of {
		all[id] = s.client.redactor.Text(inner(b.String(), id))
	}
	return all, nil
}

// ofPart is the memory of a part in addition to its text.
const ofPart = 256

// parts are texts that arrive in parts.
type parts[K comparable] struct {
	of   map[K]*strings.Builder
	size int
}

func newParts[K comparable]() *parts[K] { return &parts[K]{of: map[K]*strings.Builder{}} }

func (p *parts[K]) add(key K, text string) {
	if p.of[key] == nil {
		p.size += ofPart
	}
	if p.size += len(text); p.size > maxText {
		return
	}
	if p.of[key] == nil {
		p.of[key] = &strings.Builder{}
	}
	p.of[key].WriteString(text)
}

var (
	firstTag  = pattern.Lazy(`^<([a-zA-Z][a-zA-Z0-9-]*)(\s[^<>]*)?>`)
	dataID    = pattern.Lazy(`\sdata-id\s*=\s*(?:"([^"]*)"|'([^']*)')`)
	anyTag    = pattern.Lazy(`<(/?)([a-zA-Z][a-zA-Z0-9-]*)(?:\s[^<>]*)?>`)
	lastClose = pattern.Lazy(`</([a-zA-Z][a-zA-Z0-9-]*)\s*>$`)
)

// inner returns the content of the element with a data-id, if the text is that element. It is
// unknown whether a review returns elements or their content.
func inner(text, id string) string {
	text = strings.TrimSpace(text)
	open, last := firstTag().FindStringSubmatch(text), lastClose().FindStringSubmatch(text)
	if open == nil || last == nil || !strings.EqualFold(open[1], last[1]) || len(open[0])+len(last[0]) > len(text) {
		return text
	}
	if named := dataID().FindStringSubmatch(open[0]); named == nil || named[1]+named[2] != id {
		return text
	}
	within := text[len(open[0]) : len(text)-len(last[0])]
	depth := 0
	for _, tag := range anyTag().FindAllStringSubmatch(within, -1) {
		switch {
		case !strings.EqualFold(tag[2], open[1]):
		case tag[1] == "":
			depth++
		default:
			if depth--; depth < 0 {
				return text // several elements
			}
		}
	}
	return within
}
