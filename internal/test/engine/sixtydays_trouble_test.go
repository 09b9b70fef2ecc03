package engine

import (
	"context"
	"errors"
	"iter"
	"net/http"
	"time"

	inject "assetferry/internal/test/faults"
	"assetferry/migrate"
	"assetferry/sources"
)

// trouble begins a run in which something fails, and returns its plan as far as it got.
func (l *life) trouble(n round) (plan migrate.Plan) {
	switch l.IntN(4) {
	case 0:
		l.wrongSource(n)
	case 1:
		l.crash(n)
	default:
		plan = l.blow(n)
	}
	time.Sleep(5 * time.Minute)
	run, err := l.store.LastFinished(l.Context(), l.pair, "sync")
	if err == nil && time.Since(run.FinishedAt) < time.Hour {
		return migrate.Plan{Run: run}
	}
	return plan
}

// A partial source lists only some of its objects.
type partial struct {
	sources.Source
	most    int         // the number of objects that it lists
	missing sources.Key // an object that it does not list
	err     error       // at the end of the list
}

func (p partial) Objects(ctx context.Context, after sources.Key) iter.Seq2[sources.Object, error] {
	return func(yield func(sources.Object, error) bool) {
		left := p.most
		for o, err := range p.Source.Objects(ctx, after) {
			if left--; left < 0 {
				break
			}
			if o.Key != p.missing && !yield(o, err) {
				return
			}
		}
		if p.err != nil {
			yield(sources.Object{}, p.err)
		}
	}
}

// wrongSource runs with an empty, incomplete or different source, and verifies that the run changes
// nothing because of it.
func (l *life) wrongSource(n round) {
	d := l.deps()
	half := l.IntN(len(l.model.objects) + 1)
	bad := pick(l, []partial{
		{Source: d.Source, most: half, err: errors.New("input/output error")},
		{Source: d.Source, most: half, err: &sources.Error{Op: "list", Source: "memory", Err: errors.New("403 Forbidden")}},
		{Source: d.Source, most: 1000, missing: alwaysThere},
		{Source: d.Source},
	})
	l.notes("  trouble: the source lists %d without %q and then %v", bad.most, bad.missing, bad.err)
	d.Source = bad
	sent := l.counting()
	if plan, err := l.once(l.Context(), d, n); err == nil && len(plan.FailedChecks) == 0 {
		l.Errorf("nothing stopped it although the source was not all there")
	}
	l.gate.on(nil)
	if w := writes(sent()); len(w) > 0 {
		l.Errorf("although the source was not all there, it sent %v", w)
	}
}

var errDead = errors.New("the process is dead")

// crash ends the process at a call to the state database or to the service; later calls have no
// effect.
func (l *life) crash(n round) {
	d := l.deps()
	dies, cancel := context.WithCancelCause(l.Context())
	defer cancel(nil)
	kind := pick(l, inject.StateFaults())
	at := inject.From(1 << 30)
	if l.chance(60) {
		at = inject.From(l.IntN(170))
		l.notes("  trouble: it dies at the state database (%s)", kind.Name)
	} else {
		l.notes("  trouble: it dies at a request")
	}
	last := 1 + l.IntN(60)
	l.gate.on(func(m int, _ *http.Request) error {
		if at.Came() || m >= last {
			cancel(errDead)
			return errDead
		}
		return nil
	})
	l.hook(kind.Hook(at))
	_, err := l.once(dies, d, n)
	l.unhook()
	l.notes("  it ended with %v", err)
	l.gate.on(nil)
	l.openState(l.path)
}

// blow injects a fault into a run, once or from some call on.
func (l *life) blow(n round) migrate.Plan {
	d := l.deps()
	next := l.gate.next
	defer func() { l.gate.next = next }()
	all := blows()
	for {
		b := pick(l, all)
		if b.deadly {
			continue
		}
		h := hit{b, l.IntN(40), l.chance(30)}
		b.strike(l.world, &d, h.moment())
		l.notes("  trouble: %v", h)
		break
	}
	plan, err := l.once(l.Context(), d, n)
	l.notes("  it ended with %v", err)
	return plan
}
