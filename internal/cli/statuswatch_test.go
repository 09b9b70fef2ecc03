package cli

import (
	"bytes"
	"context"
	"errors"
	"io"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"assetferry/internal/sandbox"
	"assetferry/internal/ui"
	"assetferry/state"
)

// A film is what a follower sees, look by look, and how long each look takes.
type film struct {
	clock time.Time
	looks []observation
	took  time.Duration
	waits []time.Duration
}

func (m *film) follower(stderr io.Writer) *follower {
	out := ui.New(ui.Options{Stdout: io.Discard, Stderr: stderr, Progress: "plain", Now: func() time.Time { return m.clock }})
	return &follower{
		out: out, now: func() time.Time { return m.clock },
		look: func(context.Context) (observation, error) {
			m.clock = m.clock.Add(m.took)
			if len(m.looks) == 0 {
				return observation{}, errors.New("nobody should look any more")
			}
			o := m.looks[0]
			m.looks = m.looks[1:]
			return o, nil
		},
		pause: func(_ context.Context, d time.Duration) error {
			m.clock, m.waits = m.clock.Add(d), append(m.waits, d)
			return nil
		},
	}
}

func observed(runState state.RunState, alive bool, done, planned int64) observation {
	o := observation{
		run:    state.Run{ID: "20260501-1020-abcde", Command: "migrate", State: runState, Pair: state.Pair{Source: "/photos"}},
		holder: state.Holder{Owner: state.Owner{PID: 7, Host: "here"}, Open: alive, Alive: alive},
	}
	if done > 0 {
		o.tallies = append(o.tallies, state.Tally{Action: state.Create, State: state.ItemDone, Objects: done, Bytes: 10 * done})
	}
	if planned > 0 {
		o.tallies = append(o.tallies, state.Tally{Action: state.Create, State: state.ItemPlanned, Objects: planned, Bytes: 10 * planned})
	}
	return o
}

// A run is followed through its phases to its end, and no look comes after that.
func TestFollow(t *testing.T) {
	var stderr bytes.Buffer
	m := &film{clock: time.Date(2026, 5, 1, 10, 20, 0, 0, time.UTC), looks: []observation{
		{holder: state.Holder{Open: true, Alive: true}}, // it has not begun yet
		observed(state.Scanning, true, 0, 100),
		observed(state.Applying, true, 40, 60),
		observed(state.Applying, true, 90, 10),
		observed(state.Finished, false, 100, 0),
	}}
	last, err := m.follower(&stderr).follow(t.Context())
	if err != nil || last.run.State != state.Finished {
		t.Fatalf("%+v (%v)", last, err)
	}
	for _, want := range []string{
		"Run          20260501-1020-abcde: migrate /photos",
		"list the source: 100 objects",
		"send: 90 of 100 objects, 900 B of 1.0 kB, 13/s", // 50 in the 4 seconds since it was first seen at 40
	} {
		if !strings.Contains(stderr.String(), want) {
			t.Errorf("%q is missing in\n%s", want, stderr.String())
		}
	}
	if strings.Contains(stderr.String(), "Nothing has finished") {
		t.Errorf("no stall was there:\n%s", stderr.String())
	}
}

// What does not move for five minutes is told, and again after five more; what moves
// ends that.
func TestFollowStall(t *testing.T) {
	var stderr bytes.Buffer
	m := &film{clock: time.Date(2026, 5, 1, 10, 20, 0, 0, time.UTC)}
	still := int((11 * time.Minute) / watchEvery)
	for range still {
		m.looks = append(m.looks, observed(state.Applying, true, 40, 60))
	}
	for n := range still / 2 {
		m.looks = append(m.looks, observed(state.Applying, true, 41+int64(n)/100, 59-int64(n)/100))
	}
	m.looks = append(m.looks, observed(state.Finished, false, 100, 0))
	if _, err := m.follower(&stderr).follow(t.Context()); err != nil {
		t.Fatal(err)
	}
	if n := strings.Count(stderr.String(), "Nothing has finished for"); n != 2 {
		t.Errorf("told %d times, want 2:\n%s", n, stderr.String())
	}
	if want := "Nothing has finished for 5m00s. What process 7 on here"; !strings.Contains(stderr.String(), want) {
		t.Errorf("%q is missing in\n%s", want, stderr.String())
	}
}

