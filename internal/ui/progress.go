package ui

import (
	"fmt"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"assetferry/internal/event"
)

// How often progress is shown.
const (
	barEvery   = 100 * time.Millisecond
	plainEvery = 10 * time.Second
	eventEvery = 5 * time.Second
)

// A form is how progress looks on stderr.
type form int

const (
	formNone form = iota
	formPlain
	formBar
)

func showsProgress(o Options) bool { return !o.Quiet && o.Progress != "none" }

func chooseForm(o Options, isTerminal func() bool) form {
	switch {
	case !showsProgress(o):
		return formNone
	case o.Progress == "bar": // requested explicitly, so it is drawn anywhere
		return formBar
	case o.Progress == "plain":
		return formPlain
	case isTerminal():
		return formBar
	case o.JSON: // the events show it already
		return formNone
	}
	return formPlain
}

// Progress shows the progress of a run. A run has one phase at a time; Add may be
// called from any number of goroutines and costs two atomic additions.
type Progress struct {
	out    *Out
	form   form
	events bool

	items, bytes           atomic.Int64
	totalItems, totalBytes atomic.Int64 // -1 means unknown

	folders atomic.Pointer[func() (listed, known int64)] // nil if none are counted

	mu    sync.Mutex // protects phase
	phase *phase     // nil between phases
}

// A phase is shown by one goroutine, which owns all fields but the channels. EndPhase reads
// them once that goroutine has ended.
type phase struct {
	name   string
	start  sample
	window window
	bar    *bar

	lastPlain, lastEvent time.Time

	stop, stopped chan struct{}
}

// StartPhase begins a phase and ends the one before, if any. A total of -1 is
// unknown.
func (p *Progress) StartPhase(name string, totalItems, totalBytes int64) {
	p.JoinPhase(name, 0, 0, totalItems, totalBytes)
}

// JoinPhase is StartPhase for a phase that has been partly completed. That part does not count for
// the rates.
func (p *Progress) JoinPhase(name string, items, bytes, totalItems, totalBytes int64) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.endLocked()
	p.items.Store(items)
	p.bytes.Store(bytes)
	p.folders.Store(nil)
	p.SetTotal(totalItems, totalBytes)
	if p.form == formNone && !p.events {
		return
	}
	now := p.out.now()
	ph := &phase{
		name:      Sanitize(name),
		start:     sample{at: now, items: items, bytes: bytes},
		bar:       newBar(),
		lastPlain: now,
		lastEvent: now,
		stop:      make(chan struct{}),
		stopped:   make(chan struct{}),
	}
	ph.window.add(ph.start)
	p.phase = ph
	go p.watch(ph)
}

// SetTotal sets the size of the current phase; -1 is unknown.
func (p *Progress) SetTotal(items, bytes int64) {
	p.totalItems.Store(items)
	p.totalBytes.Store(bytes)
}

// CountFolders shows in the current phase how many folders are listed of those that are known, and the
// time that the rest of them takes at least.
func (p *Progress) CountFolders(count func() (listed, known int64)) { p.folders.Store(&count) }

// Add adds finished items and bytes. Negative numbers subtract, such as the bytes of an upload
// that starts again.
func (p *Progress) Add(items, bytes int64) {
	p.items.Add(items)
	p.bytes.Add(bytes)
}

// EndPhase ends the phase, if there is one.
func (p *Progress) EndPhase() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.endLocked()
}

func (p *Progress) endLocked() {
	ph := p.phase
	if ph == nil {
		return
	}
	p.phase = nil
	close(ph.stop)
	<-ph.stopped
	p.last(ph, p.status(ph))
}

// watch shows the phase at its ticks until the phase ends.
func (p *Progress) watch(ph *phase) {
	defer close(ph.stopped)
	every := time.Second
	if p.form == formBar {
		every = barEvery
	}
	ticker := time.NewTicker(every)
	defer ticker.Stop()
	for {
		select {
		case <-ph.stop:
			return
		case <-ticker.C:
			p.tick(ph, p.status(ph))
		}
	}
}

// tick shows the output that is due.
func (p *Progress) tick(ph *phase, s status) {
	ph.window.add(s.now)
	if p.form == formBar {
		p.out.draw(ph.bar.line(s, s.left(), p.out.width()))
	}
	if p.form == formPlain && s.now.at.Sub(ph.lastPlain) >= plainEvery {
		ph.lastPlain = s.now.at
		p.out.note(s.text(" of ", s.left()) + "\n")
	}
	if p.events && s.now.at.Sub(ph.lastEvent) >= eventEvery {
		ph.lastEvent = s.now.at
		p.out.Event("progress", s.event())
	}
}

