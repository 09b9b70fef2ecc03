package state

import (
	"errors"
	"testing"
	"time"

	"assetferry/state/ownership"
)

// TestSetApprovedPlan verifies that a run keeps the hash of its plan from start to end, and that no
// other plan replaces it.
func TestSetApprovedPlan(t *testing.T) {
	j := begin(t)
	must(t, j.SetApprovedPlan(t.Context(), j.run.Num, "hash"))
	if err := j.SetApprovedPlan(t.Context(), j.run.Num, "other"); !errors.Is(err, ErrConflict) {
		t.Errorf("another plan: %v", err)
	}
	must(t, j.Relist(t.Context(), j.run.Num))
	if r := j.reload(); r.PlanHash != "hash" || r.Approver != (Approver{}) || !r.ApprovedAt.IsZero() {
		t.Errorf("hash %q, approver %+v at %v", r.PlanHash, r.Approver, r.ApprovedAt)
	}
	if err := j.SetApprovedPlan(t.Context(), j.run.Num+1, "hash"); !errors.Is(err, ErrConflict) {
		t.Errorf("no such run: %v", err)
	}
	j = begin(t)
	j.apply("a")
	if err := j.SetApprovedPlan(t.Context(), j.run.Num, "hash"); !errors.Is(err, ErrConflict) {
		t.Errorf("a run that lists already: %v", err)
	}
}

// TestApprove verifies that a later approver does not replace the first one, but that a signed
// approval replaces an unsigned one.
func TestApprove(t *testing.T) {
	j := begin(t)
	at := time.Date(2026, 5, 1, 10, 20, 30, 0, time.UTC)
	j.now = func() time.Time { return at }
	if j.run.StartedBy != ownership.OSAccount() || j.reload().StartedBy != ownership.OSAccount() {
		t.Errorf("started by %q and %q, want %q", j.run.StartedBy, j.reload().StartedBy, ownership.OSAccount())
	}
	ada, bob := Approver{Name: "Ada", StatedBy: "op@host"}, Approver{Name: "Bob", StatedBy: "op@host"}
	signed, other := Approver{Name: "ada@example.com", Key: "SHA256:a"}, Approver{Name: "bob@example.com", Key: "SHA256:b"}
	for _, step := range []struct {
		by    Approver
		noted bool
		want  Approver
	}{{ada, true, ada}, {bob, false, ada}, {signed, true, signed}, {other, false, signed}, {ada, false, signed}} {
		noted, err := j.Approve(t.Context(), j.run.Num, step.by)
		must(t, err)
		if r := j.reload(); noted != step.noted || r.Approver != step.want || !r.ApprovedAt.Equal(at) {
			t.Errorf("%v: noted %v, approver %+v at %v, want %+v", step.by, noted, r.Approver, r.ApprovedAt, step.want)
		}
	}
	must(t, j.Relist(t.Context(), j.run.Num))
	if r := j.reload(); r.Approver != signed {
		t.Errorf("after another listing: %+v", r.Approver)
	}
}
