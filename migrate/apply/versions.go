package apply

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"assetferry/internal/faultpoint"
	"assetferry/migrate"
	"assetferry/state"
)

// A run may bring older versions of an object, the oldest first. Its item then stands for one version
// after the other: the first creates the asset, and the others replace its content. For each of them,
// the intent is stored before the upload, together with the outcome of the previous one. So an
// interrupted version is checked at the destination like any other upload, and none is uploaded twice.

// nextVersions lets items stand for the next version of their objects, if the run brings versions.
func (a *Applier) nextVersions(ctx context.Context, items []state.Item) error {
	if !a.rules.BringsVersions() {
		return nil
	}
	for n := range items {
		if err := a.nextVersion(ctx, &items[n]); err != nil {
			return migrate.NewStateError(err)
		}
	}
	return nil
}

func (a *Applier) nextVersion(ctx context.Context, i *state.Item) error {
	if i.Whole != nil || i.State == state.ItemSent || i.Action != state.Create && i.Action != state.Replace {
		return nil
	}
	next, err := a.State.NextVersion(ctx, a.run.Num, i.Key)
	if err != nil {
		return err
	}
	whole := *i
	i.Whole, i.VersionNum, i.Omitted = &whole, next.Num, next.Omitted
	if next.Asset != "" {
		i.Action, i.Asset, i.PreviousKey = state.Replace, next.Asset, ""
	}
	if next.Num > 0 {
		i.Object, i.Checksum = next.Object, nil
	}
	return nil
}

// asPlanned returns an item as the plan has it.
func asPlanned(i state.Item) state.Item {
	if i.Whole == nil {
		return i
	}
	whole := *i.Whole
	whole.State, whole.Attempts, whole.IntentAt = i.State, i.Attempts, i.IntentAt
	return whole
}

// ofVersion completes the outcome of an attempt at a version.
func (d *dispatcher) ofVersion(i state.Item, o *state.Outcome) {
	if i.Whole == nil {
		return
	}
	o.Version, o.KeepsRevision = i.VersionNum, true
	if i.VersionNum == 0 {
		ofCurrentVersion(i, o)
		return
	}
	switch {
	case o.State == state.ItemChanged && !o.Unclear && o.Receipt == nil: // only this version is missing
		o.State, o.Class = state.ItemDone, ""
	case o.Misnamed: // the next version gets the name
		o.State, o.Class, o.Error, o.Misnamed = state.ItemDone, "", "", false
	case o.State == state.ItemFailed || o.State == state.ItemRetryScheduled || o.State == state.ItemUnconfirmed:
		o.Error = fmt.Sprintf("older version %d, %s: %s", i.VersionNum, versionName(i.Time, i.Version), o.Error)
	}
	if o.State == state.ItemDone && !d.stopping && !d.confirmOnly {
		o.NextIntent = d.Now()
	}
}

// ofCurrentVersion adds remarks on the older versions to the outcome of an object itself.
func ofCurrentVersion(i state.Item, o *state.Outcome) {
	switch o.State {
	case state.ItemDone, state.ItemSent:
	case state.ItemFailed:
		if i.Action == state.Replace && i.Whole.Action == state.Create {
			o.Error = migrate.JoinTexts(o.Error, "its asset has an older version")
		}
	default:
		return
	}
	var omitted []string
	for _, v := range i.Omitted {
		omitted = append(omitted, fmt.Sprintf("%s (%s)", versionName(v.Time, v.Version), strings.ReplaceAll(v.Why, "; ", ", ")))
	}
	if len(omitted) > 0 {
		o.Error = migrate.JoinTexts(o.Error, migrate.RemarkVersionsOmitted+strings.Join(omitted, ", "))
	}
}

// versionName returns words for an older version: its time or, if it has none, its ID.
func versionName(changed time.Time, id string) string {
	if changed.IsZero() {
		return "revision " + id + " at the source"
	}
	return "changed " + changed.Format(time.DateTime)
}

// withoutRefused returns the outcome of a result to record. An older version that is refused would keep
// all newer versions from the destination, in each run, so it is omitted. One that cannot be read is
// not: a user may only have to grant a permission.
func withoutRefused(r result) state.Outcome {
	o := r.outcome
	if r.refused && r.item.VersionNum > 0 && o.State == state.ItemFailed && o.Receipt == nil {
		o.State = state.ItemDone
	}
	return o
}

// goOn prepares the items of a written commit for their next versions.
func (d *dispatcher) goOn(ctx context.Context, c *commit) error {
	for n, o := range c.outcomes {
		if !o.GoesOn() {
			continue
		}
		i := *c.items[n].Whole
		i.State, i.Attempts, i.IntentAt = state.ItemSending, 1, o.NextIntent
		if !o.NextIntent.IsZero() {
			c.goesOn = append(c.goesOn, i)
		}
	}
	if len(c.goesOn) > 0 {
		faultpoint.Hit(faultpoint.VersionRecorded)
	}
	return errors.Join(d.nextVersions(ctx, c.goesOn), d.nextVersions(ctx, c.taken))
}
