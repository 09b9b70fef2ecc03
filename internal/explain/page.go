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

// A Page is the history of an object as lines of text and as JSON events.
type Page struct {
	Key    string
	Lines  []Line
	Events []Event

	mapping func() *mapping.Mapping
}

// A Line is one fact. Without a title it continues the previous line.
type Line struct{ Title, Text string }

// An Event is one line of JSON.
type Event struct {
	Type  string
	Value any
}

func (p *Page) line(title, text string) { p.Lines = append(p.Lines, Line{title, text}) }

func (p *Page) event(kind string, value any) { p.Events = append(p.Events, Event{kind, value}) }

// Pages returns the pages of a history. The first one is about the requested key, if the object has
// another key now.
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
	p.addVerification(h)
	p.addStorageMetadata(h)
	p.addMetadata(h.described)
	p.addNames(h)
	if f := h.failure; f != nil {
		since := ""
		if !f.Since.IsZero() {
			since = ", since " + f.Since.Local().Format(time.DateTime)
		}
		p.line("Failing", fmt.Sprintf("in %s%s: %s", ui.Counted(int64(f.Runs), "run"), since, f.Error))
		if f.Unclear {
			p.line("", "the upload is unconfirmed: it may have succeeded")
		}
	}
	p.addDeleted(h)
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

// addDeleted says whether the object was moved or deleted at the source.
func (p *Page) addDeleted(h History) {
	if h.movedTo != "" {
		p.line("Moved", fmt.Sprintf("to %s by run %s", h.movedTo, h.movedIn))
	}
	if h.orphan == nil {
		return
	}
	p.line("Deleted", fmt.Sprintf("at the source since %s, missing in %s", h.orphan.Since.Local().Format(time.DateTime), ui.Counted(int64(h.orphan.Runs), "run")))
	if h.graceEnds.IsZero() {
		p.line("", "the asset is kept (--delete)")
	} else {
		p.line("", fmt.Sprintf("grace period until %s; then a sync may trash the asset", h.graceEnds.Local().Format(time.DateTime)))
	}
}

// addEarlier lists the key and the asset before a run changed them.
func (p *Page) addEarlier(h History, run state.Run) {
	for _, was := range h.earlier {
		if was.Run.Num != run.Num || !was.Done {
			continue
		}
		if was.Key != h.key {
			p.line("", "previous key: "+string(was.Key))
		}
		p.line("", fmt.Sprintf("previous asset: %s, %s, SHA-256 %s", was.Asset, ui.Bytes(was.Size), hex.EncodeToString(was.Checksum)))
	}
}

func (p *Page) addAsset(h History) {
	r := h.receipt
	switch {
	case r == nil && h.sharesWith != nil:
		p.line("Asset", "shared with "+string(*h.sharesWith)+", which has identical content")
		return
	case h.sidecar != nil:
		p.line("Asset", "none: this is a sidecar")
		return
	case r == nil:
		p.line("Asset", "none known")
		return
	}
	how := "uploaded"
	if r.Adopted {
		how = "matched to an existing asset"
	}
	p.line("Asset", r.Asset)
	p.line("Location", path.Join(cmp.Or(h.category.Name, h.category.ID), h.folder, r.Filename()))
	p.line("URL", r.URL)
	p.line("Visible to", audience(h.category))
	p.line("Created", fmt.Sprintf("%s: %s%s", h.arrival.At.Local().Format(time.DateTime), how, ofRun(h.arrival.Run)))
	p.line("Content", fmt.Sprintf("%s (%s bytes), SHA-256 %s", ui.Bytes(r.Size), ui.Count(r.Size), hex.EncodeToString(r.Checksum)))
	p.line("Version", fingerprintOf(r.Time, r.VersionTag))
	title := "Revisions"
	for _, v := range h.revisions {
		p.line(title, fmt.Sprintf("%d: %s, SHA-256 %s, %s", v.Num, ui.Bytes(v.Size), hex.EncodeToString(v.Checksum), fingerprintOf(v.Time, v.VersionTag)))
		title = ""
	}
}

func ofRun(id string) string {
	if id == "" {
		return ""
	}
	return " by run " + id
}

// audience says who can see the assets of a category.
func audience(c state.Category) string {
	switch {
	case c.Name == "":
		return "unknown; assetferry verify reads it from the service"
	case c.Private:
		return "authorised users (private category)"
	}
	return "anyone with the URL (public category)"
}

func fingerprintOf(modified time.Time, tag string) string {
	var parts []string
	if !modified.IsZero() {
		parts = append(parts, "modified "+modified.Local().Format(time.DateTime))
	}
	if tag != "" {
		parts = append(parts, "version tag "+tag)
	}
	return cmp.Or(strings.Join(parts, ", "), "the source provides none")
}

func (p *Page) addVerification(h History) {
	at := func(when time.Time) string { return when.Local().Format(time.DateTime) }
	listed, content := h.arrival.Listed, h.arrival.Content
	switch {
	case h.receipt == nil || len(h.differences) > 0:
	case listed.ID == 0:
		p.line("Verified", "not since the last upload")
	case content.Equal(listed.At):
		p.line("Verified", fmt.Sprintf("%s by checksum", at(content)))
	case !content.IsZero():
		p.line("Verified", fmt.Sprintf("%s by name and size, %s by checksum", at(listed.At), at(content)))
	default:
		p.line("Verified", fmt.Sprintf("%s by name and size", at(listed.At)))
	}
	for _, d := range h.differences {
		p.line("Difference", fmt.Sprintf("%s, found %s: %s", d.Field, at(listed.At), d.What))
		p.event("check", event.Check{Key: string(h.key), AssetID: d.Asset, Result: "difference", Field: d.Field, Message: d.What})
	}
}

func (p *Page) addStorageMetadata(h History) {
	d := h.description
	if d == nil {
		return
	}
	if d.ContentType != "" {
		p.line("Storage", "content type "+d.ContentType)
	}
	for _, k := range slices.Sorted(maps.Keys(d.Metadata)) {
		p.line("", fmt.Sprintf("metadata %s: %s", k, d.Metadata[k]))
	}
	for _, k := range slices.Sorted(maps.Keys(d.Tags)) {
		p.line("", fmt.Sprintf("tag %s: %s", k, d.Tags[k]))
	}
}

// addStage lists the action of a run, its reason and its result.
func (p *Page) addStage(h History, s state.Stage) {
	i := s.Item
	text := fmt.Sprintf("%s: %s", cmp.Or(string(i.Action), "no action yet"), migrate.Reason(i.Reason).Text())
	p.line("Run", fmt.Sprintf("%s (%s, %s)", s.Run.ID, s.Run.Command, s.Run.StartedAt.Local().Format(time.DateTime)))
	p.line("", text)
	p.line("", strings.ReplaceAll(string(i.State), "_", " ")+afterAttempts(i.Attempts)+colon(i.Error))
	if !i.RetryAt.IsZero() {
		p.line("", "retry scheduled for "+i.RetryAt.Local().Format(time.DateTime))
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
