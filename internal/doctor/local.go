package doctor

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
	"assetferry/state/disk"
	"assetferry/state/ownership"
)

// checkSource lists the source up to its first object that can be taken, and reads
// from that.
func (d *Doctor) checkSource(ctx context.Context) Finding {
	switch {
	case d.Settings == nil:
		return unchecked("there is no usable configuration")
	case d.Source == "":
		return unchecked("no SOURCE was given")
	}
	own := ""
	if path, err := d.statePath(); err == nil && d.Destination != nil {
		own = path
	}
	s, identity, err := d.Host.OpenSource(ctx, d.Source, own)
	if err != nil {
		return d.broken(err)
	}
	passed := 0
	for o, err := range s.Objects(ctx, "") {
		switch {
		case err != nil:
			return d.broken(err)
		case o.Obstacle.IsFailure():
			return failed("see that the user of this process may read it", "%s: %s: %s", identity, o.Key, o.Obstacle)
		case o.Obstacle != "":
			passed++
			continue
		}
		return d.readable(ctx, s, o, identity)
	}
	if passed > 0 {
		return warning("assetferry plan tells why each is left out", "%s lists nothing that can be taken, only %s that cannot", identity, ui.Counted(int64(passed), "entry"))
	}
	return warning(sources.EmptyHint, "%s lists nothing", identity)
}

// readable reads the beginning of an object.
func (d *Doctor) readable(ctx context.Context, s sources.Source, o sources.Object, identity string) Finding {
	r, err := s.Open(ctx, o, 0)
	if err != nil {
		return d.broken(err)
	}
	_, err = io.CopyN(io.Discard, r, min(o.Size, 64<<10))
	if err = errors.Join(err, r.Close()); err != nil {
		return d.broken(fmt.Errorf("%s: %w", o.Key, err))
	}
	return ok("it is there, can be listed, and its first object can be read").
		with(event.Fact{Name: "source", Value: identity}, event.Fact{Name: "first object", Value: fmt.Sprintf("%s, %s", o.Key, ui.Bytes(o.Size))})
}

// statePath is the path of the state database, as far as it is known.
func (d *Doctor) statePath() (string, error) {
	switch {
	case d.Settings == nil:
		return "", errors.New("there is no usable configuration")
	case d.Settings.State != "":
		return filepath.Abs(d.Settings.State)
	case d.Destination == nil:
		return "", errors.New("its place depends on the environment, which is not known")
	}
	return config.DefaultState(d.Lookup, d.Destination.Environment, d.Destination.Workspace)
}

// checkState looks at the state database without taking it, and at the disk that it is on.
func (d *Doctor) checkState(ctx context.Context) Finding {
	path, err := d.statePath()
	if err != nil {
		return unchecked("%v", err)
	}
	facts := []event.Fact{{Name: "path", Value: path}}
	if err := ownership.CheckPlace(path); err != nil {
		return d.broken(err).with(facts...)
	}
	info, err := os.Stat(path)
	switch {
	case errors.Is(err, fs.ErrNotExist), err == nil && info.Size() == 0:
		return d.noState(path).with(append(facts, diskFacts(path)...)...)
	case err != nil:
		return d.broken(err).with(facts...)
	}
	f, more := d.examineState(ctx, path)
	facts = append(append(facts, more...), diskFacts(path)...)
	if f.Verdict == OK {
		f = judgeDisk(path, f)
	}
	return f.with(facts...)
}

// noState tells whether one could be made.
func (d *Doctor) noState(path string) Finding {
	dir := diskspace.Nearest(path)
	probe, err := os.CreateTemp(dir, ".assetferry-doctor-*") // permissions alone do not tell
	if err != nil {
		return failed("name another place with --state", "there is none yet, and none can be made: %v", err)
	}
	if err := errors.Join(probe.Close(), os.Remove(probe.Name())); err != nil {
		return d.broken(err)
	}
	if _, err := os.Stat(disk.BackupPath(path)); err == nil {
		return warning("assetferry help state tells how to restore it", "there is none any more, but a backup of one")
	}
	return judgeDisk(path, ok("there is none yet; the first run makes it"))
}

func (d *Doctor) examineState(ctx context.Context, path string) (Finding, []event.Fact) {
	store, err := state.OpenReadOnly(ctx, path)
	if err != nil {
		return d.broken(err), nil
	}
	d.Host.CloseLater(store.Close)
	problems, err := store.Check(ctx)
	switch {
	case err != nil:
		return d.broken(err), nil
	case len(problems) > 0:
		return failed("assetferry state check lists all of it; assetferry help state tells how to restore the backup, or take the journal over",
			"it is not whole: %s", problems[0]), nil
	}
	backup := "none yet; a run makes one when it finishes"
	if info, err := os.Stat(disk.BackupPath(path)); err == nil {
		backup = info.ModTime().Format(time.DateTime)
	}
	facts := []event.Fact{{Name: "backup", Value: backup}}
	h, err := store.Holder(ctx)
	if err != nil {
		return d.broken(err), facts
	}
	return judgeHolder(h), facts
}

func judgeHolder(h state.Holder) Finding {
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
	n, err := diskspace.Free(diskspace.Nearest(path))
	if err != nil {
		return []event.Fact{{Name: "free space", Value: "not known"}}
	}
	return []event.Fact{{Name: "free space", Value: ui.Bytes(n)}}
}

// judgeDisk finds fault with a disk that is full, or nearly so.
func judgeDisk(path string, f Finding) Finding {
	n, err := diskspace.Free(diskspace.Nearest(path))
	switch {
	case err != nil, n >= scarceSpace:
		return f
	case n < state.LogRoom:
		return failed("make room, or name another place with --state", "there is no room on its disk: its latest writes alone take %s", ui.Bytes(state.LogRoom))
	}
	return warning("make room, or name another place with --state: a million objects take some hundred megabytes", "there is little room on its disk")
}
