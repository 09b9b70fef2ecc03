package cli

import (
	"context"
	"errors"
	"time"

	"assetferry/internal/clock"
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

// A follower shows a run that another process carries out.
type follower struct {
	out   *ui.Out
	look  func(context.Context) (observation, error)
	pause func(context.Context, time.Duration) error
	now   func() time.Time

	shown   observation // what is on the screen; its run is empty before that
	changed time.Time   // when something was last seen to move
	told    time.Time   // when people were last told that nothing does
}

// An observation is what the journal says at one moment.
type observation struct {
	run      state.Run // empty if there is none
	tallies  []state.Tally
	holder   state.Holder
	finished time.Time // when the run last got something done, to the minute; zero if it did not
}

// follow shows the newest run of the journal until it is over or nobody works on it.
func (a *app) follow(ctx context.Context, journal *state.Store) error {
	f := &follower{
		out: a.out, now: clock.Now,
		look: func(ctx context.Context) (observation, error) { return observe(ctx, journal) },
		pause: func(ctx context.Context, d time.Duration) error {
			select {
			case <-ctx.Done():
				return context.Cause(ctx)
			case <-time.After(d):
				return nil
			}
		},
	}
	last, err := f.follow(ctx)
	if err != nil {
		return because(ctx, err)
	}
	return a.endOfWatch(ctx, journal, last)
}

// observe looks who has the journal before it looks at the run: of a process that had
// ended by then, the run shows the end.
func observe(ctx context.Context, journal *state.Store) (o observation, err error) {
	if o.holder, err = journal.Holder(ctx); err != nil {
		return o, err
	}
	if o.run, err = newestRun(ctx, journal, ""); err != nil || o.run.Num == 0 {
		return o, err
	}
	if o.tallies, err = journal.Tallies(ctx, o.run.Num); err != nil {
		return o, err
	}
	minutes, err := journal.Throughput(ctx, o.run.Num)
	if n := len(minutes); n > 0 {
		o.finished = minutes[n-1].At.Add(time.Minute)
	}
	return o, err
}

// follow gives what it saw last.
func (f *follower) follow(ctx context.Context) (observation, error) {
	defer f.out.Progress().EndPhase()
	for {
		began := f.now()
		o, err := f.look(ctx)
		if err != nil {
			return o, err
		}
		f.show(o)
		if !o.holder.Alive || o.run.ID != "" && !o.run.Open() {
			return o, nil
		}
		f.tellStall(o)
		if err := f.pause(ctx, max(watchEvery, watchShare*f.now().Sub(began))); err != nil {
			return o, err
		}
	}
}

// show brings the screen up to date.
func (f *follower) show(o observation) {
	phase := phaseOf(o.run)
	done, total := progressOf(o)
	was, _ := progressOf(f.shown)
	switch {
	case phase == "":
		f.out.Progress().EndPhase()
	case o.run.ID != f.shown.run.ID || phase != phaseOf(f.shown.run):
		if o.run.ID != f.shown.run.ID {
			f.out.Notef("Run          %s: %s %s", o.run.ID, o.run.Command, ui.Sanitize(o.run.Pair.Source))
		}
		f.out.Progress().JoinPhase(phase, done.objects, done.bytes, total.objects, total.bytes)
	default:
		f.out.Progress().SetTotal(total.objects, total.bytes)
		f.out.Progress().Add(done.objects-was.objects, done.bytes-was.bytes)
	}
	if f.changed.IsZero() && !o.finished.IsZero() && o.finished.Before(f.now()) {
		f.changed = o.finished // before anybody watched
	} else if f.changed.IsZero() || moved(f.shown, o) {
		f.changed = f.now()
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

// progressOf gives how far a phase is, and how far it goes; -1 is unknown.
func progressOf(o observation) (done, total amount) {
	var all, ended, left amount
	for _, t := range o.tallies {
		all.objects, all.bytes = all.objects+t.Objects, all.bytes+t.Bytes
		switch t.State {
		case state.ItemPlanned, state.ItemSending, state.ItemSent, state.ItemInDoubt, state.ItemWaiting:
			left.objects, left.bytes = left.objects+t.Objects, left.bytes+t.Bytes
		case state.ItemDone, state.ItemFailed, state.ItemChanged:
			if migrate.Reason(t.Reason).IsFailure() {
				continue // known before anything was sent
			}
			ended.objects, ended.bytes = ended.objects+t.Objects, ended.bytes+t.Bytes
		}
	}
	if o.run.State != state.Applying {
		return all, amount{-1, -1}
	}
	return ended, amount{ended.objects + left.objects, ended.bytes + left.bytes}
}

// moved reports whether anything happened between two looks.
func moved(was, is observation) bool {
	if was.run.ID != is.run.ID || was.run.State != is.run.State || was.run.Cursor != is.run.Cursor || len(was.tallies) != len(is.tallies) {
		return true
	}
	for n, t := range is.tallies {
		if was.tallies[n] != t {
			return true
		}
	}
	return false
}

// tellStall says that nothing has finished for long, and again after as long.
func (f *follower) tellStall(o observation) {
	still := f.now().Sub(f.changed)
	if still < stallAfter || f.now().Sub(f.told) < stallAfter {
		return
	}
	f.told = f.now()
	f.out.Notef("Nothing has finished for %s. What %s waits for is in its own messages, and in its --log-file.",
		ui.Duration(still), ui.Sanitize(o.holder.Owner.String()))
}

// endOfWatch tells how it came out, and does not let what is missing look like success.
func (a *app) endOfWatch(ctx context.Context, journal *state.Store, o observation) error {
	if o.run.ID == "" {
		a.out.Printf("No run has begun yet.")
		return nil
	}
	items := describe(o.tallies)
	skips, err := skippedText(ctx, journal, o.run, o.tallies)
	if err != nil {
		return err
	}
	if skips != "" {
		items += "\n" + wrapped(skips, "  ")
	}
	a.out.Event("summary", recorded(o.run, o.tallies))
	if o.run.Open() {
		command, err := a.toGoOn(ctx, journal, o.run)
		if err != nil {
			return err
		}
		a.out.Printf("Run %s is not finished, and nobody works on it: %s", o.run.ID, items)
		a.out.Notef("Try: %s goes on with it", command)
		return &stop{code: exitItems}
	}
	a.out.Printf("Run %s is %s: %s", o.run.ID, o.run.State, items)
	if code := exitOf(o.tallies); code != exitDone {
		a.out.Notef("Try: assetferry report tells what to do about what did not arrive")
		return &stop{code: code}
	}
	return nil
}

func (a *app) watchStatus(ctx context.Context) error {
	journal, err := a.readJournal(ctx)
	if err != nil {
		return err
	}
	if _, err := a.showHolder(ctx, journal); err != nil {
		return err
	}
	err = a.follow(ctx, journal)
	if errors.Is(err, errInterrupted) {
		a.out.Notef("Nobody watches any more; the run is left alone.")
		return &stop{code: exitInterrupted}
	}
	return err
}
