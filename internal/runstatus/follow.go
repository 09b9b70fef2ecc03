package runstatus

import (
	"context"
	"time"

	"assetferry/internal/ui"
	"assetferry/migrate"
	"assetferry/state"
)

const (
	// watchEvery is the interval of reading the state database.
	watchEvery = 2 * time.Second
	// watchShare is the minimum pause after a read, as a multiple of its duration, so that watching
	// does not slow down a large run.
	watchShare = 10
	// stallAfter is the time without progress after which a message is shown.
	stallAfter = 5 * time.Minute
)

// A Follower shows the progress of a run of another process.
type Follower struct {
	Out   *ui.Out
	Look  func(context.Context) (Observation, error)
	Pause func(context.Context, time.Duration) error
	Now   func() time.Time

	shown   Observation // what is shown; its run is empty at first
	changed time.Time   // the last progress
	warned  time.Time   // the last message about missing progress
}

// An Observation is the state of a run at one time.
type Observation struct {
	Run      state.Run // empty if there is none
	Tallies  []state.Tally
	Holder   state.Holder
	Finished time.Time // the last finished item, to the minute; zero if there is none
}

// Observe reads the owner of the state database before the run, so that the run of a process that
// has ended is read in its last state.
func Observe(ctx context.Context, store *state.Store, newest func(context.Context) (state.Run, error)) (o Observation, err error) {
	if o.Holder, err = store.Holder(ctx); err != nil {
		return o, err
	}
	if o.Run, err = newest(ctx); err != nil || o.Run.Num == 0 {
		return o, err
	}
	if o.Tallies, err = store.Tallies(ctx, o.Run.Num); err != nil {
		return o, err
	}
	minutes, err := store.Throughput(ctx, o.Run.Num)
	if n := len(minutes); n > 0 {
		o.Finished = minutes[n-1].At.Add(time.Minute)
	}
	return o, err
}

// Follow shows the run until it ends or its process has ended, and returns the last observation.
func (f *Follower) Follow(ctx context.Context) (Observation, error) {
	defer f.Out.Progress().EndPhase()
	for {
		began := f.Now()
		o, err := f.Look(ctx)
		if err != nil {
			return o, err
		}
		f.show(o)
		if !o.Holder.Alive || o.Run.ID != "" && !o.Run.Open() {
			return o, nil
		}
		f.warnStall(o)
		if err := f.Pause(ctx, max(watchEvery, watchShare*f.Now().Sub(began))); err != nil {
			return o, err
		}
	}
}

// show updates the screen.
func (f *Follower) show(o Observation) {
	phase := phaseOf(o.Run)
	done, total := progressOf(o)
	was, _ := progressOf(f.shown)
	switch {
	case phase == "":
		f.Out.Progress().EndPhase()
	case o.Run.ID != f.shown.Run.ID || phase != phaseOf(f.shown.Run):
		if o.Run.ID != f.shown.Run.ID {
			f.Out.Notef("Run          %s: %s %s", o.Run.ID, o.Run.Command, ui.Sanitize(o.Run.Pair.Source))
		}
		f.Out.Progress().JoinPhase(phase, done.objects, done.bytes, total.objects, total.bytes)
	default:
		f.Out.Progress().SetTotal(total.objects, total.bytes)
		f.Out.Progress().Add(done.objects-was.objects, done.bytes-was.bytes)
	}
	if f.changed.IsZero() && !o.Finished.IsZero() && o.Finished.Before(f.Now()) {
		f.changed = o.Finished // before the watch started
	} else if f.changed.IsZero() || moved(f.shown, o) {
		f.changed = f.Now()
	}
	f.shown = o
}

// phaseOf returns the phase of a run, "" if there is none.
func phaseOf(r state.Run) string {
	switch r.State {
	case state.Scanning:
		return string(migrate.PhaseScan)
	case state.Planning:
		return string(migrate.PhasePlan)
	case state.Applying:
		return string(migrate.PhaseApply)
	}
	return ""
}

type amount struct{ objects, bytes int64 }

// Finished returns the objects of a run that reached their end while it was carried out, and
// their bytes. Progress counts them after a resume.
func Finished(tallies []state.Tally) (objects, bytes int64) {
	_, ended, _ := amounts(tallies)
	return ended.objects, ended.bytes
}

// progressOf returns what a phase has done and its total; -1 is unknown.
func progressOf(o Observation) (done, total amount) {
	all, ended, left := amounts(o.Tallies)
	if o.Run.State != state.Applying {
		return all, amount{-1, -1}
	}
	return ended, amount{ended.objects + left.objects, ended.bytes + left.bytes}
}

// amounts sums up all objects of a run, those that ended while it was carried out, and those
// that are left.
func amounts(tallies []state.Tally) (all, ended, left amount) {
	for _, t := range tallies {
		all.objects, all.bytes = all.objects+t.Objects, all.bytes+t.Bytes
		switch t.State {
		case state.ItemPlanned, state.ItemSending, state.ItemSent, state.ItemUnconfirmed, state.ItemRetryScheduled:
			left.objects, left.bytes = left.objects+t.Objects, left.bytes+t.Bytes
		case state.ItemDone, state.ItemFailed, state.ItemChanged:
			if migrate.Reason(t.Reason).IsFailure() {
				continue // failed before the upload
			}
			ended.objects, ended.bytes = ended.objects+t.Objects, ended.bytes+t.Bytes
		}
	}
	return all, ended, left
}

// moved reports whether two observations differ.
func moved(was, is Observation) bool {
	if was.Run.ID != is.Run.ID || was.Run.State != is.Run.State || was.Run.Cursor != is.Run.Cursor || len(was.Tallies) != len(is.Tallies) {
		return true
	}
	for n, t := range is.Tallies {
		if was.Tallies[n] != t {
			return true
		}
	}
	return false
}

// warnStall shows a message after some time without progress, and again after the same time.
func (f *Follower) warnStall(o Observation) {
	still := f.Now().Sub(f.changed)
	if still < stallAfter || f.Now().Sub(f.warned) < stallAfter {
		return
	}
	f.warned = f.Now()
	f.Out.Notef("No progress for %s. See the messages of %s, or its --log-file.",
		ui.Duration(still), ui.Sanitize(o.Holder.Owner.String()))
}
