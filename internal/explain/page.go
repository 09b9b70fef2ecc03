package explain

import (
	"cmp"
	"encoding/hex"
	"fmt"
	"maps"
	"path"
	"slices"
	"strings"
	"time"

	"assetferry/internal/event"
	"assetferry/internal/mapping"
	"assetferry/internal/ui"
	"assetferry/migrate"
	"assetferry/state"
)

// A Page is what is known of an object, for people and for programs.
type Page struct {
	Key    string
	Lines  []Line
	Events []Event

	mapping func() *mapping.Mapping
}

// A Line is one thing that is known. Without a title it goes on with the one before.
type Line struct{ Title, Text string }

// An Event is a line for programs.
type Event struct {
	Type  string
	Value any
}

func (p *Page) line(title, text string) { p.Lines = append(p.Lines, Line{title, text}) }

func (p *Page) event(kind string, value any) { p.Events = append(p.Events, Event{kind, value}) }

// Pages write a history down: first that of the key or URL which was asked for, if the object
// goes by another one now.
func (e *Explainer) Pages(h History) (pages []*Page) {
	if h.was != nil {
		pages = e.Pages(*h.was)
	}
	p := &Page{Key: string(h.key), mapping: e.Mapping}
	p.add(h)
	return append(pages, p)
}

func (p *Page) add(h History) {
	p.line("Source", h.pair.Source)
	p.line("Destination", fmt.Sprintf("%s (%s)", h.pair.Destination, h.pair.URL))
	p.addSidecar(h)
	p.addAsset(h)
	p.addProof(h)
	p.addDescription(h)
	p.addMetadata(h.described)
	p.addNames(h)
	if f := h.failure; f != nil {
		since := ""
		if !f.Since.IsZero() {
			since = ", since " + f.Since.Local().Format(time.DateTime)
		}
		p.line("Fails", fmt.Sprintf("in %s by now%s: %s", ui.Counted(int64(f.Runs), "run"), since, f.Error))
		if f.Unclear {
			p.line("", "it was sent, and may have arrived all the same")
		}
	}
	p.addGone(h)
	for _, s := range h.stages {
		p.addStage(h, s)
	}
	if h.next.Why != "" {
		p.line("Next", h.next.Why)
	}
	if h.next.Command != "" {
		title := "Next"
		if h.next.Why != "" {
			title = ""
		}
		p.line(title, h.next.Command)
	}
}

// addGone says where an object is that is not at the source any more.
func (p *Page) addGone(h History) {
	if h.movedTo != "" {
		p.line("Moved", fmt.Sprintf("to %s by run %s", h.movedTo, h.movedIn))
	}
	if h.orphan == nil {
		return
	}
	p.line("Gone", fmt.Sprintf("from the source since %s, as %s found", h.orphan.Since.Local().Format(time.DateTime), ui.Counted(int64(h.orphan.Runs), "run")))
	if h.trashedFrom.IsZero() {
		p.line("", "its asset stays, see sync --delete")
	} else {
		p.line("", fmt.Sprintf("in grace_period: a sync from %s on may trash its asset, unless it comes back", h.trashedFrom.Local().Format(time.DateTime)))
	}
}

// addEarlier says what was there before a run changed it.
func (p *Page) addEarlier(h History, run state.Run) {
	for _, was := range h.earlier {
		if was.Run.Num != run.Num || !was.Done {
			continue
		}
		if was.Key != h.key {
			p.line("", "before, its key was "+string(was.Key))
		}
		p.line("", fmt.Sprintf("before, its asset was %s with %s, SHA-256 %s", was.Asset, ui.Bytes(was.Size), hex.EncodeToString(was.Checksum)))
	}
}

func (p *Page) addAsset(h History) {
	r := h.receipt
	switch {
	case r == nil && h.sharesWith != nil:
		p.line("Asset", "that of "+string(*h.sharesWith)+", whose content it has")
		return
	case h.sidecar != nil:
		p.line("Asset", "none of its own: it describes another object")
		return
	case r == nil:
		p.line("Asset", "none that the journal knows of")
		return
	}
	how := "sent"
	if r.Adopted {
		how = "was there before, and taken over"
	}
	p.line("Asset", r.Asset)
	p.line("Place", path.Join(cmp.Or(h.category.Name, h.category.ID), h.folder, r.Filename()))
	p.line("Address", r.URL)
	p.line("Seen by", audience(h.category))
	p.line("Arrived", fmt.Sprintf("%s: %s%s", h.arrival.At.Local().Format(time.DateTime), how, ofRun(h.arrival.Run)))
	p.line("Content", fmt.Sprintf("%s (%s bytes), SHA-256 %s", ui.Bytes(r.Size), ui.Count(r.Size), hex.EncodeToString(r.Checksum)))
	p.line("As it was", fingerprintOf(r.Time, r.VersionTag))
}

