package cli

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"time"

	"assetferry/internal/config"
	"assetferry/internal/diskspace"
	"assetferry/internal/event"
	"assetferry/internal/ui"
	"assetferry/sources"
	"assetferry/state"
)

// checkSource lists the source up to its first object that can be taken, and reads
// from that.
func (d *doctor) checkSource(ctx context.Context) finding {
	switch {
	case d.settings == nil:
		return unchecked("there is no usable configuration")
	case d.source == "":
		return unchecked("no SOURCE was given")
	}
	var own []string
	if path, err := d.journal(); err == nil && d.dest != nil {
		own = d.ownFiles(d.dest, path)
	}
	s, identity, err := d.openSource(ctx, d.source, own)
	if err != nil {
		return broken(err)
	}
	passed := 0
	for o, err := range s.Objects(ctx, "") {
		switch {
		case err != nil:
			return broken(err)
		case o.Obstacle.IsFailure():
			return failed("see that the user of this process may read it", "%s: %s: %s", identity, o.Key, o.Obstacle)
		case o.Obstacle != "":
			passed++
			continue
		}
		return readable(ctx, s, o, identity)
	}
	if passed > 0 {
		return warning("assetferry plan tells why each is left out", "%s lists nothing that can be taken, only %s that cannot", identity, count(int64(passed), "entry"))
	}
	return warning(emptyHint, "%s lists nothing", identity)
}

// readable reads the beginning of an object.
func readable(ctx context.Context, s sources.Source, o sources.Object, identity string) finding {
	r, err := s.Open(ctx, o, 0)
	if err != nil {
		return broken(err)
	}
	_, err = io.CopyN(io.Discard, r, min(o.Size, 64<<10))
	if err = errors.Join(err, r.Close()); err != nil {
		return broken(fmt.Errorf("%s: %w", o.Key, err))
	}
	return ok("it is there, can be listed, and its first object can be read").
		with(event.Fact{Name: "source", Value: identity}, event.Fact{Name: "first object", Value: fmt.Sprintf("%s, %s", o.Key, ui.Bytes(o.Size))})
}

// journal is the path of the journal, as far as it is known.
func (d *doctor) journal() (string, error) {
	switch {
	case d.settings == nil:
		return "", errors.New("there is no usable configuration")
	case d.settings.State != "":
		return filepath.Abs(d.settings.State)
	case d.dest == nil:
		return "", errors.New("its place depends on the environment, which is not known")
	}
	return config.DefaultState(d.lookup, d.dest.environment, d.dest.workspace)
}

// checkJournal looks at the journal without taking it, and at the disk that it is on.
func (d *doctor) checkJournal(ctx context.Context) finding {
	path, err := d.journal()
	if err != nil {
		return unchecked("%v", err)
	}
	facts := []event.Fact{{Name: "path", Value: path}}
	if err := state.CheckPlace(path); err != nil {
		return broken(err).with(facts...)
	}
	info, err := os.Stat(path)
	switch {
	case errors.Is(err, fs.ErrNotExist), err == nil && info.Size() == 0:
		return d.noJournal(path).with(append(facts, diskFacts(path)...)...)
	case err != nil:
		return broken(err).with(facts...)
	}
	f, more := d.examineJournal(ctx, path)
	facts = append(append(facts, more...), diskFacts(path)...)
	if f.verdict == verdictOK {
		f = judgeDisk(path, f)
	}
	return f.with(facts...)
}

// noJournal tells whether one could be made.
func (d *doctor) noJournal(path string) finding {
	dir := nearest(path)
	probe, err := os.CreateTemp(dir, ".assetferry-doctor-*") // permissions alone do not tell
	if err != nil {
		return failed("name another place with --state", "there is none yet, and none can be made: %v", err)
	}
	if err := errors.Join(probe.Close(), os.Remove(probe.Name())); err != nil {
		return broken(err)
	}
	if _, err := os.Stat(state.BackupPath(path)); err == nil {
		return warning("assetferry help journal tells how to restore it", "there is none any more, but a backup of one")
	}
	return judgeDisk(path, ok("there is none yet; the first run makes it"))
}

// nearest is the folder of a path, or the first above it that is there.
func nearest(path string) string {
	for dir := filepath.Dir(path); ; dir = filepath.Dir(dir) {
		if _, err := os.Stat(dir); err == nil || dir == filepath.Dir(dir) {
			return dir
		}
	}
}

func (d *doctor) examineJournal(ctx context.Context, path string) (finding, []event.Fact) {
	journal, err := state.OpenReadOnly(ctx, path)
	if err != nil {
		return broken(err), nil
	}
	d.closeLater(journal.Close)
	problems, err := journal.Check(ctx)
	switch {
	case err != nil:
		return broken(err), nil
	case len(problems) > 0:
		return failed("assetferry state check lists all of it; assetferry help journal tells how to restore the backup, or take the journal over",
			"it is not whole: %s", problems[0]), nil
	}
	backup := "none yet; a run makes one when it finishes"
	if info, err := os.Stat(state.BackupPath(path)); err == nil {
		backup = info.ModTime().Format(time.DateTime)
	}
	facts := []event.Fact{{Name: "backup", Value: backup}}
	h, err := journal.Holder(ctx)
	if err != nil {
		return broken(err), facts
	}
	return judgeHolder(h), facts
}

func judgeHolder(h state.Holder) finding {
	host, _ := os.Hostname()
	since := h.Since.Format(time.DateTime)
	switch {
	case h.Alive:
		return warning("wait until it is done before you start another run", "process %d has it since %s", h.PID, since)
	case h.Open && h.Host != host:
		return failed("if that process is gone for good: assetferry state takeover", "process %d on %s has not closed it since %s", h.PID, h.Host, since)
	case h.Open:
		return ok("it is whole; the last run was killed, and the next one goes on where that was")
	}
	return ok("it is whole, and nobody has it")
}

// scarceSpace is room that a journal may need: a million objects take some hundred
// megabytes.
const scarceSpace = 1 << 30

func diskFacts(path string) []event.Fact {
	n, err := diskspace.Free(nearest(path))
	if err != nil {
		return []event.Fact{{Name: "free space", Value: "not known"}}
	}
	return []event.Fact{{Name: "free space", Value: ui.Bytes(n)}}
}

// judgeDisk finds fault with a disk that is full, or nearly so.
func judgeDisk(path string, f finding) finding {
	n, err := diskspace.Free(nearest(path))
	switch {
	case err != nil, n >= scarceSpace:
		return f
	case n < state.LogRoom:
		return failed("make room, or name another place with --state", "there is no room on its disk: its latest writes alone take %s", ui.Bytes(state.LogRoom))
	}
	return warning("make room, or name another place with --state: a million objects take some hundred megabytes", "there is little room on its disk")
}
