package plan

import (
	"context"
	"fmt"
	"iter"
	"strings"
	"time"

	"assetferry/migrate"
	"assetferry/sources"
	"assetferry/state"
)

// acts reports whether an approved plan contains an action for an object.
func acts(approved state.Item) bool {
	return migrate.FirstState(approved.Action, migrate.Reason(approved.Reason)) == state.ItemPlanned
}

// approvals walk the items of an approved plan next to objects in key order. Without
// an approved plan there are none, and no approvals: they may be nil.
type approvals struct {
	next func() (state.Item, error, bool)
	stop func()
	item state.Item // the first that was not passed
	err  error
	more bool
}

// approvals begins after a key.
func (p *Planner) approvals(after sources.Key) *approvals {
	if p.Approval == nil {
		return nil
	}
	a := &approvals{}
	a.next, a.stop = iter.Pull2(p.Approval.Items)
	for a.pass(); after != "" && a.more && a.err == nil && a.item.Key <= after; {
		a.pass()
	}
	return a
}

func (a *approvals) pass() { a.item, a.err, a.more = a.next() }

func (a *approvals) close() {
	if a != nil {
		a.stop()
	}
}

// before returns the next unread item with a key less than the given one, or any if the key is
// empty.
func (a *approvals) before(key sources.Key) (i state.Item, found bool, err error) {
	if a == nil || !a.more || a.err != nil || key != "" && a.item.Key >= key {
		return i, false, a.failure()
	}
	i = a.item
	a.pass()
	return i, true, nil
}

// of returns the approved item of an object, and skips those before it.
func (a *approvals) of(key sources.Key) (i state.Item, found bool, err error) {
	for more := true; more && err == nil; {
		_, more, err = a.before(key)
	}
	if a == nil || !a.more || err != nil || a.item.Key != key {
		return i, false, err
	}
	i = a.item
	a.pass()
	return i, true, a.failure()
}

func (a *approvals) failure() error {
	if a == nil || !a.more {
		return nil
	}
	return a.err
}

// refuse skips an item that differs from the approved plan.
func refuse(i *state.Item, drift []string) {
	i.Asset, i.Checksum = "", nil
	migrate.SetDecision(i, state.Skip, migrate.ReasonChangedSinceApproval)
	i.State, i.Error = state.ItemChanged, fmt.Sprintf("%s: %s", migrate.ReasonChangedSinceApproval.Text(), strings.Join(drift, "; "))
}

// keepName gives an object its name from the approved plan if that resolved a collision.
func keepName(place *migrate.Place, s *migrate.Situation, approved state.Item, key sources.Key) {
	if approved.Name != "" && approved.Name != place.Name && approved.Name == migrate.DistinctName(place.Name, key) {
		place.Name, s.Taken = approved.Name, true
	}
}

// approvalCheck compares a plan with the approved one.
type approvalCheck struct {
	*planning
	*decisions
	places *placements
}

// do compares the decisions with the approved ones.
func (a *approvalCheck) do(ctx context.Context) error {
	if a.Approval == nil {
		return nil
	}
	all := a.approvals("")
	defer all.close()
	err := a.everyItem(ctx, func(_ context.Context, i *state.Item) (bool, error) {
		approved, known, err := all.of(i.Key)
		if err != nil || !known || !acts(approved) {
			return false, err
		}
		switch i.State {
		case state.ItemDone, state.ItemChanged, state.ItemRetriesExhausted:
			return false, nil
		}
		drift := a.redecided(approved, *i)
		if len(drift) > 0 {
			refuse(i, drift)
		}
		return len(drift) > 0, nil
	})
	for more := true; more && err == nil; { // read to the end, which verifies that this was the approved plan
		_, more, err = all.before("")
	}
	return err
}

// drifted lists the differences between an object and the approved one.
func drifted(approved, now state.Item) (drift []string) {
	switch {
	case now.Obstacle == migrate.ObstacleVanished:
		return []string{"it is not at the source any more"}
	case now.Obstacle != "":
		return []string{"its content cannot be read: " + string(now.Obstacle)}
	}
	differs := func(what string, was, is any) {
		drift = append(drift, fmt.Sprintf("its %s was %v, is %v", what, was, is))
	}
	if approved.Size != now.Size {
		differs("size", approved.Size, now.Size)
	}
	if !approved.Time.Equal(now.Time) {
		differs("time", timeText(approved.Time), timeText(now.Time))
	}
	if approved.VersionTag != now.VersionTag {
		differs("version tag", quoted(approved.VersionTag), quoted(now.VersionTag))
	}
	return drift
}

func timeText(t time.Time) string {
	if t.IsZero() {
		return "unknown"
	}
	return t.UTC().Format(time.RFC3339Nano)
}

func quoted(s string) string {
	if s == "" {
		return "none"
	}
	return fmt.Sprintf("%q", s)
}

// redecided returns the differences between a decision and the approved one. An object that was
// uploaded since the approval needs at most a metadata update.
func (a *approvalCheck) redecided(approved, now state.Item) (drift []string) {
	switch {
	case now.Action == state.Unchanged, now.Action == state.UpdateMetadata && approved.Action == state.Create:
		return nil
	case approved.Action != now.Action:
		return []string{fmt.Sprintf("was %s, is %s (%s)", approved.Action, now.Action, migrate.Reason(now.Reason).Text())}
	case approved.Reason != now.Reason:
		return []string{fmt.Sprintf("was %s (%s), is %s (%s)", approved.Action, migrate.Reason(approved.Reason).Text(), now.Action, migrate.Reason(now.Reason).Text())}
	}
	for _, field := range []struct{ what, was, is string }{
		{"category", approved.Category, a.asWanted(now.Category, approved.Category)},
		{"folder", approved.Folder, now.Folder}, {"name", approved.Name, now.Name}, {"asset", approved.Asset, now.Asset},
	} {
		if field.was != field.is {
			drift = append(drift, fmt.Sprintf("its %s was %s, is %s", field.what, quoted(field.was), quoted(field.is)))
		}
	}
	return drift
}

// asWanted returns the wanted category if the given category is that one: it may have been created
// since the approval, for example by an earlier attempt of this plan.
func (a *approvalCheck) asWanted(category, wanted string) string {
	name, isNew := strings.CutPrefix(wanted, migrate.NewPrefix)
	if !isNew || a.places.placer == nil {
		return category
	}
	if a.places.placer.IsNamed(category, name) {
		return wanted
	}
	return category
}