// last ends the display of a phase. A long phase leaves a line, with rates over all of it;
// the result of a run shows the rest.
func (p *Progress) last(ph *phase, s status) {
	s.ended = true
	s.itemRate, s.byteRate = ratesBetween(ph.start, s.now)
	took := s.now.at.Sub(ph.start.at)
	leavesLine := took >= plainEvery || p.out.verbose
	if p.form == formBar {
		p.out.draw("")
	}
	switch end := "in " + Duration(took); {
	case !leavesLine:
	case p.form == formBar:
		p.out.note(ph.bar.line(s, end, p.out.width()) + "\n")
	case p.form == formPlain:
		p.out.note(s.text(" of ", end) + "\n")
	}
	if p.events {
		p.out.Event("progress", s.event())
	}
}

// A status is a consistent view of a phase at one moment.
type status struct {
	phase                  string
	now                    sample
	totalItems, totalBytes int64 // -1: unknown
	itemRate, byteRate     float64
	folders, knownFolders  int64 // both 0 if they are not counted
	folderRate             float64
	ended                  bool
}

func (p *Progress) status(ph *phase) status {
	s := status{
		phase: ph.name,
		now: sample{
			at:    p.out.now(),
			items: max(0, p.items.Load()),
			bytes: max(0, p.bytes.Load()),
		},
		totalItems: p.totalItems.Load(),
		totalBytes: p.totalBytes.Load(),
	}
	// The source may grow during the phase, and lost uploads are sent twice.
	if s.totalItems >= 0 {
		s.totalItems = max(s.totalItems, s.now.items)
	}
	if s.totalBytes >= 0 {
		s.totalBytes = max(s.totalBytes, s.now.bytes)
	}
	s.itemRate, s.byteRate = ph.window.rates(s.now)
	if count := p.folders.Load(); count != nil {
		s.folders, s.knownFolders = (*count)()
		s.folderRate, _ = ratesBetween(sample{at: ph.start.at}, sample{at: s.now.at, items: s.folders})
	}
	return s
}

// left returns the time until the end of the phase: "ETA 9s", or "" while it is unknown.
func (s status) left() string {
	d, known := s.eta()
	if rest, counted := eta(s.folders, s.knownFolders, s.folderRate); !known && counted && rest > 0 {
		return "at least " + Duration(rest)
	}
	switch {
	case !known:
		return ""
	case d < 10*time.Second: // tenths would be too exact
		return fmt.Sprintf("ETA %.0fs", d.Seconds())
	}
	return "ETA " + Duration(d)
}

// eta estimates by the same measure as done, so that both agree.
func (s status) eta() (time.Duration, bool) {
	done, total := s.work()
	rate := s.itemRate
	switch {
	case s.totalBytes > 0 && s.totalItems >= 0:
		rate = s.itemRate*objectCost + s.byteRate
	case s.totalBytes > 0:
		rate = s.byteRate
	}
	return eta(done, total, rate)
}

// text returns the status in words. of is written between a count and its total, and end is
// the last part.
func (s status) text(of, end string) string {
	text := s.phase + ": " + Count(s.now.items)
	switch {
	case s.totalItems >= 0:
		text += of + Count(s.totalItems) + objects(s.totalItems)
	case s.ended:
		text += objects(s.now.items)
	default:
		text += objects(s.now.items) + " so far"
	}
	if s.knownFolders > 0 && !s.ended {
		text += ", " + Count(s.folders) + of + Counted(s.knownFolders, "folder")
	}
	switch {
	case s.totalBytes > 0:
		text += ", " + Bytes(s.now.bytes) + of + Bytes(s.totalBytes)
	case s.now.bytes > 0:
		text += ", " + Bytes(s.now.bytes)
	}
	if s.itemRate > 0 && (s.byteRate == 0 || of != "/") { // a bar needs the room
		text += ", " + perSecond(s.itemRate)
	}
	if s.byteRate > 0 {
		text += ", " + Bytes(int64(s.byteRate)) + "/s"
	}
	if end != "" {
		text += ", " + end
	}
	return text
}

func objects(n int64) string {
	if n == 1 {
		return " object"
	}
	return " objects"
}

// event returns the status as a JSON line. Its phase is a code: the name in lower case, with underscores.
func (s status) event() event.Progress {
	line := event.Progress{Phase: strings.ToLower(strings.ReplaceAll(s.phase, " ", "_")), Items: s.now.items, Bytes: s.now.bytes, Done: s.ended}
	if s.totalItems >= 0 {
		line.TotalItems = &s.totalItems
	}
	if s.totalBytes >= 0 {
		line.TotalBytes = &s.totalBytes
	}
	if s.itemRate > 0 {
		line.ItemsPerSecond = new(event.Rate(s.itemRate))
	}
	if s.byteRate > 0 {
		line.BytesPerSecond = new(event.Rate(s.byteRate))
	}
	if d, known := s.eta(); known && !s.ended {
		line.ETASeconds = new(int64(d.Round(time.Second).Seconds()))
	}
	return line
}
