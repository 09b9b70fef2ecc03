package state

import (
	"errors"
	"testing"
	"time"
)

// Who approved a run is known from its first moment to its last, and nobody else can
// say so later.
func TestApprove(t *testing.T) {
	j := begin(t)
	j.now = func() time.Time { return time.Date(2026, 5, 1, 10, 20, 30, 0, time.UTC) }
	if r := j.reload(); r.ApprovedBy != "" || !r.ApprovedAt.IsZero() {
		t.Errorf("without an approval: %q at %v", r.ApprovedBy, r.ApprovedAt)
	}
	must(t, j.Approve(t.Context(), j.run.Num, "hash", "Ada"))
	approved := func() {
		t.Helper()
		if r := j.reload(); r.PlanHash != "hash" || r.ApprovedBy != "Ada" || !r.ApprovedAt.Equal(j.now()) {
			t.Errorf("hash %q, approved by %q at %v", r.PlanHash, r.ApprovedBy, r.ApprovedAt)
		}
	}
	approved()
	if err := j.Approve(t.Context(), j.run.Num, "other", "Bob"); !errors.Is(err, ErrConflict) {
		t.Errorf("approved twice: %v", err)
	}
	must(t, j.Relist(t.Context(), j.run.Num))
	approved()
	if err := j.Approve(t.Context(), j.run.Num+1, "hash", "Ada"); !errors.Is(err, ErrConflict) {
		t.Errorf("no such run: %v", err)
	}
}

// What has begun without an approval does not get one.
func TestApproveTooLate(t *testing.T) {
	j := begin(t)
	j.apply("a")
	if err := j.Approve(t.Context(), j.run.Num, "hash", "Ada"); !errors.Is(err, ErrConflict) {
		t.Error(err)
	}
}
