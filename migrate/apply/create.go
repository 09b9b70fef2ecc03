package apply

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"assetferry/internal/assets"
	"assetferry/internal/clock"
	"assetferry/internal/faultpoint"
	"assetferry/internal/retry"
	"assetferry/migrate"
	"assetferry/state"
)

// A creation defines how a category or a folder is found and created.
type creation struct {
	look   func() (id string, err error) // "" if it is not there
	forget func()                        // discards cached answers
	create func() (id string, err error)
}

// makeTries is the maximum number of requests whose answers are lost.
const makeTries = 3

// create looks for a category or folder and creates it if it does not exist. If the answer to the
// creation is lost, it looks again, at once and when the result must be visible, before it tries
// once more. It is unknown then whether this process created what it finds. The same applies to
// requests of an earlier process.
func (s *structure) create(ctx context.Context, p state.PlaceKey, m creation) (id string, made bool, err error) {
	if id, err = m.look(); id != "" || err != nil {
		return id, false, err
	}
	var last error
	for try := 0; ; try++ {
		if id, err := s.lookForUnconfirmed(ctx, p, m); id != "" || err != nil {
			return id, false, err
		}
		if try == makeTries {
			return "", false, &notFoundError{last}
		}
		if err := s.State.Intend(ctx, s.run.Pair.Destination, p, s.Now()); err != nil {
			return "", false, migrate.NewStateError(err)
		}
		faultpoint.Hit(faultpoint.FolderIntended)
		id, err := m.create()
		switch {
		case err == nil:
			return id, true, nil
		case !errors.Is(err, assets.ErrUnconfirmed):
			return "", false, errors.Join(err, s.forgetIntent(context.WithoutCancel(ctx), p))
		}
		last = err
		s.noteUnconfirmed(p, clock.Now().Add(s.confirmationDelay(answered(err))))
	}
}

// A notFoundError means that something was requested several times and does not exist. It hides the
// unconfirmed error of the last attempt, because that is resolved.
type notFoundError struct{ last error }

func (e *notFoundError) Error() string {
	return fmt.Sprintf("requested %d times, but not found; the last answer: %s", makeTries, confirmed(e.last.Error()))
}

// resolved is the text of an error unconfirmed without the unconfirmed item.
func confirmed(text string) string {
	return strings.TrimSuffix(text, "; "+assets.ErrUnconfirmed.Error())
}

// noteUnconfirmed records a creation without an answer, which may become visible until a time.
func (s *structure) noteUnconfirmed(p state.PlaceKey, due time.Time) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.lost[p] = due
}

// lookForUnconfirmed looks for a place that may have been created without an answer, until it must
// be visible.
func (s *structure) lookForUnconfirmed(ctx context.Context, p state.PlaceKey, m creation) (id string, err error) {
	s.mu.Lock()
	due, lost := s.lost[p]
	s.mu.Unlock()
	if !lost {
		return "", nil
	}
	if id, err = s.lookUntil(ctx, m, due); err != nil {
		return "", err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.lost, p)
	return id, nil
}

// lookUntil looks at once, and again at a time.
func (s *structure) lookUntil(ctx context.Context, m creation, due time.Time) (id string, err error) {
	for _, at := range []time.Time{{}, due} {
		if err := retry.Sleep(ctx, at.Sub(clock.Now())); err != nil {
			return "", err
		}
		m.forget()
		if id, err = m.look(); id != "" || err != nil {
			return id, err
		}
	}
	return "", nil
}

func (s *structure) forgetIntent(ctx context.Context, p state.PlaceKey) error {
	if err := s.State.ForgetIntent(ctx, s.run.Pair.Destination, p); err != nil {
		return migrate.NewStateError(err)
	}
	return nil
}