func ofRun(id string) string {
	if id == "" {
		return ""
	}
	return " by run " + id
}

// audience tells who can see the assets of a category.
func audience(c state.Category) string {
	switch {
	case c.Name == "":
		return "not known; assetferry verify asks the service"
	case c.Private:
		return "who has access: the category is private"
	}
	return "everybody who has the address: the category is public"
}

func fingerprintOf(modified time.Time, tag string) string {
	var parts []string
	if !modified.IsZero() {
		parts = append(parts, "changed "+modified.Local().Format(time.DateTime))
	}
	if tag != "" {
		parts = append(parts, "version tag "+tag)
	}
	return cmp.Or(strings.Join(parts, ", "), "the source gives no sign of its version")
}

func (p *Page) addProof(h History) {
	at := func(when time.Time) string { return when.Local().Format(time.DateTime) }
	listed, content := h.arrival.Listed, h.arrival.Content
	switch {
	case h.receipt == nil || len(h.differences) > 0:
	case listed.ID == 0:
		p.line("Proof", "not verified since it arrived")
	case content.Equal(listed.At):
		p.line("Proof", fmt.Sprintf("verified by content %s: no difference", at(content)))
	case !content.IsZero():
		p.line("Proof", fmt.Sprintf("listed %s with its name and size; verified by content %s", at(listed.At), at(content)))
	default:
		p.line("Proof", fmt.Sprintf("listed %s with its name and size", at(listed.At)))
	}
	for _, d := range h.differences {
		p.line("Difference", fmt.Sprintf("%s, seen %s: %s", d.Field, at(listed.At), d.What))
		p.event("check", event.Check{Key: string(h.key), AssetID: d.Asset, Result: "difference", Field: d.Field, Message: d.What})
	}
}

func (p *Page) addDescription(h History) {
	d := h.description
	if d == nil {
		return
	}
	if d.ContentType != "" {
		p.line("Kept with it", "content type "+d.ContentType)
	}
	for _, k := range slices.Sorted(maps.Keys(d.Metadata)) {
		p.line("", fmt.Sprintf("metadata %s: %s", k, d.Metadata[k]))
	}
	for _, k := range slices.Sorted(maps.Keys(d.Tags)) {
		p.line("", fmt.Sprintf("tag %s: %s", k, d.Tags[k]))
	}
}

// addStage says what a run wanted with the object and how that came out.
func (p *Page) addStage(h History, s state.Stage) {
	i := s.Item
	text := fmt.Sprintf("%s: %s", cmp.Or(string(i.Action), "not decided yet"), migrate.Reason(i.Reason).Text())
	p.line("Run", fmt.Sprintf("%s (%s, %s)", s.Run.ID, s.Run.Command, s.Run.StartedAt.Local().Format(time.DateTime)))
	p.line("", text)
	p.line("", strings.ReplaceAll(string(i.State), "_", " ")+afterAttempts(i.Attempts)+colon(i.Error))
	if !i.RetryAt.IsZero() {
		p.line("", "to be tried again at "+i.RetryAt.Local().Format(time.DateTime))
	}
	p.addEarlier(h, s.Run)
	for _, t := range h.attempts[s.Run.Num] {
		p.line("", fmt.Sprintf("attempt %d, %s, %s: %s", t.Number, t.At.Local().Format(time.DateTime), t.Class, t.Error))
	}
	line := event.Item{Key: string(h.key), Action: string(i.Action), State: string(i.State), AssetID: i.Asset, Error: i.Error,
		Run: s.Run.ID, Reason: i.Reason, Message: migrate.Reason(i.Reason).Text(), Attempts: i.Attempts}
	if h.receipt != nil && h.receipt.Asset == i.Asset {
		line.URL = h.receipt.URL
	}
	p.event("item", line)
}

func afterAttempts(n int) string {
	if n < 2 {
		return ""
	}
	return fmt.Sprintf(" after %d attempts", n)
}

func colon(text string) string {
	if text == "" {
		return ""
	}
	return ": " + text
}
