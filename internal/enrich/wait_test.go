package enrich

import (
	"context"
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	"assetferry/internal/retry"
	"assetferry/state/enrichment"
)

// A late service loses its connection with each request, and has the reply some time later.
type late struct {
	*world
	takes time.Duration
	asked time.Time
}

func (l *late) Ask(ctx context.Context, conversation string, q Question) (string, error) {
	l.asked = time.Now()
	_, err := l.world.Ask(ctx, conversation, q)
	must(l, err)
	return "", fmt.Errorf("%w: %w", ErrAsked, &statusError{"cut", retry.Transient, nil})
}

func (l *late) Exchange(ctx context.Context, conversation string) (Exchange, error) {
	said, err := l.world.Exchange(ctx, conversation)
	if time.Since(l.asked) < l.takes {
		said.Reply = ""
	}
	return said, err
}

// A reply with a lost stream is waited for, up to a limit, and not requested again.
func TestWaitsForReply(t *testing.T) {
	for _, tt := range []struct {
		takes, waits time.Duration
		want         enrichment.State
	}{
		{0, 0, enrichment.Proposed}, {10 * time.Second, 15 * time.Second, enrichment.Proposed},
		{30 * time.Second, 30 * time.Second, enrichment.Proposed}, {time.Hour, 30 * time.Second, enrichment.Failed},
	} {
		synctest.Test(t, func(t *testing.T) {
			w := newWorld(t, 1)
			e := w.engine()
			e.Service, e.ConfirmTimeout = &late{world: w, takes: tt.takes}, 30*time.Second
			start := time.Now()
			got, err := w.ask(e, nil)
			if err != nil || got.States[tt.want] != 1 || w.billed != 1 || got.Run.Calls != 1 || got.Left != 0 {
				t.Errorf("a reply after %v: got %+v (%v)", tt.takes, got, err)
			}
			if waited := time.Since(start); waited != tt.waits {
				t.Errorf("a reply after %v was waited for for %v, want %v", tt.takes, waited, tt.waits)
			}
		})
	}
}

// After a stop, a run starts nothing and waits for nothing. The next run resolves the rest.
func TestStop(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, 3)
		stop := make(chan struct{})
		e := w.engine()
		e.Stop, e.Service, e.ConfirmTimeout = stop, &late{world: w, takes: time.Minute}, 2*time.Minute
		time.AfterFunc(10*time.Second, func() { close(stop) })
		start := time.Now()
		got, err := w.ask(e, nil)
		if err != nil || !got.Stopped || w.billed != 1 || got.Left != 1 || time.Since(start) != 10*time.Second {
			t.Errorf("after %v: got %+v (%v)", time.Since(start), got, err)
		}
		next := w.engine()
		got, err = w.ask(next, nil)
		if err != nil || got.Stopped || got.Left != 0 || w.states()[enrichment.Proposed] != 3 || w.billed != 3 || got.Run.Calls != 3 {
			t.Errorf("the next run: %+v (%v)", got, err)
		}
	})
}

// The wait for a reply begins when the dead process sent the request.
func TestWaitsAfterDeath(t *testing.T) {
	for _, tt := range []struct {
		takes, dead, waits time.Duration
		calls              int
	}{
		{20 * time.Second, 10 * time.Second, 15 * time.Second, 1}, {20 * time.Second, time.Hour, 0, 1},
		{time.Hour, 10 * time.Second, 20 * time.Second, 2}, {24 * time.Hour, time.Hour, 0, 2},
	} {
		synctest.Test(t, func(t *testing.T) {
			w := newWorld(t, 1)
			slow := &late{world: w, takes: tt.takes}
			stop := make(chan struct{})
			e := w.engine()
			e.Stop, e.Service, e.ConfirmTimeout = stop, slow, 30*time.Second
			time.AfterFunc(time.Millisecond, func() { close(stop) })
			_, err := w.ask(e, nil)
			must(t, err)
			time.Sleep(tt.dead - time.Millisecond)
			next := w.engine()
			next.Service, next.ConfirmTimeout = slow, 30*time.Second
			start := time.Now()
			must(t, w.resolveConversations(next))
			if waited := time.Since(start); waited != tt.waits {
				t.Errorf("a reply after %v was waited for for %v after %v, want %v", tt.takes, waited, tt.dead, tt.waits)
			}
			slow.takes = 0
			if _, err := w.ask(next, nil); err != nil || w.billed != tt.calls || w.states()[enrichment.Proposed] != 1 {
				t.Errorf("a reply after %v: %d calls, %v (%v)", tt.takes, w.billed, w.states(), err)
			}
		})
	}
}

// resolveConversations only resolves what an earlier process left.
func (w *world) resolveConversations(e *Engine) error {
	run, err := e.Store.BeginRun(w.Context(), enrichment.Run{Destination: library, Command: "describe", Service: e.Host})
	must(w, err)
	a := &asker{Engine: e, run: run, states: map[enrichment.State]int64{}}
	return a.resolveConversations(w.Context())
}

// A run interrupted during a request leaves it to the next one.
func TestInterrupt(t *testing.T) {
	w := newWorld(t, 2)
	must(t, w.engine().Audit(t.Context(), "en"))
	ctx, cancel := context.WithCancelCause(t.Context())
	e := w.engine()
	e.Service = &interrupted{w, cancel}
	_, err := e.Ask(ctx, Request{Kind: enrichment.KindDescribe, Language: "en"})
	if err == nil || w.billed != 1 || w.states()[enrichment.Asking] != 1 {
		t.Errorf("got %v, %d calls and %v", err, w.billed, w.states())
	}
	got, err := w.ask(w.engine(), nil)
	if err != nil || w.billed != 2 || w.states()[enrichment.Proposed] != 2 || len(w.talks) != 0 || got.Left != 0 {
		t.Errorf("the next run: %+v, %d calls (%v)", got, w.billed, err)
	}
}

// An interrupted service receives a request, and then the run is interrupted.
type interrupted struct {
	*world
	cancel context.CancelCauseFunc
}

func (i *interrupted) Ask(ctx context.Context, conversation string, q Question) (string, error) {
	_, err := i.world.Ask(ctx, conversation, q)
	must(i, err)
	i.cancel(errKilled)
	return "", fmt.Errorf("%w: %w", ErrAsked, context.Cause(ctx))
}

func (i *interrupted) Exchange(ctx context.Context, conversation string) (Exchange, error) {
	return Exchange{}, context.Cause(ctx)
}
