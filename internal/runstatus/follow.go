package runstatus

import (
	"context"
	"time"

	"assetferry/internal/ui"
	"assetferry/migrate"
	"assetferry/state"
)

const (
	// watchEvery is how often the journal is looked into, if that is quick.
	watchEvery = 2 * time.Second
	// watchShare is how many times as long as a look the pause after it is at least, so
	// that watching a large run does not slow it down.
	watchShare = 10
	// stallAfter is how long nothing may finish until people are told.
	stallAfter = 5 * time.Minute
)

// A Follower shows a run that another process carries out.
type Follower struct {
	Out   *ui.Out
	Look  func(context.Context) (Observation, error)
	Pause func(context.Context, time.Duration) error
	Now   func() time.Time

	shown   Observation // what is on the screen; its run is empty before that
	changed time.Time   // when something was last seen to move
	told    time.Time   // when people were last told that nothing does
}

// An Observation is what the journal says at one moment.
type Observation struct {
	Run      state.Run // empty if there is none
	Tallies  []state.Tally
	Holder   state.Holder
	Finished time.Time // when the run last got something done, to the minute; zero if it did not
}

// Observe looks who has the state database before it looks at the run: of a process that had
// ended by then, the run shows the end.
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

// Follow shows the run until it is over or nobody works on it, and gives what it saw last.
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
		f.tellStall(o)
		if err := f.Pause(ctx, max(watchEvery, watchShare*f.Now().Sub(began))); err != nil {
			return o, err
		}
	}
}

// show brings the screen up to date.
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
		f.changed = o.Finished // before anybody watched
	} else if f.changed.IsZero() || moved(f.shown, o) {
		f.changed = f.Now()
	}
	f.shown = o
}

// phaseOf names what a run is at, "" if nothing.
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
				continue // known before anything was sent
			}
			ended.objects, ended.bytes = ended.objects+t.Objects, ended.bytes+t.Bytes
		}
	}
	return all, ended, left
}

// moved reports whether anything happened between two looks.
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

// tellStall says that nothing has finished for long, and again after as long.
func (f *Follower) tellStall(o Observation) {
	still := f.Now().Sub(f.changed)
	if still < stallAfter || f.Now().Sub(f.told) < stallAfter {
		return
	}
	f.told = f.Now()
	f.Out.Notef("Nothing has finished for %s. What %s waits for is in its own messages, and in its --log-file.",
		ui.Duration(still), ui.Sanitize(o.Holder.Owner.String()))
}
