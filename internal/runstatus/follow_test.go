package runstatus

import (
	"bytes"
	"context"
	"errors"
	"io"
	"strings"
	"testing"
	"time"

	"assetferry/internal/ui"
	"assetferry/state"
	"assetferry/state/ownership"
)

// A recording has the observations of a follower, and how long each takes.
type recording struct {
	clock time.Time
	looks []Observation
	took  time.Duration
	waits []time.Duration
}

func (m *recording) follower(stderr io.Writer) *Follower {
	out := ui.New(ui.Options{Stdout: io.Discard, Stderr: stderr, Progress: "plain", Verbose: true, Now: func() time.Time { return m.clock }})
	return &Follower{
		Out: out, Now: func() time.Time { return m.clock },
		Look: func(context.Context) (Observation, error) {
			m.clock = m.clock.Add(m.took)
			if len(m.looks) == 0 {
				return Observation{}, errors.New("no observation is left")
			}
			o := m.looks[0]
			m.looks = m.looks[1:]
			return o, nil
		},
		Pause: func(_ context.Context, d time.Duration) error {
			m.clock, m.waits = m.clock.Add(d), append(m.waits, d)
			return nil
		},
	}
}

func observed(runState state.RunState, alive bool, done, planned int64) Observation {
	o := Observation{
		Run:    state.Run{ID: "20260501-1020-abcde", Command: "migrate", State: runState, Pair: state.Pair{Source: "/photos"}},
		Holder: state.Holder{Owner: ownership.Owner{PID: 7, Host: "here"}, Open: alive, Alive: alive},
	}
	if done > 0 {
		o.Tallies = append(o.Tallies, state.Tally{Action: state.Create, State: state.ItemDone, Objects: done, Bytes: 10 * done})
	}
	if planned > 0 {
		o.Tallies = append(o.Tallies, state.Tally{Action: state.Create, State: state.ItemPlanned, Objects: planned, Bytes: 10 * planned})
	}
	return o
}

// A run is followed through its phases to its end, and then not read again.
func TestFollow(t *testing.T) {
	var stderr bytes.Buffer
	m := &recording{clock: time.Date(2026, 5, 1, 10, 20, 0, 0, time.UTC), looks: []Observation{
		{Holder: state.Holder{Open: true, Alive: true}}, // it has not begun yet
		observed(state.Scanning, true, 0, 100),
		observed(state.Applying, true, 40, 60),
		observed(state.Applying, true, 90, 10),
		observed(state.Finished, false, 100, 0),
	}}
	last, err := m.follower(&stderr).Follow(t.Context())
	if err != nil || last.Run.State != state.Finished {
		t.Fatalf("%+v (%v)", last, err)
	}
	for _, want := range []string{
		"Run          20260501-1020-abcde: migrate /photos",
		"Run          20260501-1020-abcde: migrate /photos",
		"upload: 90 of 100 objects, 900 B of 1.0 kB, 13/s", // 50 in the 4 seconds since it was first seen at 40
	} {
		if !strings.Contains(stderr.String(), want) {
			t.Errorf("%q is missing in\n%s", want, stderr.String())
		}
	}
	if strings.Contains(stderr.String(), "No progress") {
		t.Errorf("there was progress:\n%s", stderr.String())
	}
}

// Five minutes without progress are reported, and again after five more. Progress ends that.
func TestFollowStall(t *testing.T) {
	var stderr bytes.Buffer
	m := &recording{clock: time.Date(2026, 5, 1, 10, 20, 0, 0, time.UTC)}
	still := int((11 * time.Minute) / watchEvery)
	for range still {
		m.looks = append(m.looks, observed(state.Applying, true, 40, 60))
	}
	for n := range still / 2 {
		m.looks = append(m.looks, observed(state.Applying, true, 41+int64(n)/100, 59-int64(n)/100))
	}
	m.looks = append(m.looks, observed(state.Finished, false, 100, 0))
	if _, err := m.follower(&stderr).Follow(t.Context()); err != nil {
		t.Fatal(err)
	}
	if n := strings.Count(stderr.String(), "No progress for"); n != 2 {
		t.Errorf("reported %d times, want 2:\n%s", n, stderr.String())
	}
	if want := "No progress for 5m00s. See the messages of process 7 on here"; !strings.Contains(stderr.String(), want) {
		t.Errorf("%q is missing in\n%s", want, stderr.String())
	}
}

// A run without progress before the watch is reported at once.
func TestFollowStalledBefore(t *testing.T) {
	var stderr bytes.Buffer
	m := &recording{clock: time.Date(2026, 5, 1, 10, 20, 0, 0, time.UTC)}
	o := observed(state.Applying, true, 40, 60)
	o.Finished = m.clock.Add(-20 * time.Minute)
	m.looks = []Observation{o, observed(state.Applying, false, 40, 60)}
	last, err := m.follower(&stderr).Follow(t.Context())
	if err != nil || !last.Run.Open() {
		t.Fatalf("%+v (%v)", last, err)
	}
	if !strings.Contains(stderr.String(), "No progress for 20m00s") {
		t.Errorf("not reported:\n%s", stderr.String())
	}
}

// The pause grows with the duration of a read, so that watching does not slow down the run.
func TestFollowPauses(t *testing.T) {
	m := &recording{took: 3 * time.Second, looks: []Observation{observed(state.Applying, true, 1, 1), observed(state.Finished, false, 2, 0)}}
	if _, err := m.follower(io.Discard).Follow(t.Context()); err != nil {
		t.Fatal(err)
	}
	if len(m.waits) != 1 || m.waits[0] != 30*time.Second {
		t.Errorf("waited %v", m.waits)
	}
}
