package token

import (
	"context"
	"encoding/json"
	"time"
)

// A held token was created by another program. It is used for half of its remaining lifetime.
type held struct {
	unknownLife time.Duration // how long a token without exp is used

	lock   chan struct{} // holds one element while it is unlocked; protects the fields below
	cached Secret
	until  time.Time
	from   time.Time
}

func newHeld(unknownLife time.Duration) held {
	h := held{unknownLife: unknownLife, lock: make(chan struct{}, 1)}
	h.lock <- struct{}{}
	return h
}

// get returns the token or obtains another one, one call at a time.
func (h *held) get(ctx context.Context, now func() time.Time, another func() (Secret, error)) (Secret, error) {
	select {
	case <-h.lock:
	case <-ctx.Done():
		return Secret{}, context.Cause(ctx)
	}
	defer func() { h.lock <- struct{}{} }()
	if at := now(); !h.cached.IsEmpty() && at.Before(h.until) && !at.Before(h.from) {
		return h.cached, nil
	}
	made, err := another()
	if err != nil {
		return Secret{}, err
	}
	at := now()
	h.cached, h.from, h.until = made, at, at.Add(h.usableFor(made, at))
	return made, nil
}

func (h *held) forget() {
	<-h.lock
	defer func() { h.lock <- struct{}{} }()
	h.cached = Secret{}
}

// usableFor returns half of the remaining lifetime of a token.
func (h *held) usableFor(s Secret, now time.Time) time.Duration {
	exp, ok := expiry(s)
	if !ok {
		return h.unknownLife
	}
	return exp.Sub(now) / 2
}

// expiry returns the claim exp. It does not check the token, because the service does.
func expiry(s Secret) (time.Time, bool) {
	payload, err := payloadOf(s)
	if err != nil {
		return time.Time{}, false
	}
	var claims struct {
		Exp float64 `json:"exp"`
	}
	if json.Unmarshal(payload, &claims) != nil || claims.Exp <= 0 || claims.Exp > 1<<40 {
		return time.Time{}, false
	}
	return time.Unix(int64(claims.Exp), 0), true
}
