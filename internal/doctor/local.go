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
	"assetferry/internal/shell"
	"assetferry/internal/ui"
	"assetferry/sources"
	"assetferry/state"
	"assetferry/state/disk"
	"assetferry/state/ownership"
)

// checkSource lists the source up to the first readable object and reads a part of it.
func (d *Doctor) checkSource(ctx context.Context) Finding {
	switch {
	case d.Settings == nil:
		return unchecked("the configuration is not usable")
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
			return failed(obstacleHint(o.Obstacle), "%s: %s: %s", identity, o.Key, o.Obstacle)
		case o.Obstacle != "":
			passed++
			continue
		}
		return d.readable(ctx, s, o, identity)
	}
	if passed > 0 {
		return warning("show the reason for each:\n  "+planCommand(d.Source), "%s lists no object that can be uploaded, only %s that cannot", identity, ui.Counted(int64(passed), "entry"))
	}
	return warning(sources.EmptyHint, "%s lists nothing", identity)
}

// planCommand returns the command that plans a source.
func planCommand(source string) string { return "assetferry plan " + ui.Sanitize(shell.Word(source)) }

// obstacleHint returns what to do about an entry that cannot be copied.
func obstacleHint(o sources.Obstacle) string {
	switch {
	case o == sources.BrokenSymlink:
		return "remove the link, or change it to a file of the source"
	case o.IsMiswritten():
		return "fix the table"
	}
	return "give the user of this process read access"
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
	return ok("it can be listed, and its first object can be read").
		with(event.Fact{Name: "source", Value: identity}, event.Fact{Name: "first object", Value: fmt.Sprintf("%s, %s", o.Key, ui.Bytes(o.Size))})
}

// statePath returns the path of the state database, if it is known.
func (d *Doctor) statePath() (string, error) {
	switch {
	case d.Settings == nil:
		return "", errors.New("the configuration is not usable")
	case d.Settings.State != "":
		return filepath.Abs(d.Settings.State)
	case d.Destination == nil:
		return "", errors.New("its path depends on the environment, which is unknown")
	}
	return config.DefaultState(d.Lookup, d.Destination.Environment, d.Destination.Workspace)
}

// checkState checks the state database, without owning it, and its disk.
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

// noState reports whether a state database can be created.
func (d *Doctor) noState(path string) Finding {
	dir := diskspace.Nearest(path)
	probe, err := os.CreateTemp(dir, ".assetferry-doctor-*") // permissions alone do not show it
	if err != nil {
		return failed("use another path with --state", "it does not exist and cannot be created: %v", err)
	}
	if err := errors.Join(probe.Close(), os.Remove(probe.Name())); err != nil {
		return d.broken(err)
	}
	if _, err := os.Stat(disk.BackupPath(path)); err == nil {
		return warning("restore the backup (see assetferry help state)", "it is missing, but there is a backup of it")
	}
	return judgeDisk(path, ok("it does not exist yet; the first run creates it"))
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
		return failed("list all problems, then restore the backup (see assetferry help state):\n  assetferry state check --state "+shell.Word(path),
			"it is damaged: %s", problems[0]), nil
	}
	backup := "none yet; each finished run writes one"
	if info, err := os.Stat(disk.BackupPath(path)); err == nil {
		backup = info.ModTime().Format(time.DateTime)
	}
	facts := []event.Fact{{Name: "backup", Value: backup}}
	h, err := store.Holder(ctx)
	if err != nil {
		return d.broken(err), facts
	}
	return judgeHolder(path, h), facts
}

func judgeHolder(path string, h state.Holder) Finding {
	host, _ := os.Hostname()
	since := h.Since.Format(time.DateTime)
	switch {
	case h.Alive:
		return warning("wait until that process has ended", "process %d has been using it since %s", h.PID, since)
	case h.Open && h.Host != host:
		return failed("if that process has ended, take over the state database:\n  assetferry state takeover --state "+shell.Word(path), "process %d on %s opened it at %s and has not closed it", h.PID, h.Host, since)
	case h.Open:
		return ok("it is undamaged; the last run was killed, and the next one resumes it")
	}
	return ok("it is undamaged and not in use")
}

// scarceSpace is the space that a state database may need: a million objects take several hundred
// megabytes.
const scarceSpace = 1 << 30

func diskFacts(path string) []event.Fact {
	n, err := diskspace.Free(diskspace.Nearest(path))
	if err != nil {
		return []event.Fact{{Name: "free space", Value: "unknown"}}
	}
	return []event.Fact{{Name: "free space", Value: ui.Bytes(n)}}
}

// judgeDisk reports a disk that is full or nearly full.
func judgeDisk(path string, f Finding) Finding {
	n, err := diskspace.Free(diskspace.Nearest(path))
	switch {
	case err != nil, n >= scarceSpace:
		return f
	case n < state.LogRoom:
		return failed("free space, or use another path with --state", "its disk is full: a run needs at least %s", ui.Bytes(state.LogRoom))
	}
	return warning("free space, or use another path with --state; a million objects take several hundred megabytes", "its disk is nearly full")
}