// A run that stood still before anybody watched is told of at once.
func TestFollowStalledBefore(t *testing.T) {
	var stderr bytes.Buffer
	m := &film{clock: time.Date(2026, 5, 1, 10, 20, 0, 0, time.UTC)}
	o := observed(state.Applying, true, 40, 60)
	o.finished = m.clock.Add(-20 * time.Minute)
	m.looks = []observation{o, observed(state.Applying, false, 40, 60)}
	last, err := m.follower(&stderr).follow(t.Context())
	if err != nil || !last.run.Open() {
		t.Fatalf("%+v (%v)", last, err)
	}
	if !strings.Contains(stderr.String(), "Nothing has finished for 20m00s") {
		t.Errorf("not told:\n%s", stderr.String())
	}
}

// The longer a look takes the longer is the pause, so that watching is no burden.
func TestFollowIsNoBurden(t *testing.T) {
	m := &film{took: 3 * time.Second, looks: []observation{observed(state.Applying, true, 1, 1), observed(state.Finished, false, 2, 0)}}
	if _, err := m.follower(io.Discard).follow(t.Context()); err != nil {
		t.Fatal(err)
	}
	if len(m.waits) != 1 || m.waits[0] != 30*time.Second {
		t.Errorf("waited %v", m.waits)
	}
}

// An interrupt while the journal is looked into is one, and no error of the journal.
func TestInterruptLook(t *testing.T) {
	journal, err := state.Open(t.Context(), filepath.Join(t.TempDir(), "journal.db"))
	if err != nil {
		t.Fatal(err)
	}
	defer journal.Close()
	ctx, cancel := context.WithCancelCause(t.Context())
	cancel(errInterrupted)
	a := &app{out: ui.New(ui.Options{Stdout: io.Discard, Stderr: io.Discard, Progress: "none"})}
	if err := a.follow(ctx, journal); !errors.Is(err, errInterrupted) {
		t.Errorf("the interrupt ended it with %v", err)
	}
}

// Another process is watched to its end; when it is killed, that is told and is no
// success.
func TestStatusWatch(t *testing.T) {
	t.Parallel()
	s := startService(t, sandbox.Options{})
	dir := t.TempDir()
	smallTree(20).write(t, filepath.Join(dir, "photos"))
	g := hold(s, 5)
	migration := command(t, dir, s.variables(), "migrate", "photos", "--json")
	migration.follow(t)
	<-g.reached
	watch := command(t, dir, s.variables(), "status", "--watch", "--progress", "plain")
	watching := tell(t, watch, "Run  ")
	if err := watch.Start(); err != nil {
		t.Fatal(err)
	}
	select {
	case <-watching:
	case <-time.After(patience):
		t.Fatalf("nothing is shown:\n%s", watch.stderr.String())
	}
	if err := migration.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	close(g.open)
	migration.wait(t)
	if code, err := exitCode(watch.Wait()); err != nil || code != exitItems {
		t.Errorf("exit code %d (%v)\n%s", code, err, watch.stderr.String())
	}
	if !strings.Contains(watch.stdout.String(), "is not finished, and nobody works on it") {
		t.Errorf("the end is not told:\n%s", watch.stdout.String())
	}
	command(t, dir, s.variables(), "migrate", "photos", "--settle-time", "1ms").must(t, exitDone)
	if out := command(t, dir, s.variables(), "status", "--watch").must(t, exitDone); !strings.Contains(out, "is finished: 20 done") {
		t.Errorf("got %s", out)
	}
}

// Who stops watching is not told that the run has stopped.
func TestInterruptWatch(t *testing.T) {
	t.Parallel()
	s := startService(t, sandbox.Options{})
	dir := t.TempDir()
	smallTree(20).write(t, filepath.Join(dir, "photos"))
	g := hold(s, 5)
	migration := command(t, dir, s.variables(), "migrate", "photos", "--json")
	migration.follow(t)
	<-g.reached
	watch := command(t, dir, s.variables(), "status", "--watch")
	watching := tell(t, watch, "Run  ")
	if err := watch.Start(); err != nil {
		t.Fatal(err)
	}
	<-watching
	interrupt(t, watch)
	if code, err := exitCode(watch.Wait()); err != nil || code != exitInterrupted {
		t.Errorf("exit code %d (%v)", code, err)
	}
	if text := watch.stderr.String(); !strings.Contains(text, "the run is left alone") || strings.Contains(text, "Try:") {
		t.Errorf("told %q", text)
	}
	close(g.open)
	if code := migration.wait(t); code != exitDone {
		t.Errorf("exit code %d of the run", code)
	}
}
